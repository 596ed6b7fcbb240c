"""make_costs.py KIND NODES SEED: prints a cost graph of about so many nodes.
KIND: chain, unet, resnet, transformer (forward and backward passes of such
networks) or layered (random layers without a backward pass)."""
import random
import sys


class Net:
    """Forward nodes, and for each what its backward node reads."""

    def __init__(self, rng):
        self.rng = rng
        self.rows = []   # phase, time, bytes, inputs
        self.back = []   # (node, inputs)

    def add(self, time, size, *inputs):
        self.rows.append(("forward", time, size, list(inputs)))
        return len(self.rows) - 1

    def backward(self):
        rows, rng = self.rows, self.rng
        grad = {}    # of a node: the node of its gradient's last part
        last = len(rows) - 1
        rows.append(("backward", rng.randint(1, 40) * 5, 128, [last]))
        grad[last] = len(rows) - 1
        readers = {}
        for v in range(last + 1):
            for u in rows[v][3]:
                readers.setdefault(u, []).append(v)
        for v in range(last, -1, -1):
            _, time, size, inputs = rows[v]
            parts = [grad[v]] if v == last else \
                sorted({grad[w] for w in readers.get(v, [])})
            rows.append(("backward", int(time * rng.uniform(1.2, 2.8)) + 1,
                         size, sorted(set(inputs + [v] + parts))))
            grad[v] = len(rows) - 1
        return rows


def size_at(level, unit):
    """Activations halve, in all, from level to level."""
    return unit >> level


def chain(n, rng):
    net, v, unit = Net(rng), None, 1 << rng.randint(20, 26)
    steps = max(2, (n - 1) // 2)
    for i in range(steps):
        level = i * 5 // steps + rng.choice((0, 0, 1))
        time = rng.choice((rng.randint(20, 80), rng.randint(150, 500)))
        v = net.add(time, size_at(level, unit) * rng.choice((1, 1, 2)),
                    *([] if v is None else [v]))
    return net.backward()


def unet(n, rng):
    net, unit = Net(rng), 1 << rng.randint(20, 26)
    depth = 2 if n < 60 else 4 if n < 300 else 5
    each = max(1, ((n - 1) // 2 - 3 * depth) // (2 * depth + 1))
    skips, v = [], net.add(rng.randint(50, 300), unit)

    def convs(v, level):
        for _ in range(each):
            v = net.add(rng.randint(100, 600), size_at(level, unit), v)
        return v
    for level in range(depth):
        v = convs(v, level)
        skips.append(v)
        v = net.add(rng.randint(50, 150), size_at(level + 2, unit), v)
    v = convs(v, depth)
    for level in reversed(range(depth)):
        v = net.add(rng.randint(50, 200), size_at(level, unit), v)
        v = net.add(rng.randint(50, 200), size_at(level, unit) * 3 // 2, v,
                    skips[level])
        v = convs(v, level)
    net.add(rng.randint(20, 100), size_at(3, unit), v)
    return net.backward()


def resnet(n, rng):
    net, unit = Net(rng), 1 << rng.randint(20, 26)
    blocks = max(1, ((n - 1) // 2 - 3) // 8)
    v = net.add(rng.randint(100, 500), unit)
    for b in range(blocks):
        level, x = b * 4 // blocks, v
        for part in range(3):
            scale = 0 if part == 2 else rng.choice((1, 2))
            v = net.add(rng.randint(300, 700), size_at(level + scale, unit), v)
            v = net.add(rng.randint(60, 300), size_at(level + scale, unit), v)
        if b and level != (b - 1) * 4 // blocks:
            x = net.add(rng.randint(200, 500), size_at(level, unit), x)
        v = net.add(rng.randint(60, 200), size_at(level, unit), v, x)
        v = net.add(rng.randint(40, 120), size_at(level, unit), v)
    net.add(rng.randint(20, 100), size_at(5, unit), v)
    return net.backward()


def transformer(n, rng):
    net, unit = Net(rng), 1 << rng.randint(16, 20)
    blocks = max(1, ((n - 1) // 2 - 4) // 14)
    heads = rng.choice((2, 4, 8))
    x = net.add(rng.randint(5, 20), unit)
    for _ in range(blocks):
        v = net.add(rng.randint(10, 30), unit, x)
        q, k, w = (net.add(rng.randint(80, 120), unit, v) for _ in range(3))
        scores = net.add(rng.randint(50, 200), unit * heads // 2, q, k)
        v = net.add(rng.randint(20, 80), unit * heads // 2, scores)
        v = net.add(rng.randint(50, 200), unit, v, w)
        v = net.add(rng.randint(80, 120), unit, v)
        x = net.add(rng.randint(5, 20), unit, x, v)
        v = net.add(rng.randint(10, 30), unit, x)
        v = net.add(rng.randint(300, 500), unit * 4, v)
        v = net.add(rng.randint(20, 60), unit * 4, v)
        v = net.add(rng.randint(300, 500), unit, v)
        x = net.add(rng.randint(5, 20), unit, x, v)
    v = net.add(rng.randint(500, 900), unit * 6, x)
    net.add(rng.randint(20, 60), 128, v)
    return net.backward()


def layered(n, rng):
    rows, layers, v = [], [], 0
    width = max(2, round(n ** 0.5 / rng.choice((1, 1.5, 2, 3))))
    far = rng.choice((0.02, 0.1, 0.3))
    while v < n:
        layer = []
        for _ in range(min(n - v, rng.randint(1, 2 * width))):
            inputs = set()
            if layers:
                inputs = {u for u in layers[-1] if rng.random() < 0.4}
                inputs |= {rng.choice(layers[-1])}
                while rng.random() < far * 3:
                    inputs.add(rng.randrange(v - len(layer)))
            size = rng.choice((rng.randint(8, 100), rng.randint(50, 250),
                               rng.randint(200, 700))) * 10
            rows.append(("forward", rng.randint(1, 1000), size,
                         sorted(inputs)))
            layer.append(v)
            v += 1
        read = {u for w in layer for u in rows[w][3]}
        for u in layers[-1] if layers else []:
            if u not in read:
                rows[rng.choice(layer)][3].append(u)
        layers.append(layer)
    return rows


def main():
    kind, n, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rng = random.Random(f"{kind} {n} {seed}")
    make = {"chain": chain, "unet": unet, "resnet": resnet,
            "transformer": transformer, "layered": layered}[kind]
    print("name,phase,time,bytes,inputs")
    for i, (phase, time, size, inputs) in enumerate(make(n, rng)):
        names = " ".join(f"n{u}" for u in inputs)
        print(f"n{i},{phase},{time},{size},{names}")


main()
