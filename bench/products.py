"""The matrix products of a GPT-2 step: part of the peak of fused
multiply-adds, a line a product and weighted over all, on the emitted kernels
with what is fused into them. One layer is built; it counts twelve times.
--small: those of samples/chargpt.edl, all layers.

Processor time of both threads; the peak is measured by the same thread
before each piece of a kernel, so that a clock that drifts does not matter."""
import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
C, V, LAYERS = 768, 50257, 12
# a part of the kernel's name, looked for in this order; the two sizes beside
# the rows; how often GPT-2 has it
PRODUCTS = [("c_attn_w_grad", C, 3 * C, LAYERS),
            ("c_fc_w_grad", C, 4 * C, LAYERS),
            ("mlp_c_proj_w_grad", C, 4 * C, LAYERS),
            ("attn_c_proj_w_grad", C, C, LAYERS),
            ("wte_grad", C, V, 1), ("ln_f_grad", C, V, 1),
            ("ln_1_grad", C, 3 * C, LAYERS), ("ln_2_grad", C, 4 * C, LAYERS),
            ("c_fc_grad", C, 4 * C, LAYERS),
            ("c_proj_reshape_grad", C, C, LAYERS),
            ("c_attn_piece", C, 3 * C, LAYERS),
            ("c_fc_piece", C, 4 * C, LAYERS),
            ("_x_2_piece", C, 4 * C, LAYERS), ("_x_piece", C, C, LAYERS),
            ("logits_piece", C, V, 1)]

W, S = 128, 256  # chargpt's width and symbols
SMALL = [("c_attn_w_grad", W, 3 * W, 1), ("c_fc_w_grad", W, 4 * W, 1),
         ("mlp_c_proj_w_grad", W, 4 * W, 1), ("attn_c_proj_w_grad", W, W, 1),
         ("wte_grad", W, S, 1), ("ln_f_grad", W, S, 1),
         ("ln_1_grad", W, 3 * W, 1), ("ln_2_grad", W, 4 * W, 1),
         ("c_fc_grad", W, 4 * W, 1), ("together_grad", W, W, 1),
         ("c_attn_piece", W, 3 * W, 1), ("c_fc_piece", W, 4 * W, 1),
         ("_x_2_piece", W, 4 * W, 1), ("_x_piece", W, W, 1),
         ("matmul_gpt_piece", W, S, 1)]


def output(*command, cwd=None):
    return subprocess.run([str(c) for c in command], check=True, text=True,
                          stdout=subprocess.PIPE, cwd=cwd).stdout


def build(a, rows):
    model = "chargpt" if a.small else "gpt2"
    out = os.path.join(a.dir, f"products_{model}{rows}")
    os.makedirs(out, exist_ok=True)
    source = open(os.path.join(ROOT, "samples", model + ".edl")).read()
    source = re.sub(r"(?m)^  (validate|checkpoint).*\n", "", source)
    source = re.sub(r"accumulate \d+", "accumulate 1", source)
    if not a.small:
        source, n = re.subn(r"\bL = 12\b", "L = 1", source)
        if n != 1:
            sys.exit("products: samples/gpt2.edl has no L = 12")
    path = os.path.join(out, model + ".edl")
    open(path, "w").write(source)
    b, t = (rows // 128, 128) if a.small else (4, rows // 4)
    output(a.edlc, path, "--model=" + model, "-o", out, f"--set=B={b},T={t}")
    output("make", "-s", "-C", out)
    objects = sorted(f for f in os.listdir(out) if f.endswith(".o")
                     and not f.endswith(("_main.o", ".profile.o")))
    output("cc", "-O2", "-march=native", "-ffp-contract=fast", "-std=c11",
           "-D_GNU_SOURCE", f"-DMODEL={model}_model", "-I.", "-o", "step",
           os.path.join(HERE, "step.c"), *objects, "-lm", "-lpthread", cwd=out)
    return os.path.join(out, "step")


def symbols(program):
    found = {}
    for line in output("nm", program).splitlines():
        words = line.split()
        if len(words) == 3:
            found[words[2]] = int(words[0], 16)
    base = next(found[m] for m in ("gpt2_model", "chargpt_model")
                if m in found)
    return {at - base: name for name, at in found.items()}


def times(a, program, steps):
    """-> {kernel: (ms of a step, peak of a thread in GFLOP/s, calls)}"""
    names = symbols(program)
    found = {}
    for line in output(*a.priority.split(), program, "--kernels", 2, "--steps",
                       steps, "--warmup", 1).splitlines():
        if line.startswith("kernel"):
            words = line.split()
            at = int(words[-1], 16)
            at -= 2 ** 64 if at >= 2 ** 63 else 0
            found[names.get(at, "?")] = (
                float(words[1]), float(words[-3]), int(words[5]))
    return found


def measure(a, rows, steps):
    program = build(a, rows)
    runs = [times(a, program, steps) for _ in range(a.rounds)]
    peaks = [p for r in runs for k, (_, p, _) in r.items()
             if k.startswith("matmul_")]
    print(f"B*T = {rows}, peak of a thread {min(peaks):.0f} to "
          f"{max(peaks):.0f} GFLOP/s")
    ideal = spent = 0
    left = {k for k in runs[0] if k.startswith("matmul_")}
    for pattern, inner, outer, count in SMALL if a.small else PRODUCTS:
        names = {k for k in left if pattern in k}
        if not names:
            sys.exit(f"products: no {pattern} among {sorted(left)}")
        left -= names
        calls = max(runs[0][k][2] for k in names) if a.small else 1
        gflop = 2e-9 * rows * inner * outer * calls
        ms = statistics.median(sum(r[k][0] for k in names) for r in runs)
        part = statistics.median(
            gflop / sum(r[k][0] * r[k][1] * 1e-3 for k in names) for r in runs)
        print(f"  {' '.join(sorted(names)):48} {gflop / ms * 1e3:6.0f} GFLOP/s "
              f"{part * 100:4.0f} %")
        ideal += gflop * count
        spent += gflop / part * count
    print(f"  weighted {ideal / spent * 100:.0f} %", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--edlc", default=os.path.join(ROOT, "build", "edlc"))
    ap.add_argument("--dir", default=os.path.join(ROOT, "build", "bench"))
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--rows", type=int, nargs="*")
    ap.add_argument("--small", action="store_true")
    ap.add_argument("--priority", default="",
                    help="what runs a program: 'chrt -f 1'")
    a = ap.parse_args()
    os.makedirs(a.dir, exist_ok=True)
    for rows in a.rows or ([1024] if a.small else [256, 4096]):
        measure(a, rows, 40 if a.small else 12 if rows < 1024 else 3)


main()
