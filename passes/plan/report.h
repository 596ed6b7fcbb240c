/* What a placed module takes, and when: for `edlc plan` and for the error of
 * a limit that is too small. */
#ifndef EDL_PASSES_PLAN_REPORT_H
#define EDL_PASSES_PLAN_REPORT_H

#include "ir/graph.h"

typedef struct ReportLine {
    const char *name;
    Region region;
    const Graph *graph; /* of a value in the workspace */
    const Type *type;   /* NULL: a kernel's temporaries */
    int64_t bytes;
} ReportLine;

typedef struct Report {
    int64_t total;      /* of the device: all regions but host and disk */
    const Graph *graph; /* whose workspace is the largest; or NULL */
    const Node *peak;   /* its node with the largest load */
    int64_t load;       /* bytes alive there */
    VEC(ReportLine)
    largest; /* tensors and what is alive at the peak, largest
              * first; equal ones in the module's order */
} Report;

/* Bytes of all regions of the device. */
int64_t report_total(const Module *m);
Report report_make(Arena *a, Module *m);
/* A short name of the kernel: that of its first result, or of the tensor. */
const char *report_node_name(const Node *n);
/* The nodes of a graph: those of a group are not counted. */
int report_count(const Graph *g);

#endif
