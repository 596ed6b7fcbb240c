"""edits.py EDLC MODEL FOLDER [EDIT...]: right edits of a schedule, by hand.

Each must be accepted, with --schedule, and train to the same bits."""
import re
import subprocess
import sys

from trained import Trainer

sys.dont_write_bytecode = True


def put(text, old, new):
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


def untabled(text):
    return text[:text.index("placement {")]


def graph(text, name):
    at = text.index(f"\ngraph {name} {{\n")
    end = text.index("\n}\n", at)
    return text[:at], text[at:end], text[end:]


def reorder(t):
    """A read goes down to its reader, a view up to its value."""
    before, g, after = graph(t, "forward")
    g = put(g, "  ln_f.g = read ln_f.g : f32[8]\n"
            "  ln_f.b = read ln_f.b : f32[8]\n",
            "  ln_f.b = read ln_f.b : f32[8]\n"
            "  ln_f.g = read ln_f.g : f32[8]\n")
    line = "  targets = read targets : i32[2,8]\n"
    g = put(g, line, "")
    g = put(g, "  wte = read wte", line + "  wte = read wte")
    return before + g + after


def swap_places(t):
    t = put(t, "  state h_0.ln.g 576 64\n", "  state h_0.ln.g 640 64\n")
    return put(t, "  state h_0.ln.b 640 64\n", "  state h_0.ln.b 576 64\n")


def larger_region(t):
    return put(t, "  workspace 1792\n", "  workspace 8192\n")


def another_chunk(t):
    before, g, after = graph(t, "forward")
    return untabled(before + put(g, "chunk = 16", "chunk = 5") + after)


def program(t, lines):
    at = t.index("program step {\n") + len("program step {\n")
    end = t.index("\n}\n", at)
    return t[:at] + "\n".join("  " + l for l in lines) + t[end:]


def unrolled(t):
    calls = [f"call {g}(mb = {i}, slot = 0)" for i in range(3)
             for g in ("forward", "backward")]
    return program(t, calls + ["call update"])


def in_flight(t):
    """All forward passes, then all backward passes, in three slots."""
    t = program(t, [f"call {g}(mb = {i}, slot = {i})"
                    for g in ("forward", "backward") for i in range(3)]
                + ["call update"])
    one = int(re.search(r"\n  stash (\d+)\n", t).group(1))
    return put(t, f"  stash {one}\n", f"  stash {3 * one}\n  slots 3\n")


def recomputed(t):
    """The activation of a block is computed again and not kept."""
    t = put(t, "stash h_1.mlp.a : f32[2,8,16]\n", "")
    before, g, after = graph(t, "forward")
    g = put(g, "  write h_1.mlp.a = h_1.mlp.a\n", "")
    g = put(g, "h_1.mlp.a = gelu_tanh h_1.mlp.c_fc : f32[2,8,16] "
            "in tensor h_1.mlp.a(0; 128,16,1)",
            "h_1.mlp.a = gelu_tanh h_1.mlp.c_fc : f32[2,8,16]")
    before, g, after = graph(before + g + after, "backward")
    fc = "  h_1.mlp.c_fc = read h_1.mlp.c_fc : f32[2,8,16]\n"
    g = put(g, fc, "")
    g = put(g, "  h_1.mlp.a = read h_1.mlp.a : f32[2,8,16]\n",
            fc + "  h_1.mlp.a = gelu_tanh h_1.mlp.c_fc recomputed "
            ": f32[2,8,16]\n")
    return untabled(before + g + after)


def split_group(t):
    """The last node of a group becomes a kernel of its own."""
    before, g, after = graph(t, "evaluate")
    body = re.search(r"  h_0.x = fused (.*), gain \(kind = matmul\) \{\n"
                     r"(.*?)    (h_0.x = add .*?)\n  \}\n", g, re.S)
    new = (f"  h_0.attn.c_proj = fused {body.group(1)} (kind = matmul) {{\n"
           f"{body.group(2)}  }}\n  {body.group(3)}\n")
    return untabled(before + g[:body.start()] + new + g[body.end():] + after)


EDITS = [reorder, swap_places, larger_region, another_chunk, unrolled,
         recomputed, split_group]


def main():
    edlc, model, folder = sys.argv[1:4]
    edits = [globals()[name] for name in sys.argv[4:]] or EDITS
    trainer = Trainer(edlc, model, folder)
    bad = 0
    for f in edits:
        said, same = trainer.accepts(f.__name__, f(trainer.schedule))
        if not same:
            bad += 1
            print(f"{f.__name__}: {said}")
    print(f"{len(edits) - bad} of {len(edits)} edits train to the same bits")
    return bad != 0


sys.exit(main())
