"""What the tests of the promises share: call edlc, read headers and
safetensors files."""
import json
import re
import struct
import subprocess


def call(*command, status=0, **how):
    """Runs a command that must end with this status; its output as text."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **how)
    text = done.stdout.decode(errors="replace")
    assert done.returncode == status, (command, done.returncode, text[-2000:])
    return text


def build(edlc, source, out, *flags, make=()):
    call(edlc, source, "-o", out, *flags)
    call("make", "-s", "-C", out, *make)


def regions(header):
    """Bytes of the device's regions as a header states them."""
    with open(header, encoding="utf-8") as f:
        found = dict(re.findall(r"#define \w+?_([A-Z]+)_BYTES (\d+)u",
                                f.read()))
    assert set(found) == {"STATE", "GRADS", "STASH", "WORKSPACE", "IO",
                          "HOST"}, found
    del found["HOST"]
    return {k: int(v) for k, v in found.items()}


def content(path):
    with open(path, "rb") as f:
        return f.read()


def checkpoint(path):
    """-> ({name: (dtype, shape, bytes)}, metadata)"""
    raw = content(path)
    n, = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8:8 + n])
    meta = head.pop("__metadata__", {})
    out = {}
    for name, t in head.items():
        lo, hi = t["data_offsets"]
        out[name] = t["dtype"], t["shape"], raw[8 + n + lo:8 + n + hi]
    return out, meta
