#!/usr/bin/env python3
"""gpt2_torch_cuda.py [-B 32] [-T 1024] [--steps 20] [--eager]: training steps
of GPT-2 124M in PyTorch on a GPU: bf16 autocast, scaled_dot_product_attention,
torch.compile, fused AdamW, norm clipped at 1. Prints one JSON object: the
median time of a step, tokens a second, and the most memory allocated."""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

V, C, H, L = 50257, 768, 12, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(C), nn.LayerNorm(C)
        self.qkv, self.out = nn.Linear(C, 3 * C), nn.Linear(C, C)
        self.up, self.down = nn.Linear(C, 4 * C), nn.Linear(4 * C, C)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, H, C // H).transpose(1, 2)
                   for y in self.qkv(self.norm1(x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, C))
        return x + self.down(F.gelu(self.up(self.norm2(x)),
                                    approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, t):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(t, C)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = nn.LayerNorm(C)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.wte.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("-B", type=int, default=32)
    p.add_argument("-T", type=int, default=1024)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--eager", action="store_true")
    a = p.parse_args()
    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = Gpt2(a.T).cuda()
    run = model if a.eager else torch.compile(model)
    adam = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95),
                             weight_decay=0.1, fused=True)
    x = torch.randint(V, (a.B, a.T + 1), device="cuda")
    seconds, losses = [], []
    for _ in range(a.steps + 3):
        start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = run(x[:, :-1].contiguous(), x[:, 1:].contiguous())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        losses.append(loss.item())
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    step = statistics.median(seconds[3:])
    print(json.dumps({"torch": torch.__version__, "step_ms": step * 1e3,
                      "tokens_per_s": a.B * a.T / step, "loss": losses[-1],
                      "MiB": torch.cuda.max_memory_allocated() / 2**20}))


main()
