"""The gradients of a sample by the evaluator and by the emitted program, and
the losses of 20 steps, against PyTorch with the same weights and data.
"""
import argparse
import json
import math
import re
import subprocess
import sys

import numpy as np
import torch

import models
import tensors

STEPS = 20


class Model:
    """What `edlc ir` says of the module."""

    def __init__(self, text):
        self.params, self.inputs, self.decay = {}, {}, {}
        shape = r" : (\w+)\[([\d,]*)\]"
        for kind, name, dtype, dims, rest in re.findall(
                r"^(param|input) (\S+)" + shape + "(.*)$", text, re.M):
            dims = [int(n) for n in dims.split(",") if n]
            if kind == "input":
                self.inputs[name] = dtype, dims
                continue
            self.params[name] = dims
            m = re.search(r" decay (\S+)", rest)
            self.decay[name] = float(m[1]) if m else 0.0
        main = text[text.index("graph main"):]
        self.drops = re.findall(
            r"dropout \S+ \(p = (\S+), key = \"(\S+)\"\)",
            main[:main.find("\ngraph")] if "\ngraph" in main else main)
        self.train = text[text.index("\ntrain {"):text.index("\ngraph")]

    def number(self, word, otherwise=None):
        m = re.search(r"\b%s(?: =)? (\d[-+.\de]*)" % word, self.train)
        return float(m[1]) if m else otherwise

    def rate(self, step):
        peak, floor = self.number("peak"), self.number("floor", 0.0)
        warm = self.number("warmup", 0)
        kind = re.search(r"lr = (\w+)", self.train)[1]
        n = int(re.search(r"lr = \w+\(.*?steps = (\d+)", self.train)[1])
        if step < warm:
            return peak * (step + 1) / warm
        part = (step - warm) / (n - warm) if n > warm else 0
        if kind == "cosine":
            return floor + (peak - floor) * (1 + math.cos(math.pi * part)) / 2
        return peak + (floor - peak) * part if kind == "linear" else peak


def random_weights(m, r, std):
    """Perturbed also where a model would start from 0 or 1: an error in any
    parameter shows."""
    out = {}
    for name, dims in m.params.items():
        a = r.standard_normal(dims) * std
        if name.endswith(".g"):
            a += 1
        out[name] = a.astype(np.float32)
    return out


def random_input(name, dtype, dims, r, top):
    if dtype == "f32":
        return r.random(dims, dtype=np.float32)
    if name == "label":
        top = 10
    a = r.integers(0, 2 if name == "segments" else top, dims, dtype=np.int32)
    if name == "targets" and top == 1000:
        a[r.random(dims) < 0.7] = -100
    if name == "tokens" and top == 1000:
        a[..., -3:] = 0
    return a


def top_of(m):
    for name in ("embed", "word", "wte", "gpt.wte"):
        if name in m.params:
            return m.params[name][0]
    return 0


class Torch:
    def __init__(self, m, loss, weights, data, dtype):
        self.m, self.dtype, self.loss = m, dtype, loss
        self.p = {k: torch.tensor(v, dtype=dtype, requires_grad=True)
                  for k, v in weights.items()}
        self.data = data
        self.seed = int(m.number("seed"))
        self.n = int(m.number("accumulate"))

    def microbatch(self, i):
        keys = iter(self.m.drops)

        def drop(x):
            if not self.m.drops:
                return x
            p, key = next(keys)
            keep = tensors.kept(tuple(x.shape), float(p), self.seed, key, i)
            return x * torch.tensor(keep, dtype=x.dtype) / (1 - float(p))

        d = {k: torch.tensor(a[i % len(a)].astype(
                np.int64 if a.dtype == np.int32 else np.float64))
             for k, a in self.data.items()}
        d = {k: v.to(self.dtype) if v.is_floating_point() else v
             for k, v in d.items()}
        return self.loss(self.p, d, drop)

    def backward(self, step):
        total = 0.0
        for v in self.p.values():
            v.grad = None
        for i in range(step * self.n, (step + 1) * self.n):
            loss = self.microbatch(i) / self.n
            loss.backward()
            total += loss.item()
        return total

    def grads(self):
        return {k: v.grad.double().numpy() for k, v in self.p.items()}

    def optimizer(self):
        betas = self.m.number("beta1"), self.m.number("beta2")
        groups = [{"params": [v], "weight_decay": self.m.decay[k]}
                  for k, v in self.p.items()]
        return torch.optim.AdamW(groups, betas=betas,
                                 eps=self.m.number("eps"))

    def losses(self):
        opt, out = self.optimizer(), []
        clip = self.m.number("clip_norm")
        for step in range(STEPS):
            out.append(self.backward(step))
            norm = math.sqrt(sum((v.grad.double() ** 2).sum().item()
                                 for v in self.p.values()))
            for v in self.p.values():
                if clip and norm > clip:
                    v.grad *= clip / norm
            for g in opt.param_groups:
                g["lr"] = self.m.rate(step)
            opt.step()
        return out


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, (command, done.returncode)
    return done.stdout


def norm(a):
    return float(np.sqrt((a.astype(np.float64) ** 2).sum()))


def check_grads(m, exact, evaluated, emitted, plain):
    """exact: PyTorch in f64; plain: in f32."""
    top = max(np.abs(g).max() for g in evaluated.values())
    eps = np.finfo(np.float32).eps
    k = max(math.prod(s) for _, s in m.inputs.values())
    k = max(k, max(max(s) for s in m.params.values()))
    worst = 0.0
    for name, g64 in evaluated.items():
        off = norm(g64 - exact[name])
        assert off <= 1e-6 * max(norm(g64), top), (name, "evaluator", off)
        far = norm(emitted[name] - g64)
        room = max(2 * norm(plain[name] - g64),
                   4 * math.sqrt(k) * eps * norm(g64), 1e-6 * top)
        assert far <= room, (name, "emitted", far, room)
        worst = max(worst, far / room)
    print(f"{len(evaluated)} gradients, at most {worst:.2f} of the room")


def check_losses(folder, reference):
    lines = [json.loads(x) for x in open(folder + "/metrics")]
    got = [x["loss"] for x in lines if "loss" in x]
    assert len(got) == STEPS, len(got)
    far = max(abs(a - b) for a, b in zip(got, reference))
    assert far <= 1e-4, (far, got, reference)
    assert abs(reference[-1] - reference[0]) > 1e-2, "nothing was learned"
    print(f"{STEPS} losses, at most {far:.1e} off")


def arguments():
    a = argparse.ArgumentParser(description=__doc__)
    a.add_argument("--no-eval", action="store_true",
                   help="PyTorch in float64 stands for the evaluator")
    a.add_argument("--peer", action="store_true",
                   help="the GPT-2 of bench/gpt2_torch_step.py")
    a.add_argument("--std", type=float, default=0.1, help="of the weights")
    a.add_argument("edlc")
    a.add_argument("folder")
    a.add_argument("file")
    a.add_argument("name")
    a.add_argument("dims", nargs="*", metavar="DIM=N")
    return a.parse_args()


def gradients(path):
    return {k[5:]: v for k, v in tensors.read(path).items()
            if k.startswith("grad/")}


def main():
    a = arguments()
    folder = a.folder
    torch.manual_seed(0)
    torch.set_num_threads(1)
    pick = ["--model=" + a.name] + ["--set=" + d for d in a.dims]
    m = Model(run(a.edlc, "ir", a.file, *pick))
    r = np.random.default_rng(1)
    weights = random_weights(m, r, a.std)
    n = int(m.number("accumulate")) * STEPS
    data = {k: random_input(k, d, [n] + s, r, top_of(m))
            for k, (d, s) in m.inputs.items()}
    tensors.write(folder + "/init", weights)
    tensors.write(folder + "/data", data)
    first = {k: v[:n // STEPS] for k, v in data.items()}
    tensors.write(folder + "/first", first)
    loss = models.peer(weights) if a.peer else getattr(models, a.name)
    exact = Torch(m, loss, weights, data, torch.float64)
    exact.backward(0)
    exact = exact.grads()
    evaluated = exact
    common = [a.file, *pick, "--init=" + folder + "/init"]
    if not a.no_eval:
        run(a.edlc, "eval", *common, "--inputs=" + folder + "/first",
            "--grads", "--outputs=" + folder + "/g64")
        evaluated = gradients(folder + "/g64")
    out = folder + "/" + a.name
    run(a.edlc, a.file, *pick, "-o", out)
    run("make", "-s", "-C", out, a.name)
    start = [out + "/" + a.name, "--init=" + folder + "/init", "--quiet"]
    run(*start, "--inputs=" + folder + "/first", "--grads", "--steps=1",
        "--outputs=" + folder + "/g32")
    run(*start, "--inputs=" + folder + "/data", f"--steps={STEPS}",
        "--metrics=" + folder + "/metrics")
    emitted = gradients(folder + "/g32")
    plain = Torch(m, loss, weights, data, torch.float32)
    plain.backward(0)
    assert set(evaluated) == set(emitted) == set(weights)
    check_grads(m, exact, evaluated, emitted, plain.grads())
    check_losses(folder, Torch(m, loss, weights, data, torch.float32).losses())


if __name__ == "__main__":
    main()
