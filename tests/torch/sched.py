"""What the PyTorch side of a test needs to know of a compiled model, read
from its schedule: parameters and how they are trained, inputs, dims."""
import math
import re


class Sched:
    def __init__(self, path):
        self.params, self.inputs, self.dims, self.train = {}, {}, {}, {}
        section = None
        for line in open(path, encoding="utf-8"):
            line = line.strip()
            if line == "}":
                section = None
            elif line.endswith("{"):
                section = line.split()[0]
            elif section == "train":
                word, _, rest = line.partition(" ")
                self.train[word] = rest
            elif section is None:
                self.head(line)

    def head(self, line):
        m = re.match(r"(param|input) (\S+) : (\w+)\[([\d,]*)\](.*)", line)
        if m:
            kind, name, dtype, dims, rest = m.groups()
            shape = [int(d) for d in dims.split(",") if d]
            if kind == "input":
                self.inputs[name] = (dtype, shape)
            else:
                decay = re.search(r"\bdecay (\S+)", rest)
                scale = re.search(r"\blr_scale (\S+)", rest)
                self.params[name] = (shape, float(decay[1]) if decay else 0.0,
                                     float(scale[1]) if scale else 1.0)
        m = re.match(r"dim (\S+) = (\d+)", line)
        if m:
            self.dims[m[1]] = int(m[2])

    def number(self, key, default=None, of="optimizer"):
        m = re.search(rf"\b{key} = ([-\d.e+]+)", self.train.get(of, ""))
        return float(m[1]) if m else default

    @property
    def accumulate(self):
        return int(self.train.get("accumulate", "1"))

    @property
    def clip(self):
        return float(self.train.get("clip_norm", "0"))

    def lr(self, s):
        """Rate of update s (from 0), as docs/language.md defines it."""
        m = re.search(r"lr = (?:(\w+)\(|([-\d.e+]+))", self.train["optimizer"])
        if m[2]:
            return float(m[2])
        kind, peak = m[1], self.number("peak")
        warmup, floor = self.number("warmup", 0), self.number("floor", 0.0)
        if s < warmup:
            return peak * (s + 1) / warmup
        if kind == "constant":
            return peak
        t = min(1.0, (s - warmup) / (self.number("steps") - warmup))
        if kind == "linear":
            return peak + (floor - peak) * t
        return floor + (peak - floor) * 0.5 * (1 + math.cos(math.pi * t))
