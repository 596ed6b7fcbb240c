"""ladder.py EDLC FOLDER FILE.edl FLAGS...: more memory never makes a plan
slower, a plan is the fastest point of the curve that fits, and fits."""
import json
import subprocess
import sys
import xml.dom.minidom

edlc, folder, source, *flags = sys.argv[1:]


def plan(*more):
    r = subprocess.run([edlc, "plan", source, *flags, "--json", *more],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return r.returncode, json.loads(r.stdout)


def again(plan):
    return [v for row in plan["blocks"] for v in row["recomputed"]["values"]]


svg = f"{folder}/curve.svg"
code, top = plan(f"--curve={svg}")
curve = top["curve"]
xml.dom.minidom.parse(svg)
assert code == 0 and top["before"] == top["after"] == curve[0]
assert len(curve) > 5 and not again(top)
for a, b in zip(curve, curve[1:]):
    assert a["bytes"] > b["bytes"] and a["ns"] <= b["ns"], (a, b)
last = curve[-1]["bytes"]
for at in range(1, len(curve), max(1, len(curve) // 5)):
    for limit in (curve[at]["bytes"], curve[at - 1]["bytes"] - 1):
        code, now = plan(f"--memory={limit}")
        assert code == 0 and now["after"] == curve[at], (limit, now["after"])
        assert now["total"] == now["after"]["bytes"] <= limit
        assert now["before"] == curve[0]
        assert again(now) or now["early"]["parameters"] > 0
assert plan(f"--memory={last}")[0] == 0
assert plan(f"--memory={last - 1}")[0] == 3
