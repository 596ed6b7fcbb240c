#include "ir/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ALIGN = 16, FIRST_CHUNK = 1 << 14, LAST_CHUNK = 1 << 22 };

typedef struct Chunk {
    struct Chunk *next;
    size_t used, size;
} Chunk;

struct Arena {
    Chunk *chunks;
    Chunk *spare; /* empty ones, zeroed */
    size_t next_size;
};

static const size_t header = (sizeof(Chunk) + ALIGN - 1) & ~(size_t)(ALIGN - 1);

static void *
get(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) {
        fputs("edlc: out of memory\n", stderr);
        exit(4);
    }
    return p;
}

Arena *
arena_new(void)
{
    Arena *a = get(sizeof *a);
    a->next_size = FIRST_CHUNK;
    return a;
}

static void
free_chunks(Chunk *c)
{
    for (Chunk *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

void
arena_free(Arena *a)
{
    if (!a)
        return;
    free_chunks(a->chunks);
    free_chunks(a->spare);
    free(a);
}

void
arena_reset(Arena *a)
{
    for (Chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        memset((char *)c + header, 0, c->used);
        c->used = 0;
        c->next = a->spare;
        a->spare = c;
    }
    a->chunks = NULL;
}

static Chunk *
take_spare(Arena *a, size_t need)
{
    Chunk *c = a->spare;
    if (!c || c->size < need)
        return NULL;
    a->spare = c->next;
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

static Chunk *
add_chunk(Arena *a, size_t need)
{
    Chunk *spare = take_spare(a, need);
    if (spare)
        return spare;
    size_t size = a->next_size > need ? a->next_size : need;
    Chunk *c = get(header + size);
    c->size = size;
    c->next = a->chunks;
    a->chunks = c;
    if (a->next_size < LAST_CHUNK)
        a->next_size *= 2;
    return c;
}

void *
arena_alloc(Arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) {
        fputs("edlc: out of memory\n", stderr);
        exit(4);
    }
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    Chunk *c = a->chunks;
    if (!c || c->size - c->used < bytes)
        c = add_chunk(a, bytes);
    void *p = (char *)c + header + c->used;
    c->used += bytes;
    return p;
}

void *
arena_grow(Arena *a, void *old, size_t old_bytes, size_t new_bytes)
{
    void *p = arena_alloc(a, new_bytes);
    if (old_bytes)
        memcpy(p, old, old_bytes);
    return p;
}

char *
arena_strndup(Arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *
arena_vprintf(Arena *a, const char *fmt, va_list ap)
{
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, again);
    va_end(again);
    if ((size_t)n < sizeof small)
        return arena_strndup(a, small, (size_t)n);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, ap);
    return p;
}

char *
arena_printf(Arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void *
vec_more(Arena *a, void *at, int *cap, size_t item)
{
    int old = *cap;
    *cap = old ? 2 * old : 4;
    return arena_grow(a, at, (size_t)old * item, (size_t)*cap * item);
}
