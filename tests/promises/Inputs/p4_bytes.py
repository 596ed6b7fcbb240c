"""p4_bytes.py EDLC SAMPLES FOLDER: every sample compiled twenty times, with
another folder, name of edlc, locale, time zone, home and layout of the address
space each time: the same bytes."""
import os
import shutil
import sys

from tool import call, content

edlc, samples, folder = sys.argv[1:]
LOCALES = ["C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "xx_YY"]
ZONES = ["UTC", "Asia/Tokyo", "America/St_Johns", ""]


def files(out):
    return {name: content(os.path.join(out, name))
            for name in sorted(os.listdir(out))}


def compile_once(source, i):
    place = os.path.join(folder, f"{i}" * (1 + i))
    os.makedirs(place)
    copy = shutil.copy(source, place)
    tool = os.path.join(place, f"tool{i}")
    os.symlink(edlc, tool)
    env = {"LC_ALL": LOCALES[i % 5], "TZ": ZONES[i % 4], "HOME": place,
           "PATH": os.environ["PATH"], "MALLOC_PERTURB_": str(i)}
    if i % 3 == 0:
        env["TMPDIR"] = place
    fixed = ["setarch", "-R"] if i % 4 == 3 else []
    named = os.path.basename(copy) if i % 2 else os.path.abspath(copy)
    out = os.path.join(place, "out")
    text = call(*fixed, tool, named, "-o", "out" if i % 2 else out, cwd=place,
                env=env)
    got = files(out)
    shutil.rmtree(place)
    return text, got


for name in sorted(os.listdir(samples)):
    if not name.endswith(".edl"):
        continue
    first = compile_once(os.path.join(samples, name), 0)
    for i in range(1, 20):
        again = compile_once(os.path.join(samples, name), i)
        assert again[0] == first[0], (name, i, again[0], first[0])
        assert again[1].keys() == first[1].keys(), (name, i)
        for f in first[1]:
            assert again[1][f] == first[1][f], (name, i, f)
    print(f"{name}: {len(first[1])} files, the same in 20 compilations")
