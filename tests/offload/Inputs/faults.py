"""faults.py EDLC MODEL SHIM.c FOLDER: a disk that is full, short or broken, a
folder that is not there, a process that is killed; and checkpoints that are
taken from one plan to another."""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..",
                                "verify", "Inputs"))
sys.dont_write_bytecode = True
from trained import Trainer  # noqa: E402

edlc, model, shim, folder = sys.argv[1:]
t = Trainer(edlc, model, folder)
disk = os.path.abspath(f"{folder}/disk")
os.makedirs(disk, exist_ok=True)
out = f"{folder}/planned"
t.run([edlc, model, "--memory=67%", f"--offload=disk:{disk}", "-o", out])
assert t.train(out) == t.want
planned = os.path.abspath(f"{out}/trainer")
base = os.path.abspath(f"{t.base}/trainer")
preload = os.path.abspath(f"{folder}/shim.so")
t.run(["cc", "-shared", "-fPIC", "-o", preload, shim, "-ldl"])


def train(program, *flags, **env):
    r = subprocess.run([program, "--quiet", "--threads=2", *flags],
                       cwd=folder, capture_output=True, text=True,
                       env={**os.environ, **env})
    return r.returncode, r.stderr


def shimmed(kind, at, *flags):
    return train(planned, *flags, LD_PRELOAD=preload, SHIM=kind,
                 SHIM_AT=str(at))


def expect(got, *words):
    code, said = got
    assert code == 1, got
    for w in words:
        assert w in said, (w, said)


def read(name):
    return open(os.path.join(folder, name), "rb").read()


# init
expect(train(planned, "--disk=/nowhere/at/all"), "/nowhere/at/all",
       "No such file or directory")
limited = subprocess.run(
    ["sh", "-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" --quiet", planned],
    cwd=folder, capture_output=True, text=True)
expect((limited.returncode, limited.stderr), "no offload file of",
       "File too large")

# a copy fails, early and late; an old checkpoint stays as it was
train(planned, "--steps=1", "--save=old.st")
old = read("old.st")
for at in (1, 40, 90):
    expect(shimmed("full", at, "--save=old.st"), "offload file",
           "No space left on device")
    assert read("old.st") == old
expect(shimmed("broken", 30), "reading from the offload file",
       "Input/output error")
expect(shimmed("short", 30), "the file is too short")

# killed: nothing stays in the folder
run = subprocess.Popen([planned, "--quiet", "--steps=100000"], cwd=folder)
time.sleep(0.5)
run.send_signal(signal.SIGKILL)
run.wait()
assert os.listdir(disk) == [], os.listdir(disk)

# by io_uring, if it is there to build with
if os.path.exists("/usr/include/liburing.h"):
    ring = os.path.abspath(f"{folder}/ring")
    mine = ["edl_copy", "edl_copy_file"]
    sources = [os.path.join(out, x + ".c") for x in
               mine + [t.name, f"{t.name}_main"]]
    others = [o for o in t.objects
              if os.path.basename(o)[:-2] not in mine]
    t.cc("-DEDL_URING", "-Wall", "-Wextra", "-I", out, "-o", ring, *sources,
         *others, "-lm", "-luring")
    assert train(ring, "--save=ring.st")[0] == 0
    assert read("ring.st") == t.want[1]

# half of it under one plan, half under the other: the same bits
for first, second in ((planned, base), (base, planned)):
    assert train(first, "--steps=2", "--save=half.st")[0] == 0
    assert train(second, "--resume=half.st", "--save=whole.st")[0] == 0
    assert read("whole.st") == t.want[1]
print("faults are told, checkpoints are whole")
