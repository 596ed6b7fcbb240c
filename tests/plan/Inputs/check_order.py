"""check_order.py COSTS.csv ORDER.txt LIMIT: prints the time of an order, and
exits 1 where it cannot run or its peak is above the limit. Written against
docs/planning.md, apart from edlc."""
import csv
import sys


def main():
    rows = {r["name"]: r for r in csv.DictReader(open(sys.argv[1]))}
    order = open(sys.argv[2]).read().split()
    limit = int(sys.argv[3])
    latest, last_read = {}, []
    for step, name in enumerate(order):
        for i in rows[name]["inputs"].split():
            last_read[latest[i]] = step
        latest[name] = step
        last_read.append(step)
    assert set(latest) == set(rows)
    peak = 0
    for step in range(len(order)):
        live = [int(rows[n]["bytes"]) for s, n in enumerate(order[:step + 1])
                if last_read[s] >= step]
        peak = max(peak, sum(live))
    print("time", sum(float(rows[n]["time"]) for n in order), "peak", peak)
    sys.exit(peak > limit)


main()
