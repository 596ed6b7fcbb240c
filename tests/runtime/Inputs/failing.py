"""failing.py DIR: a resumed run in which the n-th allocation fails, for every
n until none does."""
import os
import subprocess
import sys

os.chdir(sys.argv[1])
open("names.txt", "w").write("w = w\n")
runs = (["--resume=a.st", "--steps=25", "--save=b.st"],
        ["--init=a.st", "--names=names.txt", "--steps=2", "--outputs=o.st",
         "--grads", "--save=b.st"])
for args in runs:
    n, status = 0, 3
    while status == 3:
        n += 1
        open("b.st", "w").write("old")
        p = subprocess.run(["./toy", "--quiet", "--threads=2", *args],
                           env=dict(os.environ, FAIL_AT=str(n)),
                           stderr=subprocess.PIPE, universal_newlines=True)
        status = p.returncode
        assert status in (0, 3), (n, status, p.stderr)
        assert "Sanitizer" not in p.stderr, (n, p.stderr)
        if status == 3:
            assert "memory" in p.stderr or "threads" in p.stderr, p.stderr
            assert open("b.st").read() == "old"
    print(n - 1, "allocations")
    assert n > 10
