"""random_models.py SEED N [SIZE...]: an .edl file of N random models, each
with a loss and parameters, whose groups, views and places in memory are not
chosen by hand; SIZE: of an axis. Values stay small: what grows goes through
tanh."""
import random
import sys


SIZES = [int(x) for x in sys.argv[3:]] or [3, 4, 17, 33]


class Model:
    def __init__(self, rng, name):
        self.rng, self.name = rng, name
        self.lines, self.pool, self.n = [], [], 0
        self.inputs = []
        for i in range(2):
            shape = self.shape()
            self.inputs.append(f"x{i}: f32{list(shape)}")
            self.pool.append((f"x{i}", shape))
        for i in range(3):
            shape = self.shape()
            self.lines.append(f"param p{i}: f32{list(shape)} = normal(std = 1.0)")
            self.pool.append((f"p{i}", shape))

    def shape(self):
        return tuple(self.rng.choice(SIZES)
                     for _ in range(self.rng.choice([2, 3, 3])))

    def add(self, shape, text):
        self.lines.append(f"v{self.n} = {text}")
        self.pool.append((f"v{self.n}", tuple(shape)))
        self.n += 1

    def pick(self):
        # later values more often, and parameters so that they are used
        return self.rng.choice(self.pool[-4:] + self.pool)

    def unary(self):
        x, s = self.pick()
        f = self.rng.choice(["tanh({})", "relu({})*0.7", "gelu_tanh({})",
                             "silu({})", "exp(-abs({}))", "{}*0.5 + 1.0",
                             "sigmoid({})", "dropout({}, 0.25)", "-{}",
                             "sin({})", "softplus({})"])
        self.add(s, f.format(x))

    def binary(self):
        x, s = self.pick()
        y, t = self.rng.choice([p for p in self.pool if p[1] == s])
        if self.rng.random() < 0.3:
            axis = self.rng.randrange(len(s))
            y = f"mean({y}, axis = {axis}, keep = true)"
        f = self.rng.choice(["{} + {}", "{} - {}", "tanh({}*{})",
                             "maximum({}, {})"])
        self.add(s, f.format(x, y))

    def row(self):
        x, s = self.pick()
        axis = self.rng.randrange(len(s))
        f = self.rng.choice([
            f"softmax({x}, axis = {axis})", f"layernorm({x}, eps = 1e-2)",
            f"rmsnorm({x}, eps = 1e-2)",
            f"log_softmax({x}, axis = {axis})*0.3",
            f"{x} - mean({x}, axis = {axis}, keep = true)"])
        self.add(s, f)

    def reduce(self):
        x, s = self.pick()
        if len(s) < 3:
            return self.unary()
        axis = self.rng.randrange(3)
        f = self.rng.choice(["mean({}, axis = {})", "max({}, axis = {})",
                             "logsumexp({}, axis = {})*0.3",
                             "variance({}, axis = {}, ddof = 0)"])
        self.add(s[:axis] + s[axis + 1:], f"tanh({f.format(x, axis)})")

    def view(self):
        x, s = self.pick()
        r = len(s)
        kind = self.rng.choice(["transpose", "reshape", "slice", "concat",
                                "split", "pad"])
        axis = self.rng.randrange(r)
        if kind == "transpose":
            perm = self.rng.sample(range(r), r)
            self.add([s[i] for i in perm], f"transpose({x}, {perm})")
        elif kind == "reshape" and r == 3:
            t = self.rng.choice([(s[0] * s[1], s[2]), (s[0], s[1] * s[2])])
            self.add(t, f"reshape({x}, {list(t)})")
        elif kind == "slice" and s[axis] > 2:
            part = [":"] * r
            part[axis], t = "1:-1", list(s)
            t[axis] -= 2
            self.add(t, f"{x}[{', '.join(part)}]")
        elif kind == "concat" and s[axis] < 40:
            t = list(s)
            t[axis] *= 2
            self.add(t, f"concat([{x}, tanh({x})], axis = {axis})")
        elif kind == "split" and s[axis] % 2 == 0:
            t = list(s)
            t[axis] //= 2
            self.lines.append(f"a{self.n}, b{self.n} = split({x}, 2, axis = {axis})")
            self.add(t, f"a{self.n}*b{self.n}")
        elif kind == "pad":
            t = list(s)
            t[axis] += 2
            amounts = [[1, 1] if i == axis else [0, 0] for i in range(r)]
            self.add(t, f"pad({x}, {amounts}, value = 0.25)")
        else:
            self.unary()

    def product(self):
        x, s = self.pick()
        fits = [p for p in self.pool
                if len(p[1]) == 2 and p[1][0] == s[-1] or p[1] == s]
        y, t = self.rng.choice(fits)
        if t == s and not (len(s) == 2 and s[0] == s[1]):
            y, t = f"{y}'", s[:-2] + (s[-1], s[-2])
        if s[-2] * t[-1] > max(3000, max(SIZES)**2):
            return self.unary()
        self.add(s[:-1] + (t[-1],), f"tanh(({x} @ {y})*0.2)")

    def text(self):
        steps = [self.unary, self.binary, self.binary, self.row, self.reduce,
                 self.view, self.view, self.product]
        for _ in range(self.rng.choice([8, 14, 20])):
            self.rng.choice(steps)()
        terms = [f"mean({v}*{v})" for v, _ in self.pool[-6:]]
        terms += [f"mean(p{i}*p{i})*0.1" for i in range(3)]
        body = self.lines + ["output loss = " + " + ".join(terms)]
        out = self.pool[-1][0]
        body.append(f"output last = {out} + 0.0")
        return (f"model {self.name}({', '.join(self.inputs)}) {{\n  " +
                "\n  ".join(body) + "\n}\n\n" +
                f"train {self.name} {{\n  minimize loss\n"
                "  optimizer adamw(lr = 1e-3, betas = [0.9, 0.99], "
                "eps = 1e-8, weight_decay = 0.01)\n"
                f"  accumulate {self.rng.choice([1, 2])}\n  steps 1\n}}\n")


def main():
    seed, n = int(sys.argv[1]), int(sys.argv[2])
    print("edl 1")
    for i in range(n):
        print(Model(random.Random(seed * 1000 + i), f"m{i:02d}").text())


main()
