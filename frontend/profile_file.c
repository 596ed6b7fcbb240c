#include "frontend/profile_file.h"

#include <jansson.h>

static bool
fail(Session *s, const char *path, const char *why)
{
    diag_error(s->diag, (Span){0}, "%s: %s", path, why);
    return false;
}

static bool
read_entry(Session *s, const json_t *x, ProfileFile *out)
{
    const char *graph = json_string_value(json_object_get(x, "graph"));
    const char *node = json_string_value(json_object_get(x, "node"));
    const json_t *ns = json_object_get(x, "ns");
    double value = json_number_value(ns);
    if (!graph || !node || !json_is_number(ns) || value < 0 || value > 1e15)
        return false;
    const json_t *bytes = json_object_get(x, "bytes");
    double moved = json_is_number(bytes) ? json_number_value(bytes) : -1;
    ProfileEntry e = {arena_strndup(s->arena, graph, strlen(graph)),
                      arena_strndup(s->arena, node, strlen(node)),
                      value, moved < 1e18 ? moved : -1};
    vec_push(s->arena, &out->entries, e);
    return true;
}

static bool
read_all(Session *s, const char *path, const json_t *top, ProfileFile *out)
{
    const json_t *nodes = json_object_get(top, "nodes");
    if (json_integer_value(json_object_get(top, "edl_profile")) != 1 ||
        !json_is_array(nodes))
        return fail(s, path, "is no file that --profile of a trainer writes");
    out->gflops = json_number_value(json_object_get(top, "mflops")) * 1e-3;
    out->gbytes = json_number_value(json_object_get(top, "mbytes")) * 1e-3;
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (!read_entry(s, json_array_get(nodes, i), out))
            return fail(s, path,
                        arena_printf(s->arena,
                                     "node %d has no graph, node and ns",
                                     (int)i));
    return true;
}

bool
profile_read(Session *s, const char *path, ProfileFile *out)
{
    const char *text;
    size_t n;
    json_error_t error;
    *out = (ProfileFile){0};
    if (!session_read(s, path, &text, &n))
        return false;
    json_t *top = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!top)
        return fail(s, path, arena_printf(s->arena, "line %d: %s", error.line,
                                          error.text));
    bool good = read_all(s, path, top, out);
    json_decref(top);
    return good;
}
