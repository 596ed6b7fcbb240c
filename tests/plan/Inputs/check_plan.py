"""check_plan.py PLAN.json: the numbers fit together."""
import json
import sys

plan = json.load(open(sys.argv[1]))
c = plan["classes"]
assert c["state"] == c["parameters"] + c["optimizer"] + c["buffers"]
assert plan["total"] == (c["state"] + c["gradients"] + c["stash"]
                         + c["workspace"] + c["io"])
assert plan["peak"]["workspace"] <= c["workspace"]
assert 1 <= plan["peak"]["step"] <= plan["peak"]["steps"]
sizes = [line["bytes"] for line in plan["largest"]]
assert sizes == sorted(sizes, reverse=True)
alive = sum(line["bytes"] for line in plan["largest"]
            if line["region"] == "workspace")
assert alive == plan["peak"]["workspace"]
