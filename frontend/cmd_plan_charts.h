/* The pictures of a plan over the time of a step, as SVG elements. */
#ifndef EDL_FRONTEND_CMD_PLAN_CHARTS_H
#define EDL_FRONTEND_CMD_PLAN_CHARTS_H

#include "frontend/cmd_plan.h"

/* Bytes in use by class, on top of each other; all: with what is always
 * there. */
void charts_memory(Page *page, const PlanView *p, bool all);
/* What runs when. */
void charts_queues(Page *page, const PlanView *p);

#endif
