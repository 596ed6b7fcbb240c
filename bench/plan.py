"""make bench-plan: what memory costs in time, predicted and measured.

For each model a curve over limits: the stash and workspace that it takes
without one, cut to parts; the step as `edlc plan` predicts it with the machine
file of `edlc profile`, and as the emitted program takes. With --nodes plans are
made and predicted from the times of nodes of the program without a limit.

The programs of a model are alive together and take turns step by step, so that
what disturbs the machine disturbs all of them: times are medians over steps,
and a ratio is the median of the ratios within a turn; that of the fastest
steps stands beside it. GPT-2 beside tuned PyTorch, without and with
torch.utils.checkpoint around every block.
"""
import json
import math
import os
import random
import re
import statistics
import struct
import subprocess
import sys

from run import Bench, HERE, SAMPLES, bench_flags, last_json, output

PARTS = [1, 0.75, 0.5, 0.375, 0.25, 0]  # 0: the smallest that works
MODELS = [("gpt2", "B=4,T=256", 4), ("gpt2", "B=8,T=512", 3),
          ("unet", "", 12)]
WARMUP = 1
TOKENS = 50000


class Contestant:
    """A program that does one step a line."""
    def __init__(self, front, step):
        self.p = subprocess.Popen(
            front + [step, "--turns", "1", "--warmup", str(WARMUP)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.turns = []
        self.line()

    def line(self):
        text = self.p.stdout.readline()
        if not text:
            sys.exit("bench: a program has ended early")
        return json.loads(text)

    def turn(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        self.turns.append(self.line()["ms"])

    def end(self):
        self.p.stdin.close()
        self.result = last_json(self.p.stdout.read())
        self.p.wait()


def available_mib():
    text = open("/proc/meminfo").read()
    return int(re.search(r"MemAvailable: *(\d+)", text)[1]) // 1024


def groups(rows):
    """Of what fits in memory together; the first row is in each."""
    room = 0.8 * available_mib() * 2**20
    out = [[]]
    for r in rows[1:]:
        if sum(x["total"] for x in out[-1] + [rows[0], r]) > room:
            out.append([])
        out[-1].append(r)
    return [[rows[0]] + g for g in out]


def write_inputs(sched, path):
    """Tokens, or reals, for the inputs that a schedule has."""
    header, data, draw = {}, b"", random.Random(1)
    for name, dtype, shape in re.findall(
            r"(?m)^input (\S+) : (\w+)\[([\d,]*)\]", open(sched).read()):
        dims = [int(x) for x in shape.split(",") if x]
        n = math.prod(dims)
        if dtype == "i32":
            text = struct.pack(f"<{n}i", *(draw.randrange(TOKENS)
                                           for _ in range(n)))
        else:
            text = struct.pack(f"<{n}f", *(draw.random() for _ in range(n)))
        header[name] = {"dtype": dtype.upper(), "shape": dims,
                        "data_offsets": [len(data), len(data) + len(text)]}
        data += text
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)


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

    def measure_machine(self):
        """Right before a model: within the hour rates change by a quarter."""
        self.a.machine = os.path.join(self.a.dir, "machine.toml")
        output(self.front + [self.a.edlc, "profile", "-o", self.a.machine])

    def node_times(self, model, file, flags, dims):
        """Of the program without a limit, by random inputs."""
        name = model + re.sub(r"\W", "", dims)
        out = os.path.join(self.a.dir, "nodes_" + name)
        inputs = os.path.join(out, "inputs.safetensors")
        times = os.path.join(out, "nodes.json")
        output([self.a.edlc, *flags, "-o", out])
        output(["make", "-s", "-j2", "-C", out, "profile"])
        write_inputs(os.path.join(out, model + ".sched"), inputs)
        output(self.front + [os.path.join(out, model + "_profile"), "--quiet",
                             "--steps=4", "--inputs=" + inputs,
                             "--profile=" + times])
        return "--profile=" + times

    def rows(self, model, dims):
        file = self.model_file(model)
        flags = [file, "--machine=" + self.a.machine]
        flags += ["--set=" + dims] if dims else []
        if self.a.nodes:
            flags += [self.node_times(model, file, flags, dims)]
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
            # what is saved, gradients that are not kept included
            now = acts - (kept["total"] - p["total"])
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
        for g in groups(rows):
            self.take_turns(g, self.a.rounds * steps)
        torch = self.torch(dims, steps) \
            if model == "gpt2" and self.a.torch else []
        theirs = [[] for _ in torch]
        for _ in range(self.a.rounds):
            for command, done in zip(torch, theirs):
                done.append(last_json(output(self.front + command, self.env)))
        self.table(model, dims, rows, [t for t in theirs if t])

    def take_turns(self, rows, turns):
        all = [Contestant(self.front, r["step"]) for r in rows]
        for _ in range(turns):
            for c in all:
                c.turn()
        for r, c in zip(rows, all):
            c.end()
            r["ms"] = statistics.median(c.turns)
            r["ratio"] = statistics.median(
                x / y for x, y in zip(c.turns, all[0].turns))
            r["best"] = min(c.turns) / min(all[0].turns)
            r["rss"] = c.result["rss_mib_peak"]
            if c.result["losses"] != all[0].result["losses"]:
                sys.exit(f"{r['step']}: other losses under a limit")

    def table(self, model, dims, rows, theirs):
        def ms(runs):
            return statistics.median(r["ms_median"] for r in runs)
        off = []
        for r in rows:
            predicted = r["ns"] / 1e6
            off.append(abs(predicted / r["ms"] - 1))
            print(f"| {model} {dims} | {r['part']:.3f} | "
                  f"{r['total'] / 2**20:.0f} | {r['rss']} | "
                  f"{predicted:.4g} | {r['ms']:.4g} | "
                  f"{predicted / r['ms']:.2f} | "
                  f"{r['ns'] / rows[0]['ns']:.3f} | {r['ratio']:.3f} | "
                  f"{r['best']:.3f} |",
                  flush=True)
        for what, runs in zip(("PyTorch", "PyTorch, checkpoint"), theirs):
            print(f"| {what} {dims} | | | {runs[0]['rss_mib_peak']:.0f} | | "
                  f"{ms(runs):.4g} | | | {ms(runs) / ms(theirs[0]):.3f} | |",
                  flush=True)
        print(f"  {model} {dims}: predicted and measured differ by "
              f"{100 * statistics.median(off):.1f} %, median over limits",
              file=sys.stderr)


def main():
    ap = bench_flags(__doc__)
    ap.add_argument("--machine", help="a machine file; else it is measured, "
                    "before each model")
    ap.add_argument("--nodes", action="store_true",
                    help="plan with the times of nodes, too")
    ap.add_argument("--no-torch", dest="torch", action="store_false")
    ap.add_argument("--parts", type=lambda s: [float(x) for x in s.split(",")],
                    default=PARTS, help="of stash and workspace: 1,0.5,0.25")
    b = PlanBench(ap.parse_args())
    given = b.a.machine
    print("| step | activations, part | total, MiB | RSS, MiB | predicted, ms "
          "| measured, ms | predicted/measured | predicted/unlimited | "
          "measured/unlimited | fastest/unlimited |")
    print("| --- |" + " --- |" * 9)
    for c in MODELS:
        if b.a.only and b.a.only not in " ".join(c[:2]):
            continue
        if not given:
            b.measure_machine()
        b.model(*c)


if __name__ == "__main__":
    main()
