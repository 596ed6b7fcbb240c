/* How the printer of ir/text.h is cut in files: inside ir/ only. */
#ifndef EDL_IR_TEXT_PRINTER_H
#define EDL_IR_TEXT_PRINTER_H

#include <stdio.h>

#include "ir/graph.h"

void print_double(FILE *to, double x);
void print_quoted(FILE *to, const char *s);
void print_type(FILE *to, const Type *t);
/* What follows a type: home, space, layout, sharding, each where it is not
 * the normal one. */
void print_storage(FILE *to, const Value *v);
void print_tensor_storage(FILE *to, const Tensor *t);
/* key = value; typed: a whole float still looks like a float. */
void print_attr(FILE *to, const Attr *a, bool typed);
/* A node's line, up to the end or the brace of its body. */
void print_node(FILE *to, const Node *n);
void print_graph(FILE *to, const Graph *g);
void print_train(FILE *to, const Train *t);

#endif
