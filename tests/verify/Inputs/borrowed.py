"""borrowed.py EDLC CHECKER MODEL FOLDER [FLAG...]: what lies in gradients,
moved over each.

With one microbatch a step, stash tensors and values lie in the gradients'
bytes. Wherever one is moved that no other stash tensor is, the schedule must
be refused, or train to the same bits. What lies in a tensor of the stash is
refused by the checker alone, too, which follows bytes."""
import re
import subprocess
import sys

from trained import Trainer

sys.dont_write_bytecode = True

LINE = re.compile(r"^  (\S*grads) (\S+) (\d+) (\d+)$", re.M)
MOVED, TRAINED = 300, 8  # as many, evenly


def evenly(things, n):
    return things[::max(1, len(things) // n)]


def moves(text):
    """Schedules with one of them at a gradient's place."""
    stash = set(re.findall(r"^stash (\S+) :", text, re.M))
    rows = [(region, name, int(at), int(n))
            for region, name, at, n in LINE.findall(text)]
    held = [r for r in rows if r[0] == "grads" and r[1] in stash]
    grads = [r for r in rows if r[0] == "grads" and r[1] not in stash]
    room = int(re.search(r"^  grads (\d+)$", text, re.M)[1])
    for row in rows:
        region, name, at, n = row
        for to in [] if row in grads else [g[2] for g in grads]:
            if to + n <= room and all(
                    r == row or to >= r[2] + r[3] or r[2] >= to + n
                    for r in held):
                yield name in stash, text.replace(
                    f"  {region} {name} {at} {n}\n",
                    f"  {region} {name} {to} {n}\n")


def main():
    edlc, checker, model, folder, *flags = sys.argv[1:]
    t = Trainer(edlc, model, folder, flags)
    lowered = f"{folder}/model.eir"
    with open(lowered, "w", encoding="utf-8") as f:
        f.write(t.run([edlc, "ir", model, *flags, "--stop-after=fuse"]))
    good, refused = [], 0
    for i, (stash, text) in enumerate(
            evenly(list(moves(t.schedule)), MOVED)):
        status, said = t.compiles(f"moved{i}", text)
        if status == 0:
            good.append(i)
            continue
        if status != 1 or not re.search("lies over .*, which is", said):
            sys.exit(f"moved{i}: status {status}\n{said}")
        refused += 1
        alone = subprocess.run([checker, f"{folder}/moved{i}.sched", lowered],
                               capture_output=True, text=True)
        if stash and (alone.returncode != 1 or
                      "has overwritten" not in alone.stdout and
                      "overwrites" not in alone.stdout):
            sys.exit(f"moved{i}: {alone.returncode}, not seen by the checker\n"
                     f"{alone.stdout}{said}")
    for i in evenly(good, TRAINED):
        if t.train(f"{folder}/moved{i}") != t.want:
            sys.exit(f"moved{i}: other bits")
    print(f"{len(good)} accepted, {refused} refused")
    if not good or not refused:
        sys.exit("expected moves that are right, and moves that are not")


main()
