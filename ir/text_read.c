#include "ir/text.h"

#include "ir/option.h"
#include "ir/text_reader.h"

/* ---- head ---- */

static bool
version(Reader *r)
{
    int64_t v = 0;
    Token at = r->tok;
    while (reader_take(r, TOK_LINE))
        at = r->tok;
    bool head = reader_take_word(r, "edl") && reader_take(r, '-') &&
                reader_take_word(r, "ir") && r->tok.kind == TOK_NUMBER;
    if (!head)
        return reader_fail_at(r, &at, "expected `edl-ir 1` first");
    at = r->tok;
    if (!reader_int(r, &v))
        return false;
    if (v != 1)
        return reader_fail_at(r, &at, "edl-ir %lld is not known, only 1",
                              (long long)v);
    return reader_line_end(r);
}

static bool
model(Reader *r)
{
    return reader_name(r, "the name of the model", &r->module->name) &&
           reader_line_end(r);
}

static bool
option(Reader *r)
{
    const char *key, *value;
    Token at = r->tok;
    if (!reader_name(r, "the name of an option", &key))
        return false;
    if (module_option(r->module, key))
        return reader_fail_at(r, &at, "option %s comes twice", key);
    if (r->tok.kind != '=')
        return reader_expected(r, "`=`");
    if (r->ahead.kind == TOK_TEXT) {
        reader_advance(r);
        if (!reader_text(r, &value))
            return false;
    } else {
        Token raw = lexer_raw(&r->lexer, &r->ahead);
        if (raw.n == 0)
            return reader_fail(r, "option %s has no value", key);
        value = reader_intern(r, &raw);
        r->ahead = lexer_next(&r->lexer);
        reader_advance(r);
    }
    const char *why = option_fault(r->arena, key, value);
    if (why)
        return reader_fail_at(r, &at, "%s", why);
    module_set_option(r->module, key, value);
    r->module->options.at[r->module->options.n - 1].loc = reader_span(r, &at);
    return reader_line_end(r);
}

static bool
dim(Reader *r)
{
    Token at = r->tok;
    Dim d = {.loc = reader_span(r, &at)};
    if (!reader_name(r, "the name of a dim", &d.name))
        return false;
    for (int i = 0; i < r->module->dims.n; i++)
        if (r->module->dims.at[i].name == d.name)
            return reader_fail_at(r, &at, "dim %s comes twice", d.name);
    if (!reader_expect(r, '=', "`=`") || !reader_int(r, &d.value))
        return false;
    vec_push(r->arena, &r->module->dims, d);
    return reader_line_end(r);
}

/* ---- tensors ---- */

static bool
init(Reader *r, Init *out)
{
    if (reader_take_word(r, "constant"))
        out->kind = INIT_constant;
    else if (reader_take_word(r, "normal"))
        out->kind = INIT_normal;
    else if (reader_take_word(r, "uniform"))
        out->kind = INIT_uniform;
    else
        return reader_expected(r, "constant, normal or uniform");
    if (!reader_expect(r, '(', "`(`") || !reader_double(r, &out->a))
        return false;
    if (out->kind != INIT_constant &&
        (!reader_expect(r, ',', "`,`") || !reader_double(r, &out->b)))
        return false;
    return reader_expect(r, ')', "`)`");
}

static bool
owner(Reader *r, Tensor *t)
{
    Token at = r->tok;
    const char *name;
    if (!reader_name(r, "the name of a tensor", &name))
        return false;
    t->owner = module_tensor(r->module, name);
    return t->owner || reader_no_tensor(r, &at, name);
}

static bool
tensor_storage(Reader *r, Tensor *t)
{
    Storage s;
    Token at = r->tok;
    if (!reader_storage(r, &t->type, &t->layout, &s))
        return false;
    if (s.in_home || s.in_tensor)
        return reader_fail_at(r, &at, "a tensor lies in no other");
    t->layout = s.layout;
    t->space = s.space;
    t->sharding = s.sharding;
    return true;
}

static bool
tensor_rest(Reader *r, Tensor *t)
{
    if (!tensor_storage(r, t))
        return false;
    if (reader_take_word(r, "of") && !owner(r, t))
        return false;
    if (reader_take_word(r, "role") && !reader_name(r, "a role", &t->role))
        return false;
    if (reader_take(r, '=') && !init(r, &t->init))
        return false;
    if (reader_take_word(r, "decay") && !reader_double(r, &t->weight_decay))
        return false;
    if (reader_take_word(r, "lr_scale") && !reader_double(r, &t->lr_scale))
        return false;
    return reader_line_end(r);
}

bool
reader_tensor(Reader *r, TensorKind kind)
{
    Token at = r->tok;
    const char *name;
    Type type;
    if (!reader_name(r, "the name of a tensor", &name))
        return false;
    const Tensor *old = module_tensor(r->module, name);
    if (old) {
        reader_fail_at(r, &at, "two tensors are called %s", name);
        diag_note(r->diag, old->loc, "the other one");
        return false;
    }
    if (!reader_expect(r, ':', "`:`") || !reader_type(r, &type))
        return false;
    Tensor *t = module_add_tensor(r->module, kind, name, &type);
    t->loc = reader_span(r, &at);
    return tensor_rest(r, t);
}

/* ---- sections ---- */

static bool
tensor_line(Reader *r, bool *known)
{
    for (TensorKind k = 0; k < TENSOR_KIND_COUNT; k++)
        if (reader_take_word(r, tensor_kind_name[k]))
            return reader_tensor(r, k);
    *known = false;
    return false;
}

static bool
section(Reader *r)
{
    bool known = true;
    if ((token_is(&r->tok, "model") || token_is(&r->tok, "regions")) &&
        !reader_once(r, &r->sections, &r->tok))
        return false;
    if (reader_take_word(r, "model"))
        return model(r);
    if (reader_take_word(r, "option"))
        return option(r);
    if (reader_take_word(r, "dim"))
        return dim(r);
    if (reader_take_word(r, "train"))
        return reader_train(r);
    if (reader_take_word(r, "graph"))
        return reader_graph(r);
    if (reader_take_word(r, "program"))
        return reader_program(r);
    if (reader_take_word(r, "products"))
        return reader_products(r);
    if (reader_take_word(r, "regions"))
        return reader_regions(r);
    if (reader_take_word(r, "placement"))
        return reader_placement(r);
    if (tensor_line(r, &known))
        return true;
    return known ? false : reader_expected(r, "a section of a module");
}

Module *
text_read(Arena *a, Diag *d, const char *name, const char *text, size_t n)
{
    int before = diag_count(d);
    Reader r = {.arena = a, .diag = d, .lexer = lexer_new(text, n)};
    r.file = diag_add_source(d, name, text, n);
    r.module = module_new(a, d, "model");
    reader_advance(&r);
    reader_advance(&r);
    if (!version(&r))
        return NULL;
    while (r.tok.kind != TOK_END)
        if (!reader_take(&r, TOK_LINE) && !section(&r))
            reader_skip_line(&r);
    return diag_count(d) == before ? r.module : NULL;
}
