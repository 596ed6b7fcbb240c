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
            nodes.append({"graph": graph, "node": node, "ns": 1000000})
assert len(nodes) > 10, len(nodes)
with open(f"{folder}/times.json", "w", encoding="utf-8") as f:
    json.dump({"edl_profile": 1, "nodes": nodes}, f)


def ns(*flags):
    done = subprocess.run([edlc, "plan", model, "--json", *flags], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)["after"]["ns"]


usual, measured = ns(), ns(f"--profile={folder}/times.json")
assert measured > 10 * usual
assert abs(measured - 1000000 * len(nodes)) < usual, (measured, len(nodes))
