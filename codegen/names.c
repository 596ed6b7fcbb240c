#include "codegen/names.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sorted: keywords of C11 and C++17, and names that headers have taken. */
static const char *const keywords[] = {
    "NULL",
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "int16_t",
    "int32_t",
    "int64_t",
    "int8_t",
    "intptr_t",
    "linux",
    "long",
    "max_align_t",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "ptrdiff_t",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "uint8_t",
    "uintptr_t",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
};

/* Sorted: what kernels name themselves. */
static const char *const own[] = {
    "INFINITY", "INT32_MIN", "INT64_C", "INT64_MAX", "INT64_MIN", "NAN",
    "UINT64_C", "add", "arg", "args", "at", "batch", "best", "blockDim",
    "blockIdx", "by", "by_key", "by_value", "c", "c0", "co", "col0", "col1",
    "control", "cos", "d", "d0", "delta", "dk", "dp", "dq", "ds", "dv", "end",
    "erf", "erfc", "exp", "f32", "f64", "fabs", "fault", "first", "floor",
    "fma", "fmax", "fmin", "folds", "found", "from", "given", "gridDim", "hi",
    "hit", "i", "i0", "i1", "i2", "i3", "i32", "i4", "i5", "i6", "i64", "i7",
    "in", "int16_t", "int32_t", "int64_t", "int8_t", "j", "j0", "j1", "j2",
    "j3", "j4", "j5", "j6", "j7", "k0", "k1", "keep", "key", "key_across",
    "keys", "l", "lane", "left", "lo", "log", "log1p", "m", "main", "mb",
    "memcpy", "memory", "memset", "microbatch", "more", "most", "n", "now",
    "ns", "out", "p", "part", "picked", "piece", "place", "pow", "q", "q0",
    "q1", "query", "r", "rate", "right", "row", "row0", "row1", "rows", "s",
    "s0", "score", "seen", "shape", "si", "sin", "size_t", "slope", "slot",
    "sqrt", "step", "sum", "t0", "tanh", "thread", "threadIdx", "tile", "to",
    "to_key", "to_query", "to_value", "top", "turn", "u16", "u8", "uint16_t",
    "uint32_t", "uint64_t", "uint8_t", "value", "value_across", "warpSize",
    "weight", "whole", "wide",
};

/* Sorted: what the headers of libc declare, and a model may not be called. */
static const char *const libc[] = {
    "abort",  "abs",     "acos",     "asin",   "atan",   "atan2",  "atoi",
    "bcmp",   "bcopy",   "bzero",    "cbrt",   "ceil",   "clock",  "cos",
    "cosh",   "div",     "erf",      "erfc",   "exit",   "exp",    "exp2",
    "expm1",  "fabs",    "floor",    "fmod",   "free",   "frexp",  "gamma",
    "hypot",  "index",   "isfinite", "isinf",  "isnan",  "j0",     "j1",
    "jn",     "kill",    "labs",     "ldexp",  "lgamma", "link",   "log",
    "log10",  "log1p",   "log2",     "malloc", "memcpy", "memset", "modf",
    "nan",    "open",    "pipe",     "pow",    "printf", "puts",   "raise",
    "rand",   "read",    "remove",   "rename", "rindex", "round",  "select",
    "signal", "signbit", "sin",      "sinh",   "sleep",  "sqrt",   "stat",
    "strlen", "system",  "tan",      "tanh",   "time",   "trunc",  "unlink",
    "wait",   "write",   "y0",       "y1",     "yn",
};

/* How the names of the runtime begin, and macros of the headers beside it. */
static const char *const prefixes[] = {
    "BUFSIZ",    "EDL_",    "EOF",      "EXIT_",     "Edl",      "FILENAME_",
    "FOPEN_",    "FP_",     "HUGE_",    "INT16_",    "INT32_",   "INT64_",
    "INT8_",     "INTMAX_", "INTPTR_",  "INT_",      "L_tmpnam", "MATH_",
    "MB_CUR_",   "M_",      "PTRDIFF_", "RAND_MAX",  "SEEK_",    "SIG_",
    "SIZE_MAX",  "TMP_MAX", "UINT16_",  "UINT32_",   "UINT64_",  "UINT8_",
    "UINTMAX_",  "UINTPTR_", "UINT_",   "WCHAR_",    "WINT_",    "edl_",
    "math_errhandling",
};

static int
compare(const void *a, const void *b)
{
    return strcmp((const char *)a, *(const char *const *)b);
}

static bool
is_among(const char *s, const char *const *list, size_t n)
{
    return bsearch(s, list, n, sizeof *list, compare) != NULL;
}

bool
name_is_keyword(const char *s)
{
    return is_among(s, keywords, sizeof keywords / sizeof *keywords);
}

bool
name_in_libc(const char *s)
{
    return is_among(s, libc, sizeof libc / sizeof *libc);
}

bool
name_reserved(const char *s)
{
    return name_is_keyword(s) || is_among(s, own, sizeof own / sizeof *own);
}

Names
names_new(Arena *a)
{
    return (Names){.arena = a};
}

static bool
has_prefix(const char *s)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(s, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

const char *
name_mangle(Arena *a, const char *path)
{
    size_t n = strlen(path);
    char *out = arena_alloc(a, n + 2);
    size_t at = 0;
    /* C keeps names like _Complex to itself. */
    if (!isalpha((unsigned char)path[0]) || has_prefix(path))
        out[at++] = 'x';
    for (size_t i = 0; i < n; i++) {
        char c = path[i];
        out[at++] = isalnum((unsigned char)c) ? c : '_';
    }
    out[at] = '\0';
    return out;
}

const char *
name_strip(Arena *a, const char *path)
{
    char *out = arena_alloc(a, strlen(path) + 1);
    size_t at = 0;
    while (*path) {
        size_t n = strcspn(path, ".");
        if (at == 0 || strspn(path, "0123456789") != n) {
            if (at)
                out[at++] = '.';
            memcpy(out + at, path, n);
            at += n;
        }
        path += n;
        path += *path == '.';
    }
    out[at] = '\0';
    return name_mangle(a, out);
}

const char *
name_last(Arena *a, const char *path)
{
    const char *at = path + strlen(path);
    do {
        while (at > path && at[-1] != '.')
            at--;
        if (!isdigit((unsigned char)*at))
            break;
        at -= at > path;
    } while (at > path);
    return name_mangle(a, *at ? at : path);
}

const char *
name_upper(Arena *a, const char *name)
{
    char *out = arena_strndup(a, name, strlen(name));
    for (char *p = out; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return out;
}

const char *
names_take(Names *n, const char *name)
{
    const char *free;
    intptr_t last = (intptr_t)map_get(&n->taken, name), i = last ? last : 1;
    if (!last && !name_reserved(name)) {
        map_put(n->arena, &n->taken, name, (void *)1);
        return name;
    }
    do
        free = arena_printf(n->arena, "%s_%d", name, (int)++i);
    while (name_reserved(free) || map_get(&n->taken, free));
    map_put(n->arena, &n->taken, name, (void *)i);
    map_put(n->arena, &n->taken, free, (void *)1);
    return free;
}
