"""goes_on.py EDLC MODEL OUT KIND: takes every group of that kind apart that
makes a gradient and adds it up. KIND leaves: puts a product that two gradients
are into a group with one accumulate; alone: makes it once more for that group.
Prints what edlc says of the schedule."""
import re
import subprocess
import sys

edlc, model, out, kind = sys.argv[1:]
name = re.search(r"^model (\w+)", open(model).read(), re.M)[1]
subprocess.run([edlc, model, "-o", out], check=True)
text = open(f"{out}/{name}.sched").read()
text = text[:text.index("\nplacement {")] + "\n"
def product_and_sum(m):
    name = "v.grad" if kind == "leaves" else "v.grad.re"
    group = ("fused x, loss.sub.grad (kind = matmul) {\n"
             f"    {name} = {m[1]}\n    accumulate v.grad = {name}\n  }}\n")
    if kind == "leaves":
        return "  v.grad = " + group
    return f"  {group}  v.grad = {m[1]}\n"


if kind in ("leaves", "alone"):
    text, n = re.subn(r"(?m)^  v\.grad = (matmul .*)\n"
                      r"  accumulate v\.grad = v\.grad\n", product_and_sum,
                      text)
else:
    text, n = re.subn(rf"(?m)^  (?:.* = )?fused .*\(kind = {kind}\b.*{{\n"
                      r"((?:    .*\n)*    accumulate .*\n)  }\n",
                      lambda m: re.sub("(?m)^  ", "", m[1]), text)
assert n > 0, text
with open(f"{out}/apart.sched", "w") as f:
    f.write(text)
r = subprocess.run([edlc, model, f"--schedule={out}/apart.sched", "-o",
                    f"{out}/apart"], stderr=subprocess.PIPE, text=True)
print(f"exit {r.returncode}\n{r.stderr}")
