"""host_eval.py EDLC FILE.edl FOLDER [--set=..] [--within=X] [MODEL...]: the
programs of the CUDA target, built for the CPU (build.sh), against the
evaluator; each under several orders of threads, blocks and streams, whose bits
must be equal. Prints a line for each model; exit status 1 when one is wrong.
--within: what a norm may be off by, as a part of it, where bf16 rounds; then
the evaluator takes the schedule, which says where."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "codegen", "Inputs"))
from against_eval import compare, inputs, load, run, save  # noqa: E402

SEEDS = (0, 1, 7)


def run_seed(folder, model, seed, flags):
    out = f"{folder}/{model}.{seed}.st"
    r = subprocess.run([f"{folder}/{model}", "--quiet", f"--outputs={out}",
                        *flags], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True,
                       env={**os.environ, "EDL_HOST_SEED": str(seed)})
    if r.returncode:
        sys.exit(f"{model}, seed {seed}: status {r.returncode}\n{r.stdout}")
    return open(out, "rb").read(), load(out)


def check(edlc, source, folder, model, sets, within):
    save(f"{folder}/in.st", inputs(folder, model))
    sched = open(f"{folder}/{model}.sched").read()
    name = re.search(r"^model (\S+)", sched, re.M)[1]
    flags = [f"--inputs={folder}/in.st", "--seed=3"]
    if "program step" in sched:
        flags += ["--grads", "--steps=1"]
    what = [source, f"--model={name}"] + sets
    if within:
        what = [f"{folder}/{model}.sched"]
    run([edlc, "eval", *what, f"--outputs={folder}/e.st"] + flags)
    first, got = run_seed(folder, model, SEEDS[0], flags)
    wrong = compare(model, load(f"{folder}/e.st"), got, within)
    for seed in SEEDS[1:]:
        if run_seed(folder, model, seed, flags)[0] != first:
            wrong.append(f"other bits with seed {seed}")
    print(f"{model}: {'right' if not wrong else 'wrong'}")
    for w in wrong:
        print(f"  {w}")
    return not wrong


def main():
    edlc, source, folder, *rest = sys.argv[1:]
    within = [float(a[9:]) for a in rest if a.startswith("--within=")]
    sets = [a for a in rest if a.startswith("--") and a[:9] != "--within="]
    models = [a for a in rest if not a.startswith("--")]
    models = models or sorted(os.path.basename(p)[:-6]
                              for p in glob.glob(f"{folder}/*.sched"))
    good = [check(edlc, source, folder, m, sets,
                  within[0] if within else None) for m in models]
    sys.exit(0 if all(good) else 1)


main()
