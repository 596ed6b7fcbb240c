"""numerics.py FOLDER: the values of the trainer there that must come out."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import against_eval as files

folder = sys.argv[1]
f = np.float32
files.save(f"{folder}/in.st", {
    "two": ("F32", np.array([[0, -200]], f)),
    "far": ("F32", np.array([-20000, -20001], f)),
    "high": ("F32", np.array([[40000, 40001, 40002, 40003]], f)),
    "tails": ("F32", np.array([100, -100, 0], f)),
    "q": ("F32", np.ones((1, 1, 2, 4), f)),
    "see": ("BOOL", np.array([[[[0, 0], [1, 0]]]])),
    "none": ("I32", np.array([-100, -100, -100])),
    "third": ("F32", np.ones((3, 4), f)),
    "ties": ("F32", np.array([1, 5, 5, 2, 5], f)),
    "nan": ("F32", np.array([np.nan, 1, -1], f)),
})
files.run([f"{folder}/numerics", f"--inputs={folder}/in.st", "--grads",
           "--steps=1", "--quiet", f"--outputs={folder}/y.st"])
y = files.load(f"{folder}/y.st")


def expect(name, value, off=1e-6):
    good = np.allclose(y[name].ravel(), np.array(value).ravel(), rtol=off,
                       atol=off, equal_nan=True)
    print(f"{name}: {'right' if good else y[name].ravel()}")


expect("far_loss", 200)
expect("grad/logits", [1, -1])
expect("soft", [0.7310586, 0.2689414])
expect("norm", [-1.3416354, -0.4472118, 0.4472118, 1.3416354])
expect("grad/slope", [1, 0, 0.5])
expect("seen", [0, 0, 0, 0, 1, 1, 1, 1])
expect("grad/key", [1, 1, 1, 1, 0, 0, 0, 0])
expect("ignored", 0, 0)
expect("grad/five", [0, 1, 0, 0, 0])
expect("kept_nan", [np.nan, 2, -0.0 + 0])
expect("grad/three", [1 / 3] * 3)
expect("grad/four", [1 / 4] * 4)
expect("grad/g", 1)
expect("grad/square", 6)
