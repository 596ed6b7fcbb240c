"""least.py EDLC MODEL [FLAG...]: the limit that exit 3 names as the smallest
works, and a byte less is exit 3 again, with the same limit."""
import re
import subprocess
import sys


def plan(limit):
    run = subprocess.run([sys.argv[1], "plan", *sys.argv[2:],
                          f"--memory={limit}"], capture_output=True, text=True)
    least = re.search(r"smallest limit that works is (\d+)", run.stderr)
    return run.returncode, int(least[1]) if least else None


status, least = plan(64)
assert status == 3, status
assert plan(least) == (0, None), f"{least} does not work"
assert plan(least - 1) == (3, least), f"{least - 1}: {plan(least - 1)}"
print("least", least)
