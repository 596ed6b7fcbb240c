/* The time of every kernel of a step: only where EDL_PROFILE is defined. */
#include "edl_cuda_parts.cuh"

#include <stdlib.h>

#ifdef EDL_PROFILE
void
edl_cuda_mark(const EdlInstance *m, const char *what)
{
    Context *c = context(m);
    Profile *p = c->profile;
    if (!p || p->marks == MARKS)
        return;
    if (p->marks == p->made) {
        edl_cuda_note(m, cudaEventCreate(&p->event[p->marks]));
        p->made++;
    }
    p->what[p->marks] = what;
    edl_cuda_note(m, cudaEventRecord(p->event[p->marks++], c->stream));
}

static void
add_time(Profile *p, const char *what, double ms)
{
    int i = 0;
    while (i < p->names && strcmp(p->name[i], what) != 0)
        i++;
    if (i == NAMES)
        return;
    if (i == p->names)
        p->name[p->names++] = what;
    p->ms[i] += ms;
    p->times[i]++;
}

/* The first step warms up. */
void
edl_cuda_profile_add(const EdlInstance *m)
{
    Profile *p = context(m)->profile;
    for (int i = 0; p && i + 1 < p->marks && p->steps > 0; i++) {
        float ms = 0.0f;
        edl_cuda_note(m, cudaEventElapsedTime(&ms, p->event[i],
                                              p->event[i + 1]));
        add_time(p, p->what[i], (double)ms);
    }
    if (!p)
        return;
    p->steps++;
    p->marks = 0;
}

void
edl_cuda_profile_end(Profile *p)
{
    double steps = p->steps > 1 ? (double)(p->steps - 1) : 1.0;
    fprintf(stderr, "profile,kernel,times a step,ms a step\n");
    for (int i = 0; i < p->names; i++)
        fprintf(stderr, "profile,\"%s\",%g,%.6f\n", p->name[i],
                (double)p->times[i] / steps, p->ms[i] / steps);
    for (int i = 0; i < p->made; i++)
        (void)cudaEventDestroy(p->event[i]);
    free(p);
}
#endif
