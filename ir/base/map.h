/* Interned strings, and a map from interned strings to pointers.
 * Two interned strings of one Interner are equal when their pointers are.
 * Order of iteration never depends on addresses: maps cannot be iterated. */
#ifndef EDL_IR_BASE_MAP_H
#define EDL_IR_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "ir/base/arena.h"

typedef struct Interner Interner;

Interner *interner_new(Arena *a);
const char *intern(Interner *in, const char *s);
const char *intern_n(Interner *in, const char *s, size_t n);

/* Keys are compared as text, so they need not be interned. Zero is empty. */
typedef struct Map {
    struct MapSlot *slots;
    size_t n, cap;
} Map;

void *map_get(const Map *m, const char *key);
void map_put(Arena *a, Map *m, const char *key, void *value);

/* FNV-1a, 64 bits: the hash64 of the random-number keys as well. */
uint64_t hash64(const void *bytes, size_t n);

#endif
