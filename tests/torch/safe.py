"""safetensors files as dicts of numpy arrays: so that the tests need no
package from outside Debian."""
import json
import struct

import numpy as np

TYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I32": "<i4", "I64": "<i8",
         "U8": "u1", "BOOL": "?"}
NAMES = {np.dtype(v): k for k, v in TYPES.items()}


def load(path):
    """-> ({name: array}, metadata)"""
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        head = json.loads(f.read(n))
        data = f.read()
    meta = head.pop("__metadata__", {})
    out = {}
    for name, t in head.items():
        lo, hi = t["data_offsets"]
        out[name] = np.frombuffer(data[lo:hi], TYPES[t["dtype"]]).reshape(t["shape"]).copy()
    return out, meta


def save(path, tensors):
    head, at, parts = {}, 0, []
    for name, a in tensors.items():
        a = np.ascontiguousarray(a)
        head[name] = {"dtype": NAMES[a.dtype], "shape": list(a.shape),
                      "data_offsets": [at, at + a.nbytes]}
        at += a.nbytes
        parts.append(a.tobytes())
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
