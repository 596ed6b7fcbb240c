"""goes_on.py EDLC MODEL OUT KIND: takes every group of that kind apart that
makes a gradient and adds it up; prints what edlc says of the schedule."""
import re
import subprocess
import sys

edlc, model, out, kind = sys.argv[1:]
name = re.search(r"^model (\w+)", open(model).read(), re.M)[1]
subprocess.run([edlc, model, "-o", out], check=True)
text = open(f"{out}/{name}.sched").read()
text = text[:text.index("\nplacement {")] + "\n"
groups = re.compile(rf"^  fused [^\n]*\(kind = {kind}\) {{\n"
                    r"((?:    .*\n)*    accumulate .*\n)  }\n", re.M)
text, n = groups.subn(lambda m: re.sub("(?m)^  ", "", m[1]), text)
assert n > 0, text
with open(f"{out}/apart.sched", "w") as f:
    f.write(text)
r = subprocess.run([edlc, model, f"--schedule={out}/apart.sched", "-o",
                    f"{out}/apart"], stderr=subprocess.PIPE, text=True)
print(f"exit {r.returncode}\n{r.stderr}")
