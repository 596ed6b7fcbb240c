/* Schedules as input: read, placed where they are not, and checked against
 * their model. */
#ifndef EDL_FRONTEND_SCHEDULE_H
#define EDL_FRONTEND_SCHEDULE_H

#include "frontend/session.h"
#include "passes/plan/check.h"

/* Reads a schedule; NULL after an error. */
Module *schedule_read(Session *s, const char *path);
/* One whose placement table was deleted is placed again; else it stays. */
bool schedule_place(Module *schedule);
/* It states the regions, but nothing has a place in them. */
bool schedule_lost_table(const Module *schedule);
/* Whether it computes the model of that name of the file, lowered with the
 * options of its head; false after errors at its lines. */
bool schedule_check(Session *s, Module *schedule, const char *model_path,
                    CheckReport *out);

#endif
