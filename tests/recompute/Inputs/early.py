"""early.py EDLC FILE.edl FOLDER MODEL [FLAGS...]: a model under its smallest
limit, where parameters are updated in the backward pass. Where gradients are
to be kept the smallest limit is larger. Every plan verifies, and trains to the
same bits as the program without a limit, in 1 and in 2 threads."""
import hashlib
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..",
                                "codegen", "Inputs"))
import numpy as np

import against_eval

edlc, source, folder, model, *flags = sys.argv[1:]
STEPS = 3


def run(*args, code=0):
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
    return r.stdout


def plan(*more, code=0):
    return json.loads(run(edlc, "plan", source, f"--model={model}", "--json",
                          *flags, *more, code=code))


def smallest(*more):
    low = plan("--memory=1", *more, code=3)["total"]
    assert plan(f"--memory={low}", *more)["total"] <= low
    plan(f"--memory={low - 1}", *more, code=3)
    return low


def build(*more):
    run("rm", "-rf", folder)
    run(edlc, source, f"--model={model}", *flags, *more, "-o", folder)
    run("make", "-s", "-C", folder, "CFLAGS=-O1 -march=native", model)


def trained(threads):
    saved, out = f"{folder}/saved", f"{folder}/out"
    run(f"{folder}/{model}", f"--inputs={inputs}", f"--steps={STEPS}",
        f"--save={saved}", f"--outputs={out}", "--quiet",
        f"--threads={threads}")
    return hashlib.sha256(open(saved, "rb").read() +
                          open(out, "rb").read()).hexdigest()


def batches():
    path = f"{folder}.in"
    against_eval.save(path, {n: (k, np.concatenate(
        [np.roll(a, i, -1) for i in range(STEPS)]))
        for n, (k, a) in against_eval.inputs(folder, model).items()})
    return path


low, kept = smallest(), smallest("--grads")
early = plan(f"--memory={low}")["early"]
assert low < kept and early["parameters"] > 0, (low, kept, early)
assert plan(f"--memory={kept}", "--grads")["early"]["parameters"] == 0
build()
inputs = batches()
first = trained(1)
for limit in (low, (low + kept) // 2):
    build(f"--memory={limit}")
    for threads in (1, 2):
        assert trained(threads) == first, (limit, threads)
    said = run(edlc, "verify", f"{folder}/{model}.sched", source)
    assert int(re.search(r"peak (\d+)", said)[1]) <= limit
print(f"{model}: {early['parameters']} parameters early, {low} of {kept}")
