"""planned.py EDLC MODEL FOLDER FLAGS...: plans that move values off the device.

Each of FLAGS is `memory offload [more]`. What it compiles to verifies, stays
within the limit and trains to the same bits as without a limit."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..",
                                "verify", "Inputs"))
sys.dont_write_bytecode = True
from trained import Trainer  # noqa: E402


def total(schedule):
    regions = re.search(r"^regions \{\n(.*?)^\}", schedule, re.S | re.M)
    lines = re.findall(r"^  (\w+) (\d+)$", regions.group(1), re.M)
    return {name: int(n) for name, n in lines}


def one(t, flags):
    memory, offload, *more = flags.split()
    out = os.path.join(t.folder, "planned")
    subprocess.run(["rm", "-rf", out], check=True)
    done = subprocess.run([t.edlc, t.model, f"--memory={memory}",
                           f"--offload={offload}", *more, "-o", out],
                          capture_output=True, text=True)
    if done.returncode:
        return f"status {done.returncode}: {done.stderr.splitlines()[0]}"
    path = os.path.join(out, f"{t.name}.sched")
    schedule = open(path, encoding="utf-8").read()
    checked = subprocess.run([t.edlc, "verify", path, t.model],
                             capture_output=True, text=True)
    if checked.returncode:
        return checked.stderr
    regions = total(schedule)
    away = regions.pop("host", 0) + regions.pop("disk", 0)
    limit = int(re.search(r"^option limit = (\d+)$", schedule, re.M).group(1))
    state = sum(int(n) for n in re.findall(
        r"^  (?:state|host|disk) \S+ \d+ (\d+)$", schedule, re.M))
    if sum(regions.values()) > limit:
        return f"takes {sum(regions.values())} bytes of {limit}"
    same = t.train(out) == t.want
    return (f"{'same bits' if same else 'OTHER BITS'}, "
            f"{'values away' if away else 'nothing away'}, "
            f"state {'above' if state > limit else 'below'} the limit")


def main():
    edlc, model, folder, *all_flags = sys.argv[1:]
    t = Trainer(edlc, model, folder)
    for flags in all_flags:
        print(f"{flags}: {one(t, flags)}")


main()
