"""Prints a schedule without its placement table, the first group that makes
VALUE taken apart.  usage: ungroup.py VALUE <OLD.sched >NEW.sched"""
import sys

lines = sys.stdin.read().split("\nplacement {", 1)[0].split("\n")
start = next(i for i, line in enumerate(lines) if " = fused " in line
             and sys.argv[1] in line.strip().split(" = ")[0].split(", "))
end = next(i for i in range(start, len(lines)) if lines[i].strip() == "}")
print("\n".join(lines[:start] + lines[start + 1:end] + lines[end + 1:]))
