/* How the C target is cut in files: inside codegen/ only. */
#ifndef EDL_CODEGEN_C_H
#define EDL_CODEGEN_C_H

#include "codegen/c_ops.h"

/* A graph as a C function. */
typedef struct GraphCode {
    const Graph *graph;
    const char *name;
    const char *text;  /* the whole function */
    bool in, mb, slot; /* which parameters it has beside the instance */
    ProfiledNodes profiled;
    const char *table; /* of them; NULL: there are none */
} GraphCode;

/* The model in names and files. */
typedef struct CModel {
    Cg cg;
    const char *name;  /* gpt2: the prefix of all that is visible */
    const char *upper; /* GPT2 */
    const char *sched; /* text of the schedule */
    const char *id;    /* its hash */
    VEC(GraphCode) graphs;
    VEC(const Tensor *) inputs, outputs, tensors;
    bool has_step, has_phases, has_update, has_evaluate, has_infer;
    bool early; /* the backward pass updates parameters */
    int64_t accumulate;
} CModel;

/* codegen/c.c */
bool c_graphs(CModel *m);
const GraphCode *c_graph(const CModel *m, const Graph *g);
/* codegen/c_program.c: the actions, over EdlInstance */
void c_programs(CModel *m, Emit *e);
/* Ends the action where call fails, and takes back what it has counted. */
void c_check(Emit *e, const char *call);
/* Where a kernel of the phase has met a bad index, or an update's copy has
 * failed. */
void c_fault(CModel *m, Emit *e, const char *phase, bool updated);
const Program *c_program(const CModel *m, const char *name); /* or NULL */
/* "forward(m, in, mb, mb, 0);" */
void c_call(CModel *m, Emit *e, const Graph *graph, const char *at,
            const char *mb, const char *slot);
void c_actions(CModel *m, Emit *e, Action *const *actions, int n, int64_t now);
void c_update(CModel *m, Emit *e);      /* the calls of the update */
void c_report(CModel *m, Emit *e);      /* the function `report` */
/* Not between a forward pass and its backward pass, whose stash it may use. */
void c_pass_turn(CModel *m, Emit *e, const char *name);
void c_pass_report(CModel *m, Emit *e); /* what fills *out of one pass */
/* codegen/c_profile.c: between kernels and graphs, graphs and actions */
void c_profile_kernels(CModel *m, Emit *e);
void c_profile_graphs(CModel *m, Emit *e);
/* codegen/c_tables.c: tensors, inputs, train section, NAME_model */
void c_tables(CModel *m, Emit *e);
/* codegen/c_header.c: NAME.h, and the functions that it declares */
void c_header(CModel *m, Emit *e);
void c_api(CModel *m, Emit *e);

#endif
