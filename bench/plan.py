"""make bench-plan: what memory costs in time, predicted and measured.

For each model a curve over limits: the stash and workspace that it takes
without one, cut to parts; the step as `edlc plan` predicts it with the machine
file of `edlc profile`, and as the emitted program takes. Programs take turns;
figures are medians. GPT-2 beside tuned PyTorch, without and with
torch.utils.checkpoint around every block.
"""
import json
import os
import re
import statistics
import subprocess
import sys

from run import Bench, HERE, SAMPLES, bench_flags, last_json, output

PARTS = [1, 0.75, 0.5, 0.375, 0.25, 0]  # 0: the smallest that works
MODELS = [("gpt2", "B=4,T=256", 4), ("gpt2", "B=8,T=512", 3),
          ("unet", "", 12)]


class PlanBench(Bench):
    def model_file(self, model):
        path = os.path.join(self.a.dir, f"plan_{model}.edl")
        folder = HERE if model == "unet" else SAMPLES
        open(path, "w").write(self.source(folder, model))
        return path

    def plan(self, flags):
        return json.loads(output([self.a.edlc, "plan", *flags, "--json"]))

    def program(self, model, flags, name):
        out = os.path.join(self.a.dir, "plan_" + name)
        output([self.a.edlc, *flags, "-o", out])
        return self.step_program(model, out)

    def smallest(self, flags):
        """Which edlc names where nothing fits."""
        done = subprocess.run([self.a.edlc, "plan", *flags, "--memory=1"],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        return int(re.search(r"smallest limit that works is (\d+)",
                             done.stderr)[1])

    def rows(self, model, dims):
        flags = [self.model_file(model), "--machine=" + self.a.machine]
        flags += ["--set=" + dims] if dims else []
        kept = self.plan(flags)
        acts = kept["classes"]["stash"] + kept["classes"]["workspace"]
        rows = []
        for part in self.a.parts:
            limit = int(kept["total"] - acts + part * acts)
            limit = limit if part else self.smallest(flags)
            more = flags + ([f"--memory={limit}"] if part < 1 else [])
            try:
                p = self.plan(more)
            except SystemExit:
                print(f"{model}: a part of {part} does not fit",
                      file=sys.stderr)
                continue
            name = f"{model}{re.sub(chr(92) + 'W', '', dims)}_{part}"
            now = p["classes"]["stash"] + p["classes"]["workspace"]
            rows.append({"part": now / acts, "total": p["total"],
                         "ns": p["after"]["ns"],
                         "step": self.program(model, more, name)})
        return rows

    def torch(self, dims, steps):
        b, t = re.findall(r"\d+", dims)
        make = [self.a.python, os.path.join(HERE, "gpt2_make_inputs.py")]
        weights = os.path.join(self.a.dir, "gpt2.bin")
        tokens = os.path.join(self.a.dir, f"tokens{b}x{t}.bin")
        if not os.path.exists(weights):
            output(make + ["--ckpt", weights])
        output(make + ["--tokens", tokens, "-B", b, "-T", t])
        plain = [self.a.python, os.path.join(HERE, "gpt2_torch_step.py"),
                 "--ckpt", weights, "--tokens", tokens, "-B", b, "-T", t,
                 "--steps", str(steps), "--threads", "2"]
        return [plain, plain + ["--remat"]]

    def model(self, model, dims, steps):
        rows = self.rows(model, dims)
        torch = self.torch(dims, steps) if model == "gpt2" else []
        ours, theirs = [[] for _ in rows], [[] for _ in torch]
        for _ in range(self.a.rounds):
            for r, done in zip(rows, ours):
                done.append(last_json(output(self.front + [
                    r["step"], "--steps", str(steps), "--warmup", "1"])))
            for command, done in zip(torch, theirs):
                done.append(last_json(output(self.front + command, self.env)))
        self.table(model, dims, rows, ours, theirs)

    def table(self, model, dims, rows, ours, theirs):
        def ms(runs):
            return statistics.median(r["ms_median"] for r in runs)
        off, first = [], None
        for r, runs in zip(rows, ours):
            now = ms(runs)
            first = first or (now, r["ns"])
            off.append(abs(r["ns"] / 1e6 / now - 1))
            print(f"| {model} {dims} | {r['part']:.3f} | "
                  f"{r['total'] / 2**20:.0f} | {runs[0]['rss_mib_peak']} | "
                  f"{r['ns'] / 1e6:.4g} | {now:.4g} | "
                  f"{r['ns'] / 1e6 / now:.2f} | {r['ns'] / first[1]:.3f} | "
                  f"{now / first[0]:.3f} |", flush=True)
            if runs[0]["losses"] != ours[0][0]["losses"]:
                sys.exit(f"{model}: other losses under a limit")
        for what, runs in zip(("PyTorch", "PyTorch, checkpoint"), theirs):
            print(f"| {what} {dims} | | | {runs[0]['rss_mib_peak']:.0f} | | "
                  f"{ms(runs):.4g} | | | {ms(runs) / ms(theirs[0]):.3f} |",
                  flush=True)
        print(f"  {model} {dims}: predicted and measured differ by "
              f"{100 * statistics.median(off):.1f} %, median over limits",
              file=sys.stderr)


def main():
    ap = bench_flags(__doc__)
    ap.add_argument("--machine", help="a machine file; else it is measured")
    ap.add_argument("--parts", type=lambda s: [float(x) for x in s.split(",")],
                    default=PARTS, help="of stash and workspace: 1,0.5,0.25")
    b = PlanBench(ap.parse_args())
    if not b.a.machine:
        b.a.machine = os.path.join(b.a.dir, "machine.toml")
        output(b.front + [b.a.edlc, "profile", "-o", b.a.machine])
    print("| step | activations, part | total, MiB | RSS, MiB | predicted, ms "
          "| measured, ms | predicted/measured | predicted/unlimited | "
          "measured/unlimited |")
    print("| --- |" + " --- |" * 8)
    for c in MODELS:
        if not b.a.only or b.a.only in " ".join(c[:2]):
            b.model(*c)


if __name__ == "__main__":
    main()
