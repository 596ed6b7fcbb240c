/* What sequence.c and sequence_edit.c share: how edits are taken back. */
#ifndef EDL_PASSES_PLAN_SEQUENCE_LOG_H
#define EDL_PASSES_PLAN_SEQUENCE_LOG_H

#include "passes/plan/sequence.h"

struct SequenceChange {
    int32_t *where; /* had this value */
    int32_t value;
};

/* How far an edit looks for an empty slot. */
enum { SEQUENCE_REACH = 24 };

SequenceChange *sequence_new_log(Arena *a, int n);
int32_t sequence_across(const Sequence *q, int t);
int sequence_first(const Sequence *q, int v);

#endif
