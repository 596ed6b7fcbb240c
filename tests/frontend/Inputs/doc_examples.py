"""Runs the examples of docs/schedule.md and README.md: what edlc prints stands
there, line by line."""
import os
import re
import subprocess
import sys

edlc, root, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)


def read(path):
    return open(os.path.join(root, path), encoding="utf-8").read()


def run(*args, status=0):
    r = subprocess.run([edlc, *args], capture_output=True, text=True,
                       cwd=folder)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return (r.stdout + r.stderr).rstrip("\n")


def write(name, text):
    os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
    open(os.path.join(folder, name), "w").write(text)


def stands(page, text, name):
    assert text and text in page, f"{name} does not have:\n{text}"


def swap(text, old, new):
    assert text.count(old) == 1, (old, text.count(old))
    return text.replace(old, new)


def edited(text, page, op):
    """The edit that the page shows, `-` and `+`, graph by graph."""
    a = page.index("    -stash gpt.h.4.mlp.a")
    lines = [x[4:] for x in page[a:page.index("    $ ", a)].splitlines()]
    parts = dict.fromkeys(["", "forward", "backward"], "")
    at = ""
    for x in lines:
        if x.startswith(" graph"):
            at = x.split()[1]
        parts[at] += x.split("     (further down)")[0] + "\n"
    text = text[:text.index("placement {")]
    for name, part in parts.items():
        at = text.index(f"graph {name} {{") if name else 0
        for x in re.findall(r"^-(.*\n)((?:\+.*\n)*)", part, re.M):
            if not x[0].startswith("placement"):
                new = re.sub(r"(?m)^\+", "", x[1])
                at = text.index(x[0], at)
                text = text[:at] + new + text[at + len(x[0]):]
                at += len(new)
    return text.replace("gelu_tanh gpt.h.4.mlp.c_fc recomputed",
                        f"{op} gpt.h.4.mlp.c_fc recomputed")


def schedule_page():
    name = "docs/schedule.md"
    page = read(name)
    plain = re.sub(r"(?m)^ {4}", "", page)
    model = os.path.join(root, "samples/chargpt.edl")
    run(model, "-o", "out")
    stands(plain, "chargpt.edl\n" + run("verify", "out/chargpt.sched", model),
           name)
    text = open(os.path.join(folder, "out/chargpt.sched")).read()
    write("./edited.sched", edited(text, page, "gelu_tanh"))
    run(model, "--schedule=edited.sched", "-o", "new")
    stands(plain, run("diff", "out/chargpt.sched", "new/chargpt.sched"), name)
    stands(plain, run("verify", "new/chargpt.sched", model), name)
    write("./edited.sched", edited(text, page, "silu_slope"))
    stands(plain, run(model, "--schedule=edited.sched", "-o", "no", status=1),
           name)


def readme():
    page = read("README.md")
    model = page[page.index("\nedl 1\n") + 1:]
    model = model[:model.index("```")]
    write("a/mlp.edl", model)
    write("b/mlp.edl", swap(model, "128.0)) as fc_2",
                            "128.0), bias = false) as fc_2"))
    for x, to in ("a", "old"), ("b", "new"):
        run(f"{x}/mlp.edl", "-o", to)
    shown = page[page.index("$ edlc diff old/mlp.sched new/mlp.sched\n"):]
    shown = shown[shown.index("\n") + 1:shown.index("\n…\n") + 1]
    stands(run("diff", "old/mlp.sched", "new/mlp.sched"), shown, "edlc diff")


schedule_page()
readme()
