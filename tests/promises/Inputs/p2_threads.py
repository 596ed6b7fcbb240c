"""p2_threads.py FOLDER TRAINER...: after some steps the checkpoints and
metrics of all trainers, with 1, 2, 3 and 5 threads, are the same bytes."""
import os
import random
import shutil
import sys

from tool import call, content

folder, *trainers = (os.path.abspath(p) for p in sys.argv[1:])
first = None
for trainer in trainers:
    for n in (1, 2, 3, 5):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        text = random.Random(5)
        for name in ("train.bin", "val.bin"):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(bytes(text.choice(b"\0\1") if i % 2 else 3
                              for i in range(20000)))
        call(trainer, "--quiet", f"--threads={n}", "--steps=4", "--save=end",
             "--metrics=metrics", cwd=folder)
        got = [content(os.path.join(folder, f)) for f in ("end", "metrics")]
        first = first or got
        assert got == first, (trainer, n)
print("the same bytes from", len(trainers), "trainers")
