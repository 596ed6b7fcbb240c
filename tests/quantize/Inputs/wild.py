"""wild.py EDLC FILE.edl FOLDER: a gradient that is no number, and gradients
of all sizes in one block: `run` and `eval` end with the same."""
import os
import subprocess
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                             "..", "codegen", "Inputs"))

from against_eval import load, save  # noqa: E402

edlc, model, folder = sys.argv[1:]
r = np.random.default_rng(1)
x = 10.0 ** r.uniform(-30, 15, (3, 5000))
odd = x.copy()
odd[0, 3] = np.nan
for what, data in (("sizes", x), ("nan", odd)):
    got = []
    for command in ("run", "eval"):
        name = os.path.join(folder, what + command)
        save(name + ".in", {"x": ("F32", data)})
        subprocess.run([edlc, command, model, "--inputs=" + name + ".in",
                        "--steps=3", "--save=" + name,
                        "--quantize=optimizer:i8"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        got.append(load(name))
    for t, a in got[0].items():
        b = got[1][t]
        lost = np.count_nonzero(~np.isfinite(a))
        assert lost == (256 if what == "nan" else 0), (what, t, lost)
        assert np.array_equal(np.isfinite(a), np.isfinite(b)), (what, t)
        a, b = a[np.isfinite(a)], b[np.isfinite(b)]
        assert np.mean(np.abs(a - b) > 1e-3 * np.abs(b)) < 2e-3, (what, t)
print("right")
