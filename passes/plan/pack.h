/* Placement: offsets for intervals of time so that those alive together do
 * not share bytes. Deterministic; effort is counted in steps, not seconds.
 * docs/planning.md says how the search works. */
#ifndef EDL_PASSES_PLAN_PACK_H
#define EDL_PASSES_PLAN_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/base/arena.h"

typedef struct PackItem {
    int64_t lower, upper; /* alive in [lower, upper), not empty */
    int64_t size;         /* at least 1 */
    int64_t offset;       /* the answer */
} PackItem;

/* No placement can be lower than the largest load at a moment (sizes rounded
 * up to align, but for that of what lies on top). */
int64_t pack_bound(const PackItem *items, int n, int64_t align);

/* The height that the offsets need. */
int64_t pack_height(const PackItem *items, int n);

/* Offsets by a good greedy order, improved by pack_fit while that gets nearer
 * to the bound; returns the height. *bound, if not NULL: no placement is
 * lower. */
int64_t pack_lowest(PackItem *items, int n, int64_t align, int64_t effort,
                    int64_t *bound);

typedef enum PackAnswer {
    PACK_FITS,
    PACK_OPEN, /* found nothing within the effort */
    PACK_NEVER /* nothing is there: all has been tried */
} PackAnswer;

/* Offsets with all that they need below capacity, found within `effort` steps
 * of the search; otherwise the offsets are as they were. */
PackAnswer pack_fit(PackItem *items, int n, int64_t align, int64_t capacity,
                    int64_t effort);

#endif
