"""kill.py DIR: starts the toy's trainer, kills it after a random while,
resumes from its last checkpoint, until it is done; then the same with a
signal that it may answer. The bytes at the end are those of one.st."""
import os
import random
import re
import signal
import subprocess
import sys
import time

os.chdir(sys.argv[1])
CHECKPOINT = "toy.safetensors"


def run_until_done(number, steps):
    """How often it had to be started."""
    if os.path.exists(CHECKPOINT):
        os.remove(CHECKPOINT)
    starts = 0
    while True:
        args = ["./toy", "--quiet", "--threads=2", "--save=done.st"]
        args.append("--steps=%d" % steps)
        if os.path.exists(CHECKPOINT):
            args.append("--resume=" + CHECKPOINT)
        p = subprocess.Popen(args)
        starts += 1
        # longer with time, so that a busy machine gets there too
        time.sleep(random.uniform(0.002, 0.05) * (1 + starts / 20))
        p.send_signal(number)
        status = p.wait()
        assert status in (0, -number), status
        if status == 0 and number == signal.SIGKILL:
            return starts
        if number != signal.SIGKILL and last_step() == steps:
            return starts


def last_step():
    with open(CHECKPOINT, "rb") as f:
        return int(re.search(b'"edl.step":"([0-9]+)"', f.read()).group(1))


def same(a, b):
    with open(a, "rb") as x, open(b, "rb") as y:
        assert x.read() == y.read(), (a, b)


seed = random.randrange(1 << 30)
print("seed", seed, flush=True)
random.seed(seed)
subprocess.check_call(["./toy", "--quiet", "--steps=2000", "--save=long.st"])
for number in (signal.SIGKILL, signal.SIGTERM):
    print(number, run_until_done(number, 2000), "starts")
    same("long.st", "done.st")
