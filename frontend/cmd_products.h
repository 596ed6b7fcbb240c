/* Which algorithm of cuBLASLt makes which product. */
#ifndef EDL_FRONTEND_CMD_PRODUCTS_H
#define EDL_FRONTEND_CMD_PRODUCTS_H

#include "frontend/session.h"
#include "ir/graph.h"

/* Fills the section `products` of a scheduled module for the CUDA target from
 * its machine; one that was read has to fit the program. False after an
 * error. */
bool cmd_take_products(Session *s, Module *m);

#endif
