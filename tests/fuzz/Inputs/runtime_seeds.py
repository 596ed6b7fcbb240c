"""runtime_seeds.py DIR: small valid files for the fuzzer to start from."""
import json
import os
import struct
import sys


def safetensors(meta, tensors):
    header, data = {"__metadata__": meta} if meta else {}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


meta = {"edl." + k: "1" for k in
        ("step", "microbatch", "epoch", "index", "seed", "updates")}
toy = safetensors(meta, [("seen", "I64", [], bytes(8)),
                         ("optimizer/momentum/w", "F32", [8, 8], bytes(256)),
                         ("w", "F32", [8, 8], bytes(256))])
npy = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
seeds = {
    "st": b"\0" + safetensors({}, [("a", "F32", [2], bytes(8)),
                                   ("b", "U8", [], b"x")]),
    "npy": b"\x01\x93NUMPY\x01\0" + struct.pack("<H", len(npy)) + npy +
           bytes(24),
    "csv": b'\x02a,b\n1,2.5e-3\n"4", 5\r\n\n',
    "names": b"\x03transformer.h.*.attn.* = h.*.a.* # c\nx = y\n",
    "load": b"\x04" + toy,
}
os.makedirs(sys.argv[1], exist_ok=True)
for name, raw in seeds.items():
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(raw)
