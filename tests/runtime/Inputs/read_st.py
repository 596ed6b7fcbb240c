"""read_st.py FILE: what a safetensors file holds, read by the rules of the
format; with the Python package too, where that is installed."""
import json
import struct
import sys

with open(sys.argv[1], "rb") as f:
    raw = f.read()
size, = struct.unpack("<Q", raw[:8])
assert size % 8 == 0
header = json.loads(raw[8:8 + size])
meta = header.pop("__metadata__", {})
end = 0
for name, t in sorted(header.items(), key=lambda i: i[1]["data_offsets"]):
    assert t["data_offsets"][0] == end
    end = t["data_offsets"][1]
assert 8 + size + end == len(raw)
for key in sorted(meta):
    print(key, "=", meta[key])
for name in sorted(header):
    print(name, header[name]["dtype"], header[name]["shape"])
try:
    from safetensors import safe_open
except ImportError:
    sys.exit(0)
with safe_open(sys.argv[1], "numpy") as f:
    assert sorted(f.keys()) == sorted(header)
    assert (f.metadata() or {}) == meta
    for name in header:
        assert list(f.get_tensor(name).shape) == header[name]["shape"]
