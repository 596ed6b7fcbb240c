"""Safetensors files by hand, without the package:
  st.py write FILE NAME:DTYPE:2,3:1,2,3,4,5,6 ...   (sizes may be empty)
  st.py raw FILE HEADER BYTES     a header as it is, then so many zero bytes
  st.py show FILE                 names, types and values, in order of names
"""
import json
import math
import struct
import sys

CODES = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "I32": "i",
         "U8": "B", "BOOL": "?", "U16": "H", "I16": "h", "U64": "Q"}


def bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def pack(dtype, values):
    if dtype == "BF16":
        return struct.pack("<%dH" % len(values), *map(bf16, values))
    kind = float if dtype[0] == "F" else int
    return struct.pack("<%d%s" % (len(values), CODES[dtype]),
                       *map(kind, values))


def unpack(dtype, data):
    if dtype == "BF16":
        words = struct.unpack("<%dH" % (len(data) // 2), data)
        return [struct.unpack("<f", struct.pack("<I", w << 16))[0]
                for w in words]
    size = struct.calcsize(CODES[dtype])
    return list(struct.unpack("<%d%s" % (len(data) // size, CODES[dtype]),
                              data))


def write(path, header, data):
    text = json.dumps(header).encode() if isinstance(header, dict) \
        else header.encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    assert n % 8 == 0
    return json.loads(data[8:8 + n]), data[8 + n:]


def short(v):
    return "%.7g" % v if isinstance(v, float) else str(v)


def show(path):
    header, data = read(path)
    for key, value in sorted(header.pop("__metadata__", {}).items()):
        print(key, "=", value)
    for name, e in sorted(header.items()):
        a, b = e["data_offsets"]
        assert b - a == math.prod(e["shape"]) * (
            2 if e["dtype"] == "BF16" else struct.calcsize(CODES[e["dtype"]]))
        print(name, e["dtype"], e["shape"],
              *map(short, unpack(e["dtype"], data[a:b])))


def main(verb, path, *rest):
    if verb == "show":
        show(path)
    elif verb == "raw":
        write(path, rest[0], bytes(int(rest[1])))
    else:
        header, data = {}, b""
        for item in rest:
            name, dtype, sizes, values = item.split(":")
            shape = [int(s) for s in sizes.split(",") if s]
            more = pack(dtype, [float(v) for v in values.split(",")])
            header[name] = {"dtype": dtype, "shape": shape,
                            "data_offsets": [len(data), len(data) + len(more)]}
            data += more
        write(path, header, data)


main(*sys.argv[1:])
