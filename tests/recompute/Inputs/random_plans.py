"""random_plans.py EDLC MODELS.edl FOLDER SEED: random models under random
limits. The smallest limit that edlc names works and one byte less does not;
the checker, which shares nothing with the planner, accepts every plan, which
takes what it says and no more; more memory is never slower."""
import json
import random
import re
import subprocess
import sys

edlc, source, folder, seed = sys.argv[1:]
rng = random.Random(int(seed))


def run(*args):
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def plan(model, *more):
    code, out, err = run(edlc, "plan", source, f"--model={model}", "--json",
                         *more)
    assert code in (0, 3), (model, more, err)
    return code, json.loads(out)


def compiled(model, *flags):
    code, _, err = run(edlc, source, f"--model={model}", "-o", folder, *flags)
    assert code == 0, (model, flags, err)
    code, out, err = run(edlc, "verify", f"{folder}/{model}.sched", source)
    assert code == 0, (model, flags, out, err)
    return int(re.search(r"peak (\d+) bytes", out).group(1))


models = re.findall(r"^model (\w+)", open(source).read(), re.M)
plans = again = 0
for m in models:
    top = plan(m)[1]["total"]
    code, least = plan(m, "--memory=1")
    low = least["total"]
    assert code == 3 and low <= top, (m, low, top)
    assert plan(m, f"--memory={low - 1}")[0] == 3, m
    last = None
    for limit in sorted({low, top} | {rng.randint(low, top) for _ in "12"}):
        code, p = plan(m, f"--memory={limit}")
        assert code == 0 and p["total"] <= limit, (m, limit)
        assert last is None or p["after"]["ns"] <= last, (m, limit)
        last = p["after"]["ns"]
        assert compiled(m, f"--memory={limit}") == p["total"], (m, limit)
        plans += 1
        again += any(row["recomputed"]["values"] for row in p["blocks"])
    compiled(m, "--recompute=all")
print(f"{len(models)} models, {plans} plans verified, {again} make values again")
assert again > 0
