#!/usr/bin/env python3
"""device_kernels.py PROFILE.txt [EDLC FILE.edl FLAG...]: the time of each
kernel of a step, as a program built with EDL_PROFILE printed it, largest
first; then, with EDLC, its `plan --kernels`: what they move and compute, and
the least time of that. The last line sums up."""
import csv
import subprocess
import sys


def least(command):
    """The table, and its sum in ms."""
    text = subprocess.run([command[0], "plan", *command[1:], "--kernels"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return text, float(text.split("\n")[-2].split()[0])


def main():
    rows = []
    for line in open(sys.argv[1]):
        if line.startswith("profile,") and not line.startswith(
                "profile,kernel"):
            _, name, times, ms = next(csv.reader([line]))
            rows.append((float(ms), float(times), name))
    if not rows:
        sys.exit("no profile in " + sys.argv[1])
    rows.sort(reverse=True)
    total = sum(ms for ms, _, _ in rows)
    print(f"{'ms':>9} {'share':>6} {'times':>6}  kernel")
    for ms, times, name in rows:
        print(f"{ms:9.3f} {100 * ms / total:5.1f}% {times:6.0f}  {name}")
    end = ""
    if len(sys.argv) > 2:
        text, ms = least(sys.argv[2:])
        print("\n" + text)
        end = f"; at the least {ms:.3f} ms, {100 * ms / total:.1f} % of that"
    print(f"{len(rows)} kernels, {total:.2f} ms a step one after the other; "
          f"most: {rows[0][2]}, {rows[0][0]:.2f} ms{end}")


main()
