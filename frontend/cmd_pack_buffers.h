/* Tables of buffers, as `edlc pack` reads them: a head with the columns lower,
 * upper, size and any others, then rows. */
#ifndef EDL_FRONTEND_CMD_PACK_BUFFERS_H
#define EDL_FRONTEND_CMD_PACK_BUFFERS_H

#include "ir/base/diag.h"
#include "passes/plan/pack.h"

/* A line as it is in the file, and the bytes of it where offset stands. */
typedef struct BufferRow {
    const char *at;
    size_t n;
    size_t from, to;
} BufferRow;

typedef struct Buffers {
    bool has_offset; /* a column to be replaced; else there is none */
    BufferRow head;
    VEC(BufferRow) rows;
    VEC(PackItem) items; /* of the rows, without offsets */
} Buffers;

/* All sizes together are at most this. */
extern const int64_t buffers_most_bytes;

/* False after an error. What is read points into text. */
bool buffers_read(Arena *a, Diag *d, const char *path, const char *text,
                  size_t n, Buffers *out);

#endif
