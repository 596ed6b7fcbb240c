"""host_sums.py FOLDER: sums.edl, built for the CPU: what the library adds to a
product has the bits of what a kernel adds behind it; a row's sum has the same
bits wherever it lies."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "codegen", "Inputs"))
from against_eval import inputs, load, save  # noqa: E402

folder = sys.argv[1]
given = inputs(folder, "sums")
given["x_row"] = given["x_plus"] = given["x"]
given["part"] = ("F32", given["wide"][1][..., 1:])
save(f"{folder}/in.st", given)
subprocess.run([f"{folder}/sums", "--quiet", f"--inputs={folder}/in.st",
                "--seed=3", f"--outputs={folder}/y.st"], check=True)
y = load(f"{folder}/y.st")
for name in ("row", "plus", "sum"):
    a, b = y[name], y[f"{name}_after"]
    print(f"{name}: {'equal' if a.tobytes() == b.tobytes() else 'other'} bits")
