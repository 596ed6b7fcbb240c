/* edlc diff: what changed between two schedules, by meaning. */
#include "frontend/load.h"
#include "passes/plan/compare.h"

Status
cmd_diff(Session *s)
{
    const Texts *in = &s->options->inputs;
    if (in->n != 2) {
        fprintf(stderr, "edlc: diff compares two schedules\n");
        return STATUS_USAGE;
    }
    for (int i = 0; i < in->n; i++)
        if (load_has_suffix(in->at[i], ".edl")) {
            fprintf(stderr,
                    "edlc: diff compares two schedules; that of %s stands in "
                    "the folder into which edlc compiled it\n",
                    in->at[i]);
            return STATUS_USAGE;
        }
    Module *old = load_module(s, in->at[0]);
    Module *new = load_module(s, in->at[1]);
    if (!old || !new)
        return STATUS_INPUT;
    compare_print(s->arena, old, new, stdout);
    return STATUS_DONE;
}
