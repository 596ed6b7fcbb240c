/* Kernels of one module that are several in the other: groups that were cut or
 * joined. */
#include "passes/plan/compare_parts.h"

typedef VEC(const char *) Names;

typedef struct Split {
    Compare *c;
    CompareKernel *tell;
    void *to;
    Map other; /* value of the other module's graph -> its kernel's number */
    Map told;  /* by name: evaluation runs the forward pass's kernels again */
} Split;

/* Copies and updates are told as what they are. */
static bool
is_kernel(const Node *n)
{
    return !n->recomputed && n->phase != PHASE_update && n->op != OP_wait &&
           n->op != OP_fetch && n->op != OP_offload && n->op != OP_read;
}

static void
number_results(Split *s, const Node *n, int kernel)
{
    if (n->body)
        graph_each(n->body, b)
            number_results(s, b, kernel);
    for (int i = 0; i < n->n_results && !n->body; i++)
        map_put(s->c->a, &s->other, n->results[i]->name,
                (void *)(intptr_t)kernel);
}

/* By part: a kernel of the other module, and the last of its values. */
typedef struct Parts {
    VEC(int) kernel;
    Names last;
} Parts;

static void
find_parts(Split *s, const Node *n, Parts *p)
{
    if (n->body)
        graph_each(n->body, b)
            find_parts(s, b, p);
    for (int i = 0; i < n->n_results && !n->body; i++) {
        int at = 0, k = (int)(intptr_t)map_get(&s->other, n->results[i]->name);
        while (at < p->kernel.n && p->kernel.at[at] != k)
            at++;
        if (k && at == p->kernel.n) {
            vec_push(s->c->a, &p->kernel, k);
            vec_push(s->c->a, &p->last, NULL);
        }
        if (k)
            p->last.at[at] = n->results[i]->name;
    }
}

static void
look_at(Split *s, const Node *n)
{
    Parts p = {0};
    find_parts(s, n, &p);
    if (p.last.n < 2 || map_get(&s->told, p.last.at[0]))
        return;
    map_put(s->c->a, &s->told, p.last.at[0], (void *)n);
    s->tell(s->to, n->block, p.last.at, p.last.n);
}

void
compare_kernels(Compare *c, const Module *one, const Module *several,
                CompareKernel *tell, void *to)
{
    Map told = {0};
    for (int i = 0; i < one->graphs.n; i++) {
        const Graph *g = one->graphs.at[i];
        const Graph *other = module_graph(several, g->name);
        Split s = {.c = c, .tell = tell, .to = to, .told = told};
        int n_kernels = 0;
        if (other)
            graph_each(other, n)
                if (is_kernel(n))
                    number_results(&s, n, ++n_kernels);
        graph_each(g, n)
            if (n->body && is_kernel(n))
                look_at(&s, n);
        told = s.told;
    }
}
