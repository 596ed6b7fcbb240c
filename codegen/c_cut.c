/* How products are cut into pieces: from the shape alone, so that the bits of
 * what follows do not depend on the machine. */
#include "codegen/c_ops.h"

enum {
    COLUMN_STEP = 16, /* what columns and rows of a piece are multiples of: */
    ROW_STEP = 8,     /* whole lines, and tiles of most instruction sets */
    MOST_ROWS = 384,
    MOST_COLUMNS = 768,
    TILE_ROWS = 128, /* of a piece whose product stays on the stack */
    TILE_COLUMNS = 384,
    LOW_ROWS = 256, /* and of bf16, where more is copied */
    LOW_COLUMNS = 512,
    FEW_ROWS = 64,  /* edl_matmul does not pack columns for them */
    MORE_CUTS = 12, /* than are needed, of rows and of columns */
    SERIAL_MACS = 1 << 18, /* to hand out pieces of less takes longer */
    /* What a piece does beside multiply-adds, in those of the same time: */
    PIECE_MACS = 1 << 15, /* to be handed out, */
    PART_MACS = 1 << 10,  /* for a row of which it makes a part, not all, */
    ROW_MACS = 4,         /* a term of a row read as it lies, */
    FAR_MACS = 6,         /* or from rows that are adjacent; */
    COLUMN_MACS = 8,      /* of a column read as it lies, */
    COPY_MACS = 10,       /* copied, */
    TURN_MACS = 16,       /* or copied across; */
    LOW_ROW_MACS = 16,    /* of bf16 both are copied, as floats */
    LOW_COLUMN_MACS = 12
};

static int64_t
pieces_of(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

/* n in `pieces` equal ones, as far as `step` allows. */
static int64_t
even(int64_t n, int64_t pieces, int64_t step)
{
    int64_t each = pieces_of(pieces_of(n, pieces), step) * step;
    return each < n ? each : n;
}

/* Of one term of a piece, with what is read and copied for it. */
static int64_t
piece_macs(const Cut *c, int64_t rows, int64_t columns)
{
    if (c->bf16)
        return rows * columns + rows * LOW_ROW_MACS + columns * LOW_COLUMN_MACS;
    int64_t row = c->a_along ? ROW_MACS : FAR_MACS;
    int64_t column = !c->b_along       ? TURN_MACS
                     : rows > FEW_ROWS ? COPY_MACS
                                       : COLUMN_MACS;
    return rows * columns + rows * row + columns * column;
}

/* The time of a cut in nr by nc, with 2 threads and a little with 8. */
static int64_t
cut_cost(const Cut *c, int64_t nr, int64_t nc)
{
    int64_t rows = even(c->m, nr, ROW_STEP);
    int64_t columns = even(c->n, nc, COLUMN_STEP);
    int64_t pieces =
        c->batches * pieces_of(c->m, rows) * pieces_of(c->n, columns);
    int64_t piece = PIECE_MACS + c->k * piece_macs(c, rows, columns);
    if (columns < c->n)
        piece += PART_MACS * rows;
    return piece * (8 * pieces_of(pieces, 2) + pieces_of(pieces, 8));
}

/* A piece packs its rows of A for all of its columns and its columns of B for
 * all of its rows, so it should be wide and tall, but fit the second cache; a
 * step is waited for until the last piece is done, so there should be some,
 * where several threads make them. */
void
c_cut(Cut *c)
{
    if (c->want && c->batches == 1 && !c->tile) {
        c->rows = even(c->m, c->want, ROW_STEP);
        c->columns = c->n;
        c->serial = false;
        return;
    }
    c->serial = c->m * c->n * c->k * c->batches <= SERIAL_MACS;
    int64_t more = c->serial ? 0 : MORE_CUTS;
    int64_t tile_rows = c->bf16 ? LOW_ROWS : TILE_ROWS;
    int64_t tile_columns = c->bf16 ? LOW_COLUMNS : TILE_COLUMNS;
    int64_t nr0 = pieces_of(c->m, c->tile ? tile_rows : MOST_ROWS);
    int64_t nc0 = pieces_of(c->n, c->tile ? tile_columns : MOST_COLUMNS);
    int64_t best = -1;
    for (int64_t nr = nr0; nr <= nr0 + more; nr++)
        for (int64_t nc = nc0; nc <= nc0 + more; nc++) {
            int64_t cost = cut_cost(c, nr, nc);
            if (best >= 0 && cost >= best)
                continue;
            best = cost;
            c->rows = even(c->m, nr, ROW_STEP);
            c->columns = even(c->n, nc, COLUMN_STEP);
        }
}
