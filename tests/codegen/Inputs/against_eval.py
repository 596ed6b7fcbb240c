"""against_eval.py EDLC FILE.edl FOLDER [MODEL...]: emitted programs against
the evaluator, on random inputs; each with 1, 2 and 3 threads, whose bits must
be equal. Prints a line for each model; exit status 1 when one is wrong.

A result y is right when |y - e| <= TOLERANCE * eps * sqrt(K) * |e|, in norms,
with e the evaluator's, K the elements of the largest input or parameter row;
what is tiny beside the model's largest gradient is measured against that."""
import json
import os
import re
import struct
import subprocess
import sys

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32,
         "I64": np.int64, "U8": np.uint8, "BOOL": np.uint8}
TOLERANCE = 16
EPS = 2.0 ** -24


def save(path, tensors):
    head, blobs, at = {}, [], 0
    for name, (kind, a) in tensors.items():
        raw = np.ascontiguousarray(a).astype(TYPES[kind]).tobytes()
        head[name] = {"dtype": kind, "shape": list(a.shape),
                      "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        blobs.append(raw)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__":
            lo, hi = t["data_offsets"]
            a = np.frombuffer(raw[8 + n + lo:8 + n + hi],
                              dtype=TYPES[t["dtype"]])
            out[name] = a.reshape(t["shape"])
    return out


def limits(code):
    """Name of an integer input -> lo, hi, also: of the emitted table."""
    table = re.search(r"EdlTensor inputs\[\] = \{(.*?)\n\};", code, re.S)
    out = {}
    for row in re.findall(r'\{"(\w+)", EDL_INPUT,(.*?)\},(?=\n    \{"|$)',
                          table.group(1) if table else "", re.S):
        last = [int(x.strip(" ()\n")) for x in row[1].split(",")[-5:-2]]
        out[row[0]] = last
    return out


def inputs(folder, model):
    """Random batches of one step for the inputs that the schedule names."""
    rng = np.random.default_rng(5)
    sched = open(f"{folder}/{model}.sched").read()
    batches = int((re.search(r"^  accumulate (\d+)", sched, re.M) or
                   [0, "1"])[1])
    code = f"{folder}/{model}.c"
    ranges = limits(open(code if os.path.exists(code) else code + "u").read())
    out = {}
    for name, kind, dims in re.findall(r"^input (\S+) : (\w+)\[([\d,]*)\]",
                                       sched, re.M):
        shape = [batches] + [int(x) for x in dims.split(",") if x]
        if kind in ("f32", "f64"):
            a = rng.normal(size=shape)
        elif kind == "bool":
            a = rng.random(shape) < 0.7
        else:
            lo, hi, also = ranges.get(name, [0, 0, 0])
            a = rng.integers(lo, hi if hi > lo else 9, size=shape)
            if hi > lo and also != lo:
                a = np.where(rng.random(shape) < 0.3, also, a)
        out[name] = (kind.upper(), np.asarray(a))
    return out


def run(command):
    r = subprocess.run(command, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    if r.returncode:
        sys.exit(f"{' '.join(command)}: status {r.returncode}\n{r.stdout}")


def compare(model, expected, got, within=None):
    if set(expected) != set(got):
        return [f"names differ: {sorted(set(expected) ^ set(got))}"]
    wrong = []
    grads = [np.linalg.norm(a.astype(np.float64))
             for name, a in expected.items() if name.startswith("grad/")]
    largest = max(grads, default=0)
    for name, e in expected.items():
        e, y = e.astype(np.float64), got[name].astype(np.float64)
        k = max(e.size, 64)
        scale = np.linalg.norm(e)
        if name.startswith("grad/"):
            scale = max(scale, 1e-3 * largest)
        off = np.linalg.norm(e - y)
        bound = within or TOLERANCE * EPS * k ** 0.5
        if not off <= bound * (scale + 1e-30):
            wrong.append(f"{name}: off by {off:.2e} of {scale:.2e}")
    return wrong


def check(edlc, source, folder, model):
    save(f"{folder}/in.st", inputs(folder, model))
    sched = open(f"{folder}/{model}.sched").read()
    name = re.search(r"^model (\S+)", sched, re.M)[1]
    flags = [f"--inputs={folder}/in.st", "--seed=3"]
    if "program step" in sched:
        flags += ["--grads", "--steps=1"]
    run([edlc, "eval", source, f"--model={name}",
         f"--outputs={folder}/e.st"] + flags)
    bits = set()
    for threads in (1, 2, 3):
        run([f"{folder}/{model}", f"--outputs={folder}/y.st",
             f"--threads={threads}", "--quiet"] + flags)
        bits.add(open(f"{folder}/y.st", "rb").read())
    wrong = compare(model, load(f"{folder}/e.st"), load(f"{folder}/y.st"))
    if len(bits) > 1:
        wrong.append("the bits depend on the number of threads")
    print(f"{model}: {'; '.join(wrong) or 'right'}")
    return not wrong


def main():
    edlc, source, folder = sys.argv[1:4]
    models = sys.argv[4:] or sorted(
        f[:-7] for f in os.listdir(folder) if f.endswith("_main.c"))
    good = [check(edlc, source, folder, m) for m in models]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
