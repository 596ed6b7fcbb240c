"""The samples once more, in PyTorch: plain functions over a dict of
parameters by path. Each returns the loss of one microbatch."""
import math

import torch
import torch.nn.functional as F


def linear(p, path, x):
    y = x @ p[path + ".w"]
    return y + p[path + ".b"] if path + ".b" in p else y


def layernorm(p, path, x):
    w = p[path + ".g"]
    return F.layer_norm(x, w.shape, w, p[path + ".b"])


def rmsnorm(p, path, x, eps=1e-5):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * p[path + ".g"]


def heads(x, n):
    b, t, c = x.shape
    return x.view(b, t, n, c // n).transpose(1, 2)


def attend(q, k, v, causal=False, mask=None):
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    v = v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    s = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    if causal:
        hide = torch.ones(s.shape[-2:], dtype=torch.bool).triu(1)
        s = s.masked_fill(hide, float("-inf"))
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    y = torch.softmax(s, -1) @ v
    b, h, t, d = y.shape
    return y.transpose(1, 2).reshape(b, t, h * d)


def rope_half(x, base=10000.0):
    t, d = x.shape[-2:]
    f = base ** (-2.0 * torch.arange(d // 2, dtype=torch.float64) / d)
    a = torch.arange(t, dtype=torch.float64)[:, None] * f
    cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
    u, v = x[..., :d // 2], x[..., d // 2:]
    return torch.cat([u * cos - v * sin, u * sin + v * cos], -1)


def blocks(p, prefix):
    i = 0
    while any(k.startswith(f"{prefix}.{i}.") for k in p):
        yield f"{prefix}.{i}"
        i += 1


def gpt2(p, batch, n_heads):
    tokens, targets = batch["tokens"].long(), batch["targets"].long()
    x = F.embedding(tokens, p["wte"]) + p["wpe"]
    for h in blocks(p, "h"):
        y = linear(p, h + ".attn.c_attn", layernorm(p, h + ".ln_1", x))
        q, k, v = (heads(t, n_heads) for t in y.chunk(3, -1))
        x = x + linear(p, h + ".attn.c_proj", attend(q, k, v, causal=True))
        y = F.gelu(linear(p, h + ".mlp.c_fc", layernorm(p, h + ".ln_2", x)),
                   approximate="tanh")
        x = x + linear(p, h + ".mlp.c_proj", y)
    logits = layernorm(p, "ln_f", x) @ p["wte"].t()
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
