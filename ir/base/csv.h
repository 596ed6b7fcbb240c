/* Tables as text: a head line, then rows of as many cells, with commas
 * between them. A cell may be quoted, and ends on its line; blanks around it
 * do not count. A byte-order mark, CRLF and blank lines mean nothing. Anything
 * else is an error at its place. */
#ifndef EDL_IR_BASE_CSV_H
#define EDL_IR_BASE_CSV_H

#include "ir/base/diag.h"

typedef struct CsvCell {
    const char *text; /* without quotes */
    Span at;
    size_t from, to; /* bytes of the line, with quotes */
} CsvCell;

typedef struct Csv {
    Arena *arena;
    Diag *diag;
    const char *next, *end; /* what is not read yet */
    int file, line;         /* of the row */
    int width;              /* cells of the head */
    const char *row;        /* as it is in the file, */
    size_t row_bytes;       /* without the end of the line */
    VEC(CsvCell) cells;     /* of the row; never fewer than the head has */
} Csv;

/* Reads the head. Column names are unique, but for empty ones. False, and
 * errors, when it is wrong or there is none. */
bool csv_open(Csv *t, Arena *a, Diag *d, const char *name, const char *text,
              size_t n);

/* Which column has this name; -1 if none. Only right after csv_open. */
int csv_column(const Csv *t, const char *name);
/* The same, and an error if none. */
int csv_need_column(const Csv *t, const char *name);

/* The next row that is as it should be; those that are not are errors. False
 * at the end. */
bool csv_next(Csv *t);

#endif
