#include "ir/eval_frame.h"

#include <stdio.h>
#include <stdlib.h>

/* A value: its elements, whether they are its own or a tensor's, and how
 * many operands have still to read it. */
typedef struct Slot {
    Value *value;
    double *at;
    bool owned;
    int left;
} Slot;

double *
eval_alloc(int64_t elements)
{
    double *p = calloc((size_t)elements, sizeof *p);
    if (!p) {
        fprintf(stderr, "edlc: out of memory\n");
        exit(4);
    }
    return p;
}

/* ---- opening and closing ---- */

static int
count_values(const Graph *g)
{
    int n = 0;
    for (const Node *k = g->first; k; k = k->next)
        n += k->body ? count_values(k->body) : k->n_results;
    return n;
}

static void
number_values(Frame *f, Graph *g)
{
    graph_each(g, k) {
        if (k->body)
            number_values(f, k->body);
        for (int i = 0; !k->body && i < k->n_results; i++) {
            Slot *s = &f->slots[f->n++];
            s->value = k->results[i];
            s->value->note = s;
        }
    }
}

Frame
frame_open(Eval *e, Graph *g)
{
    Frame f = {.eval = e, .graph = g};
    int n = count_values(g);
    graph_count_uses(g);
    f.slots = calloc((size_t)n + 1, sizeof *f.slots);
    if (!f.slots)
        eval_alloc(INT64_MAX / 16);
    number_values(&f, g);
    return f;
}

static void
drop(Slot *s)
{
    if (s->owned)
        free(s->at);
    s->at = NULL;
    s->owned = false;
}

static void
forget_all(Frame *f)
{
    for (int i = 0; i < f->n; i++) {
        drop(&f->slots[i]);
        f->slots[i].left = f->slots[i].value->n_uses;
    }
}

void
frame_close(Frame *f)
{
    forget_all(f);
    for (int i = 0; i < f->n; i++)
        f->slots[i].value->note = NULL;
    free(f->slots);
}

/* ---- nodes that name a tensor ---- */

static bool
fail(Frame *f, const Node *n, const char *text)
{
    const char *name = n->tensor      ? n->tensor->name
                       : n->n_results ? n->results[0]->name
                                      : op_info[n->op].name;
    snprintf(f->eval->why, EVAL_WHY_BYTES, "%s: %s", name, text);
    return false;
}

/* The array that a node of this frame reads or writes. */
static bool
find_array(Frame *f, const Node *n, Array *out)
{
    Store *s = eval_store(f->eval, n->tensor);
    *out = s->slots[0];
    if (n->tensor->kind == TENSOR_input) {
        if (s->n_inputs == 0)
            return fail(f, n, "the input was not given");
        out->at += f->mb % s->n_inputs * type_elements(&out->type);
    } else if (n->tensor->kind == TENSOR_stash) {
        if (f->slot < 0 || f->slot >= s->n_slots)
            return fail(f, n, "no such slot of the stash");
        *out = s->slots[f->slot];
    }
    return true;
}

/* Small tensors that may change while their old value is still read. */
static bool
is_copied(TensorKind k)
{
    switch (k) {
    case TENSOR_state:
    case TENSOR_counter:
    case TENSOR_output:
        return true;
    case TENSOR_param:
    case TENSOR_frozen:
    case TENSOR_opt:
    case TENSOR_grad:
    case TENSOR_input:
    case TENSOR_stash:
    case TENSOR_KIND_COUNT:
        break;
    }
    return false;
}

static bool
run_read(Frame *f, const Node *n)
{
    Array a;
    Slot *s = n->results[0]->note;
    if (!find_array(f, n, &a))
        return false;
    s->at = a.at;
    s->owned = is_copied(n->tensor->kind);
    if (s->owned) {
        int64_t count = type_elements(&a.type);
        s->at = eval_alloc(count);
        memcpy(s->at, a.at, sizeof(double) * (size_t)count);
    }
    return true;
}

static void
add_to_mean(Store *s)
{
    s->sum += s->slots[0].at[0];
    s->writes++;
}

/* accumulate: the first microbatch of a step sets, the later ones add. */
static bool
run_write(Frame *f, const Node *n)
{
    Array a;
    if (!find_array(f, n, &a))
        return false;
    const double *from = ((Slot *)n->args[0]->note)->at;
    int64_t count = type_elements(&a.type);
    if (type_elements(&n->args[0]->type) != count)
        return fail(f, n, "the value does not have the tensor's shape");
    bool adds = n->op == OP_accumulate && (f->mb > 0 || node_flag(n, "more"));
    for (int64_t i = 0; i < count; i++)
        a.at[i] = adds ? a.at[i] + from[i] : from[i];
    eval_round(&a);
    if (n->tensor->kind == TENSOR_output)
        add_to_mean(eval_store(f->eval, n->tensor));
    return true;
}

static bool
run_count(Frame *f, const Node *n)
{
    Array a;
    if (!find_array(f, n, &a))
        return false;
    if (n->n_args == 0 || ((Slot *)n->args[0]->note)->at[0] != 0)
        a.at[0] += 1;
    return true;
}

/* ---- all others ---- */

static Job
job_of(Frame *f, const Node *n)
{
    Job j = {.node = n,
             .n_in = n->n_args,
             .n_out = n->n_results,
             .seed = f->eval->seed,
             .microbatch = f->eval->microbatch + f->mb,
             .train = f->eval->module->train};
    return j;
}

/* Whether a node changes what it reads, and then reads tensors directly. */
static bool
changes_tensors(const Node *n)
{
    return op_info[n->op].flags & OP_OPTIMIZER;
}

static bool
run_kernel(Frame *f, const Node *n)
{
    char why[EVAL_WHY_BYTES] = "";
    Array *arrays =
        calloc((size_t)(n->n_args + n->n_results) + 1, sizeof *arrays);
    Job j = job_of(f, n);
    if (!arrays)
        eval_alloc(INT64_MAX / 16);
    for (int i = 0; i < n->n_args; i++)
        arrays[i] = (Array){n->args[i]->type, ((Slot *)n->args[i]->note)->at};
    for (int i = 0; i < n->n_results; i++) {
        Slot *s = n->results[i]->note;
        s->at = eval_alloc(type_elements(&s->value->type));
        s->owned = true;
        arrays[n->n_args + i] = (Array){s->value->type, s->at};
    }
    j.in = arrays;
    j.out = arrays + n->n_args;
    j.why = why;
    bool ok = eval_node(&j);
    for (int i = 0; i < 4 && i < n->n_args && changes_tensors(n); i++)
        eval_round(&arrays[i]);
    free(arrays);
    return ok || fail(f, n, why);
}

static bool run_node(Frame *f, const Node *n);

static bool
run_body(Frame *f, const Graph *body)
{
    for (const Node *n = body->first; n; n = n->next)
        if (!run_node(f, n))
            return false;
    return true;
}

/* Operands read for the last time go, and results that nobody reads. */
static void
drop_dead(const Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        Slot *s = n->args[i]->note;
        if (--s->left == 0)
            drop(s);
    }
    for (int i = 0; i < n->n_results; i++) {
        Slot *s = n->results[i]->note;
        if (s->left == 0)
            drop(s);
    }
}

/* The operands are there: false for a module that reads before it writes. */
static bool
operands_ready(Frame *f, const Node *n)
{
    for (int i = 0; i < n->n_args; i++) {
        const Slot *s = n->args[i]->note;
        if (!s || !s->at)
            return fail(f, n, "an operand has no value yet");
    }
    return true;
}

static bool
run_op(Frame *f, const Node *n)
{
    if (n->op == OP_read)
        return run_read(f, n);
    if (n->op == OP_write || n->op == OP_accumulate)
        return run_write(f, n);
    if (n->op == OP_count)
        return run_count(f, n);
    return run_kernel(f, n);
}

static bool
run_node(Frame *f, const Node *n)
{
    if (n->op == OP_fused)
        return run_body(f, n->body);
    if (!operands_ready(f, n) || !run_op(f, n))
        return false;
    drop_dead(n);
    return true;
}

bool
frame_run(Frame *f, unsigned phases)
{
    if (phases & PHASES_microbatch)
        forget_all(f);
    graph_each(f->graph, n)
        if (phases >> n->phase & 1 && !run_node(f, n))
            return false;
    return true;
}
