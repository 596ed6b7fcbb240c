/* Text that grows: pictures and pages. */
#ifndef EDL_FRONTEND_PAGE_H
#define EDL_FRONTEND_PAGE_H

#include "ir/base/arena.h"

typedef struct Page {
    Arena *a;
    VEC(char) text;
} Page;

void page_put(Page *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Text of a document, not its markup. */
void page_text(Page *p, const char *text);
void page_join(Page *p, const Page *other);

/* The distance of ticks on a scale: 1, 2 or 5 times a power of ten, so that
 * at most so many, and one, fit in the span; 0 for none. */
double page_step(double span, int most);

#endif
