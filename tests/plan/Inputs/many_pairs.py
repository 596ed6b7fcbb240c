"""many_pairs.py [PACKED.csv]: 17000 buffers, all alive together, some longer; or
looks whether in a file with their offsets any two overlap."""
import csv
import random
import sys

if len(sys.argv) == 1:
    rng = random.Random(1)
    print("id,lower,upper,size")
    for i in range(17000):
        print(f"{i},{rng.randrange(100)},{rng.randrange(900, 1000)},"
              f"{rng.randrange(1, 100)}")
else:
    end = 0
    for at, size in sorted((int(r["offset"]), int(r["size"]))
                           for r in csv.DictReader(open(sys.argv[1]))):
        assert at >= end, at
        end = at + size
