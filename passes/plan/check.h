/* The independent checker: does a schedule compute the model that it was made
 * of? It shares the IR and nothing else with the planner, and nothing with
 * the passes behind `fuse`; docs/schedule.md says what it proves. */
#ifndef EDL_PASSES_PLAN_CHECK_H
#define EDL_PASSES_PLAN_CHECK_H

#include "ir/graph.h"

typedef struct CheckReport {
    int64_t nodes; /* of all graphs; a group counts as one */
    int64_t peak;  /* bytes of the device: all regions but host and disk */
} CheckReport;

/* schedule: as it was read, placed. model: lowered with the options of the
 * schedule's head, after the passes up to `fuse`. What is wrong goes to the
 * schedule's diag, at the line of the schedule. Uses marks and notes of
 * both. */
bool check_schedule(Module *schedule, Module *model, CheckReport *out);
/* The same but for verify_module, whose rules of form it needs; what lies over
 * what it finds by itself, at the first read of what was overwritten. */
bool check_values(Module *schedule, Module *model, CheckReport *out);

#endif
