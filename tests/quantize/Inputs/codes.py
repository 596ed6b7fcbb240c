"""codes.py EDLC FILE.edl FOLDER: checkpoints of `run` and of `eval`
after the same steps, with and without codes."""
import os
import subprocess
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                             "..", "codegen", "Inputs"))

from against_eval import load, save  # noqa: E402

edlc, model, folder = sys.argv[1:]
path = lambda name: os.path.join(folder, name)  # noqa: E731
r = np.random.default_rng(1)
x = r.standard_normal((6, 8, 71)).astype(np.float32)
x[..., 5] = 0
x[..., 6] *= 1e-4
save(path("in"), {"x": ("F32", x), "y": ("F32", r.standard_normal((6, 8, 83)))})


def trained(command, *flags):
    subprocess.run([edlc, command, model, "--inputs=" + path("in"),
                    "--steps=6", "--save=" + path("out"), *flags], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return load(path("out"))


def parts_off(a, b):
    """Of the elements, how many differ by more than f32 rounding."""
    size = np.abs(a) + 1e-3 * np.abs(a).max()
    return np.mean(np.abs(a - b) > 1e-4 * size)


FLAG = "--quantize=optimizer:i8"
plain, run, slow = trained("run"), trained("run", FLAG), trained("eval", FLAG)
assert plain.keys() == run.keys() == slow.keys(), (run.keys(), slow.keys())
for name in ("w", "b"):
    m = "optimizer/m/" + name
    levels = [len(np.unique(np.abs(t[m]).ravel()[:256])) for t in (plain, run)]
    print(f"{name}: {'coded' if levels[1] < levels[0] / 1.5 else 'as it is'}")
for name in run:
    off = parts_off(slow[name], run[name])
    assert off < 2e-3, (name, off)
for name in ("optimizer/m/w", "optimizer/v/w"):
    a, b = plain[name], run[name]
    off = np.linalg.norm(a - b) / np.linalg.norm(a)
    assert 0.005 < off < 0.1, (name, off)
assert np.all(run["optimizer/m/w"][5] == 0) and np.all(run["w"][5] != 0)
assert np.all(run["optimizer/v/w"][6] > 0)
assert np.linalg.norm(plain["w"] - run["w"]) < 0.03 * np.linalg.norm(plain["w"])
print("right")
