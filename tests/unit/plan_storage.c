/* plan_storage FILE.eir [SEED]: compiles a module (shuffled before each pass
 * with a seed), runs it in its regions, every value at its address, and
 * compares what is left in the tensors with the evaluator, which knows
 * nothing of storage. Bytes are poison until written,
 * and a kernel's temporaries poison theirs: two values that lie over each
 * other at the wrong time, or a view that walks wrongly, change a number. A
 * copy off the device or back poisons its result and happens at its wait.
 * With `placed` for the seed the module is taken as it is: status 3 when the
 * verifier refuses it. */
#include "ir/eval_kernel.h"
#include "ir/scratch.h"
#include "ir/shape.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/pass.h"
#include "passes/place.h"
#include "passes/shuffle.h"

#include <math.h>
#include <stdlib.h>

enum { SETS = 3 }; /* of inputs, taken in turn by the microbatches */

typedef struct Machine {
    Arena *arena;
    Module *m;
    Eval *e;
    double *memory[REGION_COUNT]; /* one for each byte of a region */
    int64_t mb, slot, before;     /* before: microbatches of earlier steps */
    bool failed;
} Machine;

static char *
slurp(Arena *a, const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        bug("cannot open %s", path);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *text = arena_alloc(a, *n + 1);
    *n = fread(text, 1, *n, f);
    fclose(f);
    return text;
}

/* ---- addresses ---- */

typedef struct Place {
    double *at; /* of byte 0 of the home */
    int64_t room;
    int bytes; /* of an element */
} Place;

static Place
place_of(Machine *x, const Type *t, const Tensor *tensor, const Value *home)
{
    int size = dtype_info[t->dtype].bits / 8;
    if (!tensor && home->place < 0)
        bug("%s has no place", home->name);
    Region r = tensor ? tensor->region : home->region;
    int64_t at = tensor ? tensor->place : home->place;
    int64_t room = tensor ? tensor->bytes : home->bytes;
    if (tensor && tensor->kind == TENSOR_stash)
        at += x->slot * ((r == REGION_stash ? x->m->region_bytes[r] : room) /
                         x->m->slots);
    if (tensor && tensor->kind == TENSOR_input)
        at += x->mb * type_bytes(&tensor->type);
    return (Place){x->memory[r] + at, room, size};
}

static double *
element(Place p, const Type *t, const Layout *l, int64_t i, const char *name)
{
    int64_t at = l->offset;
    for (int k = t->rank - 1; k >= 0; k--) {
        at += i % t->dim[k] * l->stride[k];
        i /= t->dim[k];
    }
    if (at < 0 || (at + 1) * p.bytes > p.room)
        bug("%s leaves its home", name);
    return p.at + at * p.bytes;
}

static void
copy(Place p, const Type *t, const Layout *l, double *dense, bool out,
     const char *name)
{
    for (int64_t i = 0; i < type_elements(t); i++) {
        double *e = element(p, t, l, i, name);
        if (!out) {
            dense[i] = *e;
            continue;
        }
        *e = dense[i];
        for (int b = 1; b < p.bytes; b++)
            e[b] = NAN;
    }
}

/* ---- values; Value.note: a dense copy while a kernel has it ---- */

static bool
is_stored(const Value *v)
{
    return v->home->tensor || v->home->place >= 0;
}

static double *
load(Machine *x, Value *v)
{
    if (v->note)
        return v->note;
    double *d = ARENA_ARRAY(x->arena, double, type_elements(&v->type));
    if (v->def->op == OP_const && !is_stored(v)) {
        for (int64_t i = 0; i < type_elements(&v->type); i++)
            d[i] =
                node_float(v->def, "value", (double)node_int(v->def, "int", 0));
        return d;
    }
    copy(place_of(x, &v->type, v->home->tensor, v->home), &v->type, &v->layout,
         d, false, v->name);
    return d;
}

static void
store(Machine *x, Value *v, double *d)
{
    if (is_stored(v))
        copy(place_of(x, &v->type, v->home->tensor, v->home), &v->type,
             &v->layout, d, true, v->name);
}

static void
store_tensor(Machine *x, const Node *n, Tensor *t)
{
    Value *v = n->args[0];
    bool adds = n->op == OP_accumulate && (x->mb > 0 || node_flag(n, "more"));
    if (v->home->tensor == t && !adds)
        return;
    double *d = load(x, v);
    int64_t size = type_elements(&t->type);
    double *old = ARENA_ARRAY(x->arena, double, size);
    Place p = place_of(x, &t->type, t, NULL);
    if (adds) {
        copy(p, &t->type, &t->layout, old, false, t->name);
        for (int64_t i = 0; i < size; i++)
            old[i] += d[i];
        d = old;
    }
    copy(p, &t->type, &t->layout, d, true, t->name);
}

/* ---- nodes ---- */

static void
poison_scratch(Machine *x, const Node *n)
{
    int64_t bytes = node_scratch(n);
    for (int64_t i = 0; n->scratch >= 0 && i < bytes; i++)
        x->memory[REGION_workspace][n->scratch + i] = NAN;
}

static void
run_kernel(Machine *x, Node *n)
{
    char why[EVAL_WHY_BYTES];
    Array in[256], out[MAX_RESULTS];
    for (int i = 0; i < n->n_args; i++)
        in[i] = (Array){n->args[i]->type, load(x, n->args[i])};
    for (int i = 0; i < n->n_results; i++) {
        Type *t = &n->results[i]->type;
        out[i] = (Array){*t, ARENA_ARRAY(x->arena, double, type_elements(t))};
    }
    Job j = {
        n,           in, n->n_args, out, n->n_results, 7, x->before + x->mb,
        x->m->train, why};
    if (!eval_node(&j))
        bug("%s", why);
    for (int i = 0; i < n->n_results; i++) {
        eval_round(&out[i]);
        n->results[i]->note = out[i].at;
        if (!n->graph->owner)
            store(x, n->results[i], out[i].at);
    }
    if (op_info[n->op].flags & OP_OPTIMIZER)
        for (int i = 0; i < n->n_args; i++)
            store(x, n->args[i], in[i].at);
}

static void
begin_copy(Machine *x, Value *v)
{
    int64_t n = type_elements(&v->type);
    double *poison = ARENA_ARRAY(x->arena, double, n);
    for (int64_t i = 0; i < n; i++)
        poison[i] = NAN;
    store(x, v, poison);
}

static void
run_node(Machine *x, Node *n)
{
    const Value *r = n->n_results ? n->results[0] : NULL;
    if (n->op == OP_read)
        return;
    if (n->op == OP_offload || n->op == OP_fetch) {
        begin_copy(x, n->results[0]);
        return;
    }
    if (n->op == OP_wait) {
        store(x, n->args[0], load(x, n->args[1]));
        return;
    }
    if (n->op == OP_write || n->op == OP_accumulate)
        store_tensor(x, n, n->tensor);
    else if (n->op == OP_count)
        *place_of(x, &n->tensor->type, n->tensor, NULL).at +=
            n->n_args == 0 || load(x, n->args[0])[0] != 0;
    else if (!((op_info[n->op].flags & OP_VIEW) && r->home != r &&
               r->home == n->args[0]->home))
        run_kernel(x, n);
}

static void
forget(Node *n)
{
    if (n->body)
        graph_each(n->body, inner)
            forget(inner);
    for (int i = 0; i < n->n_results; i++)
        n->results[i]->note = NULL;
}

static void
run_outer(Machine *x, Node *n)
{
    poison_scratch(x, n);
    if (n->body) {
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->note = load(x, n->args[i]);
        graph_each(n->body, inner)
            run_node(x, inner);
        for (int i = 0; i < n->n_results; i++)
            store(x, n->results[i], n->results[i]->note);
        for (int i = 0; i < n->n_args; i++)
            n->args[i]->note = NULL;
    } else {
        run_node(x, n);
    }
    forget(n);
    poison_scratch(x, n);
}

static void
run_actions(Machine *x, Action *const *at, int n)
{
    for (int i = 0; i < n; i++) {
        Action *a = at[i];
        if (a->kind == ACTION_call) {
            x->slot = a->slot;
            if (a->mb != MB_LOOP)
                x->mb = a->mb;
            graph_each(a->graph, node)
                run_outer(x, node);
            continue;
        }
        for (int64_t mb = a->lo; mb < a->hi; mb++) {
            x->mb = mb;
            run_actions(x, a->body.at, a->body.n);
        }
    }
}

/* ---- tensors ---- */

static double
input_number(const Tensor *t, int64_t k, int i)
{
    return type_is_float(&t->type) ? sin((double)(k * 7 + i)) : (double)(k % 2);
}

static void
fill(Machine *x, Tensor *t, int i)
{
    int64_t n = type_elements(&t->type);
    double *d = ARENA_ARRAY(x->arena, double, SETS *n);
    if (t->kind != TENSOR_input) {
        Array *a = eval_tensor(x->e, t->name);
        bool lasts = t->kind != TENSOR_stash && t->region != REGION_grads &&
                     t->region != REGION_io;
        if (a && lasts)
            copy(place_of(x, &t->type, t, NULL), &t->type, &t->layout, a->at,
                 true, t->name);
        return;
    }
    int64_t copies = x->m->train ? x->m->train->accumulate : 1;
    for (int64_t k = 0; k < SETS * n; k++)
        d[k] = input_number(t, k, i);
    eval_set_input(x->e, t->name, d, SETS);
    for (x->mb = 0; x->mb < copies; x->mb++)
        copy(place_of(x, &t->type, t, NULL), &t->type, &t->layout,
             d + x->mb % SETS * n, true, t->name);
}

static void
compare(Machine *x, Tensor *t)
{
    Array *a = eval_tensor(x->e, t->name);
    int64_t n = type_elements(&t->type);
    double *d = ARENA_ARRAY(x->arena, double, n);
    bool is_mean = t->kind == TENSOR_output && t->type.rank == 0;
    if (!a || t->kind == TENSOR_input || t->kind == TENSOR_stash || is_mean)
        return;
    x->mb = 0;
    copy(place_of(x, &t->type, t, NULL), &t->type, &t->layout, d, false,
         t->name);
    for (int64_t i = 0; i < n; i++) {
        if (fabs(d[i] - a->at[i]) <= 1e-12 * fabs(a->at[i]) ||
            (isnan(d[i]) && isnan(a->at[i])))
            continue;
        fprintf(stderr,
                "%s[%lld] is %.17g in its region, %.17g in the "
                "evaluator\n",
                t->name, (long long)i, d[i], a->at[i]);
        x->failed = true;
        return;
    }
}

static bool
has_program(const Module *m, const char *name)
{
    for (int i = 0; i < m->programs.n; i++)
        if (strcmp(m->programs.at[i]->name, name) == 0)
            return true;
    return false;
}

static void
run_twice(Machine *x)
{
    const char *name = has_program(x->m, "step") ? "step" : "infer", *why = "";
    for (int i = 0; i < x->m->programs.n; i++) {
        Program *p = x->m->programs.at[i];
        if (strcmp(p->name, name) != 0)
            continue;
        for (int step = 0; step < 2; step++) {
            x->mb = 0;
            run_actions(x, p->actions.at, p->actions.n);
            x->before += x->m->train ? x->m->train->accumulate : 1;
            if (!eval_run(x->e, name, &why))
                bug("%s", why);
        }
    }
}

static int
run_module(Machine *x)
{
    x->e = eval_new(x->m, 7);
    for (int r = 0; r < REGION_COUNT; r++) {
        int64_t size = x->m->region_bytes[r] + 1;
        x->memory[r] = ARENA_ARRAY(x->arena, double, size);
        for (int64_t i = 0; i < size; i++)
            x->memory[r][i] = NAN;
    }
    for (int i = 0; i < x->m->tensors.n; i++)
        fill(x, x->m->tensors.at[i], i);
    run_twice(x);
    for (int i = 0; i < x->m->tensors.n; i++)
        compare(x, x->m->tensors.at[i]);
    eval_free(x->e);
    return x->failed;
}

/* A module that is differentiated already goes on from there. */
static bool
compile(Module *m, uint64_t shuffle)
{
    bool has_grads = false;
    for (int i = 0; i < m->tensors.n; i++)
        has_grads |= m->tensors.at[i]->kind == TENSOR_grad;
    for (int i = has_grads ? PASS_update + 1 : 0; i < PASS_COUNT; i++) {
        if (shuffle && i > PASS_update && i < PASS_phases)
            module_shuffle(m, shuffle + (uint64_t)i);
        int64_t least = i == PASS_place ? place_least(m) : 0;
        bool good = pass_info[i].run(m) && verify_module(m);
        if (good && least >= 0 && least <= place_bytes(m))
            continue;
        fprintf(stderr, "after pass %s:\n", pass_info[i].name);
        return false;
    }
    return true;
}

int
main(int argc, char **argv)
{
    Machine x = {.arena = arena_new()};
    Diag *diag = diag_new(x.arena);
    size_t n;
    char *text = slurp(x.arena, argv[1], &n);
    x.m = text_read(x.arena, diag, argv[1], text, n);
    if (argc > 2 && strcmp(argv[2], "placed") == 0)
        return x.m && verify_module(x.m) ? run_module(&x) : 3;
    if (!x.m || !compile(x.m, argc > 2 ? strtoull(argv[2], NULL, 10) : 0)) {
        diag_print(diag, stderr, DIAG_TEXT);
        return 1;
    }
    run_module(&x);
    arena_free(x.arena);
    return x.failed;
}
