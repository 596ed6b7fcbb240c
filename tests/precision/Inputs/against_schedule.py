"""against_schedule.py EDLC FOLDER SOURCE BITS MODEL... [FLAG...]: gradients
and outputs of emitted bf16 programs against the evaluator on the schedule,
where every value below f32 is rounded, and on the source, where none is. In
norms, relative:

    the schedule  within 2^-BITS: sums in another order now and then cross the
                  border between two bf16 numbers, which have 8 bits
    the source    within 2^-4, and, where much is rounded, further off than
                  the schedule may be

A gradient is measured against the largest of the model where it is tiny. The
bits are the same for 1, 2 and 3 threads."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../codegen/Inputs"))
sys.dont_write_bytecode = True
import against_eval as tool


def worst(expected, got):
    assert set(expected) == set(got), set(expected) ^ set(got)
    norms = {name: np.linalg.norm(e.astype(np.float64))
             for name, e in expected.items()}
    largest = max(norms.values())
    return max((np.linalg.norm(e.astype(np.float64) - got[name]) /
                max(norms[name], 1e-3 * largest), name)
               for name, e in expected.items())


def check(edlc, folder, source, close, model, more):
    tool.save(f"{folder}/in.st", tool.inputs(folder, model))
    flags = [f"--inputs={folder}/in.st", "--seed=3", "--grads", "--steps=1"]
    bits = set()
    for threads in (1, 2, 3):
        tool.run([f"{folder}/{model}", f"--outputs={folder}/y.st",
                  f"--threads={threads}", "--quiet"] + flags)
        bits.add(open(f"{folder}/y.st", "rb").read())
    assert len(bits) == 1, "the bits depend on the number of threads"
    got = tool.load(f"{folder}/y.st")
    tool.run([edlc, "eval", f"{folder}/{model}.sched",
              f"--outputs={folder}/e.st"] + flags)
    rounded = worst(tool.load(f"{folder}/e.st"), got)
    tool.run([edlc, "eval", source, f"--model={model}",
              f"--outputs={folder}/e.st"] + flags + more)
    exact = worst(tool.load(f"{folder}/e.st"), got)
    casts = open(f"{folder}/{model}.sched").read().count("(to = bf16)")
    assert rounded[0] <= close, rounded
    assert exact[0] <= 2.0 ** -4 and (casts < 50 or exact[0] > close), exact
    return casts


def main():
    edlc, folder, source, n = sys.argv[1:5]
    more = [a for a in sys.argv[5:] if a.startswith("--")]
    models = [a for a in sys.argv[5:] if not a.startswith("--")]
    casts = sum(check(edlc, folder, source, 2.0 ** -int(n), m, more)
                for m in models)
    assert casts > 20, casts
    print(f"{' '.join(models)}: right")


main()
