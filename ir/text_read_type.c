/* Types, and what may follow them. */
#include "ir/text_reader.h"

static bool
dims(Reader *r, Type *t)
{
    if (!reader_take(r, '[') || reader_take(r, ']'))
        return true;
    do {
        if (t->rank == MAX_RANK)
            return reader_fail(r, "more than %d axes", MAX_RANK);
        if (!reader_int_from(r, 1, &t->dim[t->rank++]))
            return false;
    } while (reader_take(r, ','));
    return reader_expect(r, ']', "`]`");
}

static bool
fits(const Type *t)
{
    int64_t most = INT64_MAX / dtype_info[t->dtype].bits;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] > most)
            return false;
        most /= t->dim[i];
    }
    return true;
}

bool
reader_type(Reader *r, Type *out)
{
    Token at = r->tok;
    const char *name;
    if (!reader_name(r, "a type", &name))
        return false;
    *out = type_scalar(dtype_named(name));
    if (out->dtype == DT_COUNT)
        return reader_fail_at(r, &at, "no such type: %s", name);
    if (!dims(r, out))
        return false;
    return fits(out) || reader_fail_at(r, &at, "more than 2^63 bytes");
}

/* ---- layouts ---- */

static bool
strides(Reader *r, const Type *t, Layout *out)
{
    for (int i = 0; i < t->rank; i++) {
        if (i && !reader_expect(r, ',', "one stride for each axis"))
            return false;
        if (!reader_int(r, &out->stride[i]))
            return false;
    }
    return true;
}

/* (offset; strides) */
static bool
inside(Reader *r, const Type *t, Layout *out)
{
    *out = (Layout){0};
    if (!reader_expect(r, '(', "`(`") || !reader_int(r, &out->offset))
        return false;
    if (t->rank && (!reader_expect(r, ';', "`;`") || !strides(r, t, out)))
        return false;
    return reader_expect(r, ')', "`)`");
}

static bool
tile(Reader *r, int *out)
{
    int64_t v;
    Token at = r->tok;
    if (!reader_int_from(r, 1, &v))
        return false;
    if (v > 1 << 20)
        return reader_fail_at(r, &at, "the tile is too large");
    *out = (int)v;
    return true;
}

/* One of: offset N, strides, pad N, tile R C. */
static bool
layout_part(Reader *r, const Type *t, Layout *out)
{
    if (reader_take_word(r, "offset"))
        return reader_int(r, &out->offset);
    if (reader_take_word(r, "pad"))
        return reader_int_from(r, 0, &out->pad);
    if (reader_take_word(r, "tile"))
        return tile(r, &out->tile[0]) && tile(r, &out->tile[1]);
    return strides(r, t, out);
}

static bool
layout(Reader *r, const Type *t, Layout *out)
{
    if (!reader_expect(r, '(', "`(`"))
        return false;
    do {
        if (!layout_part(r, t, out))
            return false;
    } while (reader_take(r, ';'));
    return reader_expect(r, ')', "`)`");
}

/* (axis:group, ...) */
static bool
shard(Reader *r, const Type *t, Sharding *out)
{
    if (!reader_expect(r, '(', "`(`"))
        return false;
    do {
        int64_t axis, group;
        Token at = r->tok;
        if (!reader_int_from(r, 0, &axis) || !reader_expect(r, ':', "`:`") ||
            !reader_int_from(r, 0, &group))
            return false;
        if (axis >= t->rank)
            return reader_fail_at(r, &at, "axis is out of range");
        if (group > 127)
            return reader_fail_at(r, &at, "expected a group below 128");
        out->group[axis] = (signed char)group;
    } while (reader_take(r, ','));
    return reader_expect(r, ')', "`)`");
}

static bool
space(Reader *r, Storage *out)
{
    static const char *const name[] = {"device", "host", "disk"};
    for (int i = 0; i < 3; i++)
        if (reader_take_word(r, name[i])) {
            out->has_space = true;
            out->space = (Space)i;
            return true;
        }
    return reader_expected(r, "device, host or disk");
}

static bool
home(Reader *r, const Type *t, Storage *out)
{
    if (token_is(&r->tok, "tensor") && r->ahead.kind == TOK_NAME) {
        reader_advance(r);
        out->in_tensor = true;
    } else {
        out->in_home = true;
    }
    out->home = r->tok;
    if (r->tok.kind != TOK_NAME)
        return reader_expected(r, "the name of a value");
    reader_advance(r);
    return inside(r, t, &out->layout);
}

bool
reader_storage(Reader *r, const Type *t, const Layout *normal, Storage *out)
{
    *out = (Storage){.layout = *normal, .sharding = sharding_none()};
    if (reader_take_word(r, "in") && !home(r, t, out))
        return false;
    if (reader_take(r, '@') && !space(r, out))
        return false;
    if (reader_take_word(r, "layout")) {
        out->has_layout = true;
        if (!layout(r, t, &out->layout))
            return false;
    }
    return !reader_take_word(r, "shard") || shard(r, t, &out->sharding);
}
