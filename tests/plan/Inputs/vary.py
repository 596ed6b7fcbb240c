"""vary.py FILE HOW...: rows of a table of buffers, changed: `shuffle=SEED`,
`reverse` (time runs backwards), `times=N` and `sizes=N` (multiplied),
`drop=PERCENT,SEED` (of the rows)."""
import csv
import random
import sys

rows = [[int(r[k]) for k in ("lower", "upper", "size")]
        for r in csv.DictReader(open(sys.argv[1]))]
for how in sys.argv[2:]:
    what, _, value = how.partition("=")
    if what == "shuffle":
        random.Random(value).shuffle(rows)
    elif what == "reverse":
        rows = [[-up, -lo, size] for lo, up, size in rows]
    elif what == "times":
        rows = [[lo * int(value), up * int(value), size]
                for lo, up, size in rows]
    elif what == "sizes":
        rows = [[lo, up, size * int(value)] for lo, up, size in rows]
    elif what == "drop":
        share, seed = value.split(",")
        rng = random.Random(seed)
        rows = [r for r in rows if rng.random() * 100 >= float(share)]
    else:
        sys.exit(f"vary.py: what is {how}?")
print("id,lower,upper,size")
for i, (lo, up, size) in enumerate(rows):
    print(f"{i},{lo},{up},{size}")
