"""borrowed.py EDLC MODEL FOLDER: stash tensors moved over every gradient.

With one microbatch a step they lie in the gradients' bytes. Wherever such a
tensor is moved that no other is, the schedule must be refused, or train to the
same bits."""
import re
import sys

from trained import Trainer

sys.dont_write_bytecode = True

LINE = re.compile(r"^  grads (\S+) (\d+) (\d+)$", re.M)
TRAINED = 6  # as many of the accepted ones, evenly


def moves(text):
    """Schedules with one such tensor at a gradient's place."""
    stash = set(re.findall(r"^stash (\S+) :", text, re.M))
    rows = [(name, int(at), int(n)) for name, at, n in LINE.findall(text)]
    held = [r for r in rows if r[0] in stash]
    region = int(re.search(r"^  grads (\d+)$", text, re.M)[1])
    for name, at, n in held:
        for to in [r[1] for r in rows if r[0] not in stash]:
            if to + n <= region and all(
                    r[0] == name or to >= r[1] + r[2] or r[1] >= to + n
                    for r in held):
                yield text.replace(f"  grads {name} {at} {n}\n",
                                   f"  grads {name} {to} {n}\n")


def main():
    edlc, model, folder = sys.argv[1:]
    t = Trainer(edlc, model, folder)
    good, refused = [], 0
    for i, text in enumerate(moves(t.schedule)):
        status, said = t.compiles(f"moved{i}", text)
        if status == 0:
            good.append(i)
            continue
        if status != 1 or not re.search("lies over .*, which is in use", said):
            sys.exit(f"moved{i}: status {status}\n{said}")
        refused += 1
    for i in good[::max(1, len(good) // TRAINED)]:
        if t.train(f"{folder}/moved{i}") != t.want:
            sys.exit(f"moved{i}: other bits")
    print(f"{len(good)} accepted, {refused} refused")
    if not good or not refused:
        sys.exit("expected moves that are right, and moves that are not")


main()
