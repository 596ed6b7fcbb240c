"""p1_limit.py EDLC FILE FOLDER [FLAGS...]: the sum of the header's regions is
what `edlc plan` says; the smallest limit that an error names works, with
regions that fit; one byte less does not, with exit 3 and the same number."""
import json
import os
import re
import sys

from tool import call, regions

edlc, source, folder, *flags = sys.argv[1:]
model = source.rsplit("/", 1)[1][:-4]


def needed(limit):
    text = call(edlc, source, "-o", folder + "/none", f"--memory={limit}",
                *flags, status=3)
    assert not os.path.exists(folder + "/none")
    return int(re.search(r"error: needs (\d+) bytes", text)[1])


def compiled(*more):
    call(edlc, source, "-o", folder, *more, *flags)
    return sum(regions(f"{folder}/{model}.h").values())


total = compiled()
plan = json.loads(call(edlc, "plan", source, "--json", *flags))
assert plan["total"] == total, (plan["total"], total)
table = call(edlc, "plan", source, *flags)
assert int(re.search(r"^ *total +(\d+)", table, re.M)[1]) == total, table
assert compiled(f"--memory={total}") == total
smallest = needed(1)
assert smallest <= total, (smallest, total)
assert needed(smallest - 1) == smallest
assert compiled(f"--memory={smallest}") <= smallest
call(edlc, "run", source, f"--memory={smallest - 1}", *flags, status=3)
print(f"{model}: {total} bytes, {smallest} at least")
