"""graph_buffers.py GRAPH: of the IR on stdin, prints every value of a graph as
a buffer for `edlc pack`: from the node that makes it to its last reader, in
bytes of its type. Reads of tensors are no buffers; nothing is shared."""
import re
import sys

BYTES = {"f32": 4, "bf16": 2, "i32": 4, "bool": 1, "f64": 8, "u8": 1,
         "i64": 8, "f16": 2}
NODE = re.compile(r"\s+(\S+(?:, \S+)*) = (\w+) (.*) : (.*)$")


def size(of):
    dtype, dims = re.match(r"(\w+)(?:\[([\d,]*)\])?", of).groups()
    bytes_ = BYTES[dtype]
    for d in dims.split(",") if dims else []:
        bytes_ *= int(d)
    return bytes_


def main():
    made, last, bytes_, step, inside = {}, {}, {}, 0, False
    for line in sys.stdin:
        if line.startswith("graph "):
            inside = line.split()[1] == sys.argv[1]
        if not inside:
            continue
        node = NODE.match(line)
        reads = line
        step += 1
        if node:
            names, op, reads, types = node.groups()
            types = re.findall(r"\w+\[[\d,]*\]|\w+", types)
            for name, of in zip(names.split(", "), types):
                if op != "read" and size(of) > 0:
                    made[name] = last[name] = step
                    bytes_[name] = size(of)
        for name in re.findall(r"[^\s,()=\[\]]+", reads):
            if name in last:
                last[name] = step
    print("id,lower,upper,size")
    for name, at in made.items():
        print(f"{name},{at},{last[name] + 1},{bytes_[name]}")


main()
