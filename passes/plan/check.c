#include "passes/plan/check.h"

#include "ir/verify.h"
#include "passes/plan/check_parts.h"

/* Enough to see what is wrong. */
enum { MAX_FAULTS = 50 };

static void
say(Check *c, Span at, const char *what, const char *fmt, va_list ap)
{
    if (++c->faults > MAX_FAULTS)
        return;
    const char *text = arena_vprintf(c->arena, fmt, ap);
    diag_error(c->m->diag, at, "%s%s%s", what, *what ? ": " : "", text);
}

void
check_fault(Check *c, Span at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(c, at, "", fmt, ap);
    va_end(ap);
}

void
check_fault_at(Check *c, const Node *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(c, n->loc, check_name(c, n), fmt, ap);
    va_end(ap);
}

void
check_note(Check *c, Span at, const char *text)
{
    if (c->faults <= MAX_FAULTS)
        diag_note(c->m->diag, at, "%s", text);
}

const char *
check_name(Check *c, const Node *n)
{
    if (n->n_results)
        return n->results[0]->name;
    const Tensor *t = n->tensor;
    if ((op_info[n->op].flags & OP_OPTIMIZER) && n->n_args)
        t = value_tensor(n->args[0]);
    if (!t)
        return op_info[n->op].name;
    return arena_printf(c->arena, "%s %s", op_info[n->op].name, t->name);
}

static int64_t
count_nodes(const Module *m)
{
    int64_t n = 0;
    for (int i = 0; i < m->graphs.n; i++)
        graph_each(m->graphs.at[i], node)
            n++;
    return n;
}

bool
check_values(Module *schedule, Module *model, CheckReport *out)
{
    Check c = {.m = schedule, .model = model, .arena = arena_new()};
    *out = (CheckReport){.nodes = count_nodes(schedule)};
    check_early_begin(&c);
    check_module(&c);
    check_totals(&c, out);
    if (!c.faults) {
        check_number_model(&c);
        check_programs(&c);
    }
    arena_free(c.arena);
    return !c.faults;
}

bool
check_schedule(Module *schedule, Module *model, CheckReport *out)
{
    return verify_module(schedule) && check_values(schedule, model, out);
}
