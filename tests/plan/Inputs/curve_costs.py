"""curve_costs.py PLAN.json CURVE.svg: the curve is one, and is drawn."""
import json
import sys
import xml.etree.ElementTree

plan = json.load(open(sys.argv[1]))
curve = plan["curve"]
assert len(curve) > 5 and curve[0]["limit"] == plan["unplanned_peak"]
assert curve[0]["time_factor"] == 1
for more, less in zip(curve, curve[1:]):
    assert less["limit"] < more["limit"]
    assert less["time_factor"] >= more["time_factor"], (more, less)
    assert less["lower_bound"] >= more["lower_bound"], (more, less)
for point in curve:
    assert point["lower_bound"] <= point["time_factor"]
    if point["limit"] <= plan["limit"]:
        assert plan["time_factor"] <= point["time_factor"]
root = xml.etree.ElementTree.parse(sys.argv[2]).getroot()
paths = {e.get("class"): e.get("d") for e in root.iter() if e.get("d")}
for name in ("curve", "bound"):
    assert paths[name].count("V") >= len(curve) - 1, name
