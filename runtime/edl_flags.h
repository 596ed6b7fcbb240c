/* edl_flags.h: the command line of a trainer. */
#ifndef EDL_FLAGS_H
#define EDL_FLAGS_H

#include "edl.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct EdlFlags {
    int64_t steps;   /* -1: not given */
    int64_t threads; /* 0: not given */
    uint64_t seed;
    int has_seed;
    const char *inputs, *outputs, *init, *names, *resume, *save, *metrics;
    const char *disk, *trace, *profile;
    int grads, quiet, help;
} EdlFlags;

/* 1: understood. 0: wrong usage, said on standard error. */
int edl_flags_parse(EdlFlags *f, int argc, char **argv);
void edl_flags_help(const EdlModel *model, const char *program);

#ifdef __cplusplus
}
#endif

#endif
