"""random_edits.py EDLC MODEL FOLDER COUNT TRAIN SEED [FLAG...]: COUNT random edits of
a schedule. edlc never crashes; what it accepts trains to the same bits: the
first TRAIN accepted ones that are other C are trained."""
import os
import random
import re
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(here, "../../ir/Inputs"))

from mutate import Mutator  # noqa: E402
from trained import Trainer  # noqa: E402


class Editor(Mutator):
    """Places, homes and order as the verifier's test edits them; and words,
    numbers and lines of anything."""

    def unit(self, lines):
        """First line and end of a statement: a group with its body."""
        starts = [i for i in self.nodes if re.match(r"  \S", lines[i])]
        i = random.choice([i for i in starts if " fused " in lines[i]
                           or lines[i].startswith("  fused")])
        return starts, i, lines.index("  }", i) + 1

    def move_unit(self, lines):
        starts, i, end = self.unit(lines)
        unit = lines[i:end]
        step = random.choice([-15, -9, -6, -4, -3, 4, 5, 7, 10, 16])
        at = min(max(starts.index(i) + step, 0), len(starts) - 1)
        to = starts[at] - (len(unit) if starts[at] > i else 0)
        del lines[i:end]
        lines[to:to] = unit

    def take_over(self, lines):
        """A result of a group in place of one of its operands."""
        _, i, end = self.unit(lines)
        operands = re.findall(r"[\w.']+", lines[i].split("fused")[1]
                              .split("(kind")[0])
        k = random.randrange(i + 1, end - 1)
        of = re.search(r": \w+\[([\d,]*)\]$", lines[k])
        if not operands or not of:
            return
        strides, step = [], 1
        for dim in reversed([int(d) for d in of.group(1).split(",") if d]):
            strides.insert(0, str(step))
            step *= dim
        inside = "; ".join(["0"] + ([",".join(strides)] if strides else []))
        lines[k] += f" in {random.choice(operands)}({inside})"

    def rename(self, lines):
        i, k = random.choice(self.nodes), random.choice(self.nodes)
        mine = re.findall(r"[\w.']{3,}", lines[i])
        other = re.findall(r"[\w.']{3,}", lines[k])
        if mine and other:
            lines[i] = lines[i].replace(random.choice(mine),
                                        random.choice(other), 1)

    def number(self, lines):
        i = random.randrange(len(lines))
        found = list(re.finditer(r"\b\d+\b", lines[i]))
        if found:
            at = random.choice(found)
            value = int(at.group()) + random.choice([-64, -1, 1, 2, 64])
            lines[i] = (lines[i][:at.start()] + str(max(0, value))
                        + lines[i][at.end():])

    def delete(self, lines):
        del lines[random.randrange(len(lines))]

    def repeat(self, lines):
        i = random.randrange(len(lines))
        lines.insert(random.randrange(len(lines)), lines[i])

    def offset(self, lines):
        i = random.choice(self.places)
        words = lines[i].split()
        words[-2] = str(64 * random.randrange(0, 300))
        lines[i] = "  " + " ".join(words)

    def mutant(self):
        """One edit; or some whose result is placed again."""
        lines = list(self.base)
        if random.randrange(2):
            random.choice([self.share_place, self.move_line, self.swap_home,
                           self.give_home, self.nudge, self.rename,
                           self.number, self.delete, self.repeat,
                           self.offset, self.offset])(lines)
            return "\n".join(lines)
        for _ in range(random.choice([1, 1, 2, 3])):
            random.choice([self.move_unit, self.take_over, self.take_over,
                           self.give_home])(lines)
        return "\n".join(lines[:lines.index("placement {")]) + "\n"


def main():
    edlc, model, folder, count, train, seed = sys.argv[1:7]
    random.seed(int(seed))
    trainer = Trainer(edlc, model, folder, sys.argv[7:])
    editor = Editor(trainer.schedule.split("\n"))
    accepted = other = 0
    for i in range(int(count)):
        text = editor.mutant()
        status, said = trainer.compiles("edit", text)
        if status not in (0, 1, 3) or (status == 1 and "error" not in said):
            print(f"edit {i}: status {status}\n{said}")
            return 1
        if status or text == trainer.schedule:
            continue
        accepted += 1
        same = trainer.text(os.path.join(folder, "edit")) == trainer.c
        if not same and other < int(train):
            other += 1
            if not trainer.same_bits("edit"):
                print(f"edit {i} was accepted, with other bits: "
                      f"{folder}/edit.sched")
                return 1
    print(f"{accepted} of {count} accepted, {other} trained to the same bits")
    return 0 if accepted and other else 1


sys.exit(main())
