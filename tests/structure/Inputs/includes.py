"""includes.py ROOT: prints every include that goes against the direction
grammar -> frontend -> ir <- passes, ir <- codegen. The files that drive a
command see all; the runtime is never part of the compiler."""
import os
import re
import sys

MAY = {"ir/base": {"ir/base"}, "ir": {"ir"}, "passes": {"ir", "passes"},
       "codegen": {"ir", "codegen"}, "frontend": {"ir", "frontend"},
       "grammar": {"ir", "frontend", "grammar"}}
FOLDERS = {"ir", "passes", "codegen", "frontend", "grammar", "runtime"}
DRIVER = re.compile(r"frontend/(main|output|compile|schedule|cmd_\w+)\.[ch]$")


def area(path):
    return "ir/base" if path.startswith("ir/base/") else path.split("/")[0]


root = sys.argv[1]
bad = 0
for folder in sorted(FOLDERS - {"runtime"}):
    for where, _, names in sorted(os.walk(os.path.join(root, folder))):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(where, name), root)
            if not re.search(r"\.([chly]|cc|def)$", name) or DRIVER.match(path):
                continue
            text = open(os.path.join(root, path), encoding="utf-8").read()
            for to in re.findall(r'^ *# *include "([^"]+)"', text, re.M):
                if to.split("/")[0] not in FOLDERS:
                    continue
                allowed = MAY[area(path)]
                if area(to) not in allowed and to.split("/")[0] not in allowed:
                    print(f"{path} includes {to}")
                    bad += 1
print(f"{bad} includes against the direction")
