"""make_costs.py KIND NODES SEED: prints a cost graph of about so many nodes.
KIND: chain, vgg, unet, resnet, mobilenet, densenet, inception, transformer
(forward and backward passes of such networks) or layered (random layers without a backward pass)."""
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
        """The gradient of a node reads it, its readers and their gradients."""
        rows, rng = self.rows, self.rng
        last = len(rows) - 1
        rows.append(("backward", rng.randint(1, 40) * 5, 128, [last]))
        readers = {last: [last + 1]}
        for v in range(last + 1):
            for u in rows[v][3]:
                readers.setdefault(u, []).append(v)
        grad = {}
        for v in range(last, -1, -1):
            ways = readers.get(v, [])
            time = sum(rows[w][1] * rng.uniform(1.2, 2.8) / len(rows[w][3])
                       for w in ways)
            inputs = {v, *ways, *(grad[w] for w in ways if w in grad)}
            rows.append(("backward", int(time) + 1, rows[v][2],
                         sorted(inputs)))
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


def vgg(n, rng):
    """Convolutions and pools; small layers without space at the end."""
    net, unit = Net(rng), 1 << rng.randint(24, 30)
    stages, v = 5, net.add(rng.randint(100, 400), unit)
    each = max(1, ((n - 1) // 2 - stages - 5) // stages)
    for level in range(stages):
        for _ in range(each):
            v = net.add(rng.randint(250, 600), size_at(level, unit), v)
        v = net.add(rng.randint(100, 200), size_at(level + 2, unit), v)
    for part in (256, 256, 1024, 1024, 4096):
        v = net.add(rng.randint(10, 250), unit // part, v)
    return net.backward()


def mobilenet(n, rng):
    """Convolutions of single channels, then of single points."""
    net, unit = Net(rng), 1 << rng.randint(20, 26)
    blocks = max(1, ((n - 1) // 2 - 2) // 6)
    v = net.add(rng.randint(100, 500), unit)
    for b in range(blocks):
        level = b * 5 // blocks
        more = 1 if b and level == (b - 1) * 5 // blocks else 2
        for part in (more, 1):
            size = size_at(level, unit) * more // part
            v = net.add(rng.randint(200, 700), size, v)
            v = net.add(rng.randint(60, 300), size, v)
            v = net.add(rng.randint(40, 120), size, v)
    net.add(rng.randint(20, 100), size_at(6, unit), v)
    return net.backward()


def densenet(n, rng):
    """Every layer reads all before it in its block, put together."""
    net, unit = Net(rng), 1 << rng.randint(18, 24)
    layers = max(4, ((n - 1) // 2 - 14) // 7)
    x, width = net.add(rng.randint(100, 500), 4 * unit), 4
    for level in range(4):
        def add(time, channels, *inputs):
            return net.add(time, size_at(2 * level, unit) * channels, *inputs)
        for _ in range(max(1, layers * (2, 4, 8, 6)[level] // 20)):
            v = add(rng.randint(60, 200), width, x)
            v = add(rng.randint(40, 120), width, v)
            v = add(rng.randint(200, 500), 4, v)
            v = add(rng.randint(60, 200), 4, v)
            v = add(rng.randint(40, 120), 4, v)
            v = add(rng.randint(200, 700), 1, v)
            width += 1
            x = add(rng.randint(30, 90), width, x, v)
        v = add(rng.randint(60, 200), width, x)
        width //= 2
        v = add(rng.randint(200, 500), width, v)
        x = net.add(rng.randint(30, 90),
                    size_at(2 * level + 2, unit) * width, v)
    net.add(rng.randint(20, 100), 1000, x)
    return net.backward()


def inception(n, rng):
    """Four ways side by side, put together."""
    net, unit = Net(rng), 1 << rng.randint(20, 26)
    modules = max(1, ((n - 1) // 2 - 8) // 23)
    x = net.add(rng.randint(100, 500), 4 * unit)
    for m in range(modules):
        size, ends = size_at(m * 4 // modules, unit), []
        for convs in (1, 2, 3, 1):
            v = x
            if convs == 1 and ends:
                v = net.add(rng.randint(40, 120), 4 * size, x)
            for _ in range(convs):
                v = net.add(rng.randint(200, 700), size, v)
                v = net.add(rng.randint(60, 300), size, v)
                v = net.add(rng.randint(40, 120), size, v)
            ends.append(v)
        x = net.add(rng.randint(30, 90), 4 * size, *ends)
    net.add(rng.randint(20, 100), 1000, x)
    return net.backward()


def layered(n, rng):
    """Random layers between a first and a last node, as they come or depth
    first."""
    rows, layers = [("forward", 0, rng.randint(20, 100) * 10, [])], [[0]]
    width = max(2, round(n ** 0.5 / rng.choice((1, 1.5, 2, 3))))
    far = rng.choice((0.06, 0.3, 0.5))
    while len(rows) < n - 1:
        layer = []
        for _ in range(min(n - 1 - len(rows), rng.randint(1, 2 * width))):
            inputs = {u for u in layers[-1] if rng.random() < 0.4}
            inputs |= {rng.choice(layers[-1])}
            while rng.random() < far:
                inputs.add(rng.randrange(len(rows) - len(layer)))
            size = rng.choice((rng.randint(8, 100), rng.randint(50, 250),
                               rng.randint(200, 700))) * 10
            rows.append(("forward", rng.randint(1, 1000), size,
                         sorted(inputs)))
            layer.append(len(rows) - 1)
        read = {u for w in layer for u in rows[w][3]}
        for u in layers[-1]:
            if u not in read:
                rows[rng.choice(layer)][3].append(u)
        layers.append(layer)
    rows.append(("forward", 0, rng.randint(20, 500) * 10, layers[-1]))
    return depth_first(rows) if rng.random() < 0.5 else rows


def depth_first(rows):
    order, number = [], {}
    stack = [(len(rows) - 1, False)]
    while stack:
        v, made = stack.pop()
        if v in number:
            continue
        if made:
            number[v] = len(order)
            order.append(v)
            continue
        stack.append((v, True))
        stack += [(u, False) for u in sorted(rows[v][3], reverse=True)]
    return [(*rows[v][:3], sorted(number[u] for u in rows[v][3]))
            for v in order]


def main():
    kind, n, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    rng = random.Random(f"{kind} {n} {seed}")
    make = {f.__name__: f for f in (chain, vgg, unet, resnet, mobilenet,
                                    densenet, inception, transformer,
                                    layered)}[kind]
    print("name,phase,time,bytes,inputs")
    for i, (phase, time, size, inputs) in enumerate(make(n, rng)):
        names = " ".join(f"n{u}" for u in inputs)
        print(f"n{i},{phase},{time},{size},{names}")


main()
