/* Arena memory. Nothing is freed alone; an arena goes as a whole. Two
 * lifetimes exist in edlc: one run, and one graph. Memory comes zeroed.
 * Running out of memory ends the process with status 4 and one line. */
#ifndef EDL_IR_BASE_ARENA_H
#define EDL_IR_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <string.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *a);
/* All that it gave is gone, as if it were new; it keeps the memory. */
void arena_reset(Arena *a);
void *arena_alloc(Arena *a, size_t bytes);
void *arena_grow(Arena *a, void *old, size_t old_bytes, size_t new_bytes);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap);

#define ARENA_NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* A growable array that lives in an arena:  VEC(Node *) nodes;
 * vec_push(arena, &nodes, x);  nodes.at[i], nodes.n.  Zero is empty. */
#define VEC(T)                                                             \
    struct {                                                               \
        T *at;                                                             \
        int n, cap;                                                        \
    }
#define vec_push(arena, v, x)                                              \
    ((void)((v)->n == (v)->cap &&                                          \
            ((v)->at = vec_more((arena), (v)->at, &(v)->cap,               \
                                sizeof *(v)->at))),                        \
     (void)((v)->at[(v)->n++] = (x)))

void *vec_more(Arena *a, void *at, int *cap, size_t item);

#endif
