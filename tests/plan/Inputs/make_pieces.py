"""make_pieces.py KIND N SEED [SLACK]: prints about N buffers that fit into
1048576 bytes: a rectangle of bytes and time, cut into rows or columns, these
again, and so on; SLACK per cent of the pieces are left out or made smaller.
KIND: `mixed` has pieces of all sizes, `wide` mostly long-lived ones, `tiles`
pieces that are much alike, `wheels` also cuts that are not straight."""
import random
import sys

UNIT, HEIGHT, TIME = 1024, 1024, 1024
STRAIGHT = {"mixed": (0.5, 0.0), "wide": (0.3, 0.0), "tiles": (0.5, 0.0),
            "wheels": (0.5, 0.15)}  # how often time is cut; how often a wheel


def marks(rng, lo, hi):
    """Between two numbers, one or more places to cut at."""
    n = 1
    while n < 14 and rng.random() < 0.55:
        n += 1
    return [lo, *sorted(rng.sample(range(lo + 1, hi), min(n, hi - lo - 1))),
            hi]


def wheel(rng, t0, t1, y0, y1):
    a, b = sorted(rng.sample(range(t0 + 1, t1), 2))
    c, d = sorted(rng.sample(range(y0 + 1, y1), 2))
    return [(t0, b, y0, c), (b, t1, y0, d), (a, t1, d, y1), (t0, a, c, y1),
            (a, b, c, d)]


def cut(rng, kind, piece):
    t0, t1, y0, y1 = piece
    time, turn = STRAIGHT[kind]
    if rng.random() < turn and t1 - t0 > 2 and y1 - y0 > 2:
        return wheel(rng, *piece)
    across = rng.random() < time
    if kind == "tiles":
        across = t1 - t0 > y1 - y0
    if across and t1 - t0 > 1:
        at = marks(rng, t0, t1)
        return [(a, b, y0, y1) for a, b in zip(at, at[1:])]
    if y1 - y0 > 1:
        at = marks(rng, y0, y1)
        return [(t0, t1, a, b) for a, b in zip(at, at[1:])]
    return [piece]


def area(piece):
    return (piece[1] - piece[0]) * (piece[3] - piece[2])


def pieces(rng, kind, n):
    all_ = [(0, TIME, 0, HEIGHT)]
    for _ in range(20 * n):
        if len(all_) >= n:
            break
        some = rng.sample(all_, min(len(all_), 24 if kind == "tiles" else 3))
        largest = max(some, key=area)
        all_.remove(largest)
        all_ += cut(rng, kind, largest)
    return all_


def smaller(rng, piece):
    """A piece that is left out, lives shorter, or takes less."""
    t0, t1, y0, y1 = piece
    how = rng.randrange(3)
    if how == 0:
        return []
    if how == 1:
        a, b = sorted((rng.randint(t0, t1), rng.randint(t0, t1)))
        return [(a, b, y0, y1)] if a < b else []
    y = rng.randint(y0, y1)
    return [(t0, t1, y0, y)] if y > y0 else []


def main():
    kind, n, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    slack = float(sys.argv[4]) if len(sys.argv) > 4 else 0
    rng = random.Random(f"{kind} {n} {seed} {slack}")
    kept = []
    for piece in pieces(rng, kind, n):
        kept += [piece] if rng.random() * 100 >= slack \
            else smaller(rng, piece)
    rng.shuffle(kept)
    print("id,lower,upper,size")
    for i, (t0, t1, y0, y1) in enumerate(kept):
        print(f"{i},{t0 * 1024},{t1 * 1024},{(y1 - y0) * UNIT}")


main()
