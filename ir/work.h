/* What nodes have to do, counted: operations by class, bytes moved. How long
 * that takes is not known here. */
#ifndef EDL_IR_WORK_H
#define EDL_IR_WORK_H

#include "ir/graph.h"

typedef enum WorkClass {
#define WORK(id, unit) WORK_##id,
#include "ir/work.def"
#undef WORK
    WORK_COUNT
} WorkClass;

/* What one kernel does; views do nothing. */
typedef struct Work {
    double amount[WORK_COUNT]; /* in the units of ir/work.def */
    double narrow[WORK_COUNT]; /* what of that has operands of bf16 */
    double ns;                 /* of bare cost graphs */
    int64_t bytes;             /* read and written */
    int64_t chunked;           /* of them: by each chunk of a head again */
} Work;

/* Adds what a node, not a fused one, computes; not what it reads and writes. */
void work_add(Work *w, const Node *n);
/* All of a node of a graph, fused or not. */
Work work_kernel(const Node *n);
bool work_is_none(const Work *w);
double work_operations(const Work *w);

/* What a kernel is called in reports and measurements: its last result, or
 * what it writes. */
const char *work_name(const Node *n);

#endif
