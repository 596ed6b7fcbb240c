"""The samples once more, in PyTorch: plain functions over a dict of
parameters by path. Each returns the loss of one microbatch; dropout is off."""
import math

import numpy as np
import torch
import torch.nn.functional as F


def linear(p, path, x):
    y = x @ p[path + ".w"]
    return y + p[path + ".b"] if path + ".b" in p else y


def layernorm(p, path, x, eps=1e-5):
    w = p[path + ".g"]
    return F.layer_norm(x, w.shape, w, p[path + ".b"], eps)


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


def gpt(n_heads, root=""):
    def forward(p, batch):
        x = F.embedding(batch["tokens"].long(), p[root + "wte"]) + p[root + "wpe"]
        for h in blocks(p, root + "h"):
            y = linear(p, h + ".attn.c_attn", layernorm(p, h + ".ln_1", x))
            q, k, v = (heads(t, n_heads) for t in y.chunk(3, -1))
            x = x + linear(p, h + ".attn.c_proj", attend(q, k, v, causal=True))
            y = F.gelu(linear(p, h + ".mlp.c_fc", layernorm(p, h + ".ln_2", x)),
                       approximate="tanh")
            x = x + linear(p, h + ".mlp.c_proj", y)
        logits = layernorm(p, root + "ln_f", x) @ p[root + "wte"].t()
        return F.cross_entropy(logits.flatten(0, 1), batch["targets"].long().flatten())
    return forward


def llama(p, batch):
    x = F.embedding(batch["tokens"].long(), p["embed"])
    for h in blocks(p, "layers"):
        y = rmsnorm(p, h + ".input_norm", x)
        q = rope_half(heads(linear(p, h + ".attn.q_proj", y), 8))
        k = rope_half(heads(linear(p, h + ".attn.k_proj", y), 2))
        v = heads(linear(p, h + ".attn.v_proj", y), 2)
        x = x + linear(p, h + ".attn.o_proj", attend(q, k, v, causal=True))
        y = rmsnorm(p, h + ".post_norm", x)
        y = F.silu(linear(p, h + ".mlp.gate_proj", y)) * linear(p, h + ".mlp.up_proj", y)
        x = x + linear(p, h + ".mlp.down_proj", y)
    logits = linear(p, "lm_head", rmsnorm(p, "norm", x))
    return F.cross_entropy(logits.flatten(0, 1), batch["targets"].long().flatten())


def bert(p, batch):
    tokens = batch["tokens"].long()
    real = (tokens != 0)[:, None, None, :]
    x = F.embedding(tokens, p["word"]) + p["position"] + F.embedding(batch["segments"].long(), p["segment"])
    x = layernorm(p, "ln", x, 1e-12)
    for h in (b + ".encoder" for b in blocks(p, "layers")):
        q, k, v = (heads(linear(p, f"{h}.attn.{n}", x), 4) for n in ("query", "key", "value"))
        x = layernorm(p, h + ".ln_1", x + linear(p, h + ".attn.out", attend(q, k, v, mask=real)), 1e-12)
        y = linear(p, h + ".down", F.gelu(linear(p, h + ".up", x)))
        x = layernorm(p, h + ".ln_2", x + y, 1e-12)
    t = layernorm(p, "ln_head", F.gelu(linear(p, "transform", x)), 1e-12)
    logits = t @ p["word"].t() + p["bias"]
    return F.cross_entropy(logits.flatten(0, 1), batch["targets"].long().flatten(), ignore_index=-100)


def mlp(p, batch):
    h = torch.relu(linear(p, "fc_1", batch["x"]))
    h = torch.relu(linear(p, "fc_2", h))
    return F.cross_entropy(linear(p, "head", h), batch["label"].long())


# ---- batches: n microbatches one after the other, by name of the input ----

def integers(rng, high, n, shape):
    return rng.integers(0, high, [n, *shape], dtype=np.int32)


def tokens(vocabulary):
    def make(sched, n, rng):
        return {k: integers(rng, vocabulary, n, shape) for k, (_, shape) in sched.inputs.items()}
    return make


def masked_words(sched, n, rng):
    shape = sched.inputs["tokens"][1]
    words = integers(rng, 999, n, shape) + 1
    words[:, 1::2, -7:] = 0
    targets = np.where(rng.random([n, *shape]) < 0.2, words, -100).astype(np.int32)
    return {"tokens": words, "segments": integers(rng, 2, n, shape), "targets": targets}


def digits(sched, n, rng):
    x = rng.random([n, *sched.inputs["x"][1]], dtype=np.float32)
    return {"x": x, "label": integers(rng, 10, n, sched.inputs["label"][1])}


MODELS = {
    "mlp": (mlp, digits),
    "gpt2": (gpt(12), tokens(50257)),
    "chargpt": (gpt(4, "gpt."), tokens(256)),
    "llama": (llama, tokens(512)),
    "bert": (bert, masked_words),
}
