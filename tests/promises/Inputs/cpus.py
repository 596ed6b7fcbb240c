"""cpus.py FOLDER same|near TRAINER...: trains for some steps with each.

same: checkpoints hold the same tensors and counters, whatever the processor.
near: they are close, the last says that it has no fma, and to resume from the
first with the last is allowed, with a warning."""
import json
import os
import random
import shutil
import struct
import subprocess
import sys

from tool import content

folder, kind, *trainers = sys.argv[1:]
folder = os.path.abspath(folder)
trainers = [t.split() for t in trainers]
for t in trainers:
    t[-1] = os.path.abspath(t[-1])
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
text = random.Random(5)
for name in ("train.bin", "val.bin"):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(bytes(text.choice(b"\0\1") if i % 2 else 3
                      for i in range(20000)))


def run(trainer, *flags):
    done = subprocess.run(trainer + ["--quiet", "--threads=2", *flags],
                          cwd=folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, (trainer, done.stdout)
    return done.stdout


def checkpoint(name):
    data = content(os.path.join(folder, name))
    size, = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + size])
    meta = head.pop("__metadata__")
    return meta.pop("edl.cpu"), meta, head, data[8 + size:]


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


got = []
for i, trainer in enumerate(trainers):
    run(trainer, "--steps=3", f"--save=end{i}")
    got.append(checkpoint(f"end{i}"))
print("products by", *(g[0] for g in got))
if kind == "same":
    assert all(g[1:] == got[0][1:] for g in got), "not the same"
    print("the same bits from", len(got), "programs")
else:
    assert got[0][1:3] == got[-1][1:3]
    off = max(abs(x - y) for x, y in zip(floats(got[0][3]),
                                         floats(got[-1][3])))
    assert 0 < off < 1e-2, off
    assert got[-1][0].endswith(", no fma"), got[-1][0]
    assert "differ in rounding" in run(trainers[-1], "--steps=4",
                                       "--resume=end0")
    assert "differ in rounding" not in run(trainers[-1], "--steps=4",
                                           "--resume=end1")
    print("close")
