#include "ir/base/map.h"

struct MapSlot {
    const char *key;
    uint64_t hash;
    void *value;
};

struct Interner {
    Arena *arena;
    Map map;
};

uint64_t
hash64(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* Of keys alone, which may be long: a word at a time. */
static uint64_t
hash_key(const char *key, size_t n)
{
    uint64_t h = n, word;
    for (; n >= sizeof word; key += sizeof word, n -= sizeof word) {
        memcpy(&word, key, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, key, n);
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

/* The slot of a key, or the free slot where it belongs. */
static struct MapSlot *
find(const Map *m, const char *key, size_t n, uint64_t hash)
{
    size_t i = hash & (m->cap - 1);
    while (m->slots[i].key &&
           (m->slots[i].hash != hash || strlen(m->slots[i].key) != n ||
            memcmp(m->slots[i].key, key, n) != 0))
        i = (i + 1) & (m->cap - 1);
    return &m->slots[i];
}

static void
grow(Arena *a, Map *m)
{
    Map bigger = {.n = m->n, .cap = m->cap ? 2 * m->cap : 16};
    bigger.slots = ARENA_ARRAY(a, struct MapSlot, bigger.cap);
    for (size_t i = 0; i < m->cap; i++) {
        struct MapSlot *s = &m->slots[i];
        if (s->key)
            *find(&bigger, s->key, strlen(s->key), s->hash) = *s;
    }
    *m = bigger;
}

void *
map_get(const Map *m, const char *key)
{
    size_t n = strlen(key);
    return m->cap ? find(m, key, n, hash_key(key, n))->value : NULL;
}

void
map_put(Arena *a, Map *m, const char *key, void *value)
{
    if (2 * (m->n + 1) > m->cap)
        grow(a, m);
    size_t n = strlen(key);
    uint64_t hash = hash_key(key, n);
    struct MapSlot *s = find(m, key, n, hash);
    if (!s->key)
        m->n++;
    *s = (struct MapSlot){key, hash, value};
}

Interner *
interner_new(Arena *a)
{
    Interner *in = ARENA_NEW(a, Interner);
    in->arena = a;
    return in;
}

const char *
intern_n(Interner *in, const char *s, size_t n)
{
    if (2 * (in->map.n + 1) > in->map.cap)
        grow(in->arena, &in->map);
    uint64_t hash = hash_key(s, n);
    struct MapSlot *slot = find(&in->map, s, n, hash);
    if (!slot->key) {
        char *copy = arena_strndup(in->arena, s, n);
        *slot = (struct MapSlot){copy, hash, copy};
        in->map.n++;
    }
    return slot->key;
}

const char *
intern(Interner *in, const char *s)
{
    return intern_n(in, s, strlen(s));
}
