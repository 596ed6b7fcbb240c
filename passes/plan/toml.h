/* TOML, as a list of its entries: what the library of that name reads. The
 * only file of edlc that is C++ stands behind this. */
#ifndef EDL_PASSES_PLAN_TOML_H
#define EDL_PASSES_PLAN_TOML_H

#include <stddef.h>

typedef enum {
    TOML_TABLE,
    TOML_NUMBER,
    TOML_TEXT,
    TOML_PAIRS, /* [[1, 2.5], [2, 3]] */
    TOML_OTHER
} TomlKind;

/* From 1, columns in characters, the end exclusive. */
typedef struct TomlPlace {
    int line, col, end_line, end_col;
} TomlPlace;

/* Good until the function that got it returns. */
typedef struct TomlEntry {
    const char *table, *key; /* table "" at the top; key NULL: a table */
    TomlKind kind;
    TomlPlace key_at, at;
    double number;
    const char *text;
    const double *pairs;
    int n_pairs;
} TomlEntry;

typedef struct TomlReader {
    void (*entry)(void *user, const TomlEntry *e);
    void (*error)(void *user, TomlPlace at, const char *text);
    void *user;
} TomlReader;

/* All entries in the order of their names, or the one error. */
void toml_read(const char *text, size_t n, const TomlReader *r);

#endif
