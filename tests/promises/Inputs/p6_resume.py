"""p6_resume.py TRAINER FOLDER: 20 steps are 10 steps, a checkpoint and 10 more
with another number of threads, to the byte; so is a run that is killed at
random moments, and one that is stopped by a signal."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from tool import call, checkpoint, content

trainer, folder = (os.path.abspath(p) for p in sys.argv[1:])
seed = int(os.environ.get("EDLC_SEED", "0")) or random.randrange(1 << 30)
draw = random.Random(seed)
print("EDLC_SEED =", seed)


def place(name):
    path = os.path.join(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    text = random.Random(5)
    for data, size in (("train.bin", 21 * 16 + 1), ("val.bin", 200)):
        with open(os.path.join(path, data), "wb") as f:
            f.write(bytes(text.randrange(32) for _ in range(size)))
    return path


def train(path, *flags, wait=True):
    command = [trainer, "--quiet", "--metrics=metrics", *flags]
    if wait:
        call(*command, cwd=path)
        return content(os.path.join(path, "mixed.safetensors"))
    return subprocess.Popen(command, cwd=path)


def losses(path):
    """By step, and each step that was done twice with one result. A run that
    ends also validates, so only the steps count."""
    out = {}
    with open(os.path.join(path, "metrics"), encoding="utf-8") as f:
        for line in f:
            one = json.loads(line)
            if "loss" in one:
                first = out.setdefault(one["step"], one)
                assert first == one, (first, one)
    return out


def resume_flags(path):
    have = os.path.exists(os.path.join(path, "mixed.safetensors"))
    return ["--resume=mixed.safetensors"] if have else []


start = time.monotonic()
plain = place("plain")
whole = train(plain, "--threads=1")
took = time.monotonic() - start
tensors, meta = checkpoint(os.path.join(plain, "mixed.safetensors"))
assert meta["edl.step"] == "20" and meta["edl.microbatch"] == "60", meta
assert int(meta["edl.epoch"]) >= 1 and "centre.mean" in tensors, meta
assert "optimizer/m/wpe" not in tensors and "wpe" in tensors

half = place("half")
train(half, "--threads=3", "--steps=10")
assert checkpoint(half + "/mixed.safetensors")[1]["edl.step"] == "10"
assert train(half, "--threads=2", "--resume=mixed.safetensors") == whole
assert losses(half) == losses(plain)

other = place("other")
assert train(other, "--threads=1", "--seed=4") != whole

path, kills = place("killed"), 0
while True:
    run = train(path, "--threads=1", *resume_flags(path), wait=False)
    try:
        status = run.wait(took * (0.1 + 0.9 * draw.random()))
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        kills += 1
        # A machine that is busy must end as well.
        took *= 1.1
        continue
    assert status == 0, status
    break
assert content(path + "/mixed.safetensors") == whole
assert losses(path) == losses(plain)
assert not [n for n in os.listdir(path) if n.endswith(".new")] or kills
print("killed", kills, "times")

path = place("stopped")
for number in (signal.SIGINT, signal.SIGTERM):
    run = train(path, "--threads=1", *resume_flags(path), wait=False)
    time.sleep(took * 0.3)
    run.send_signal(number)
    assert run.wait() in (0, -number), run.returncode
assert train(path, *resume_flags(path)) == whole
