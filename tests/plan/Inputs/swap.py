"""Swaps the first two lines that read h.0.ln.g and h.0.ln.b."""
import sys

lines = sys.stdin.read().split("\n")
g = next(i for i, l in enumerate(lines) if l.strip().startswith("h.0.ln.g = "))
b = next(i for i, l in enumerate(lines) if l.strip().startswith("h.0.ln.b = "))
lines[g], lines[b] = lines[b], lines[g]
print("\n".join(lines), end="")
