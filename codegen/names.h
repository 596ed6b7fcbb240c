/* C identifiers from the names of the IR: stable, legal in C and C++, and
 * never twice. */
#ifndef EDL_CODEGEN_NAMES_H
#define EDL_CODEGEN_NAMES_H

#include <stdbool.h>

#include "ir/base/map.h"

/* What one scope (a file, a kernel) has taken. Zero is empty. */
typedef struct Names {
    Arena *arena;
    Map taken; /* the number behind the last that was made of a name, or 1 */
} Names;

Names names_new(Arena *a);
/* A keyword of C or C++; or that, or a name that kernels use themselves. */
bool name_is_keyword(const char *s);
bool name_reserved(const char *s);
/* A name at file scope that headers of libc declare. */
bool name_in_libc(const char *s);
/* path as an identifier: every other character becomes _. */
const char *name_mangle(Arena *a, const char *path);
/* The same without the numbers of block instances: h.3.attn -> h_attn. */
const char *name_strip(Arena *a, const char *path);
/* The last word of a path: h.3.attn.c_attn.w -> w, qkv.split.0 -> split_0. */
const char *name_last(Arena *a, const char *path);
const char *name_upper(Arena *a, const char *name);
/* name, or name_2, name_3, ...: the first that is free; takes it. */
const char *names_take(Names *n, const char *name);

#endif
