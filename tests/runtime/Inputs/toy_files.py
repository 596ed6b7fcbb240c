"""toy_files.py DIR: runs DIR/toy and DIR/infer on good and bad files."""
import json
import os
import struct
import subprocess
import sys

os.chdir(sys.argv[1])


def write(path, tensors, meta=None, cut=0):
    header, data = {"__metadata__": meta} if meta else {}, b""
    for name, dtype, shape, code, values in tensors:
        raw = struct.pack("<%d%s" % (len(values), code), *values)
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    whole = struct.pack("<Q", len(text)) + text + data
    with open(path, "wb") as f:
        f.write(whole[:len(whole) - cut])


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    size, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, t in header.items():
        a, b = t["data_offsets"]
        code = {"F32": "f", "F64": "d", "I64": "q"}[t["dtype"]]
        n = (b - a) // struct.calcsize(code)
        out[name] = struct.unpack("<%d%s" % (n, code),
                                  raw[8 + size + a:8 + size + b])
    return out


def run(*args, status=0, says="", program="./toy"):
    p = subprocess.run([program, "--quiet", *args], stderr=subprocess.PIPE,
                       universal_newlines=True)
    assert p.returncode == status, (args, p.returncode, p.stderr)
    assert says in p.stderr, (args, p.stderr)
    assert p.stderr.count("error:") == (status != 0), p.stderr


def batch(n, **change):
    rows = [i % 8 for i in range(n * 8)]
    axis = [n] if n > 1 else []
    t = {"tokens": ("tokens", "I64", axis + [2, 4], "q", rows),
         "targets": ("targets", "I32", axis + [2, 4], "i", rows[::-1])}
    t.update(change)
    return list(t.values())


# Batches: one for every microbatch, or as many as the steps need.
write("one.st", batch(1))
write("six.st", batch(6))
run("--inputs=six.st", "--save=3.st")
run("--inputs=six.st", "--steps=1", "--save=1.st")
run("--inputs=six.st", "--resume=1.st", "--steps=3", "--save=b.st")
assert read("3.st") == read("b.st")
run("--inputs=one.st", "--steps=2", "--outputs=o.st", "--grads")
out = read("o.st")
assert sorted(out) == ["double", "grad/w", "loss"] and len(out["grad/w"]) == 64
run("--inputs=six.st", "--steps=4", status=1,
    says="batches for 3 steps, the run needs 4")
write("bad.st", batch(5))
run("--inputs=bad.st", status=1, says="5 microbatches are no whole steps of 2")
write("bad.st", batch(1)[:1])
run("--inputs=bad.st", status=1, says="input targets is missing")
write("bad.st", batch(1) + [("tokns", "F32", [], "f", [0])])
run("--inputs=bad.st", status=1, says="the model has no input tokns")
write("bad.st", batch(1, tokens=("tokens", "I32", [2, 3], "i", [0] * 6)))
run("--inputs=bad.st", status=1,
    says="tokens is i32[2, 3], the model's tokens is i32[2, 4]")
write("bad.st", batch(1, tokens=("tokens", "I64", [2, 4], "q", [1 << 40] * 8)))
run("--inputs=bad.st", status=1, says="element 0 of microbatch 0 is no i32")
write("bad.st", batch(1, tokens=("tokens", "I32", [2, 4], "i", [8] * 8)))
run("--inputs=bad.st", status=1,
    says="tokens[0, 0] of microbatch 0 is 8, not in 0..7")
write("bad.st", batch(1), cut=1)
run("--inputs=bad.st", status=1, says="truncated")

# Every integer type of the format, where its values fit; no other type.
for dtype, code in [("I8", "b"), ("I16", "h"), ("U64", "Q"), ("U16", "H")]:
    write("odd.st", batch(6, targets=(
        "targets", dtype, [6, 2, 4], code, [i % 8 for i in range(48)][::-1])))
    run("--inputs=odd.st", "--save=odd3.st")
    assert read("odd3.st") == read("3.st")
write("bad.st", batch(1, tokens=("tokens", "U64", [2, 4], "Q",
                                 [0] * 7 + [(1 << 64) - 8])))
run("--inputs=bad.st", status=1, says="element 7 of microbatch 0 is no i32")
write("bad.st", batch(1, tokens=("tokens", "F8_E5M2", [2, 4], "B", [0] * 8)))
run("--inputs=bad.st", status=1,
    says="tokens is F8_E5M2[2, 4], the model's tokens is i32[2, 4]")

# Parameters: all of them, by name; a checkpoint's other tensors are ignored.
w = [i / 64 for i in range(64)]
write("w.st", [("w", "F64", [8, 8], "d", w)])
run("--inputs=one.st", "--init=w.st", "--steps=0", "--save=w2.st")
assert list(read("w2.st")["w"]) == w and read("w2.st")["seen"] == (0,)
run("--inputs=one.st", "--init=3.st", "--steps=0", "--save=w2.st")
assert read("w2.st")["w"] == read("3.st")["w"]
assert read("w2.st")["seen"] == (48,)
assert set(read("w2.st")["optimizer/momentum/w"]) == {0.0}
write("theirs.st", [("net.table.weight", "F32", [8, 8], "f", w)])
with open("names.txt", "w") as f:
    f.write("net.*.weight = w  # the only one\n")
run("--inputs=one.st", "--init=theirs.st", "--names=names.txt", "--steps=0",
    "--save=w2.st")
assert list(read("w2.st")["w"]) == w
run("--inputs=one.st", "--init=theirs.st", status=1,
    says="net.table.weight is not a parameter of the model")
write("bad.st", [("w", "F32", [64], "f", w)])
run("--inputs=one.st", "--init=bad.st", status=1,
    says="w is f32[64], the model's w is f32[8, 8]")
write("bad.st", [("w", "I32", [8, 8], "i", [0] * 64)])
run("--inputs=one.st", "--init=bad.st", status=1, says="w is i32[8, 8]")
write("bad.st", [])
run("--inputs=one.st", "--init=bad.st", status=1, says="w is missing")

# Resume wants a checkpoint of this model.
run("--resume=w.st", "--inputs=one.st", status=1, says="w is f64[8, 8]")
run("--resume=none.st", status=1, says="none.st: cannot open: No such file")
write("bad.st", [("w", "F32", [8, 8], "f", w), ("seen", "I64", [], "q", [0]),
                 ("optimizer/momentum/w", "F32", [8, 8], "f", w)])
run("--resume=bad.st", "--inputs=one.st", status=1,
    says="no edl.step: not a checkpoint")

# Usage, and places that cannot be written.
run("--steps", status=2, says="a value is missing")
run("--steps=-1", status=2, says="not a whole number")
run("--grads", status=2, says="--grads needs --outputs")
run("--resume=a", "--init=b", status=2, says="exclude each other")
run("--inputs=one.st", "--steps=1", "--save=no/dir.st", status=1,
    says="cannot write")
run("--inputs=one.st", "--steps=1", "--metrics=no/m.jsonl", status=1,
    says="cannot write")
run("--steps=1", status=1, says="train.bin: cannot open")

# A model that does not train runs forward, once for each batch.
write("mixed.st", batch(6, tokens=(
    "tokens", "U8", [6, 2, 4], "B", [i * i % 7 for i in range(48)])))
run("--inputs=mixed.st", "--init=3.st", "--outputs=o.st", "--metrics=m.jsonl",
    program="./infer")
with open("m.jsonl") as f:
    lines = [json.loads(line) for line in f]
assert [m["step"] for m in lines] == list(range(6))
mean = sum(m["loss"] for m in lines) / 6
assert abs(mean - read("o.st")["loss"][0]) < 1e-6
assert abs(mean - lines[5]["loss"]) > 1e-5
run(program="./infer", status=1, says="the model has no data")
