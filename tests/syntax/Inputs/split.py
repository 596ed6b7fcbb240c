"""split.py TEST FOLDER: writes each `FILE name` section of a test to a file
of its own; lines that begin with CHECK belong to the test."""
import os
import sys

source, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
out = None
for line in open(source, encoding="utf-8"):
    if line.startswith("FILE "):
        out = open(os.path.join(folder, line.split()[1]), "w",
                   encoding="utf-8")
    elif out and not line.startswith("CHECK"):
        out.write(line)
