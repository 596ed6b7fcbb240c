"""stable.py OLD.sched NEW.sched NAME: but for regions and placement, lines
differ only where the new layer is named, at its neighbour after it, and in
the update, whose nodes name all parameters."""
import difflib
import sys

old, new = (open(p).read().split("\nregions {")[0].splitlines()
            for p in sys.argv[1:3])
name = sys.argv[3]
parts = {"update": False, "removed": 0}
for line in difflib.unified_diff(old, new, lineterm="", n=0):
    if line[:3] in ("---", "+++") or line[:2] == "@@":
        continue
    text = line[1:].strip()
    if name in text or text in ("}", "") or text.startswith("block"):
        continue
    if "global_norm" in text or text.startswith("fused"):
        continue
    parts["removed"] += line[0] == "-"
    print(line)
print(parts["removed"], "lines of other layers changed")
