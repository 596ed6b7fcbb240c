"""running.py EDLC MODEL FOLDER FLAGS...: after a step whose batch has the
mean 1, a running mean of momentum 0.1 that was 0 is exactly 0.1: it changed
once, whatever the backward pass makes again."""
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../torch/Inputs"))
import numpy as np
import tensors

edlc, model, folder, *flags = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
x = np.full([8, 4], 1, np.float32)
x[:4] += 0.5
x[4:] -= 0.5
tensors.write(f"{folder}/in", {"x": x})
subprocess.run([edlc, "run", model, "--quiet", "--steps=1", *flags,
                f"--inputs={folder}/in", f"--save={folder}/end"], check=True)
mean = tensors.read(f"{folder}/end")["mean"]
assert (mean == np.float32(0.1)).all(), mean
