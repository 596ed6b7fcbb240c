"""make bench: emitted programs and tuned PyTorch, in turns, in one run.

The peak of fused multiply-adds is measured before and after each contest;
when 2 threads give less than 1.9 times 1, or the peaks differ by more than a
tenth, something else ran on the machine, and the contest is run again. Then the
kernels of each, timed one by one.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SAMPLES = os.path.join(ROOT, "samples")
OPENBLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
TUNED = {"MALLOC_MMAP_THRESHOLD_": "8589934592",
         "MALLOC_TRIM_THRESHOLD_": "17179869184",
         "MALLOC_TOP_PAD_": "268435456", "ATEN_CPU_CAPABILITY": "avx512",
         "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
         "LD_LIBRARY_PATH": OPENBLAS}
VERSION = "import torch; print(torch.__version__)"
PROBE = """
import time, torch
torch.set_num_threads(2)
a, b = torch.randn(512, 768), torch.randn(768, 3072)
a @ b
t = time.perf_counter()
for _ in range(20): a @ b
print(time.perf_counter() - t)
"""
KERNELS = 8 # of each contest that are printed
# model, dims, GFLOP of a step (0: not counted), steps [, precision]
CONTESTS = [("gpt2", "B=4,T=64", 191.6, 8), ("gpt2", "B=8,T=256", 1580.0, 4),
            ("gpt2", "B=4,T=64", 191.6, 8, "bf16"),
            ("gpt2", "B=8,T=256", 1580.0, 4, "bf16"),
            ("chargpt", "", 0, 40), ("mlp", "", 0, 200), ("llama", "", 0, 60),
            ("bert", "", 0, 60)]


def output(command, env=None, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env,
                          cwd=cwd)
    if done.returncode:
        sys.exit("bench: failed: " + " ".join(map(str, command)))
    return done.stdout


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])


class Bench:
    def __init__(self, a):
        self.a = a
        self.front = a.priority.split()
        os.makedirs(a.dir, exist_ok=True)
        self.peak_program = os.path.join(a.dir, "peak")
        output(["cc", "-O2", "-march=native", "-pthread", "-o",
                self.peak_program, os.path.join(HERE, "peak.c")])
        self.env = self.tuned()

    def tuned(self):
        """OpenBLAS may not know the processor and take its slowest kernels:
        the fastest of those that it has is the opponent."""
        env = {k: v for k, v in os.environ.items()
               if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        env.update(TUNED)
        best = None
        for core in (None, "SKYLAKEX", "COOPERLAKE", "SAPPHIRERAPIDS"):
            e = dict(env, OPENBLAS_CORETYPE=core) if core else env
            s = float(output(self.front + [self.a.python, "-c", PROBE], e))
            if best is None or s < best[0]:
                best = s, e, core
        version = output([self.a.python, "-c", VERSION], env).strip()
        print(f"PyTorch {version}, OpenBLAS: "
              f"{best[2] or 'what it takes by itself'}")
        return best[1]

    def peak(self):
        return last_json(output(self.front + [self.peak_program]))

    def source(self, folder, model):
        """The sample for a bench: no microbatches, and gpt2 with the
        optimizer of gpt2_torch_step.py."""
        source = open(os.path.join(folder, model + ".edl")).read()
        source = re.sub(r"(?m)^  (validate|checkpoint).*\n", "", source)
        source = re.sub(r"accumulate \d+", "accumulate 1", source)
        if model == "gpt2":
            source = re.sub(r"(?m)^  (clip_norm|no_decay).*\n", "", source)
            source = source.replace("[0.9, 0.95]", "[0.9, 0.999]")
            source = source.replace("weight_decay = 0.1", "weight_decay = 0")
        return source

    def step_program(self, model, out, profile=False):
        """bench/step.c with what edlc wrote to a folder."""
        make, end, name, flags = [], ".o", "step", []
        if profile:
            make, end, name = ["profile"], ".profile.o", "step_profile"
            flags = ["-DEDL_PROFILE"]
        output(self.front + ["make", "-s", "-j2", "-C", out] + make)
        objects = [f for f in os.listdir(out)
                   if re.fullmatch(r"[^.]+" + re.escape(end), f)
                   and not f.endswith("_main" + end)]
        output(["cc", "-O2", "-std=c11", "-D_GNU_SOURCE",
                f"-DMODEL={model}_model", "-I.", "-o", name] + flags +
               [os.path.join(HERE, "step.c")] + sorted(objects)
               + ["-lm", "-lpthread"], cwd=out)
        return os.path.join(out, name)

    def kernels(self, title, model, ours):
        """What each kernel takes of its own roofline, the slowest."""
        out = os.path.dirname(ours[0])
        program = self.step_program(model, out, profile=True)
        lines = output(self.front + [program] + ours[1:]).splitlines()[:-1]
        path = os.path.join(out, "kernels.txt")
        with open(path, "w") as f:
            f.write("\n".join(lines) + "\n")
        return "\n".join([f"{title}, all of them in {path}:"] +
                         lines[:2 + KERNELS])

    def build(self, model, dims, precision):
        folder = os.path.join(self.a.dir, model + re.sub(r"\W", "", dims) +
                              precision)
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, model + ".edl")
        open(path, "w").write(self.source(SAMPLES, model))
        out = os.path.join(folder, "out")
        output([self.a.edlc, path, "--model=" + model, "-o", out]
               + (["--set=" + dims] if dims else [])
               + (["--precision=" + precision] if precision else []))
        self.step_program(model, out)
        return path, out

    def gpt2(self, out, dims, precision, steps):
        b, t = re.findall(r"\d+", dims)
        make = [self.a.python, os.path.join(HERE, "gpt2_make_inputs.py")]
        weights = os.path.join(self.a.dir, "gpt2.bin")
        tokens = os.path.join(self.a.dir, f"tokens{b}x{t}.bin")
        params = os.path.join(out, "params.bin")
        if not os.path.exists(weights):
            output(make + ["--ckpt", weights])
        output(make + ["--tokens", tokens, "-B", b, "-T", t])
        # positions beyond T are no parameters of the emitted model
        output([self.a.python, os.path.join(HERE, "gpt2_params.py"), weights,
                os.path.join(out, "gpt2.sched"), params])
        return ([os.path.join(out, "step"), "--steps", steps, "--tokens",
                 tokens, "--params", params],
                [self.a.python, os.path.join(HERE, "gpt2_torch_step.py"),
                 "--ckpt", weights, "--tokens", tokens, "-B", b, "-T", t,
                 "--steps", steps, "--threads", "2"]
                + (["--bf16"] if precision else []))

    def contest(self, model, dims, steps, precision):
        path, out = self.build(model, dims, precision)
        if model == "gpt2":
            ours, theirs = self.gpt2(out, dims, precision, str(steps))
        else:
            ours = [os.path.join(out, "step"), "--steps", str(steps),
                    "--warmup", "10"]
            theirs = [self.a.python, os.path.join(HERE, "sample_torch.py"),
                      self.a.edlc, path, model, "--steps", str(steps)]
        for attempt in range(self.a.attempts):
            before = self.peak()
            rounds = [(last_json(output(self.front + ours)),
                       last_json(output(self.front + theirs, self.env)))
                      for _ in range(self.a.rounds)]
            after = self.peak()
            low, high = sorted((before["two"], after["two"]))
            calm = low > 0.9 * high and all(
                p["two"] > 1.9 * p["one"] for p in (before, after))
            if calm:
                break
        kernels = self.kernels(f"{model} {dims} {precision}".strip(), model,
                               ours)
        return rounds, (before["two"] + after["two"]) / 2, calm, kernels

    def row(self, model, dims, gflop, steps, precision=""):
        rounds, peak, calm, kernels = self.contest(model, dims, steps,
                                                   precision)
        ours = statistics.median(r[0]["ms_median"] for r in rounds)
        theirs = statistics.median(r[1]["ms_median"] for r in rounds)
        ratio = statistics.median(r[0]["ms_median"] / r[1]["ms_median"]
                                  for r in rounds)
        part = f"{gflop / ours * 1e5 / peak:.0f} %" if gflop else ""
        rss = [r["rss_mib_peak"] for r in rounds[0]]
        dims = f"{dims} {precision}".strip()
        print(f"| {model} {dims} | {ours:.3g} | {theirs:.3g} | {ratio:.2f} | "
              f"{part} | {rss[0]} | {rss[1]} | {peak:.0f}"
              f"{'' if calm else ', disturbed'} |", flush=True)
        if model == "gpt2":
            off = max(abs(x - y) for x, y in zip(rounds[0][0]["losses"],
                                                 rounds[0][1]["losses"]))
            print(f"  losses of {model} {dims}: at most {off:.1e} apart",
                  file=sys.stderr)
        return kernels


def bench_flags(doc):
    """What all benches take."""
    ap = argparse.ArgumentParser(description=doc)
    ap.add_argument("--edlc", default=os.path.join(ROOT, "build", "edlc"))
    ap.add_argument("--dir", default=os.path.join(ROOT, "build", "bench"))
    ap.add_argument("--python", default="/usr/bin/python3")
    ap.add_argument("--only", help="a part of the name: mlp, 'gpt2 B=4'")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--priority", default="",
                    help="what runs a contestant: 'chrt -f 1'")
    return ap


def main():
    ap = bench_flags(__doc__)
    ap.add_argument("--attempts", type=int, default=3)
    b = Bench(ap.parse_args())
    print("| step | edlc, ms | PyTorch, ms | ratio | of the FMA peak | "
          "RSS, MiB | PyTorch's | peak, GFLOP/s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    kernels = [b.row(*c) for c in CONTESTS
               if not b.a.only or b.a.only in " ".join((*c[:2], *c[4:]))]
    for text in kernels:
        print(f"\n{text}")


if __name__ == "__main__":
    main()
