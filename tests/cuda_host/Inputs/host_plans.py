"""host_plans.py FOLDER PRECISION LIMIT...: plans.edl under limits, the
first of which makes nothing again, built for the CPU in FOLDER/PRECISION+LIMIT:
every plan asks the library of products for the same, in any order, and trains
to the same bits, and says so of its algorithms in the checkpoint."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "codegen", "Inputs"))
from against_eval import inputs, save  # noqa: E402


def facts(folder):
    text = open(f"{folder}/plans.sched", encoding="utf-8").read()
    section = text.partition("\nproducts {")[2].partition("\n}")[0]
    return (len(re.findall(r" recomputed", text)),
            sorted(section.strip().splitlines()))


def train(folder, given):
    save(f"{folder}/in.st", given)
    done = subprocess.run(
        ["./plans", "--quiet", "--inputs=in.st", "--steps=1", "--save=save.st"],
        cwd=folder, env={**os.environ, "EDL_HOST_SEED": "0"})
    return done.returncode == 0 and open(f"{folder}/save.st", "rb").read()


def main():
    folder, precision, *limits = sys.argv[1:]
    folders = [f"{folder}/{precision}{m}" for m in limits]
    given = inputs(folders[0], "plans")
    again, products = zip(*(facts(f) for f in folders))
    same = all(p == products[0] for p in products)
    saved = [train(f, given) for f in folders]
    equal = saved[0] and all(s == saved[0] for s in saved)
    print(f"{precision}: {max(again)} made again, "
          f"{'the same' if same and not again[0] else 'other'} products, "
          f"{'the same' if equal else 'other'} bits")


main()
