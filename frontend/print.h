/* The syntax tree as text, for tests: `edlc ast`. */
#ifndef EDL_FRONTEND_PRINT_H
#define EDL_FRONTEND_PRINT_H

#include "frontend/syntax.h"

/* One line a declaration, statement or line of a block; expressions as
 * (operator operand ...). Two texts that mean the same print the same. */
void print_syntax(const Syntax *tree, FILE *to);

#endif
