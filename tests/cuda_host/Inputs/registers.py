"""registers.py FOLDER TABLE [--write]: what ptxas says of the kernels in
FOLDER/NAME.cu.log (nvcc.sh) against TABLE, whose lines are
NAME ARCH KERNEL REGISTERS SHARED: no kernel spills, and those of the table take
no more registers or shared memory than it says. --write prints a table of the
kernels that TABLE names, registers rounded up to a multiple of 8."""
import glob
import os
import re
import sys


def kernel_name(mangled):
    m = re.match(r"_Z(?:L|N)?(\d+)", mangled)
    return mangled[m.end():m.end() + int(m[1])] if m else mangled


def entries(text):
    for part in text.split("Compiling entry function '")[1:]:
        yield (kernel_name(part.split("'")[0]), part.split("'")[2],
               int(re.search(r"Used (\d+) registers", part)[1]),
               int((re.search(r"(\d+) bytes smem", part) or [0, 0])[1]),
               [int(x) for x in re.findall(r"(\d+) bytes spill", part)])


def main():
    folder, table = sys.argv[1:3]
    found, wrong = {}, []
    for log in glob.glob(f"{folder}/*.log"):
        name = os.path.basename(log).removesuffix(".cu.log")
        for kernel, arch, registers, shared, spills in entries(open(log).read()):
            found[name, arch, kernel] = registers, shared
            if any(spills):
                wrong.append(f"{name} {arch} {kernel}: spills {spills}")
    rows = [r.split() for r in open(table) if r.strip() and r[0] != "#"]
    for name, arch, kernel, registers, shared in rows:
        if (name, arch, kernel) not in found:
            wrong.append(f"{name} {arch} {kernel}: not there")
            continue
        r, s = found[name, arch, kernel]
        if "--write" in sys.argv:
            print(name, arch, kernel, (r + 7) // 8 * 8, s)
        elif r > int(registers) or s > int(shared):
            wrong.append(f"{name} {arch} {kernel}: {r} registers of "
                         f"{registers}, {s} bytes of {shared}")
    print("\n".join(wrong + [f"{len(rows)} kernels, {len(wrong)} wrong"]))
    sys.exit(1 if wrong else 0)


main()
