"""p4_lines.py OLD.sched NEW.sched LAYER NEIGHBOUR: NEW has a layer more, which
reads what NEIGHBOUR made. Every line of OLD is there in the same order, where
the readers of NEIGHBOUR may read LAYER now; what came is the new layer's.
Totals, the placement table and the two nodes that name all parameters (the
norm and the update) are left out."""
import re
import sys


def lines(path):
    text = open(path, encoding="utf-8").read()
    text = text[:text.index("\nregions {")]
    return [line.strip() for line in text.splitlines()
            if "= global_norm " not in line
            and not re.match(r" *fused .*updates.*update\.lr", line)]


old_path, new_path, layer, neighbour = sys.argv[1:]
as_before = re.compile(r"\b%s(?=[.' ,()]|$)" % re.escape(layer))
mine = re.compile(r"\b(%s|%s)(?=[.' ,(){]|$)" % (re.escape(layer),
                                                 re.escape(neighbour)))
old, came = lines(old_path), []
at = 0
for line in lines(new_path):
    if at < len(old) and (line == old[at]
                          or as_before.sub(neighbour, line) == old[at]):
        at += 1
    elif line != "}" and not mine.search(line):
        sys.exit("a new line of another layer: " + line)
    else:
        came.append(line)
if at < len(old):
    sys.exit("changed or moved: " + old[at])
print(f"{len(old)} lines as they were, {len(came)} of the new layer")
