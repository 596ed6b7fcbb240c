/* How the verifier is cut in files: inside ir/ only. */
#ifndef EDL_IR_VERIFY_CHECK_H
#define EDL_IR_VERIFY_CHECK_H

#include "ir/graph.h"

typedef struct Verifier {
    Module *m;
    Arena *arena; /* for the check alone */
    int faults;
    bool unsound;     /* places and times of values cannot be told */
    Region small;     /* was said to be too small, */
    int64_t ends;     /* where it ends: once is enough */
    Span at;          /* where faults are */
    const char *what; /* the node or tensor they are about */
} Verifier;

void verify_fault(Verifier *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Faults from now on are of this node: "NAME: ..." or "OP: ...". */
void verify_at(Verifier *v, const Node *n);

/* SSA, types, tensors, phases, groups. */
void verify_graph(Verifier *v, Graph *g);
/* The body of a group is what its kind allows. */
void verify_group(Verifier *v, Node *fused);
/* Homes, layouts, storage that is written while it is still read. Needs a
 * graph that verify_graph has no fault of. */
void verify_storage(Verifier *v, Graph *g);
/* Copies between spaces: each waited for once, before its result is read.
 * Needs a graph that verify_storage has no fault of; nothing before
 * placement. */
void verify_copies(Verifier *v, Graph *g);
/* Regions and offsets; nothing before placement. */
void verify_placement(Verifier *v);
bool verify_is_placed(const Module *m);
void verify_programs(Verifier *v);

#endif
