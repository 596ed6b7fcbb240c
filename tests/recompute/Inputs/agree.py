"""agree.py EDLC FOLDER MODEL[:NAME] FLAG...: what a plan predicts, for itself
and for the step that keeps all, is what edlc says of the schedules that it
writes. Only the limit differs. With `measured` for a flag, kernels of the
step that keeps all have times of their own."""
import json
import os
import re
import subprocess
import sys

edlc, folder, model = sys.argv[1:4]
model, _, name = model.partition(":")
flags = [f for f in sys.argv[4:] if f != "measured"]
source = [model, *([f"--model={name}"] if name else []), *flags]


def run(*command):
    done = subprocess.run([edlc, *command], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def plan(*command):
    text = run("plan", *command, "--json")
    return text and json.loads(text)


def written(*more):
    assert run(*source, *more, "-o", folder) is not None, more
    return plan(f"{folder}/{kept['model']}.sched", *measured)["after"]


def measure():
    """Each kernel takes a time of its own."""
    with open(f"{folder}/{kept['model']}.c", encoding="utf-8") as f:
        text = f.read()
    nodes = []
    for graph in ("forward", "backward", "update"):
        table = re.search(rf"EdlProfileNode {graph}_nodes\[\] = \{{(.*?)\n\}};",
                          text, re.S)[1]
        for node, size in re.findall(
                r'\{\s*"([^"]+)",\s*"[^"]+",\s*\d+,\s*\S+,\s*(\S+)\}', table):
            nodes.append({"graph": graph, "node": node, "bytes": float(size),
                          "ns": 5000 + 1711 * (len(nodes) % 9)})
    assert len(nodes) > 10, nodes
    with open(f"{folder}/times.json", "w", encoding="utf-8") as f:
        json.dump({"edl_profile": 1, "nodes": nodes}, f)
    return [f"--profile={os.path.abspath(folder)}/times.json"]


measured = []
kept = plan(*source)
assert written() == kept["after"]
if "measured" in sys.argv:
    measured = measure()
    source += measured
    usual, kept = kept, plan(*source)
    assert kept["after"]["ns"] > usual["after"]["ns"]
seen = {}
for share in (95, 80, 65, 50, 35):
    planned = plan(*source, f"--memory={share}%")
    if not planned or planned["after"]["bytes"] in seen:
        continue
    assert planned["before"] == kept["after"], (share, planned["before"])
    found = written(f"--memory={share}%")
    assert found == planned["after"], (share, planned["after"], found)
    seen[found["bytes"]] = found["ns"]
assert len(seen) > 1, seen
