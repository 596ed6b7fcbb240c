"""The samples once more, in PyTorch: functions of parameters by path."""
import math
import os
import sys

import torch
import torch.nn.functional as F


def linear(p, path, x):
    y = x @ p[path + ".w"]
    return y + p[path + ".b"] if path + ".b" in p else y


def norm(p, path, x, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], p[path + ".g"], p[path + ".b"], eps)


def rms(p, path, x, eps=1e-5):
    x = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    return x * p[path + ".g"]


def apart(x, heads):
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).transpose(1, 2)


def together(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


def attend(q, k, v, allowed):
    group = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(group, 1)
    v = v.repeat_interleave(group, 1)
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return s.masked_fill(~allowed, -math.inf).softmax(-1) @ v


def causal(t):
    return torch.ones(t, t, dtype=torch.bool).tril()


def layers(p, prefix):
    n = 0
    while any(name.startswith(f"{prefix}.{n}.") for name in p):
        n += 1
    return [f"{prefix}.{i}" for i in range(n)]


def mlp(p, d, drop):
    h = torch.relu(linear(p, "fc_1", d["x"]))
    h = torch.relu(linear(p, "fc_2", h))
    return F.cross_entropy(linear(p, "head", h), d["label"])


def gpt_block(p, h, x, heads):
    y = linear(p, h + ".attn.c_attn", norm(p, h + ".ln_1", x))
    q, k, v = (apart(t, heads) for t in y.chunk(3, -1))
    y = together(attend(q, k, v, causal(x.shape[1])))
    x = x + linear(p, h + ".attn.c_proj", y)
    y = F.gelu(linear(p, h + ".mlp.c_fc", norm(p, h + ".ln_2", x)),
               approximate="tanh")
    return x + linear(p, h + ".mlp.c_proj", y)


def gpt2(p, d, drop, prefix=""):
    wte = p[prefix + "wte"]
    heads = max(4, wte.shape[1] // 64)  # 12 of GPT-2; the narrow ones have 4
    x = drop(F.embedding(d["tokens"], wte) + p[prefix + "wpe"])
    for h in layers(p, prefix + "h"):
        x = gpt_block(p, h, x, heads)
    logits = norm(p, prefix + "ln_f", x) @ wte.T
    return F.cross_entropy(logits.flatten(0, -2), d["targets"].flatten())


def chargpt(p, d, drop):
    return gpt2(p, d, drop, "gpt.")


def rope(x, base=10000.0):
    t, half = x.shape[-2], x.shape[-1] // 2
    rate = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(t, dtype=torch.float64)[:, None] * rate
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    u, v = x[..., :half], x[..., half:]
    return torch.cat([u * cos - v * sin, u * sin + v * cos], -1)


def llama(p, d, drop):
    x = F.embedding(d["tokens"], p["embed"])
    for h in layers(p, "layers"):
        y = rms(p, h + ".input_norm", x)
        q = rope(apart(linear(p, h + ".attn.q_proj", y), 8))
        k = rope(apart(linear(p, h + ".attn.k_proj", y), 2))
        v = apart(linear(p, h + ".attn.v_proj", y), 2)
        y = together(attend(q, k, v, causal(x.shape[1])))
        x = x + linear(p, h + ".attn.o_proj", y)
        y = rms(p, h + ".post_norm", x)
        y = F.silu(linear(p, h + ".mlp.gate_proj", y)) * linear(
            p, h + ".mlp.up_proj", y)
        x = x + linear(p, h + ".mlp.down_proj", y)
    logits = linear(p, "lm_head", rms(p, "norm", x))
    return F.cross_entropy(logits.flatten(0, -2), d["targets"].flatten())


def bert(p, d, drop):
    real = (d["tokens"] != 0)[:, None, None, :]
    x = F.embedding(d["tokens"], p["word"]) + p["position"]
    x = x + F.embedding(d["segments"], p["segment"])
    x = drop(norm(p, "ln", x, 1e-12))
    for h in layers(p, "layers"):
        h += ".encoder"
        q, k, v = (apart(linear(p, f"{h}.attn.{n}", x), 4)
                   for n in ("query", "key", "value"))
        y = linear(p, h + ".attn.out", together(attend(q, k, v, real)))
        x = norm(p, h + ".ln_1", x + drop(y), 1e-12)
        y = linear(p, h + ".down", F.gelu(linear(p, h + ".up", x)))
        x = norm(p, h + ".ln_2", x + drop(y), 1e-12)
    t = norm(p, "ln_head", F.gelu(linear(p, "transform", x)), 1e-12)
    logits = t @ p["word"].T + p["bias"]
    return F.cross_entropy(logits.flatten(0, -2), d["targets"].flatten(),
                           ignore_index=-100)


def peer(weights):
    """GPT-2 as bench/gpt2_torch_step.py has it, an nn.Module that is older
    than edlc, behind the interface of the functions above."""
    root = __file__
    for _ in range(4):
        root = os.path.dirname(os.path.abspath(root))
    sys.path.append(os.path.join(root, "bench"))
    from gpt2_torch_step import Model
    from torch.nn.utils.stateless import functional_call
    (v, c), (t, _) = weights["wte"].shape, weights["wpe"].shape
    model = Model(len(layers(weights, "h")), c // 64, c, t, v)

    def state(p):
        out = {"wte.weight": p["wte"], "wpe.weight": p["wpe"],
               "lnf.weight": p["ln_f.g"], "lnf.bias": p["ln_f.b"]}
        for i, h in enumerate(layers(p, "h")):
            for theirs, ours in (("ln1", "ln_1"), ("ln2", "ln_2")):
                out[f"layers.{i}.{theirs}.weight"] = p[f"{h}.{ours}.g"]
                out[f"layers.{i}.{theirs}.bias"] = p[f"{h}.{ours}.b"]
            for theirs, ours in (("qkv", "attn.c_attn"),
                                 ("proj", "attn.c_proj"),
                                 ("fc", "mlp.c_fc"),
                                 ("fcproj", "mlp.c_proj")):
                out[f"layers.{i}.{theirs}.weight"] = p[f"{h}.{ours}.w"].T
                out[f"layers.{i}.{theirs}.bias"] = p[f"{h}.{ours}.b"]
        return out

    return lambda p, d, drop: functional_call(
        model, state(p), (d["tokens"], d["targets"], False))
