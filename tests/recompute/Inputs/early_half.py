"""early_half.py EDLC MODEL OUT: a parameter that two products read is updated
in the backward pass by the gradient of one. Prints what edlc says."""
import re
import subprocess
import sys

edlc, model, out = sys.argv[1:]
subprocess.run([edlc, model, "-o", out], check=True)
text = open(f"{out}/half.sched").read()
text = re.sub(r"(?ms)^(regions|placement) \{.*?^\}\n", "", text)
text = re.sub(r"(?m)^grad .*\n", "", text)
# the first product is gone, the second is a value
text = re.sub(r"(?m)^  fused .*\n    w\.grad'3 = .*\n    accumulate .*\n  }\n",
              "", text)
text = re.sub(r"(?m)^  fused .*\n  (  w\.grad'2 = .*\n)    accumulate .*\n  }\n",
              r"\1", text)
numbers = re.search(r"(?ms)^  updates = read .*?^  sgd .*?\n", text)[0]
text = text.replace(numbers, "")
numbers = re.sub(r"(?m)^  (w\.grad'4|w) = .*\n", "", numbers)
numbers = numbers.replace("w.grad'4", "w.grad'2")
at = text.index("\n}\n\ngraph update {") + 1
text = text[:at] + numbers + text[at:]
with open(f"{out}/wrong.sched", "w") as f:
    f.write(text)
r = subprocess.run([edlc, model, f"--schedule={out}/wrong.sched", "-o",
                    f"{out}/wrong"], stderr=subprocess.PIPE, text=True)
print(f"exit {r.returncode}\n{r.stderr}")
