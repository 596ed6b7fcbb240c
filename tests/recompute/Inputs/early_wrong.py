"""early_wrong.py EDLC FILE.edl FOLDER: schedules of model `wide` that update
parameters in the backward pass, each with one thing wrong: `edlc verify` says
no, at the line that is wrong, in these words."""
import re
import subprocess
import sys

edlc, source, folder = sys.argv[1:]
HERE = "  # HERE"


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)


def smallest(*flags):
    said = run(edlc, "plan", source, "--model=wide", "--memory=1",
               *flags).stdout
    return re.search(r"smallest limit that works is (\d+)", said)[1]


def schedule(*flags):
    """The tightest, without its table."""
    assert run(edlc, source, "--model=wide", f"--memory={smallest(*flags)}",
               *flags, "-o", folder).returncode == 0
    good = without_table(open(f"{folder}/wide.sched").read())
    open(f"{folder}/good.sched", "w").write(good)
    r = run(edlc, source, f"--schedule={folder}/good.sched", "-o",
            f"{folder}/good")
    assert r.returncode == 0, r.stdout
    return good


def without_table(text):
    """Other places follow from other lines."""
    text = re.sub(r"^placement \{.*?^\}\n", "", text, flags=re.M | re.S)
    return re.sub(r"^option limit = .*\n", "", text, flags=re.M)


def lines_of(text, name):
    at = text.index(f"\ngraph {name} {{\n")
    return text[at:text.index("\n}\n", at)].split("\n")


def find(text, pattern):
    return re.search(pattern, text, re.M)[0]


def early_of(text, p):
    return find(text, rf"^ *adamw {re.escape(p)}, .*\n")


def drop(text):
    return text.replace(early_of(text, "l.1.up.w"), "", 1), \
        "l.1.up.w: the model changes it 1 times in its update, the schedule " \
        "0 times: adamw is missing"


def twice(text):
    line = early_of(text, "l.1.up.w")
    return text.replace(line, line + line[:-1] + HERE + "\n", 1), \
        "changes l.1.up.w once more than the model|written twice"


def another_gradient(text):
    """Of an equal shape."""
    a, b = (early_of(text, p) for p in ("l.1.up.w", "l.2.up.w"))
    grad = b.split()[2]
    words = a.split()
    mine = words[2]
    # l.2 comes first in the backward pass: its gradient is there
    return text.replace(a, a[:-1].replace(mine, grad, 1) + HERE + "\n", 1), \
        f"operand 2 is {re.escape(mine[:-1])} in the model, found " \
        f"{re.escape(grad[:-1])}"


def before_a_reader(text):
    """The weight changes, and then the backward pass reads it."""
    line = early_of(text, "l.1.up.w")
    at = text.rindex("\n  block l.1 {\n", 0, text.index(line)) + 1
    end = text.index("\n  }\n", at) + 5
    update, rest = text[at:end], text[:at] + text[end:]
    to = rest.index("    l.0.x.grad = fused")
    to = rest.rindex("\n  block", 0, to) + 1
    assert to < at and line in update
    rest = rest[:to] + update + rest[to:]
    return rest.replace(
        line, line[:-1] + HERE + "\n", 1), \
        "overwrites l.1.up.w, which is read later"


def new_weight(text):
    """With weights in another space: what goes back comes again, and is read
    for the old."""
    w, again = "l.1.up.w", "l.1.up.w.again"
    wait = f"    wait {w}.in, {w}\n"
    start = text.index("\ngraph backward {\n")
    forward, text = text[:start], text[start:]
    reader = text.rindex("  block", 0, text.index(wait))
    update = text.rindex("  block", 0, text.index(f"    wait {w}.m.in, "))
    end = text.index("\n  }\n", update) + 5
    early, late = text[update:end], text[reader:update] + text[end:]
    out = find(late, rf"^    {w}\.out = offload .*\n")
    back = [f"    wait {w}.out, {w}.in\n", f"    write {w} = {w}.out\n"]
    for line in (wait, out, *back):
        late = late.replace(line, "", 1)
    fetch = f"    {again} = fetch {w}.out (queue = 1) : f32[256,512]\n" \
        f"    wait {again}, {w}.out\n"
    line = find(late, rf"^ *\S+ = fused .*{w}\.in, .*\n")
    late = late.replace(line, line[:-1] + HERE + "\n", 1)
    late = late.replace(f"{w}.in", again)
    return forward + text[:reader] + "  block l.1 {\n" + wait + "  }\n" + \
        early + "  block l.1 {\n" + out + back[0] + fetch + back[1] + \
        "  }\n" + late, f"reads {again}, which an optimizer has changed"


def in_the_update(text):
    line = early_of(text, "l.1.up.w")
    grad = line.split()[2][:-1]
    return text.replace(line, "", 1).replace(
        "\ngraph update {\n", "\ngraph update {\n" + line[:-1] + HERE + "\n",
        1), f"operand {re.escape('l.1.up.w')} is not defined|" \
            f"{re.escape(grad)} is not defined|not defined"


def with_microbatches(text):
    """In each of them."""
    return text.replace("  accumulate 1\n", "  accumulate 2" + HERE + "\n", 1
                        ), "the model has `accumulate 1` here"


def check(name, text, want):
    path = f"{folder}/{name}.sched"
    open(path, "w").write(text)
    # placed again, for what it says does not depend on places
    r = run(edlc, source, f"--schedule={path}", "-o", f"{folder}/{name}")
    at = [i + 1 for i, x in enumerate(text.split("\n")) if HERE in x]
    assert r.returncode == 1 and re.search(want, r.stdout), \
        (name, r.returncode, r.stdout)
    assert not at or f"{name}.sched:{at[0]}:" in r.stdout, (name, at, r.stdout)


good = schedule()
for f in (drop, twice, another_gradient, in_the_update, with_microbatches,
          before_a_reader):
    check(f.__name__, *f(good))
check(new_weight.__name__, *new_weight(schedule("--offload=host")))
