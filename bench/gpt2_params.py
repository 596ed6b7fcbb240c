"""gpt2_params.py CHECKPOINT SCHED OUT: the weights of gpt2_make_inputs.py as
plain f32, in the order in which a schedule declares its parameters."""
import re
import sys

import numpy as np

NAMES = {"ln_1.g": 2, "ln_1.b": 3, "attn.c_attn.w": 4, "attn.c_attn.b": 5,
         "attn.c_proj.w": 6, "attn.c_proj.b": 7, "ln_2.g": 8, "ln_2.b": 9,
         "mlp.c_fc.w": 10, "mlp.c_fc.b": 11, "mlp.c_proj.w": 12,
         "mlp.c_proj.b": 13}


def groups(path):
    raw = open(path, "rb").read()
    head = np.frombuffer(raw[:1024], "<i4")
    t, _, n, _, c, v = (int(x) for x in head[2:8])
    shapes = [(v, c), (t, c), (n, c), (n, c), (n, 3 * c, c), (n, 3 * c),
              (n, c, c), (n, c), (n, c), (n, c), (n, 4 * c, c), (n, 4 * c),
              (n, c, 4 * c), (n, c), (c,), (c,)]
    data, out = np.frombuffer(raw[1024:], "<f4"), []
    for s in shapes:
        size = int(np.prod(s))
        out.append(data[:size].reshape(s))
        data = data[size:]
    return out


def find(g, name, dims):
    top = {"wte": 0, "wpe": 1, "ln_f.g": 14, "ln_f.b": 15}
    if name in top:
        return g[top[name]][:dims[0]]
    layer, rest = re.fullmatch(r"h\.(\d+)\.(.*)", name).groups()
    a = g[NAMES[rest]][int(layer)]
    return a.T if a.ndim == 2 else a


def main():
    checkpoint, sched, to = sys.argv[1:]
    g = groups(checkpoint)
    with open(to, "wb") as f:
        for name, dims in re.findall(r"^param (\S+) : f32\[([\d,]+)\]",
                                     open(sched).read(), re.M):
            dims = [int(n) for n in dims.split(",")]
            a = find(g, name, dims)
            assert list(a.shape) == dims, (name, a.shape, dims)
            f.write(np.ascontiguousarray(a).tobytes())


main()
