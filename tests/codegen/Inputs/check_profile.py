"""check_profile.py FOLDER MODEL: trace.json and nodes.json there name every
node of the schedule that calls a kernel, and times are in order."""
import json
import re
import sys

folder, model = sys.argv[1:]


def load(name):
    with open(f"{folder}/{name}", encoding="utf-8") as f:
        return json.load(f)


with open(f"{folder}/{model}.c", encoding="utf-8") as f:
    text = f.read()
tables = re.findall(r"EdlProfileNode \w+\[\] = \{(.*?)\n\};", text, re.S)
assert len(tables) >= 3, "forward, backward and update"
nodes = load("nodes.json")
assert nodes["edl_profile"] == 1 and nodes["threads"] == 2, nodes["threads"]
by_graph = {}
for n in nodes["nodes"]:
    by_graph.setdefault(n["graph"], []).append(n)
    assert n["runs"] > 0 and n["ns"] > 0, n
    assert n["operations"] >= 0 and n["bytes"] >= 0, n
schedule = open(f"{folder}/{model}.sched", encoding="utf-8").read()
for n in nodes["nodes"]:
    assert re.search(rf"(^|[ ,]){re.escape(n['node'])}[ ,:]", schedule, re.M), n
wanted = 0
for graph in ("forward", "backward", "update"):
    body = re.search(rf"\n{graph}\(EdlInstance \*m.*?\n\}}", text, re.S)[0]
    calls = len(re.findall(r"^    +\w+\((?!m\)).*", body, re.M))
    assert by_graph[graph] and len(by_graph[graph]) <= calls, graph
    wanted += len(by_graph[graph])
table_rows = sum(t.count("{\"") for t in tables)
assert table_rows >= wanted, (table_rows, wanted)
events = [e for e in load("trace.json")["traceEvents"] if e["ph"] == "X"]
calls = [e for e in events if e["tid"] == 0]
assert {e["name"] for e in calls} == {n["node"] for n in nodes["nodes"]}
for a, b in zip(calls, calls[1:]):
    assert a["ts"] + a["dur"] <= b["ts"], (a, b)
threads = {e["tid"] for e in events} - {0}
assert threads and threads <= {1, 2}, threads
for e in events:
    assert e["dur"] >= 0 and e["args"]["node"], e
