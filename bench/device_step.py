#!/usr/bin/env python3
"""device_step.py PROGRAM TOKENS STEPS [--layers=12 --width=768 --vocab=50257
--context=1024 --peak=989e12]: runs an emitted trainer and times its steps by
the lines of its metrics, the first three left out. Prints one line.

MFU = flops of a token * tokens a second / peak, where a token takes
6 (12 L C^2 + V C) + 6 L C T floating operations: products forward and
backward, and of attention the half that a causal mask leaves."""
import argparse
import json
import statistics
import subprocess
import sys
import time


def used_mib(pid):
    try:
        text = subprocess.run(
            ["nvidia-smi", "--query-compute-apps=pid,used_memory",
             "--format=csv,noheader,nounits"], stdout=subprocess.PIPE,
            text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    rows = [line.split(",") for line in text.splitlines() if "," in line]
    mine = [int(b) for a, b in rows if int(a) == pid and b.strip().isdigit()]
    every = [int(b) for _, b in rows if b.strip().isdigit()]
    return (mine or every or [None])[0]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("tokens", type=int)
    p.add_argument("steps", type=int)
    for name, value in (("layers", 12), ("width", 768), ("vocab", 50257),
                        ("context", 1024)):
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--peak", type=float, default=989e12)
    a = p.parse_args()
    run = subprocess.Popen([a.program, "--quiet", f"--steps={a.steps}",
                            "--metrics=/dev/stdout"],
                           stdout=subprocess.PIPE, text=True)
    at, losses, memory = [], [], None
    for line in run.stdout:
        row = json.loads(line)
        if "loss" not in row:
            continue
        at.append(time.perf_counter())
        losses.append(row["loss"])
        if len(at) == a.steps - 1:
            memory = used_mib(run.pid)
    if run.wait() or len(at) < 2:
        sys.exit(f"{a.program}: failed")
    gaps = [y - x for x, y in zip(at, at[1:])]
    gaps = gaps[3:-1] or gaps  # the last one asks for the memory
    step = statistics.median(gaps)
    flops = (6 * (12 * a.layers * a.width**2 + a.vocab * a.width) +
             6 * a.layers * a.width * a.context)
    rate = a.tokens / step
    print(f"{step * 1e3:.2f} ms a step (of {len(gaps)}, "
          f"{min(gaps) * 1e3:.2f} to {max(gaps) * 1e3:.2f}), "
          f"{rate:.0f} tokens/s, MFU {100 * flops * rate / a.peak:.1f} %, "
          f"loss {losses[0]:.4f} to {losses[-1]:.4f}, "
          f"memory {memory if memory is not None else 'unknown'} MiB")


main()
