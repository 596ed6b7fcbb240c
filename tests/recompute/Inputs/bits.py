"""bits.py EDLC FILE.edl FOLDER STEPS [--set=...] : FLAGS : FLAGS ...: trains a
model on random inputs once for each list of flags; checkpoints, outputs and
gradients must have the same bytes under all of them. Prints a line for each."""
import hashlib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..",
                                "codegen", "Inputs"))
import numpy as np

import against_eval


def run(*args):
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if r.returncode:
        sys.exit(f"{' '.join(args)}\n{r.stdout.decode()}")


def digest(*paths):
    h = hashlib.sha256()
    for p in paths:
        h.update(open(p, "rb").read())
    return h.hexdigest()[:16]


def main():
    edlc, source, folder, steps = sys.argv[1:5]
    lists, common = [[]], []
    for word in sys.argv[5:]:
        if word == ":":
            lists.append([])
        else:
            lists[-1].append(word)
    common, lists = lists[0], lists[1:]
    os.makedirs(folder, exist_ok=True)
    build = f"{folder}/out"
    run(edlc, source, *common, "-o", build)
    model = [f[:-6] for f in os.listdir(build) if f.endswith(".sched")
             and os.path.exists(f"{build}/{f[:-6]}_main.c")]
    for word in common:
        if word.startswith("--model="):
            model = [word[8:]]
    inputs = f"{folder}/in.safetensors"
    one = against_eval.inputs(build, model[0])
    against_eval.save(inputs, {name: (kind, np.concatenate(
        [np.roll(a, i, -1) for i in range(int(steps))]))
        for name, (kind, a) in one.items()})
    first = None
    for flags in lists:
        save, out = f"{folder}/save.safetensors", f"{folder}/o.safetensors"
        run(edlc, "run", source, *common, *flags, f"--inputs={inputs}",
            f"--steps={steps}", f"--save={save}", f"--outputs={out}",
            "--grads", "--quiet")
        bits = digest(save, out)
        first = first or bits
        print(bits == first and "same" or "OTHER", bits, " ".join(flags))
        if bits != first:
            sys.exit(1)


main()
