"""report.py PLAN.json PAGE.html TRACE.json: the page is well formed, needs
nothing but itself and names all tensors; the trace adds up to the plan."""
import html.parser
import json
import sys

plan, page, trace = (open(f).read() for f in sys.argv[1:])
plan, trace = json.loads(plan), json.loads(trace)
EMPTY = {"meta"}


class Reader(html.parser.HTMLParser):
    open, text, count = [], "", {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.open += [tag] if tag not in EMPTY else []
        for name, value in attrs:
            assert name not in ("src", "href"), (tag, name, value)
            assert name == "xmlns" or "//" not in value, (tag, name, value)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


r = Reader()
r.feed(page)
r.close()
assert r.open == [] and r.count["svg"] == 4 and r.count["table"] == 2, r.count
assert "@import" not in page and "url(" not in page
for line in plan["largest"]:
    assert line["name"] in r.text and str(line["bytes"]) in r.text
for row in plan["blocks"]:
    assert any(row[k]["values"] for k in ("kept", "moved", "recomputed"))
    for k in ("kept", "moved", "recomputed"):
        assert (row[k]["bytes"] > 0) == (row[k]["values"] != [])

events = trace["traceEvents"]
kernels = [e for e in events if e["ph"] == "X"]
for a, b in zip(kernels, kernels[1:]):  # one queue
    assert abs(a["ts"] + a["dur"] - b["ts"]) < 1e-6, (a, b)
again = sum(e["dur"] for e in kernels if e["cat"] == "made again")
said = sum(row["recomputed"]["ns"] for row in plan["blocks"])
assert again > 0 and abs(again - said / 1e3) < 1e-3, (again, said)
c = plan["classes"]
memory = [e["args"] for e in events if e["ph"] == "C"]
assert len(memory) == len(kernels)
for m in memory:
    assert (m["state"], m["gradients"], m["io"]) == (
        c["state"], c["gradients"], c["io"])
    assert 0 <= m["stash"] <= c["stash"]
    assert 0 <= m["workspace"] <= c["workspace"]
assert max(m["stash"] for m in memory) == c["stash"]
assert memory[-1]["stash"] == 0
