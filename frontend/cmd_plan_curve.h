/* The predicted time of a step over the memory that it may take. */
#ifndef EDL_FRONTEND_CMD_PLAN_CURVE_H
#define EDL_FRONTEND_CMD_PLAN_CURVE_H

#include "frontend/page.h"
#include "frontend/session.h"
#include "ir/graph.h"

typedef struct CurvePoint {
    int64_t bytes, ns;
} CurvePoint;

/* From all kept to the smallest limit: fewer bytes, more time. Nothing makes
 * a step faster than `bound`, nor, of a cost graph, an order within the bytes
 * of a point of `bounds` than that. */
typedef struct Curve {
    VEC(CurvePoint) at, bounds;
    int64_t bound;
} Curve;

/* m: after `fuse`, with a graph main. Empty where nothing can be planned. */
Curve curve_find(Arena *a, Module *m);
/* The curve, not an empty one, as an SVG element. */
void curve_draw(Page *page, const char *model, const Curve *c, CurvePoint now);
/* --curve=FILE; now: bytes and time as planned. False after an error. */
bool curve_write(Session *s, const char *path, const char *model,
                 const Curve *c, CurvePoint now);

#endif
