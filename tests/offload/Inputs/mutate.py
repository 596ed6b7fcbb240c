"""mutate.py EDLC MODEL FOLDER: what the planner moves, with one thing wrong.
The schedule is accepted as it is, and rejected with any of its copies, waits
or writes left out, a wait too late, or a state sent back before its update."""
import os
import re
import subprocess
import sys

edlc, model, folder = sys.argv[1:]
name = os.path.basename(model).removesuffix(".edl")
subprocess.run([edlc, model, "--memory=60%", "--offload=host", "-o", folder],
               check=True)
good = open(f"{folder}/{name}.sched", encoding="utf-8").read().split("\n")


def verify(lines):
    path = f"{folder}/mutation.sched"
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))
    return subprocess.run([edlc, "verify", path, model], capture_output=True,
                          text=True)


def some(pattern, most=5):
    at = [i for i, line in enumerate(good) if re.match(pattern, line)]
    assert at, pattern
    step = max(1, len(at) // most)
    return at[::step]


def end_of_graph(i):
    while good[i] != "}":
        i += 1
    return i


tried = 0


def reject(what, lines):
    global tried
    tried += 1
    done = verify(lines)
    assert done.returncode == 1, what
    # one mistake, one error
    assert not re.match("  wait .* left out", what) or done.stderr.count("error:") == 1, (
        what, done.stderr)


assert verify(good).returncode == 0
for pattern in (r"  wait \S+\.in,", r"  wait \S+\.out,", r"  \S+ = fetch",
                r"  \S+ = offload", r"  write \S+ = \S+\.out$"):
    for i in some(pattern):
        reject(good[i] + " left out", good[:i] + good[i + 1:])
for i in some(r"  wait \S+\.in,"):
    e = end_of_graph(i)
    reject(good[i] + " at the end",
           good[:i] + good[i + 1:e] + [good[i]] + good[e:])
for i in some(r"  adamw .*\.in", 3):
    back = next(k for k in range(i, len(good)) if " = offload " in good[k])
    reject(good[back] + " before its update",
           good[:i] + [good[back]] + good[i:back] + good[back + 1:])
for i in some(r"  \S+ = fetch \S+ \(queue = 1\) : f32\[192,192\]", 3):
    other = next(k for k in range(len(good)) if k != i and
                 " = fetch " in good[k] and good[k].endswith("[192,192]"))
    a = re.search(r"fetch (\S+)", good[i]).group(1)
    b = re.search(r"fetch (\S+)", good[other]).group(1)
    if a == b:
        continue
    swapped = list(good)
    swapped[i] = good[i].replace(f"fetch {a} ", f"fetch {b} ")
    reject(good[i] + " of another", swapped)
print(f"{tried} wrong ones are rejected")
