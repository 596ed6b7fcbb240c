/* edlc verify: does a schedule compute its model? */
#include <inttypes.h>

#include "frontend/load.h"
#include "frontend/schedule.h"

static bool
two_inputs(const Session *s)
{
    const Texts *in = &s->options->inputs;
    if (in->n == 2 && load_has_suffix(in->at[1], ".edl"))
        return true;
    fprintf(stderr, "edlc: expected a schedule and its model, as: edlc verify "
                    "out/gpt2.sched gpt2.edl\n");
    return false;
}

Status
cmd_verify(Session *s)
{
    CheckReport report;
    if (!two_inputs(s))
        return STATUS_USAGE;
    Module *m = schedule_read(s, s->options->inputs.at[0]);
    if (!m || !schedule_check(s, m, s->options->inputs.at[1], &report))
        return STATUS_INPUT;
    printf("verified: %" PRId64 " nodes, peak %" PRId64 " bytes\n",
           report.nodes, report.peak);
    return STATUS_DONE;
}
