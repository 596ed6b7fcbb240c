"""times.py EDLC MODEL FOLDER: the step takes what its nodes were measured at."""
import json
import re
import subprocess
import sys

edlc, model, folder = sys.argv[1:]
out = f"{folder}/out"
subprocess.run([edlc, model, "-o", out], check=True)
name = re.search(r"(\w+)\.edl$", model)[1]
with open(f"{out}/{name}.c", encoding="utf-8") as f:
    text = f.read()
nodes = []
for graph in ("forward", "backward", "update"):
    table = re.search(rf"EdlProfileNode {graph}_nodes\[\] = \{{(.*?)\n\}};",
                      text, re.S)[1]
    for node, operations, size in re.findall(
            r'\{\s*"([^"]+)",\s*"[^"]+",\s*\d+,\s*(\S+),\s*(\S+)\}', table):
        if float(operations) + float(size) > 0:
            nodes.append({"graph": graph, "node": node, "ns": 1000000,
                          "bytes": float(size)})
assert len(nodes) > 10, len(nodes)


def ns(*flags):
    done = subprocess.run([edlc, "plan", model, "--json", *flags], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)["after"]["ns"]


def measured(change):
    """When the kernels moved so many times what they move now."""
    some = [dict(n, bytes=n["bytes"] * change) for n in nodes]
    with open(f"{folder}/times.json", "w", encoding="utf-8") as f:
        json.dump({"edl_profile": 1, "nodes": some}, f)
    return ns(f"--profile={folder}/times.json")


usual, same = ns(), measured(1)
assert same > 10 * usual
assert abs(same - 1000000 * len(nodes)) < usual, (same, len(nodes))
assert measured(4) < same < measured(0.25)
