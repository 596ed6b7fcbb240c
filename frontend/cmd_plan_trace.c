/* The timeline as a trace for Perfetto and chrome://tracing: a track of
 * kernels, and a counter of bytes in use by class. */
#include <jansson.h>
#include <stdlib.h>

#include "frontend/cmd_plan.h"
#include "frontend/output.h"

enum { PROCESS = 1 };

/* By queue; the number of a track is one more. */
static const char *const track[FLOW_QUEUES] = {"compute", "copy out",
                                               "copy in"};

static json_t *
name_event(const char *what, int thread, const char *name)
{
    return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what,
                     "pid", PROCESS, "tid", thread, "args", "name", name);
}

static const char *
category(const Node *n)
{
    return n->recomputed ? "made again" : phase_name[n->phase];
}

static json_t *
kernel_event(const Moment *x)
{
    const Node *n = x->node;
    json_t *args = json_pack("{s:s, s:s}", "op", op_info[n->op].name, "graph",
                             x->graph->name);
    if (n->block)
        json_object_set_new(args, "block", json_string(n->block));
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "ph", "X",
                     "name", report_node_name(n), "cat", category(n), "pid",
                     PROCESS, "tid", FLOW_compute + 1, "ts",
                     (double)x->start / 1e3, "dur", (double)x->ns / 1e3, "args",
                     args);
}

static json_t *
copy_event(const Transfer *x)
{
    const Node *n = x->node;
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:{s:s, s:I}}", "ph",
                     "X", "name", report_node_name(n), "cat",
                     op_info[n->op].name, "pid", PROCESS, "tid",
                     (int)x->queue + 1, "ts", (double)x->start / 1e3, "dur",
                     (double)x->ns / 1e3, "args", "graph", x->graph->name,
                     "bytes", (json_int_t)type_bytes(&n->results[0]->type));
}

static json_t *
memory_event(const PlanView *p, const Moment *x)
{
    const int64_t *bytes = p->m->region_bytes;
    return json_pack(
        "{s:s, s:s, s:i, s:f, s:{s:I, s:I, s:I, s:I, s:I}}", "ph", "C", "name",
        "memory", "pid", PROCESS, "ts", (double)x->start / 1e3, "args", "state",
        (json_int_t)bytes[REGION_state], "gradients",
        (json_int_t)bytes[REGION_grads], "io", (json_int_t)bytes[REGION_io],
        "stash", (json_int_t)x->stash, "workspace", (json_int_t)x->workspace);
}

bool
plan_trace(PlanView *p, const char *path)
{
    json_t *events = json_array(), *top = json_object();
    json_array_append_new(events, name_event("process_name", 0, p->m->name));
    for (int q = 0; q < FLOW_QUEUES; q++)
        json_array_append_new(events,
                              name_event("thread_name", q + 1, track[q]));
    for (int i = 0; i < p->timeline.at.n; i++) {
        const Moment *x = &p->timeline.at.at[i];
        json_array_append_new(events, kernel_event(x));
        json_array_append_new(events, memory_event(p, x));
    }
    for (int i = 0; i < p->timeline.copies.n; i++)
        json_array_append_new(events, copy_event(&p->timeline.copies.at[i]));
    json_object_set_new(top, "displayTimeUnit", json_string("ms"));
    json_object_set_new(top, "traceEvents", events);
    char *text = json_dumps(top, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
    bool good = text && output_write_file(p->s, path, text, strlen(text));
    free(text);
    json_decref(top);
    return good;
}
