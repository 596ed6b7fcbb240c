/* The text of a module: what --dump prints, .eir and .sched files hold and
 * the reader takes. Printing what was read gives the same bytes. */
#ifndef EDL_IR_TEXT_H
#define EDL_IR_TEXT_H

#include "ir/graph.h"

/* NULL when there are errors; they are in diag. text must outlive diag. */
Module *text_read(Arena *a, Diag *d, const char *name, const char *text,
                  size_t n);
void text_print(const Module *m, FILE *to);

/* One node on one line, without its body: for messages. */
char *text_node(Arena *a, const Node *n);
/* [4, 12, 64, 64] and f32[4,12,64,64]. */
char *text_shape(Arena *a, const Type *t);
char *text_type(Arena *a, const Type *t);
/* The shortest decimal that reads back as the same double (or float). */
char *text_double(Arena *a, double x);

#endif
