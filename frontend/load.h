/* The module that a command works on: of a model (.edl), or IR text. */
#ifndef EDL_FRONTEND_LOAD_H
#define EDL_FRONTEND_LOAD_H

#include "frontend/session.h"
#include "ir/graph.h"

bool load_has_suffix(const char *path, const char *suffix);
/* Lowers a model or reads IR text, and takes --memory; NULL after an error. */
Module *load_module(Session *s, const char *path);

#endif
