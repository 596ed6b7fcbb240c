"""near_bound.py PLACED.csv ALIGN FACTOR: the height is at most so many times
the largest load at a moment."""
import csv
import sys

align = int(sys.argv[2])
events, height = [], 0
for r in csv.DictReader(open(sys.argv[1])):
    size = -(-int(r["size"]) // align) * align
    events += [(int(r["lower"]), size), (int(r["upper"]), -size)]
    height = max(height, int(r["offset"]) + int(r["size"]))
load = most = 0
for _, change in sorted(events):
    load += change
    most = max(most, load)
assert len(events) > 2000 and most > 0
print(len(events) // 2, "buffers:", height, "of", most)
sys.exit(height > most * float(sys.argv[3]))
