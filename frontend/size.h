/* Sizes of memory as people write them. */
#ifndef EDL_FRONTEND_SIZE_H
#define EDL_FRONTEND_SIZE_H

#include <stdint.h>

/* Bytes of a unit, GiB or MB; 0 when it is none. */
int64_t size_unit(const char *name);

/* 3GiB, 1.5 GiB, 4096: in bytes; -1 when it is no size or above int64. */
int64_t size_parse(const char *text);

/* "80%" or "12.5%": above 0, at most 15 digits on each side of the point;
 * else -1. */
double size_share(const char *text);

#endif
