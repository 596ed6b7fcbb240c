"""numerics.py FOLDER: 1000 steps of 1e-3 from a weight of 1; a sum of ones;
the weights of a bf16 program go on in the f32 one beside it."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../codegen/Inputs"))
sys.dont_write_bytecode = True
import against_eval as tool

folder = sys.argv[1]
tool.save(f"{folder}/in.st", {"x": ("F32", np.ones((1000, 64, 64))),
                              "many": ("F32", np.ones((1000, 4096)))})
flags = [f"--inputs={folder}/in.st", "--quiet", f"--outputs={folder}/y.st"]
tool.run([f"{folder}/bf16/numerics", "--steps=1000",
          f"--save={folder}/end.st"] + flags)
weights = tool.load(f"{folder}/end.st")
many = tool.load(f"{folder}/y.st")["total"]
off = abs(weights["w"] - 2).max()
print("2.0" if off < 1e-4 else f"off by {off}", many.ravel()[0])
tool.run([f"{folder}/f32/numerics", "--steps=1", f"--init={folder}/end.st",
          f"--save={folder}/next.st"] + flags)
off = abs(tool.load(f"{folder}/next.st")["w"] - weights["w"] - 1e-3).max()
print("goes on" if off < 1e-6 else f"off by {off}")
