"""statuses.py EDLC MODEL FOLDER: the exit statuses of `edlc run`."""
import os
import shutil
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../torch/Inputs"))
import tensors
from tool import call

edlc, model, folder = sys.argv[1:]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)


def run(*flags, status):
    return call(edlc, "run", os.path.abspath(model), "--quiet", "--steps=2",
                *flags, status=status, cwd=folder)


def ids(name, **changed):
    a = {"tokens": np.zeros([4, 16], np.int32),
         "targets": np.zeros([4, 16], np.int32)}
    for k, v in changed.items():
        a[k][3, 15] = v
    tensors.write(os.path.join(folder, name), a)


ids("good")
ids("bad", targets=32)
assert "train.bin" in run(status=1)
run("--inputs=good", "--save=end", status=0)
assert os.path.exists(os.path.join(folder, "end"))
text = run("--inputs=bad", "--save=none", status=1)
assert "targets" in text and "32" in text, text
assert "none" in run("--inputs=good", "--init=none", status=1)
run("--inputs=good", "--stps=3", status=2)
run("--inputs=good", "--memory=1KiB", status=3)
assert sorted(os.listdir(folder)) == ["bad", "end", "good"], \
    os.listdir(folder)
