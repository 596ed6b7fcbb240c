"""save_inputs.py FOLDER: MODEL.st, a random batch, for each model there."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
import against_eval

for name in sorted(os.listdir(sys.argv[1])):
    if name.endswith("_main.c"):
        model = name[:-7]
        against_eval.save(f"{sys.argv[1]}/{model}.st",
                          against_eval.inputs(sys.argv[1], model))
