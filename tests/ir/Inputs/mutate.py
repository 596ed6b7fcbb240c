"""mutate.py PLACED.eir RUNNER COUNT: the verifier against the machine.

Changes lines of a placed module at random (order, homes, offsets, places).
RUNNER runs what the verifier takes in its regions, and says 0 when the
tensors come out as the evaluator computes them, 3 when the verifier refuses
the module. Anything else is a change that the verifier should have seen."""
import random
import re
import subprocess
import sys

HOME = re.compile(r" in (tensor )?([\w.']+)\(([^)]*)\)")
PLACE = re.compile(r"  \S*(workspace|state|stash|io|grads) \S+ \d+ \d+$")
FIRST = re.compile(r"\s+([\w.']+)[ ,]")


def node_lines(lines):
    inside = False
    for i, line in enumerate(lines):
        if line == "}":
            inside = False
        words = line.split()
        if inside and words[0] not in ("}", "block", "phase"):
            yield i
        if line.startswith("graph "):
            inside = True


class Mutator:
    def __init__(self, lines):
        self.base = lines
        self.nodes = list(node_lines(lines))
        self.places = [i for i, l in enumerate(lines) if PLACE.match(l)]
        self.homes = [i for i in self.nodes if HOME.search(lines[i])]

    def share_place(self, lines):
        i, k = random.choice(self.places), random.choice(self.places)
        words = lines[i].split()
        words[-2] = lines[k].split()[-2]
        lines[i] = "  " + " ".join(words)

    def move_line(self, lines):
        i = random.choice(self.nodes)
        if not lines[i].endswith("{"):
            to = i + random.choice([-6, -4, -3, -2, -1, 1, 2, 3, 5, 8])
            line = lines.pop(i)
            lines.insert(max(1, min(to, len(lines) - 1)), line)

    def swap_home(self, lines):
        i, k = random.choice(self.homes), random.choice(self.homes)
        to = random.choice(list(HOME.finditer(lines[i])))
        of = random.choice(list(HOME.finditer(lines[k])))
        part = random.choice([0, 2, 3])
        lines[i] = (lines[i][:to.start(part)] + of.group(part)
                    + lines[i][to.end(part):])

    def give_home(self, lines):
        i = random.choice(self.nodes)
        k = i - random.randrange(1, 12)
        of = re.search(r": \w+\[([\d,]*)\]$", lines[i])
        if not of or k not in self.nodes or not FIRST.match(lines[k]):
            return
        strides, step = [], 1
        for dim in reversed([int(d) for d in of.group(1).split(",") if d]):
            strides.insert(0, str(step))
            step *= dim
        inside = "; ".join(["0"] + ([",".join(strides)] if strides else []))
        name = FIRST.match(lines[i]).group(1)
        lines[i] += f" in {FIRST.match(lines[k]).group(1)}({inside})"
        gone = re.compile(rf"  \S*workspace {re.escape(name)} \d+ \d+$")
        lines[:] = [l for l in lines if not gone.match(l)]

    def nudge(self, lines):
        i = random.choice(self.homes)
        at = HOME.search(lines[i])
        number = random.choice(list(re.finditer(r"\d+", at.group(3))))
        value = int(number.group()) + random.choice([-1, 1, 4, 8, 16])
        start = at.start(3) + number.start()
        lines[i] = (lines[i][:start] + str(max(0, value))
                    + lines[i][at.start(3) + number.end():])

    def mutant(self):
        lines = list(self.base)
        random.choice([self.share_place, self.move_line, self.swap_home,
                       self.give_home, self.nudge])(lines)
        return "\n".join(lines)


def main():
    placed, runner, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random.seed(1)
    mutator = Mutator(open(placed).read().split("\n"))
    path = placed + ".mutant"
    answers = {0: 0, 3: 0}
    for _ in range(count):
        with open(path, "w") as f:
            f.write(mutator.mutant())
        run = subprocess.run([runner, path, "placed"], capture_output=True)
        if run.returncode not in answers:
            print(run.stderr.decode(), "the verifier took", path)
            return 1
        answers[run.returncode] += 1
    print(f"{answers[0]} right, {answers[3]} refused")
    return 0 if min(answers.values()) > count // 20 else 1


if __name__ == "__main__":
    sys.exit(main())
