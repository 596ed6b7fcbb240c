"""make_buffers.py N SEED [SLACK [UNIT]]: prints about N buffers that fit into
1048576 bytes: that and a stretch of time, cut into pieces. SLACK: the part of
the pieces that is left out, in per cent. UNIT: sizes are multiples of it."""
import random
import sys

CAPACITY, TIME = 1048576, 2000


def cut(rng, n, unit):
    """Pieces (lower, upper, bottom, top), the largest cut again and again;
    now and then a pinwheel of five, which no straight cut makes."""
    pieces = [(0, TIME, 0, CAPACITY // unit)]
    while len(pieces) < n:
        at = max(rng.sample(range(len(pieces)), min(len(pieces), 4)),
                 key=lambda i: (pieces[i][1] - pieces[i][0]) / TIME *
                 (pieces[i][3] - pieces[i][2]) * unit / CAPACITY)
        t0, t1, y0, y1 = pieces.pop(at)
        if t1 - t0 >= 3 and y1 - y0 >= 3 and rng.random() < 0.2:
            a, b = sorted(rng.sample(range(t0 + 1, t1), 2))
            c, d = sorted(rng.sample(range(y0 + 1, y1), 2))
            pieces += [(t0, b, y0, c), (b, t1, y0, d), (a, t1, d, y1),
                       (t0, a, c, y1), (a, b, c, d)]
        elif t1 - t0 > 1 and (y1 - y0 < 2 or rng.random() < 0.55):
            t = rng.randrange(t0 + 1, t1)
            pieces += [(t0, t, y0, y1), (t, t1, y0, y1)]
        elif y1 - y0 > 1:
            y = rng.randrange(y0 + 1, y1)
            pieces += [(t0, t1, y0, y), (t0, t1, y, y1)]
        else:
            pieces.append((t0, t1, y0, y1))
            if all(p[1] - p[0] < 2 and p[3] - p[2] < 2 for p in pieces):
                break
    return pieces


def main():
    n, seed = int(sys.argv[1]), sys.argv[2]
    slack = float(sys.argv[3]) if len(sys.argv) > 3 else 0
    unit = int(sys.argv[4]) if len(sys.argv) > 4 else 1024
    rng = random.Random(f"{n} {seed} {slack} {unit}")
    pieces = [p for p in cut(rng, n, unit) if rng.random() * 100 >= slack]
    rng.shuffle(pieces)
    print("id,lower,upper,size")
    for i, (t0, t1, y0, y1) in enumerate(pieces):
        print(f"{i},{t0},{t1},{(y1 - y0) * unit}")


main()
