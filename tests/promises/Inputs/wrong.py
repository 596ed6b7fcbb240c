"""wrong.py EDLC SAMPLE FOLDER: every wrong input gets one clear error, with
its place, and exit status 1; no output file is touched."""
import os
import re
import shutil
import subprocess
import sys

edlc, sample, folder = sys.argv[1:]
HEAD = "edl 1\n"
LIMITS = dict(timeout=20, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def model(body, before="", signature="x: f32[2, 3]"):
    return HEAD + before + "model m(%s) {\n%s}\n" % (signature, body)


TRAIN = """train m {
  minimize loss
  optimizer sgd(lr = 0.1)
  steps 1
}
"""
TWELVE = """dim B = 2, T = 4
const C = 768, L = 12
layer block(x: float[B, T, C]) {
  param w: f32[C + 1, 4*C] = normal(std = 0.02)
  return x @ w
}
"""

# name: (source, words that the text must have, in order)
CASES = {
    "unknown argument": (
        model("  y = dropout(x, p = 0.1, inplce = true)\n  output z = y\n"),
        r":3:\d+: error: .*`inplce`.*(\n.*)*p\b"),
    "a product in twelve layers": (
        model("  for i in 0..L as h {\n    y = block(x)\n  }\n"
              "  output z = y\n", TWELVE, "x: f32[B, T, C]"),
        r":6:\d+: error: .*768.*(769|\n)(.*\n)*.*769"),
    "a shape beyond 2^63": (
        model("  output y = x\n", "dim A = 4000000000, B = 4000000000\n",
              "x: f32[A, B]"),
        r":\d+:\d+: error: .*"),
    "layers that call each other": (
        model("  output y = f(x)\n", "layer f(x: float[2, 3]) {\n"
              "  return g(x)\n}\nlayer g(x: float[2, 3]) {\n"
              "  return f(x)\n}\n"),
        r":\d+:\d+: error: .*(\n.*)*`?[fg]`?"),
    "use before definition": (
        model("  y = x + z\n  z = x * 2\n  output w = y + z\n"),
        r":3:11: error: .*z"),
    "100 000 parentheses": (
        HEAD + "const A = " + "(" * 100000 + "1" + ")" * 100000 + "\n",
        r":2:\d+: error: .*1000"),
    "NUL": (HEAD + "// a\0b\n", r":2:5: error: .*NUL"),
    "invalid UTF-8": (b"edl 1\n// \xc3(\n", r":2:4: error: .*UTF-8"),
    "right-to-left override": (HEAD + "// \u202e x\n",
                               r":2:4: error: .*U\+202E"),
    "a comment without end": (HEAD + "const A = 1\n/* here\n\n\n",
                              r":3:1: error: .*comment"),
    "a parameter without use": (
        model("  param w: f32[3] = ones\n  param v: f32[3] = ones\n"
              "  output loss = mean(x * v)\n") + TRAIN,
        r":3:\d+: error: .*`w`.*"),
    "a loss that is no scalar": (
        model("  param w: f32[3] = ones\n  output loss = x * w\n") + TRAIN,
        r":\d+:\d+: error: .*scalar"),
    "two unknown axes": (
        model("  output y = reshape(x, [-1, -1])\n"), r":3:\d+: error: .*"),
    "1e400": (model("  output y = x * 1e400\n"), r":3:18: error: .*1e400"),
    "an import of itself": (HEAD + "import wrong\n" + model(
        "  output y = x\n")[6:], r":2:8: error: .*itself"),
    "no text at all": ("", r":\d+:\d+: error: .*edl 1"),
}


def state(out):
    return {f: (os.stat(os.path.join(out, f)).st_mtime_ns,
                open(os.path.join(out, f), "rb").read())
            for f in sorted(os.listdir(out))}


def wrong(name, source, words, out):
    path = os.path.join(folder, "wrong.edl")
    with open(path, "wb") as f:
        f.write(source if isinstance(source, bytes) else source.encode())
    before = state(out)
    for command in (["check", path], [path, "-o", out]):
        done = subprocess.run([edlc, *command], **LIMITS)
        text = done.stdout.decode(errors="replace")
        show = f"{name}: status {done.returncode}\n{text[:2000]}"
        assert done.returncode == 1, show
        assert len(re.findall(r"\berror:", text)) == 1, show
        assert re.search(re.escape(path) + words, text), show
        assert len(text) < 4000, show
    assert state(out) == before, name
    new = os.path.join(folder, "new")
    subprocess.run([edlc, path, "-o", new], **LIMITS)
    assert not os.path.exists(new), name + ": a folder was made"


shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
old = os.path.join(folder, "old")
subprocess.run([edlc, sample, "-o", old], check=True, **LIMITS)
failed = 0
for name, (source, words) in CASES.items():
    try:
        wrong(name, source, words, old)
    except (AssertionError, subprocess.TimeoutExpired) as e:
        failed += 1
        print("FAIL", e)
print(len(CASES) - failed, "of", len(CASES))
sys.exit(failed > 0)
