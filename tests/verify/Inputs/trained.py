"""Trains what an edited schedule compiles to, and compares with the schedule
that edlc made: losses, and every bit of the checkpoint."""
import os
import random
import subprocess

CFLAGS = ["-O1", "-std=c11", "-ffp-contract=off", "-fno-math-errno",
          "-fno-trapping-math", "-pthread"]


class Trainer:
    def __init__(self, edlc, model, folder, flags=()):
        self.edlc, self.model, self.folder = edlc, model, folder
        self.name = os.path.basename(model).removesuffix(".edl")
        os.makedirs(folder, exist_ok=True)
        draw = random.Random(1)
        with open(os.path.join(folder, "train.bin"), "wb") as f:
            f.write(bytes(draw.randrange(16) for _ in range(600)))
        self.base = os.path.join(folder, "base")
        self.run([edlc, model, *flags, "-o", self.base])
        self.objects = []
        for source in sorted(os.listdir(self.base)):
            if source.startswith("edl_") and source.endswith(".c"):
                to = os.path.join(self.base, source[:-2] + ".o")
                self.cc("-c", "-o", to, os.path.join(self.base, source))
                self.objects.append(to)
        path = os.path.join(self.base, f"{self.name}.sched")
        self.schedule = open(path, encoding="utf-8").read()
        self.want = self.train(self.base)
        self.c = self.text(self.base)

    def run(self, words, **kind):
        done = subprocess.run(words, capture_output=True, text=True, **kind)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: status {done.returncode}\n"
                               f"{done.stdout}{done.stderr}")
        return done.stdout

    def cc(self, *words):
        self.run([os.environ.get("CC", "cc"), *CFLAGS, *words])

    def text(self, where):
        return open(os.path.join(where, f"{self.name}.c"), "rb").read()

    def train(self, where):
        program = os.path.abspath(os.path.join(where, "trainer"))
        sources = [os.path.join(where, f"{self.name}{x}.c")
                   for x in ("", "_main")]
        self.cc("-I", where, "-o", program, *sources, *self.objects, "-lm")
        out = os.path.abspath(os.path.join(where, "save"))
        self.run([program, "--quiet", "--threads=2", f"--metrics={out}.jsonl",
                  f"--save={out}.safetensors"], cwd=self.folder, timeout=60)
        return [open(out + end, "rb").read()
                for end in (".jsonl", ".safetensors")]

    def compiles(self, name, schedule):
        """Status of edlc for the edited schedule, and what it said."""
        path = os.path.join(self.folder, f"{name}.sched")
        with open(path, "w", encoding="utf-8") as f:
            f.write(schedule)
        done = subprocess.run(
            [self.edlc, self.model, f"--schedule={path}", "-o",
             os.path.join(self.folder, name)], capture_output=True, text=True)
        return done.returncode, done.stderr

    def same_bits(self, name):
        where = os.path.join(self.folder, name)
        if self.text(where) == self.c:
            return True
        return self.train(where) == self.want

    def accepts(self, name, schedule):
        status, said = self.compiles(name, schedule)
        if status:
            return f"status {status}\n{said}", False
        same = self.same_bits(name)
        return "accepted" if same else "other bits", same
