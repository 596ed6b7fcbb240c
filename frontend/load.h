/* The module that a command works on: of a model (.edl), or IR text. */
#ifndef EDL_FRONTEND_LOAD_H
#define EDL_FRONTEND_LOAD_H

#include "frontend/session.h"
#include "ir/graph.h"

bool load_has_suffix(const char *path, const char *suffix);
/* Takes the flags that plan: --memory, --reserve, --recompute, --machine; they
 * win over the file's plan block. An error is wrong usage, or a file that is
 * not right. */
Status load_plan(Session *s, Module *m);
/* Lowers a model or reads IR text, and takes the flags that plan; NULL after an error. */
Module *load_module(Session *s, const char *path);

#endif
