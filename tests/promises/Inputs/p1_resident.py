"""p1_resident.py TRAINER HEADER FOLDER: while it trains, the memory that is
no page of a file stays within 64 MiB of the regions."""
import os
import re
import subprocess
import sys
import time

from tool import regions

trainer, header, folder = (os.path.abspath(p) for p in sys.argv[1:4])
small = sys.argv[4:] == ["small"]
for name in ("train.bin", "val.bin"):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(os.urandom(1 << 16))
total = sum(regions(header).values())
run = subprocess.Popen([trainer, "--quiet", "--steps=2", "--threads=2"],
                       cwd=folder)
most = 0
while run.poll() is None:
    try:
        with open(f"/proc/{run.pid}/status", encoding="utf-8") as f:
            kib = re.findall(r"^Rss(?:Anon|Shmem):\s+(\d+)", f.read(), re.M)
        most = max(most, 1024 * sum(map(int, kib)))
    except FileNotFoundError:
        pass
    time.sleep(0.005)
assert run.returncode == 0, run.returncode
assert (total < 64 << 20) if small else (total >= 256 << 20), total
assert abs(most - total) <= 64 << 20, (most, total)
print(f"regions {total}, resident {most}")
