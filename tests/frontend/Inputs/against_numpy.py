"""against_numpy.py EDLC MODEL FOLDER: what `edlc eval` gives against NumPy."""
import json
import struct
import subprocess
import sys

import numpy as np

NAMES = {"F32": np.float32, "I32": np.int32, "BOOL": np.bool_, "I64": np.int64}
CODES = {np.dtype(v): k for k, v in NAMES.items()}


def write(path, arrays):
    head, data = {}, b""
    for name, a in arrays.items():
        raw = a.tobytes()
        head[name] = {"dtype": CODES[a.dtype], "shape": list(a.shape),
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__":
            lo, hi = t["data_offsets"]
            a = np.frombuffer(raw[8 + n + lo:8 + n + hi], NAMES[t["dtype"]])
            out[name] = a.reshape(t["shape"])
    return out


def lse(x, axis):
    return np.log(np.exp(x).sum(axis, keepdims=True))


def expected(x, y, i, j, p):
    sig = 1 / (1 + np.exp(-y))
    center = x - x.mean(-1, keepdims=True)
    return {
        "sum_all": x.sum(), "sum_1": x.sum(1),
        "mean_02": x.mean((0, 2), keepdims=True), "max_1": x.max(1),
        "var_1": x.var(-1, ddof=1),
        "argmax_01": x.reshape(12, 6).argmax(0),
        "softmax_1": np.exp(x - lse(x, 1)), "log_softmax_0": x - lse(x, 0),
        "lse": lse(x, 2)[..., 0],
        "norm": center / np.sqrt((center ** 2).mean(-1, keepdims=True) + 1e-3),
        "rms": x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-3),
        "tile_1": np.tile(x, (1, 3, 1)), "each_1": np.repeat(x, 3, 1),
        "cat": np.concatenate([x[..., 3:], x[..., :1], x[..., 1:3]], -1),
        "stack_1": np.stack([x, y], 1), "stack_last": np.stack([x, y], -1),
        "padded": np.pad(x, [(0, 1), (2, 0), (0, 0)], constant_values=7),
        "taken": np.take(x, i, 2), "along": np.take_along_axis(x, j, 2),
        "swapped": x.swapaxes(1, 2), "moved": x.transpose(2, 0, 1),
        "product": x @ y.swapaxes(1, 2), "sliced": x[1, ::-2, 1:-1],
        "at_p": x[:, p:p + 2, 3], "at_q": x[p, ..., ::3],
        "chosen": np.where((x > 0) & ~(y > 0), x, 2.5),
        "clipped": np.maximum(x, -0.5), "biggest": np.maximum(x, 0.25),
        "error": ((x - y) ** 2).mean(),
        "cross": (np.maximum(x, 0) - x * sig
                  + np.log1p(np.exp(-abs(x)))).sum(),
        "power": abs(x) ** 1.5 - 2 ** np.floor(x),
        "cast_sum": (x > y).sum(), "range": np.arange(4) * 2 - 1,
        "wide": np.broadcast_to(x[0, 0], (2, 6)), "flat": x.reshape(6, -1),
    }


def main():
    edlc, model, folder = sys.argv[1:]
    r = np.random.default_rng(1)
    x, y = (r.standard_normal((3, 4, 6)).astype(np.float32) for _ in range(2))
    i = r.integers(0, 6, 5, dtype=np.int32)
    j = r.integers(0, 6, (3, 4, 2), dtype=np.int32)
    p = np.array(1, np.int32)
    write(folder + "/in", {"x": x, "y": y, "i": i, "j": j, "p": p})
    subprocess.run([edlc, "eval", model, "--inputs=" + folder + "/in",
                    "--outputs=" + folder + "/out"], check=True)
    got = read(folder + "/out")
    want = expected(x.astype(np.float64), y.astype(np.float64), i, j, 1)
    assert got.keys() == want.keys(), got.keys() ^ want.keys()
    for name, w in want.items():
        assert got[name].shape == np.shape(w), name
        assert np.allclose(got[name], w, 1e-5, 1e-6), name
    print(len(want), "outputs agree")


main()
