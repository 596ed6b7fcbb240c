"""offload.py EDLC MODEL FOLDER: values that are moved off the device by hand.

The right schedules verify and train to the same bits; each with one thing
wrong is rejected in these words."""
import re
import subprocess
import sys

from trained import Trainer

sys.dont_write_bytecode = True
MOVED = ["h_0.mlp.a", "h_0.attn.y", "h_1.mlp.c_fc"]


def graph(text, name):
    at = text.index(f"\ngraph {name} {{\n")
    end = text.index("\n}\n", at)
    return text[:at], text[at:end], text[end:]


def once(pattern, new, text):
    text, n = re.subn(pattern, new, text, count=1, flags=re.M)
    assert n == 1, pattern
    return text


def in_graph(t, name, pattern, new):
    before, g, after = graph(t, name)
    return before + once(pattern, new, g) + after


def move(t, x, space):
    """The stash tensor x lies in the space; its copies run beside two nodes."""
    n = re.escape(x)
    shape = re.search(rf"^stash {n} : (\S+)(.*)", t, re.M)
    kind, layout = shape.group(1), shape.group(2).strip()
    strides = re.search(rf"^ .*\b{n}\b.* : .*in tensor {n}\((.*?)\)", t,
                        re.M).group(1)
    t = once(rf"^(stash {n} : \S+).*", rf"\1 @{space} {layout}", t)
    before, g, after = graph(t, "forward")
    g = once(rf" in tensor {n}\({re.escape(strides)}\)",
             f" {layout}" if layout else "", g)
    line = f"  write {x} = {x}\n"
    assert line in g
    at = g.index(line)
    rest = g[at + len(line):].split("\n")
    later = "\n".join(rest[:1]), "\n".join(rest[1:])
    tail = f" {layout}" if layout else ""
    g = (g[:at] + f"  {x}.out = offload {x} (queue = 0) : {kind} in "
         f"tensor {x}({strides}) @{space}\n{later[0]}\n  wait {x}.out, {x}\n"
         f"  write {x} = {x}.out\n{later[1]}")
    before, g, after = graph(before + g + after, "backward")
    read = re.search(rf"^  {n} = read {n} : \S+.*\n", g, re.M)
    head, rest = g[:read.start()], g[read.end():]
    rest = re.sub(rf"(?<![\w.'-]){n}(?![\w.'])", f"{x}.in", rest)
    rest = re.sub(rf"\b(read|tensor) {n}\.in", rf"\1 {x}", rest)
    lines = head.split("\n")
    lines[2:2] = [f"  {x} = read {x} : {kind} @{space}".replace(
        f" @{space}", ""), f"  {x}.in = fetch {x} (queue = 1) : {kind}{tail}"]
    g = "\n".join(lines) + f"  wait {x}.in, {x}\n" + rest
    return before + g + after


def moved(t, space):
    t = t[:t.index("placement {")]
    for x in MOVED:
        t = move(t, x, space)
    return t


def place(t, what, offset):
    return once(rf"^  {re.escape(what)} \d+ ", f"  {what} {offset} ", t)


def place_of(t, what):
    line = re.search(rf"^  {re.escape(what)} (\d+) (\d+)$", t, re.M)
    return int(line.group(1)), int(line.group(2))


# ---- one thing wrong ----

def no_wait(t):
    """: reads h_0.mlp.a.in, which is not waited for"""
    return in_graph(t, "backward", r"^  wait h_0.mlp.a.in, h_0.mlp.a\n", "")


def no_wait_out(t):
    """: reads h_0.mlp.a.out, which is not waited for"""
    return in_graph(t, "forward", r"^  wait h_0.mlp.a.out, h_0.mlp.a\n", "")


def no_fetch(t):
    """h_0.mlp.a.in"""
    return in_graph(t, "backward", r"^  h_0.mlp.a.in = fetch .*\n", "")


def no_offload(t):
    """h_0.mlp.a.out"""
    return in_graph(t, "forward", r"^  h_0.mlp.a.out = offload .*\n", "")


def read_early(t):
    """reads h_0.mlp.a.in, which is not waited for"""
    before, g, after = graph(t, "backward")
    wait = "  wait h_0.mlp.a.in, h_0.mlp.a\n"
    assert wait in g
    g = g.replace(wait, "")
    return before + g + "\n" + wait.rstrip() + after


def write_early(t):
    """reads h_0.mlp.a.out, which is not waited for"""
    before, g, after = graph(t, "forward")
    lines = ("  wait h_0.mlp.a.out, h_0.mlp.a\n",
             "  write h_0.mlp.a = h_0.mlp.a.out\n")
    assert "".join(lines) in g
    g = g.replace("".join(lines), lines[1] + lines[0])
    return before + g + after


def swapped(t):
    """h_0.mlp.c_fc.out: offload|operand|does not lie|is not|in the model"""
    return in_graph(t, "forward", r"offload h_0.mlp.a \(",
                    "offload h_0.mlp.c_fc (")


def wrong_source(t):
    """is a copy of h_0.mlp.a, not of h_0.x"""
    return in_graph(t, "forward", r"wait h_0.mlp.a.out, h_0.mlp.a$",
                    "wait h_0.mlp.a.out, h_0.x")


def wrong_queue(t):
    """fetch goes by queue 1"""
    return in_graph(t, "backward", r"fetch h_0.mlp.a \(queue = 1\)",
                    "fetch h_0.mlp.a (queue = 0)")


def twice(t):
    """is waited for twice"""
    return in_graph(t, "backward", r"^  wait h_0.mlp.a.in, h_0.mlp.a\n",
                    r"\g<0>\g<0>")


def slot_taken(t):
    """alive|overwritten|overwrites|copied"""
    _, bytes_ = place_of(t, "backward.workspace h_0.mlp.a.in")
    x = [int(v) for v in re.findall(r"^  backward\.workspace \S+ (\d+) \d+$",
                                    t, re.M)]
    here, _ = place_of(t, "backward.workspace h_0.mlp.a.in")
    other = next(v for v in sorted(x) if v != here)
    return place(t, "backward.workspace h_0.mlp.a.in", other)


def host_overlaps(t):
    """lies over"""
    at, _ = place_of(t, f"{SPACE} h_0.attn.y")
    return place(t, f"{SPACE} h_0.mlp.a", at)


def host_not_aligned(t):
    """no multiple of 4096"""
    at, _ = place_of(t, f"{SPACE} h_0.mlp.a")
    return place(t, f"{SPACE} h_0.mlp.a", at + 64)


def on_device(t):
    """off the device|is not on the device"""
    return in_graph(t, "backward", r"^  wait h_0.mlp.a.in, h_0.mlp.a\n",
                    r"\g<0>  odd = neg h_0.mlp.a : f32[2,8,16]\n")


def no_copy(t):
    """which is in another space"""
    before, g, after = graph(t, "forward")
    g = once(r"^  h_0.mlp.a.out = offload .*\n", "", g)
    g = once(r"^  wait h_0.mlp.a.out, h_0.mlp.a\n", "", g)
    g = once(r"^  write h_0.mlp.a = h_0.mlp.a.out$",
             "  write h_0.mlp.a = h_0.mlp.a", g)
    return before + g + after


WRONG = [no_wait, no_wait_out, no_fetch, no_offload, read_early, write_early,
         swapped, wrong_source, wrong_queue, twice, slot_taken, host_overlaps,
         host_not_aligned, on_device, no_copy]
SPACE = "host"


def verify(edlc, model, path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = subprocess.run([edlc, "verify", path, model], capture_output=True,
                          text=True)
    return done.returncode, done.stdout + done.stderr


def mutate(trainer, placed):
    bad = 0
    for f in WRONG:
        status, said = verify(trainer.edlc, trainer.model,
                              f"{trainer.folder}/{f.__name__}.sched",
                              f(placed))
        if status != 1 or not re.search(f.__doc__, said):
            bad += 1
            print(f"{f.__name__}: status {status}\n{said}")
    print(f"{len(WRONG) - bad} of {len(WRONG)} wrong ones are rejected")
    return bad


def main():
    global SPACE
    trainer = Trainer(*sys.argv[1:4])
    bad = 0
    for SPACE in ("host", "disk"):
        name = f"moved_{SPACE}"
        said, same = trainer.accepts(name, moved(trainer.schedule, SPACE))
        print(f"moved to {SPACE}: {said}")
        if same:
            path = f"{trainer.folder}/{name}/{trainer.name}.sched"
            bad += mutate(trainer, open(path, encoding="utf-8").read())
        bad += not same
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
