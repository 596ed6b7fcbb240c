"""Safetensors files and Philox, in NumPy alone."""
import json
import struct

import numpy as np

TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32,
         "I64": np.int64, "BOOL": np.bool_}
CODES = {np.dtype(v): k for k, v in TYPES.items()}


def write(path, arrays):
    head, data = {}, []
    at = 0
    for name, a in arrays.items():
        raw = np.ascontiguousarray(a).tobytes()
        head[name] = {"dtype": CODES[a.dtype], "shape": list(a.shape),
                      "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data.append(raw)
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, t in json.loads(raw[8:8 + n]).items():
        if name != "__metadata__":
            lo, hi = t["data_offsets"]
            a = np.frombuffer(raw[8 + n + lo:8 + n + hi], TYPES[t["dtype"]])
            out[name] = a.reshape(t["shape"])
    return out


def hash64(text):
    h = 0xCBF29CE484222325
    for b in text.encode():
        h = (h ^ b) * 0x100000001B3 & (1 << 64) - 1
    return h


def philox(key, blocks, microbatch):
    """Four words for each block: [n, 4]."""
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    c = [blocks & low, blocks >> shift,
         np.full_like(blocks, microbatch & 0xFFFFFFFF),
         np.full_like(blocks, microbatch >> 32)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        a = np.uint64(0xD2511F53) * c[0]
        b = np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> shift) ^ c[1] ^ np.uint64(k0), b & low,
             (a >> shift) ^ c[3] ^ np.uint64(k1), a & low]
        k0 = k0 + 0x9E3779B9 & 0xFFFFFFFF
        k1 = k1 + 0xBB67AE85 & 0xFFFFFFFF
    return np.stack(c, -1)


def kept(shape, p, seed, key, microbatch):
    """Which elements a dropout keeps."""
    n = int(np.prod(shape))
    blocks = np.arange((n + 3) // 4, dtype=np.uint64)
    words = philox(seed ^ hash64(key), blocks, microbatch).reshape(-1)[:n]
    u = (words >> np.uint64(8)).astype(np.float64) * 2.0 ** -24
    return (u >= p).reshape(shape)
