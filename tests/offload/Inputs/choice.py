"""choice.py EDLC MODEL: plans over limits, with and without offload."""
import json
import re
import subprocess
import sys

edlc, model = sys.argv[1:3]


def plan(limit, offload):
    done = subprocess.run([edlc, "plan", model, f"--memory={limit}",
                           f"--offload={offload}", "--json"],
                          capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{limit} {offload}: {done.stderr}")
    if done.returncode:
        least = re.search(r"the smallest limit that works is (\d+)",
                          done.stderr)
        return None, int(least.group(1))
    x = json.loads(done.stdout)
    return x["after"]["ns"], x["after"]["bytes"]


def least(offload):
    return plan(64, offload)[1]


whole = plan("1000%", "none")[1]
alone = least("none")
for offload in ("host", "disk"):
    low = least(offload)
    assert low < alone, (offload, low, alone)
    assert plan(low, offload)[1] == low
    assert plan(low - 1, offload)[0] is None
    last = None
    for i in range(9):
        limit = low + (whole - low) * i // 8
        ns, total = plan(limit, offload)
        assert total <= limit, (offload, limit, total)
        assert last is None or ns <= last, (offload, limit, ns, last)
        again = plan(limit, "none")[0]
        assert again is None or ns <= again, (offload, limit, ns, again)
        last = ns
print("all limits hold")
