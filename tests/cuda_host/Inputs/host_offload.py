"""host_offload.py EDLC MODEL.edl FOLDER BUILD: values moved to host memory by
hand, as in tests/verify, and by the planner under a limit, which makes some
again as well. The CUDA output of all schedules, on the stand-in, trains to the
same bits under several orders of streams; with a wait that is left out it does
not."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "..", "verify", "Inputs"))
from offload import moved  # noqa: E402

SEEDS = (0, 1, 7, 9)


def run(words, **kind):
    done = subprocess.run(words, capture_output=True, text=True, **kind)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: status {done.returncode}\n"
                 f"{done.stdout}{done.stderr}")


def train(folder, name, seed):
    """The checkpoint, or None where the program fails."""
    done = subprocess.run(
        [f"./{name}", "--quiet", "--save=save.st"], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "EDL_HOST_SEED": str(seed)})
    return done.returncode == 0 and open(f"{folder}/save.st", "rb").read()


def main():
    edlc, model, folder, build = sys.argv[1:5]
    name = os.path.basename(model).removesuffix(".edl")
    kept, away, planned = (f"{folder}/{x}" for x in ("kept", "away", "planned"))
    os.makedirs(folder, exist_ok=True)
    run([edlc, model, "--target=cuda", "-o", kept])
    text = open(f"{kept}/{name}.sched", encoding="utf-8").read()
    with open(f"{folder}/moved.sched", "w", encoding="utf-8") as f:
        f.write(moved(text, "host"))
    run([edlc, model, "--target=cuda", f"--schedule={folder}/moved.sched",
         "-o", away])
    with open(f"{folder}/disk.sched", "w", encoding="utf-8") as f:
        f.write(moved(text, "disk"))
    said = subprocess.run([edlc, model, f"--schedule={folder}/disk.sched", "-o",
                           f"{folder}/disk"], capture_output=True, text=True)
    print(f"disk: status {said.returncode}, "
          f"{said.stderr.splitlines()[0].partition('error: ')[2]}")
    run([edlc, model, "--target=cuda", "--memory=75%", "--offload=host", "-o",
         planned])
    for d in (kept, away, planned):
        with open(f"{d}/train.bin", "wb") as f:
            f.write(bytes(i * 7 % 16 for i in range(600)))
        run([build, d])
    want = train(kept, name, 0)
    same = [train(away, name, s) == want for s in SEEDS]
    print(f"moved: {'the same bits' if want and all(same) else same}")
    text = open(f"{planned}/{name}.sched", encoding="utf-8").read()
    copies = len(re.findall(r" = (?:offload|fetch) ", text))
    again = len(re.findall(r" recomputed", text))
    same = [train(planned, name, s) == want for s in SEEDS]
    print(f"planned: {copies} copies, {again} made again: "
          f"{'the same bits' if want and all(same) else same}")
    code = open(f"{away}/{name}.cu", encoding="utf-8").read()
    waits = re.findall(r"^ *edl_cuda_wait\(.*\n", code, re.M)
    # a wait covers the copies before it: that of the last one counts
    last = re.findall(r"EdlTicket (\w+) = edl_cuda_fetch", code)[-1]
    with open(f"{away}/{name}.cu", "w", encoding="utf-8") as f:
        f.write(re.sub(rf" *edl_cuda_wait\(m, {last}\);\n", "", code))
    run([build, away])
    seen = any(train(away, name, s) != want for s in SEEDS)
    print(f"{len(waits)} waits; one is left out: {'seen' if seen else 'not'}")


main()
