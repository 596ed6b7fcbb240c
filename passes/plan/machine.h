/* The machine that a plan is made for: how fast it computes and copies.
 * Only the choice of a plan depends on it, never a result. docs/machine.md
 * is its manual. */
#ifndef EDL_PASSES_PLAN_MACHINE_H
#define EDL_PASSES_PLAN_MACHINE_H

#include <stdio.h>

#include "ir/work.h"

/* Units of work a microsecond, of kernels that do `work` units. Between two
 * points the time is linear; beyond them the rate is that of the nearest. */
typedef struct RatePoint {
    double work, per_us;
} RatePoint;

enum { RATE_POINTS = 12 };

typedef struct RateCurve {
    RatePoint at[RATE_POINTS]; /* by work, times rising */
    int n;
} RateCurve;

/* Of a kernel of a program that ran. */
typedef struct MeasuredKernel {
    double ns;
    double bytes; /* that it moved; negative: unknown */
} MeasuredKernel;

typedef struct Machine {
    const char *name;
    const char *target; /* c or cuda */
#define NUMBER(table, key, least, c, h200, help) double table##_##key;
#include "passes/plan/machine.def"
#undef NUMBER
    RateCurve rate[WORK_COUNT];
    VEC(ProductChoice) products; /* the fastest algorithms, as measured */
    const Map *measured; /* work_name -> MeasuredKernel *; or NULL */
} Machine;

/* What is taken without a file: target cuda is an H200, any other the two
 * cores of docs/machine.md. */
const Machine *machine_default(const char *target);
/* m->machine, or the default of its target. */
const Machine *machine_of(const Module *m);

/* As ir/algorithm.h reads it; NULL: nobody measured that product. */
const char *machine_algorithm(const Machine *k, const char *product);

/* ns of so much work of a class. */
double machine_work_ns(const Machine *k, WorkClass class, double work);

/* A link to memory outside of the device, in bytes a nanosecond (GB/s).
 * both: what the two ways have together while both are busy. */
typedef struct Link {
    double in, out, both, latency_ns;
} Link;

Link machine_link(const Machine *k, Space space); /* host or disk */

/* Reads a file: keys that it does not write keep the default. NULL after
 * errors in d at its lines; text must live as long as d. */
Machine *machine_read(Arena *a, Diag *d, const char *name, const char *text,
                      size_t n);
/* Writes one that reads as the same machine. */
void machine_print(const Machine *k, FILE *to);

#endif
