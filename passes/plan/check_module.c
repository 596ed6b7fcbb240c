/* Head, tensors and train section against the model's; regions and limit. */
#include <inttypes.h>
#include <stdlib.h>

#include "ir/base/text_file.h"
#include "ir/text.h"
#include "passes/plan/check_parts.h"

/* ---- head ---- */

static const Dim *
dim_named(const Module *m, const char *name)
{
    for (int i = 0; i < m->dims.n; i++)
        if (strcmp(m->dims.at[i].name, name) == 0)
            return &m->dims.at[i];
    return NULL;
}

static void
check_head(Check *c)
{
    for (int i = 0; i < c->m->dims.n; i++) {
        const Dim *d = &c->m->dims.at[i], *x = dim_named(c->model, d->name);
        if (!x)
            check_fault(c, d->loc, "the model has no dim %s", d->name);
        else if (x->value != d->value)
            check_fault(c, d->loc, "dim %s is %" PRId64 " in the model",
                        d->name, x->value);
    }
    for (int i = 0; i < c->model->dims.n; i++)
        if (!dim_named(c->m, c->model->dims.at[i].name))
            check_fault(c, (Span){0}, "the schedule does not say dim %s",
                        c->model->dims.at[i].name);
    if (strcmp(c->m->name, c->model->name) != 0)
        check_fault(c, (Span){0}, "the schedule is of model %s, found %s",
                    c->m->name, c->model->name);
}

/* ---- what options claim ---- */

static const Option *
option_that_says(const Module *m, const char *key, const char *value)
{
    return module_option_is(m, key, value) ? module_stated(m, key) : NULL;
}

static const Node *
made_again(const Module *m)
{
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], n)
            if (n->recomputed && !(op_info[n->op].flags & OP_VIEW))
                return n;
    return NULL;
}

static void
check_nothing_again(Check *c)
{
    const Option *o = option_that_says(c->m, "recompute", "none");
    const Node *n = o ? made_again(c->m) : NULL;
    if (!n)
        return;
    check_fault(c, o->loc, "but %s is made again", check_name(c, n));
    check_note(c, n->loc, "here");
}

/* A schedule whose head does not say where may use both. */
static void
check_regions_away(Check *c)
{
    const Option *none = option_that_says(c->m, "offload", "none");
    const Option *host = option_that_says(c->m, "offload", "host");
    if (none && c->m->region_bytes[REGION_host] > 0)
        check_fault(c, none->loc, "but things lie in the region host");
    if ((none || host) && c->m->region_bytes[REGION_disk] > 0)
        check_fault(c, none ? none->loc : host->loc,
                    "but things lie in the region disk");
}

static void
check_claims(Check *c)
{
    const Option *kept = option_that_says(c->m, "gradients", "kept");
    check_nothing_again(c);
    check_regions_away(c);
    if (kept && c->lacking.n > 0)
        check_fault(c, kept->loc, "but the schedule lacks gradients");
}

/* ---- tensors ---- */

static bool
same_init(const Init *a, const Init *b)
{
    return a->kind == b->kind && memcmp(&a->a, &b->a, sizeof a->a) == 0 &&
           memcmp(&a->b, &b->b, sizeof a->b) == 0;
}

static bool
same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const char *
tensor_difference(const Tensor *t, const Tensor *x)
{
    if (t->kind != x->kind)
        return "kind";
    if (!type_equal(&t->type, &x->type))
        return "type";
    if (!same_text(t->owner ? t->owner->name : NULL,
                   x->owner ? x->owner->name : NULL))
        return "owner";
    if (!same_text(t->role, x->role))
        return "role";
    if (!same_init(&t->init, &x->init))
        return "initial value";
    if (t->weight_decay != x->weight_decay)
        return "decay";
    if (t->lr_scale != x->lr_scale)
        return "lr_scale";
    return NULL;
}

/* Whoever reads and writes tensors by name takes them to be dense. */
static void
check_tensor(Check *c, const Tensor *t)
{
    if (t->kind == TENSOR_stash)
        return;
    const Tensor *x = module_tensor(c->model, t->name);
    if (!x) {
        check_fault(c, t->loc, "%s: the model has no such tensor", t->name);
        return;
    }
    const char *what = tensor_difference(t, x);
    if (what)
        check_fault(c, t->loc, "%s: another %s than in the model", t->name,
                    what);
    if (!layout_is_dense(&t->layout, &t->type) || t->layout.pad)
        check_fault(c, t->loc, "%s: only a stash may have a layout", t->name);
}

static const Tensor *
input(const Module *m, int *at)
{
    while (*at < m->tensors.n) {
        const Tensor *t = m->tensors.at[(*at)++];
        if (t->kind == TENSOR_input)
            return t;
    }
    return NULL;
}

/* A caller gives the inputs in this order. */
static void
check_inputs(Check *c)
{
    int i = 0, k = 0;
    for (;;) {
        const Tensor *t = input(c->m, &i), *x = input(c->model, &k);
        if (!t || !x)
            return;
        if (strcmp(t->name, x->name) != 0) {
            check_fault(c, t->loc, "%s: the model has %s as this input",
                        t->name, x->name);
            return;
        }
    }
}

static void
check_tensors(Check *c)
{
    for (int i = 0; i < c->m->tensors.n; i++)
        check_tensor(c, c->m->tensors.at[i]);
    for (int i = 0; i < c->model->tensors.n; i++) {
        const Tensor *x = c->model->tensors.at[i];
        if (module_tensor(c->m, x->name) || check_may_lack(c, x))
            continue;
        check_fault(c, (Span){0}, "the schedule has no tensor %s", x->name);
        check_note(c, x->loc, "the model has it from here");
    }
    check_inputs(c);
}

/* ---- train section ---- */

/* The section as it is printed. */
static char *
train_text(Check *c, Train *t)
{
    Module m = {.name = "m", .train = t, .slots = 1};
    TextFile f;
    text_file_open(&f);
    text_print(&m, f.to);
    char *text = text_file_close(&f, c->arena), *at = strstr(text, "train {");
    return at ? at : text + f.n;
}

static char *
take_line(Check *c, const char **text)
{
    size_t n = strcspn(*text, "\n");
    const char *from = *text;
    *text += n + ((*text)[n] != '\0');
    size_t blank = strspn(from, " ");
    return arena_strndup(c->arena, from + blank, n - blank);
}

static void
check_train(Check *c)
{
    Train *t = c->m->train, *x = c->model->train;
    if (!t || !x) {
        if (t != x)
            check_fault(c, t ? t->loc : (Span){0},
                        "the model has %s train "
                        "section",
                        x ? "a" : "no");
        return;
    }
    const char *mine = train_text(c, t), *its = train_text(c, x);
    Span at = t->loc;
    for (; *mine || *its; at.line++) {
        const char *a = take_line(c, &mine), *b = take_line(c, &its);
        if (strcmp(a, b) == 0)
            continue;
        at.end_line = at.line;
        at.col = 1;
        at.end_col = (int)strlen(a) + 1;
        check_fault(c, at, "the model has `%s` here, found `%s`", b, a);
        return;
    }
}

void
check_module(Check *c)
{
    check_head(c);
    check_claims(c);
    check_tensors(c);
    check_train(c);
}

/* ---- regions ---- */

static void
check_limit(Check *c, int64_t peak)
{
    const Option *o = module_stated(c->m, "limit");
    if (!o)
        return;
    char *end;
    long long limit = strtoll(o->value, &end, 10);
    if (*end || end == o->value)
        check_fault(c, o->loc, "a limit is a number of bytes");
    else if (peak > limit)
        check_fault(c, o->loc,
                    "the regions take %" PRId64 " bytes, more than the limit "
                    "of %lld",
                    peak, limit);
}

void
check_totals(Check *c, CheckReport *out)
{
    for (Region r = REGION_state; r < REGION_COUNT; r++) {
        int64_t bytes = c->m->region_bytes[r];
        int64_t one = r == REGION_stash ? bytes / c->m->slots : bytes;
        if (one % 64 || bytes % 64)
            check_fault(c, c->m->region_loc[r],
                        "a region (and a slot of it) is a multiple of 64 "
                        "bytes");
        if (bytes > INT64_MAX / 64) {
            check_fault(c, c->m->region_loc[r], "the region is too large");
            return;
        }
        if (r == REGION_host || r == REGION_disk)
            continue;
        out->peak += bytes;
    }
    check_limit(c, out->peak);
}
