#!/usr/bin/env python3
"""Compare a compiled sample with PyTorch and with the float64 evaluator.

usage: check.py SAMPLE [--set D=N,...] [--steps N] [--no-eval]

Gradients of one step, tensor by tensor, in norms:
  |g - g64| <= max(2 |g_torch - g64|, 4 sqrt(K) eps |g64|, 1e-6 max |g64|)
with K the longest reduction; then the losses of N optimizer steps within 1e-4.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

import models
import safe
from sched import Sched

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EDLC = os.environ.get("EDLC", "edlc")


def edlc(*args):
    done = subprocess.run([EDLC, *map(str, args)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"edlc {' '.join(map(str, args))}\n{done.stdout}{done.stderr}")
    return done.stdout


def without_dropout(sample, path):
    """The sample with dropout of probability 0: its random numbers are not
    PyTorch's."""
    with open(os.path.join(ROOT, "samples", sample + ".edl"), encoding="utf-8") as f:
        text = f.read()
    with open(path, "w", encoding="utf-8") as f:
        f.write(re.sub(r"\b(dropout\(.*), 0\.1\)", r"\1, 0.0)", text))
    return path


def random_params(sched, rng):
    """Perturbed where a model would start from 0 or 1, so that an error in any
    parameter shows."""
    out = {}
    for name, (shape, _, _) in sched.params.items():
        a = rng.standard_normal(shape) * 0.02
        if name.endswith(".g"):
            a = 1 + 5 * a
        out[name] = a.astype(np.float32)
    return out


def microbatch(batch, i):
    return {k: torch.from_numpy(v[i]) for k, v in batch.items()}


def torch_step(sched, params, batch, forward, first):
    """Mean loss and mean gradients of the microbatches from `first` on."""
    total = 0.0
    for p in params.values():
        p.grad = None
    for i in range(sched.accumulate):
        loss = forward(params, microbatch(batch, first + i))
        (loss / sched.accumulate).backward()
        total += loss.item() / sched.accumulate
    return total


def torch_train(sched, init, batch, forward, steps):
    params = {k: torch.from_numpy(v.copy()).requires_grad_() for k, v in init.items()}
    groups = [{"params": [params[k]], "weight_decay": decay, "scale": scale}
              for k, (_, decay, scale) in sched.params.items()]
    if sched.train["optimizer"].startswith("adamw"):
        opt = torch.optim.AdamW(groups, lr=1.0, eps=sched.number("eps"),
                                betas=(sched.number("beta1"), sched.number("beta2")))
    else:
        opt = torch.optim.SGD(groups, lr=1.0, momentum=sched.number("momentum", 0.0),
                              nesterov="nesterov = true" in sched.train["optimizer"])
    losses = []
    for s in range(steps):
        losses.append(torch_step(sched, params, batch, forward, s * sched.accumulate))
        if sched.clip:
            norm = math.sqrt(sum(float(p.grad.double().pow(2).sum()) for p in params.values()))
            if norm > sched.clip:
                for p in params.values():
                    p.grad *= sched.clip / norm
        for g in opt.param_groups:
            g["lr"] = sched.lr(s) * g["scale"]
        opt.step()
    return losses


def compare(got, ref, g64, k):
    bad, eps = 0, np.finfo(np.float32).eps
    norm = lambda a: float(np.linalg.norm(a.astype(np.float64)))
    largest = max(float(np.abs(g).max()) for g in g64.values())
    worst = (0.0, "")
    for name, g in g64.items():
        err = norm(got[name].astype(np.float64) - g)
        limit = max(2 * norm(ref[name].astype(np.float64) - g),
                    4 * math.sqrt(k) * eps * norm(g), 1e-6 * largest)
        worst = max(worst, (err / limit, name))
        if not err <= limit:
            print(f"FAIL grad/{name}: |g - g64| = {err:.3g}, allowed {limit:.3g}, |g64| = {norm(g):.3g}")
            bad += 1
    print(f"gradients: {len(g64)} tensors, worst {worst[0]:.3f} of what is allowed ({worst[1]})")
    return bad


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("sample")
    ap.add_argument("--set")
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--no-eval", action="store_true", help="PyTorch in float64 instead of the evaluator")
    a = ap.parse_args()
    sets = ([f"--set={a.set}"] if a.set else []) + [f"--model={a.sample}"]
    torch.manual_seed(0)
    torch.set_num_threads(2)
    rng = np.random.default_rng(1)
    forward, make = models.MODELS[a.sample]
    with tempfile.TemporaryDirectory() as tmp:
        at = lambda f: os.path.join(tmp, f)
        source = without_dropout(a.sample, at("model.edl"))
        edlc(source, *sets, "-o", at("out"))
        sched = Sched(at(f"out/{a.sample}.sched"))
        init = random_params(sched, rng)
        n = a.steps * sched.accumulate
        batch = make(sched, n, rng)
        safe.save(at("init"), init)
        safe.save(at("all"), batch)
        safe.save(at("one"), {k: v[:sched.accumulate] for k, v in batch.items()})
        bad = check_gradients(a, sched, source, sets, at, init, batch, forward)
        bad += check_losses(a, sched, source, sets, at, init, batch, forward)
    sys.exit(1 if bad else 0)


def check_gradients(a, sched, source, sets, at, init, batch, forward):
    args = [source, *sets, f"--init={at('init')}", f"--inputs={at('one')}", "--grads", "--steps=1"]
    edlc("run", *args, f"--outputs={at('run')}", "--quiet")
    grads = lambda t: {k[5:]: v for k, v in t.items() if k.startswith("grad/")}
    got = grads(safe.load(at("run"))[0])
    ref = torch_grads(sched, init, batch, forward, torch.float32)
    if a.no_eval:
        g64 = torch_grads(sched, init, batch, forward, torch.float64)
    else:
        edlc("eval", *args, f"--outputs={at('eval')}")
        g64 = {k: v.astype(np.float64) for k, v in grads(safe.load(at("eval"))[0]).items()}
    if set(got) != set(ref) or set(g64) != set(ref):
        print("FAIL: other gradients:", sorted(set(got) ^ set(ref) | set(g64) ^ set(ref)))
        return 1
    k = max([math.prod(s) for _, s in sched.inputs.values()] +
            [d for shape, _, _ in sched.params.values() for d in shape])
    return compare(got, ref, g64, k)


def torch_grads(sched, init, batch, forward, dtype):
    params = {k: torch.from_numpy(v).to(dtype).requires_grad_() for k, v in init.items()}
    torch_step(sched, params, cast(batch, dtype), forward, 0)
    return {k: p.grad.numpy() for k, p in params.items()}


def cast(batch, dtype):
    if dtype != torch.float64:
        return batch
    return {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in batch.items()}


def check_losses(a, sched, source, sets, at, init, batch, forward):
    edlc("run", source, *sets, f"--init={at('init')}", f"--inputs={at('all')}",
         f"--steps={a.steps}", f"--metrics={at('metrics')}", "--quiet")
    lines = [json.loads(l) for l in open(at("metrics"))]
    got = [l["loss"] for l in lines if "loss" in l]
    ref = torch_train(sched, init, batch, forward, a.steps)
    worst = max(abs(x - y) for x, y in zip(got, ref)) if len(got) == len(ref) else math.inf
    print(f"losses: {len(got)} steps, {got[0]:.6f} to {got[-1]:.6f}, largest difference {worst:.2e}")
    if not worst <= 1e-4:
        print("FAIL: losses", got, ref)
        return 1
    return 0


if __name__ == "__main__":
    main()
