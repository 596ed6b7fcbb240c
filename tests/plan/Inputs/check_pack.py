"""check_pack.py OLD.csv NEW.csv CAPACITY ALIGN: is the answer a placement?"""
import csv
import sys

old, new = (list(csv.DictReader(open(p))) for p in sys.argv[1:3])
capacity, align = int(sys.argv[3]), int(sys.argv[4])
assert [{k: r[k] for k in o} for o, r in zip(old, new)] == old
rows = [tuple(int(r[k]) for k in ("lower", "upper", "size", "offset"))
        for r in new]
assert len(new) == len(old)
for i, (lo, up, size, at) in enumerate(rows):
    assert at % align == 0 and at >= 0 and at + size <= capacity, new[i]
    for j, (lo2, up2, size2, at2) in enumerate(rows[:i]):
        assert (up <= lo2 or up2 <= lo or at + size <= at2
                or at2 + size2 <= at), (new[i], new[j])
