"""One step of a sample in PyTorch, timed: the model of tests/torch, AdamW
over all parameters, the sample's clip. Last line: a JSON object."""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "tests", "torch", "Inputs"))

import against_torch as sample  # noqa: E402
import models  # noqa: E402
from torch_adamw import adamw  # noqa: E402


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("edlc")
    ap.add_argument("file")
    ap.add_argument("model")
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--warmup", type=int, default=10)
    a = ap.parse_args()
    torch.set_num_threads(2)
    text = subprocess.run([a.edlc, "ir", "--model=" + a.model, a.file],
                          stdout=subprocess.PIPE, text=True, check=True)
    m = sample.Model(text.stdout)
    r = np.random.default_rng(1)
    p = {k: torch.tensor(v, requires_grad=True)
         for k, v in sample.random_weights(m, r, 0.02).items()}
    top = sample.top_of(m)
    d = {k: torch.tensor(sample.random_input(k, dtype, dims, r, top))
         for k, (dtype, dims) in m.inputs.items()}
    d = {k: v.long() if v.dtype == torch.int32 else v for k, v in d.items()}
    rate = float(m.drops[0][0]) if m.drops else 0.0
    clip = m.number("clip_norm")
    opt = adamw(p.values(), lr=1e-4)
    times = []
    for _ in range(a.steps):
        t = time.perf_counter()
        opt.zero_grad(set_to_none=True)
        loss = getattr(models, a.model)(
            p, d, lambda x: F.dropout(x, rate) if rate else x)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(list(p.values()), clip)
        opt.step()
        loss.item()
        times.append((time.perf_counter() - t) * 1e3)
    times = times[a.warmup:]
    print(json.dumps({
        "ms_median": round(statistics.median(times), 3),
        "ms_min": round(min(times), 3),
        "rss_mib_peak": resource.getrusage(
            resource.RUSAGE_SELF).ru_maxrss // 1024}))


main()
