"""mutations.py EDLC MODEL SCHEDULE [recomputed]: the family of wrong schedules;
those of a schedule that recomputes everything.

Every one is the good schedule but for one edit; `edlc verify` must say no, at
the line that the edit has marked with # HERE, in these words."""
import re
import subprocess
import sys

HERE = "  # HERE"


def put(text, old, new):
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


def mark(text, line):
    """Marks the first line that begins so."""
    at = text.index("\n" + line) + 1
    end = text.index("\n", at)
    return text[:end] + HERE + text[end:]


def split_graph(text, name):
    at = text.index(f"\ngraph {name} {{\n")
    end = text.index("\n}\n", at)
    return text[:at], text[at:end], text[end:]


def in_graph(text, name, old, new):
    before, graph, after = split_graph(text, name)
    return before + put(graph, old, new) + after


def line_of(text, start):
    at = text.index("\n" + start) + 1
    return text[at:text.index("\n", at) + 1]


def place(text, what, offset):
    line = line_of(text, f"  {what} ")
    words = line.split()
    words[2] = str(offset)
    return put(text, line, "  " + " ".join(words) + HERE + "\n")


def offset_of(text, what):
    return int(line_of(text, f"  {what} ").split()[2])


def program(text, lines):
    at = text.index("program step {\n") + len("program step {\n")
    end = text.index("\n}\n", at)
    return text[:at] + "\n".join("  " + l for l in lines) + text[end:]


def call(name, mb, slot=0):
    return f"call {name}(mb = {mb}, slot = {slot})"


def step(*calls):
    return [call(*c) for c in calls] + ["call update"]


F, B = "forward", "backward"
GOOD = [(F, 0), (B, 0), (F, 1), (B, 1), (F, 2), (B, 2)]

MUTATIONS = {}


RECOMPUTED = {}


def mutation(pattern, family=MUTATIONS):
    def add(f):
        family[f.__name__] = (f, pattern)
        return f
    return add


# ---- nodes ----

@mutation("ln_f.grad.rows is not defined above")
def swap_dependent(t):
    line = line_of(t, "  ln_f.grad = reshape")
    before, g, after = split_graph(t, "forward")
    g = put(g, line, "")
    return before + put(g, "\n  ln_f.rows = reshape", "\n" + line[:-1] + HERE
                        + "\n  ln_f.rows = reshape") + after


@mutation("x is not defined above")
def delete_node(t):
    line = line_of(t, "  x = embedding wte, tokens")
    t = put(t, line, "")
    return mark(t, "  gain.scale.next.mul.1.stop.mean.sum = fused x")


@mutation("accumulate is missing")
def delete_accumulate(t):
    t = in_graph(t, B, "    accumulate ln_f.b.grad = ln_f.b.grad\n", "")
    return mark(t, "grad ln_f.b.grad :")


@mutation("eps is 1e-05 in the model, found 1e-06")
def change_attribute(t):
    return in_graph(t, F, "layernorm gain (eps = 1e-05)",
                    "layernorm gain (eps = 1e-06)").replace(
        "h_0.ln.n.rstd(0; 8,1,1)\n", "h_0.ln.n.rstd(0; 8,1,1)" + HERE + "\n", 1)


@mutation("key is h_1.drop in the model, found h_0.drop")
def change_draw(t):
    return in_graph(t, B, 'key = "h_1.drop") : f32[2,8,8]',
                    'key = "h_0.drop") : f32[2,8,8]' + HERE)


@mutation("p is 0.25 in the model, found 0.5")
def change_chance(t):
    return in_graph(t, B, '(p = 0.25, key = "h_1.drop") : f32[2,8,8]',
                    '(p = 0.5, key = "h_1.drop") : f32[2,8,8]' + HERE)


@mutation("operand 2 is h_0.ln.g in the model, found h_0.ln.g, "
          "which is h_1.ln.g there")
def change_read(t):
    t = in_graph(t, F, "h_0.ln.g = read h_0.ln.g", "h_0.ln.g = read h_1.ln.g")
    return mark(t, "    h_0.ln.mul = mul")


@mutation("operand 1 is")
def change_operand(t):
    t = in_graph(t, F, "h_0.x = add gain, h_0.attn.c_proj",
                 "h_0.x = add h_0.ln, h_0.attn.c_proj")
    t = in_graph(t, F, "h_0.attn.c_proj.b, gain (kind = matmul)",
                 "h_0.attn.c_proj.b, h_0.ln (kind = matmul)")
    return mark(t, "    h_0.x = add")


@mutation("operand 1 is gain")
def swap_operands(t):
    t = in_graph(t, F, "h_0.x = add gain, h_0.attn.c_proj",
                 "h_0.x = add h_0.attn.c_proj, gain")
    return mark(t, "    h_0.x = add")


@mutation("is gelu_tanh in the model, found silu")
def change_op(t):
    t = in_graph(t, F, "h_0.mlp.a = gelu_tanh", "h_0.mlp.a = silu")
    return mark(t, "    h_0.mlp.a = silu")


@mutation("value is 0.9 in the model, found 0.8")
def change_constant(t):
    t = in_graph(t, F, "(value = 0.9)", "(value = 0.8)")
    return mark(t, "  gain.scale.next.mul.0.const = const")


@mutation("expected i32")
def change_type(t):
    t = in_graph(t, F, "in targets(0; 1)", "in targets(0; 1)" + HERE)
    return in_graph(t, F, "(shape = [16]) : i32[16]", "(shape = [16]) : i64[16]")


# ---- effects ----

@mutation("written twice|once more than the model")
def accumulate_twice(t):
    return in_graph(t, B, "    accumulate ln_f.b.grad = ln_f.b.grad\n",
                    "    accumulate ln_f.b.grad = ln_f.b.grad\n"
                    "    accumulate ln_f.b.grad = ln_f.b.grad" + HERE + "\n")


@mutation("once more than the model|another change of ln_f.b.grad")
def accumulate_more(t):
    return in_graph(t, B, "    accumulate ln_f.b.grad = ln_f.b.grad\n",
                    "    accumulate ln_f.b.grad = ln_f.b.grad\n"
                    "    accumulate ln_f.b.grad = ln_f.b.grad (more = true)"
                    + HERE + "\n")


@mutation("write is missing")
def forget_state(t):
    t = in_graph(t, F, "  write gain.scale = gain.scale.next\n", "")
    t = put(t, line_of(t, "  forward.workspace gain.scale.next"), "")
    before, g, after = split_graph(t, F)
    g = re.sub(r"\n  gain.scale.next\S* = fused.*?\n  }", "", g, flags=re.S)
    return mark(before + g + after, "state gain.scale :")


@mutation("count is missing")
def forget_count(t):
    line = line_of(t, "  count updates")
    return mark(put(t, line, ""), "counter updates")


@mutation("written twice|once more than the model")
def count_twice(t):
    line = line_of(t, "  count updates")
    return put(t, line, line + line[:-1] + HERE + "\n")


@mutation("beta1 is 0.9 in the model, found 0.8")
def change_update(t):
    t = put(t, "    adamw ln_f.b, ", "    adamw  ln_f.b, ")
    at = t.index("    adamw  ln_f.b, ")
    end = t.index("\n", at)
    line = t[at:end].replace("beta1 = 0.9", "beta1 = 0.8")
    return t[:at] + line + HERE + t[end:]


@mutation("the model has")
def change_clip(t):
    return put(t, "  clip_norm 1\n", "  clip_norm 2" + HERE + "\n")


# ---- tensors ----

@mutation("another initial value")
def change_init(t):
    return mark(put(t, "param wte : f32[16,8] = normal(0, 0.5)",
                    "param wte : f32[16,8] = normal(0, 0.25)"), "param wte ")


@mutation("another decay")
def change_decay(t):
    return mark(put(t, "param ln_f.g : f32[8] = constant(1)",
                    "param ln_f.g : f32[8] = constant(1) decay 1"),
                "param ln_f.g ")


@mutation("another type than in the model")
def change_dim(t):
    return mark(put(t, "dim B = 2", "dim B = 3"), "input tokens ")


# ---- programs and slots ----

@mutation("comes before its forward pass")
def backward_first(t):
    t = program(t, step((B, 0), (F, 0), *GOOD[2:]))
    return mark(t, "  call backward(mb = 0")


@mutation("once each, ascending")
def reorder(t):
    t = program(t, step(*GOOD[2:4], *GOOD[:2], *GOOD[4:]))
    return mark(t, "  call forward(mb = 1")


@mutation("once each, ascending")
def run_twice(t):
    t = program(t, step(*GOOD[:2], *GOOD))
    return put(t, "  call forward(mb = 0, slot = 0)\n"
               "  call backward(mb = 0, slot = 0)\n"
               "  call forward(mb = 0, slot = 0)",
               "  call forward(mb = 0, slot = 0)\n"
               "  call backward(mb = 0, slot = 0)\n"
               "  call forward(mb = 0, slot = 0)" + HERE)


@mutation("runs 2 microbatches of 3|after all microbatches")
def too_few(t):
    return mark(program(t, step(*GOOD[:4])), "  call update")


@mutation("after all microbatches")
def update_early(t):
    t = program(t, [call(*c) for c in GOOD[:5]] + ["call update",
                                                    call(*GOOD[5])])
    return mark(t, "  call update")


@mutation("no program calls graph update")
def no_update(t):
    t = program(t, [call(*c) for c in GOOD])
    return mark(t, "program step")


@mutation("there is one update|comes after")
def update_twice(t):
    t = program(t, step(*GOOD) + ["call update"])
    return put(t, "  call update\n  call update",
               "  call update\n  call update" + HERE)


@mutation("its slot holds a microbatch")
def reuse_slot(t):
    t = program(t, step((F, 0), (F, 1), (B, 0), (B, 1), *GOOD[4:]))
    return mark(t, "  call forward(mb = 1")


def two_slots(t):
    t = put(t, "  stash 12992\n", "  stash 25984\n  slots 2\n")
    return t


@mutation("its slot holds another")
def wrong_slot(t):
    t = two_slots(program(t, step((F, 0, 0), (F, 1, 1), (B, 0, 1), (B, 1, 0),
                                  *GOOD[4:])))
    return mark(t, "  call backward(mb = 0, slot = 1)")


@mutation("lacks a change of an earlier microbatch")
def sum_in_another_order(t):
    """The table's gradient has parts from both passes."""
    t = program(t, step(*[(g, i, i) for g in (F, B) for i in range(3)]))
    t = put(t, "  stash 12992\n", "  stash 38976\n  slots 3\n")
    return in_graph(t, F, "    accumulate wte.grad = wte.grad'3'2\n",
                    "    accumulate wte.grad = wte.grad'3'2" + HERE + "\n")


@mutation("is made in h_0.x, but h_0.x is not written")
def drop_stash_write(t):
    t = in_graph(t, F, "  write h_0.x = h_0.x\n", "")
    return mark(t, "    h_0.x = add")


@mutation("before it is written")
def drop_stash_copy(t):
    t = in_graph(t, F, "  write gain.scale.stash = gain.scale\n", "")
    before, g, after = split_graph(t, B)
    at = g.index("read gain.scale.stash")
    end = g.index("\n", at)
    return before + g[:end] + HERE + g[end:] + after


@mutation("gain.scale has its next value")
def cross_fence(t):
    return in_graph(t, B, "read gain.scale.stash : f32[8]",
                    "read gain.scale : f32[8]" + HERE)


@mutation("operand")
def stash_another(t):
    t = in_graph(t, F, "  write gain.scale.stash = gain.scale\n", "")
    t = in_graph(t, F, "  gain.scale.next.mul.1.stop.mean.const'2 = ",
                 "  write gain.scale.stash = "
                 "gain.scale.next.mul.1.stop.mean.sum\n"
                 "  gain.scale.next.mul.1.stop.mean.const'2 = ")
    before, g, after = split_graph(t, B)
    at = g.index("mul", g.index("gain.scale.stash"))
    line = next(l for l in g.splitlines()
                if re.search(r"= mul .*\bgain\.scale\b", l))
    return before + put(g, line, line + HERE) + after


# ---- storage ----

@mutation("lies over|overwrites")
def move_onto_live(t):
    to = offset_of(t, "backward.workspace h_1.x'2.grad")
    return place(t, "backward.workspace h_1.mlp.c_proj.grad", to)


@mutation("lies over")
def move_state(t):
    return place(t, "state gain.scale", 64)


@mutation("lies over")
def move_stash(t):
    return place(t, "stash h_0.x", offset_of(t, "stash h_0.ln"))


@mutation("lies over")
def move_scratch(t):
    return place(t, "forward.workspace scratch(loss)", 704)


@mutation("multiple of 64")
def misalign(t):
    return place(t, "state ln_f.b", 32 + offset_of(t, "state ln_f.b"))


@mutation("the place ends at 17024, the region at 16960")
def shrink_state(t):
    t = put(t, "  state 17024\n", "  state 16960\n")
    return mark(t, "  state ln_f.b.v ")


@mutation("the place ends at")
def shrink_slot(t):
    t = two_slots(t)
    t = put(t, "  stash 25984\n", "  stash 25856\n")
    last = [l for l in t.splitlines() if l.startswith("  stash ")][-1]
    return put(t, last, last + HERE)


@mutation("larger than the region")
def shrink_workspace(t):
    return put(t, "  workspace 1792\n", "  workspace 1728" + HERE + "\n")


@mutation("lies over .*, which is in use")
def reuse_stash_early(t):
    line = line_of(t, "  backward.stash h_0.ln.grad ")
    return put(t, line, "  backward.stash h_0.ln.grad 512 512" + HERE + "\n")


@mutation("overwrites h_0.attn.y")
def turn_view(t):
    before, g, after = split_graph(t, "evaluate")
    line = next(l for l in g.splitlines() if "h_0.attn.together.t" in l)
    return before + put(g, line, line.replace("(0; 64,8,4,1)",
                                              "(0; 64,4,8,1)") + HERE) + after


@mutation("more than the limit")
def exceed_limit(t):
    return put(t, "option target = c\n",
               "option target = c\noption limit = 38079" + HERE + "\n")


@mutation("shows some of its results and moves others")
def shift_view(t):
    before, g, after = split_graph(t, "evaluate")
    line = next(l for l in g.splitlines() if "h_0.attn.v = split" in l)
    return before + put(g, line, line.replace("(16; 192,24,1)",
                                              "(15; 192,24,1)") + HERE) + after


@mutation("overwrites h_0.attn.together while")
def in_place_of_product(t):
    before, g, after = split_graph(t, "evaluate")
    line = next(l for l in g.splitlines() if "h_0.x = add gain" in l)
    t = before + put(g, line, line + " in h_0.attn.y(0; 64,8,1)") + after
    t = put(t, line_of(t, "  evaluate.stash h_0.x "), "")
    t = put(t, "  evaluate.stash h_0.mlp.a 0 ", "  evaluate.stash h_0.mlp.a 4096 ")
    before, g, after = split_graph(t, "evaluate")
    line = next(l for l in g.splitlines() if l.startswith("  h_0.x = fused"))
    return before + put(g, line, line + HERE) + after


@mutation("does not lie as")
def transpose_read(t):
    return in_graph(t, F, "h_0.attn.c_proj.w = read h_0.attn.c_proj.w : "
                    "f32[8,8]", "h_0.attn.c_proj.w = read h_0.attn.c_proj.w : "
                    "f32[8,8] in tensor h_0.attn.c_proj.w(0; 1,8)" + HERE)


@mutation("does not leave its group")
def keep_inner(t):
    line = line_of(t, "  evaluate.stash h_0.attn.y.lse ")
    t = put(t, line, line + "  evaluate.workspace h_0.attn.c_proj.y 0 512\n")
    before, g, after = split_graph(t, "evaluate")
    line = next(l for l in g.splitlines() if "h_0.attn.c_proj.y = matmul" in l)
    return before + put(g, line, line + HERE) + after


# ---- recomputations ----

@mutation("key is h_0.drop in the model, found h_1.drop", RECOMPUTED)
def draw_another(t):
    return mark(in_graph(t, B, '(p = 0.25, key = "h_0.drop") : f32[2,8,8]\n'
                         "    h_0.x'2.re", '(p = 0.25, key = "h_1.drop") : '
                         "f32[2,8,8]\n    h_0.x'2.re"), "    h_0.drop.re =")


@mutation("operand 2 is h_0.attn.c_proj in the model, found h_0.x", RECOMPUTED)
def recompute_of_another(t):
    t = in_graph(t, B, "h_0.attn.c_proj.re = add h_0.attn.c_proj.y.re",
                 "h_0.attn.c_proj.re  = add h_0.attn.c_proj.y.re")
    t = in_graph(t, B, "h_0.x.re = add gain.re, h_0.attn.c_proj.re",
                 "h_0.x.re'0 = add gain.re, h_0.attn.c_proj.re : f32[2,8,8]\n"
                 "    h_0.x.re = add gain.re, h_0.x.re'0")
    return mark(t, "    h_0.x.re = add")


@mutation("eps is 1e-05 in the model, found 0.0001", RECOMPUTED)
def recompute_otherwise(t):
    return in_graph(t, B, "layernorm h_0.x'2.re (eps = 1e-05) : f32[2,8,8], "
                    "f32[2,8,1], f32[2,8,1]", "layernorm h_0.x'2.re (eps = "
                    "0.0001) : f32[2,8,8], f32[2,8,1], f32[2,8,1]" + HERE)


@mutation("gain.scale has its next value", RECOMPUTED)
def recompute_over_fence(t):
    return in_graph(t, B, "read gain.scale.stash : f32[8]",
                    "read gain.scale : f32[8]" + HERE)


@mutation("is not defined above", RECOMPUTED)
def forget_recomputation(t):
    line = line_of(t, "  x.re = embedding")
    return mark(put(t, line, ""), "  gain.re, ")


# ---- the run ----

def main():
    edlc, model, schedule = sys.argv[1:4]
    family = RECOMPUTED if sys.argv[4:] else MUTATIONS
    good = open(schedule, encoding="utf-8").read()
    bad = 0
    for name, (f, pattern) in family.items():
        text = f(good)
        path = f"{schedule}.{name}"
        open(path, "w", encoding="utf-8").write(text)
        run = subprocess.run([edlc, "verify", path, model],
                             capture_output=True, text=True)
        lines = [i + 1 for i, l in enumerate(text.split("\n")) if HERE in l]
        at = re.escape(f"{path}:{lines[0] if lines else 0}:")
        said = re.search(rf"^{at}\d+: error: .*({pattern})", run.stderr, re.M)
        if run.returncode != 1 or not said or len(lines) != 1:
            bad += 1
            print(f"{name}: status {run.returncode}, expected line {lines}\n"
                  f"{run.stdout}{run.stderr[:1500]}")
    print(f"{len(family) - bad} of {len(family)} mutations rejected")
    return bad != 0


sys.exit(main())
