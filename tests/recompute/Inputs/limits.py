"""limits.py EDLC UNIT FOLDER FIRST LAST [OFFLOAD...]: random graphs under random
limits, moving values off the device in one of these ways.
The smallest limit that edlc names works, one byte less is exit status 3; at
that limit, at random ones above it and with everything made again the program
in its regions computes what the evaluator computes, and keeps the limit."""
import random
import re
import subprocess
import sys

# The graphs are differentiated already.
PASSES = ("fold,simplify,cse,dce,shrink,head,fuse,recompute,phases,views,"
          "schedule,offload,inplace,place")
edlc, unit, folder, first, last, *ways = sys.argv[1:]


def run(*args):
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def place(path, *flags):
    code, out, err = run(edlc, "ir", path, *flags, f"--only={PASSES}")
    regions = re.search(r"^regions \{(.*?)\}", out, re.M | re.S)
    sizes = dict(re.findall(r"^  (\w+) (\d+)$", regions.group(1), re.M)
                 ) if regions else {}
    for away in ("host", "disk"):
        sizes.pop(away, None)
    return code, sum(map(int, sizes.values())), out + err


def check(path, text, line):
    with open(path, "w") as f:
        f.write(text.replace("option mode = train", "option mode = train\n"
                             "option " + line, 1))
    code, out, err = run(f"{unit}/plan_storage", path)
    if code:
        sys.exit(f"{path}: {line}: {err}")


again = moved = 0
for seed in range(int(first), int(last) + 1):
    rng = random.Random(seed)
    way = rng.choice(ways) if ways else "none"
    text = run(f"{unit}/pass_random", str(seed))[1]
    text = re.sub(r"(?<=.)^edl-ir.*", "", text, flags=re.M | re.S)
    path = f"{folder}/{seed}.eir"
    with open(path, "w") as f:
        f.write(text)
    top = place(path)[1]
    code, _, said = place(path, "--memory=1B", f"--offload={way}")
    low = int(re.search(r"smallest limit that works is (\d+)", said).group(1))
    assert code == 3 and low <= top, (path, code, low, top)
    assert place(path, f"--memory={low - 1}", f"--offload={way}")[0] == 3, path
    for limit in {low, rng.randint(low, top), top}:
        code, now, out = place(path, f"--memory={limit}", f"--offload={way}")
        assert code == 0 and now <= limit, (path, limit, code, now)
        again += " recomputed" in out
        moved += "= fetch" in out
        check(f"{folder}/limit.eir", text,
              f"limit = {limit}\noption offload = {way}")
    check(f"{folder}/limit.eir", text, "recompute = all")
assert again > 0, "nothing was ever made again"
assert moved > 0 or not ways, "nothing was ever moved"
