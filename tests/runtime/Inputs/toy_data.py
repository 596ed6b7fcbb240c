"""toy_data.py DIR: token files for toy.c: a walk that a table can learn."""
import random
import struct
import sys

random.seed(1)
x, tokens = 0, []
for _ in range(500):
    x = (x + random.randrange(3)) % 8
    tokens.append(x)
for name, part in (("train.bin", tokens), ("val.bin", tokens[:90])):
    with open(sys.argv[1] + "/" + name, "wb") as f:
        f.write(struct.pack("<%dH" % len(part), *part))
