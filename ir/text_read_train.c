/* The train section. */
#include "ir/text_reader.h"

/* key = value of a table of settings. */
typedef struct Setting {
    const char *key;
    AttrKind kind;
    void *to; /* double, int64_t or bool */
} Setting;

static bool
set(Reader *r, const Setting *s)
{
    Attr a = {0};
    if (!reader_attr_value(r, (int)s->kind, &a))
        return false;
    if (s->kind == ATTR_float)
        *(double *)s->to = a.f;
    else if (s->kind == ATTR_bool)
        *(bool *)s->to = a.i != 0;
    else
        *(int64_t *)s->to = a.i;
    return true;
}

/* key = value, ... ) */
static bool
settings(Reader *r, const Setting *list, int n)
{
    Map seen = {0};
    do {
        int i = 0;
        while (i < n && !token_is(&r->tok, list[i].key))
            i++;
        if (i == n)
            return reader_expected(r, "a setting");
        if (!reader_once(r, &seen, &r->tok))
            return false;
        reader_advance(r);
        if (!reader_expect(r, '=', "`=`") || !set(r, &list[i]))
            return false;
    } while (reader_take(r, ','));
    return reader_expect(r, ')', "`)`");
}

static bool
schedule(Reader *r, LrSchedule *lr)
{
    static const char *const kinds[] = {"constant", "linear", "cosine"};
    const Setting list[] = {{"peak", ATTR_float, &lr->peak},
                            {"floor", ATTR_float, &lr->floor},
                            {"warmup", ATTR_int, &lr->warmup},
                            {"steps", ATTR_int, &lr->steps}};
    for (int i = 0; i < 3; i++)
        if (token_is(&r->tok, kinds[i]))
            return reader_name(r, "a schedule", &lr->kind) &&
                   reader_expect(r, '(', "`(`") && settings(r, list, 4);
    return reader_expected(r, "constant, linear or cosine");
}

static bool
optimizer(Reader *r, Train *t)
{
    const Setting adamw[] = {{"beta1", ATTR_float, &t->beta1},
                             {"beta2", ATTR_float, &t->beta2},
                             {"eps", ATTR_float, &t->eps},
                             {"weight_decay", ATTR_float, &t->weight_decay}};
    const Setting sgd[] = {{"momentum", ATTR_float, &t->momentum},
                           {"nesterov", ATTR_bool, &t->nesterov},
                           {"weight_decay", ATTR_float, &t->weight_decay}};
    bool adam = token_is(&r->tok, "adamw");
    if (!adam && !token_is(&r->tok, "sgd"))
        return reader_expected(r, "adamw or sgd");
    if (!reader_name(r, "an optimizer", &t->optimizer) ||
        !reader_expect(r, '(', "`(`") || !reader_expect_word(r, "lr") ||
        !reader_expect(r, '=', "`=`") || !schedule(r, &t->lr))
        return false;
    if (reader_take(r, ')'))
        return true;
    return reader_expect(r, ',', "`,`") &&
           settings(r, adam ? adamw : sgd, adam ? 4 : 3);
}

/* ---- data ---- */

static bool
source_option(Reader *r, DataSource *s)
{
    Attr a = {0};
    if (!reader_name(r, "an option", &a.key) || !reader_expect(r, '=', "`=`") ||
        !reader_attr_value(r, ATTR_ANY, &a))
        return false;
    vec_push(r->arena, &s->options, a);
    return true;
}

/* [names =] kind(["path"], key = value, ...) */
static bool
source(Reader *r, DataSource *s)
{
    Tokens names = {0};
    if (r->ahead.kind == ',' || r->ahead.kind == '=') {
        if (!reader_names(r, "the name of an input", &names) ||
            !reader_expect(r, '=', "`=`"))
            return false;
        for (int i = 0; i < names.n; i++)
            vec_push(r->arena, &s->names, reader_intern(r, &names.at[i]));
    }
    if (!reader_name(r, "a source", &s->kind) || !reader_expect(r, '(', "`(`"))
        return false;
    if (reader_take(r, ')'))
        return true;
    bool path = r->tok.kind == TOK_TEXT;
    if (path && !reader_text(r, &s->path))
        return false;
    if (!path && !source_option(r, s))
        return false;
    while (reader_take(r, ','))
        if (!source_option(r, s))
            return false;
    return reader_expect(r, ')', "`)`");
}

/* every N batches M, one for all sources */
static bool
validate_often(Reader *r, Train *t)
{
    int64_t every = 0, batches = 0;
    Token at = r->tok;
    if (reader_take_word(r, "every") &&
        (!reader_int_from(r, 0, &every) || !reader_expect_word(r, "batches") ||
         !reader_int_from(r, 0, &batches)))
        return false;
    if (t->validate.n > 1 &&
        (every != t->validate_every || batches != t->validate_batches))
        return reader_fail_at(r, &at, "the line before validates at other "
                              "times");
    t->validate_every = every;
    t->validate_batches = batches;
    return true;
}

static bool
validate(Reader *r, Train *t)
{
    DataSource s = {0};
    if (!source(r, &s))
        return false;
    vec_push(r->arena, &t->validate, s);
    return validate_often(r, t);
}

static bool
data(Reader *r, Train *t)
{
    DataSource s = {0};
    if (!source(r, &s))
        return false;
    vec_push(r->arena, &t->data, s);
    return true;
}

static bool
checkpoint(Reader *r, Train *t)
{
    if (!reader_text(r, &t->checkpoint))
        return false;
    return !reader_take_word(r, "every") ||
           reader_int_from(r, 0, &t->checkpoint_every);
}

/* ---- lines ---- */

static bool
setting(Reader *r, Train *t)
{
    if (reader_take_word(r, "seed"))
        return reader_unsigned(r, &t->seed);
    if (reader_take_word(r, "data"))
        return data(r, t);
    if (reader_take_word(r, "validate"))
        return validate(r, t);
    if (reader_take_word(r, "minimize"))
        return reader_name(r, "the name of an output", &t->minimize);
    if (reader_take_word(r, "optimizer"))
        return optimizer(r, t);
    if (reader_take_word(r, "clip_norm"))
        return reader_double(r, &t->clip_norm);
    if (reader_take_word(r, "skip_nonfinite"))
        return (t->skip_nonfinite = true);
    if (reader_take_word(r, "accumulate"))
        return reader_int_from(r, 1, &t->accumulate);
    if (reader_take_word(r, "steps"))
        return reader_int_from(r, 0, &t->steps);
    if (reader_take_word(r, "checkpoint"))
        return checkpoint(r, t);
    return reader_expected(r, "a line of train");
}

/* There is a line for every source. */
static bool
is_list(const Token *t)
{
    return token_is(t, "data") || token_is(t, "validate");
}

static bool
train_line(Reader *r, void *seen)
{
    if (r->tok.kind == TOK_NAME && !is_list(&r->tok) &&
        !reader_once(r, seen, &r->tok))
        return false;
    return setting(r, r->module->train) && reader_line_end(r);
}

bool
reader_train(Reader *r)
{
    Map seen = {0};
    if (r->module->train)
        return reader_fail(r, "train comes twice");
    r->module->train = ARENA_NEW(r->arena, Train);
    r->module->train->accumulate = 1;
    r->module->train->loc = reader_span(r, &r->tok);
    return reader_block(r, train_line, &seen);
}
