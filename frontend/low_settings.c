#include "frontend/low_train.h"

/* ---- settings of a call ---- */

static int
row_named(const Setting *rows, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return i;
    return -1;
}

static bool
unknown(Settings *s, const Name *name, const Setting *rows, int n)
{
    const char *legal[MAX_SETTINGS];
    for (int i = 0; i < n; i++)
        legal[i] = rows[i].name;
    if (low_error(s->l, name->at, "`%s` has no setting `%s`", s->what,
                  name->text))
        low_legal(s->l, name->text, legal, n, "its settings are");
    return false;
}

/* A word is a plain name or the word of a type. */
static bool
take_word(Settings *s, int i, const Setting *row)
{
    const Expr *e = s->given[i];
    bool word =
        (e->kind == EX_NAME || e->kind == EX_TYPE) && !e->u.path.module.text;
    int n = 0;
    for (; n < 5 && row->words[n]; n++)
        if (word && strcmp(row->words[n], e->u.path.name.text) == 0) {
            s->value[i] =
                (Val){.kind = VAL_STRING, .at = e->at, .s = row->words[n]};
            return true;
        }
    if (low_error(s->l, e->at, "`%s` of `%s` is one of a few words", row->name,
                  s->what))
        low_legal(s->l, word ? e->u.path.name.text : "", row->words, n,
                  "they are");
    return false;
}

static bool
has_kind(const Val *v, ArgKind kind)
{
    switch (kind) {
    case ARG_number:
        return v->kind == VAL_INT || v->kind == VAL_FLOAT;
    case ARG_int:
    case ARG_axis:
        return v->kind == VAL_INT;
    case ARG_bool:
        return v->kind == VAL_BOOL;
    case ARG_list:
    case ARG_axes:
        return v->kind == VAL_LIST;
    case ARG_tensor:
    case ARG_value:
    case ARG_dtype:
        return false;
    case ARG_word:
    case ARG_any:
        return true;
    }
    return false;
}

static bool
take_value(Settings *s, int i, const Setting *row)
{
    static const char *const want[] = {[ARG_number] = "a number",
                                       [ARG_int] = "an integer",
                                       [ARG_bool] = "true or false",
                                       [ARG_list] = "a list"};
    if (row->kind == ARG_any)
        return true;
    if (row->kind == ARG_word)
        return take_word(s, i, row);
    s->value[i] = low_expr(s->l, s->given[i], NULL);
    if (s->value[i].kind == VAL_POISON)
        return false;
    if (has_kind(&s->value[i], row->kind))
        return true;
    low_error(s->l, s->given[i]->at, "`%s` of `%s`: expected %s, found %s",
              row->name, s->what, want[row->kind],
              low_describe(s->l, &s->value[i]));
    return false;
}

bool
settings_take(Settings *s, Span at, const Args *args, const Setting *rows,
              int n)
{
    bool good = true;
    for (int i = 0; i < args->n; i++) {
        const Arg *a = &args->at[i];
        int k = a->name.text ? row_named(rows, n, a->name.text) : i;
        if (k < 0) {
            good = unknown(s, &a->name, rows, n);
        } else if (k >= n || s->given[k]) {
            low_error(s->l, a->value->at, "`%s` takes at most %d settings",
                      s->what, n);
            good = false;
        } else {
            s->given[k] = a->value;
            good = take_value(s, k, &rows[k]) && good;
        }
    }
    for (int k = 0; good && k < n; k++)
        if (rows[k].required && !s->given[k]) {
            low_error(s->l, at, "`%s` needs the setting `%s`", s->what,
                      rows[k].name);
            return false;
        }
    return good;
}

double
settings_number(const Settings *s, int i, double otherwise)
{
    return s->given[i] ? low_number(&s->value[i]) : otherwise;
}

int64_t
settings_int(const Settings *s, int i, int64_t otherwise)
{
    return s->given[i] ? s->value[i].i : otherwise;
}

/* ---- parts of lines ---- */

bool
train_number(Lower *l, const Line *line, const Item *item, double *out)
{
    Val v = low_poison();
    if (item->kind == ITEM_EXPR)
        v = low_expr(l, item->value, NULL);
    bool number = v.kind == VAL_INT || v.kind == VAL_FLOAT;
    if (number)
        *out = low_number(&v);
    else if (item->kind != ITEM_EXPR || v.kind != VAL_POISON)
        low_error(l, item->at, "`%s` takes a number", line->keyword.text);
    return number;
}

bool
train_int(Lower *l, const Line *line, const Item *item, int64_t least,
          int64_t *out)
{
    Val v = low_poison();
    if (item->kind == ITEM_EXPR)
        v = low_expr(l, item->value, NULL);
    if (v.kind == VAL_INT && v.i >= least) {
        *out = v.i;
        return true;
    }
    if (item->kind != ITEM_EXPR || v.kind != VAL_POISON)
        low_error(l, item->at, "`%s` takes an integer of %lld or more",
                  line->keyword.text, (long long)least);
    return false;
}

bool
train_string(Lower *l, const Item *item, const char **out)
{
    if (item->kind == ITEM_EXPR && item->value->kind == EX_STRING) {
        *out = item->value->u.string;
        return true;
    }
    low_error(l, item->at, "expected a string in quotes");
    return false;
}

/* ---- optimizer ---- */

enum { LR_peak, LR_floor, LR_warmup, LR_steps, N_LR };

static bool
schedule_fits(Lower *l, const Expr *e, const LrSchedule *s)
{
    bool falls = strcmp(s->kind, "constant") != 0;
    const char *fault = NULL;
    if (!(s->peak >= 0) || !(s->floor >= 0))
        fault = "a learning rate is 0 or more";
    else if (s->warmup < 0)
        fault = "warmup is 0 or more";
    else if (falls && s->steps <= s->warmup)
        fault = "steps, which include the warm-up, must be more than warmup";
    if (fault)
        low_error(l, e->at, "%s", fault);
    return !fault;
}

/* A number, or constant, linear, cosine(peak, floor, warmup, steps). */
static bool
learning_rate(Lower *l, Expr *e, LrSchedule *out)
{
    static const Setting rows[N_LR] = {{"peak", ARG_number, true, {0}},
                                       {"floor", ARG_number, false, {0}},
                                       {"warmup", ARG_int, false, {0}},
                                       {"steps", ARG_int, false, {0}}};
    static const char *const kinds[] = {"constant", "linear", "cosine"};
    *out = (LrSchedule){.kind = "constant"};
    if (e->kind != EX_CALL) {
        Val v = low_expr(l, e, NULL);
        bool number = v.kind == VAL_INT || v.kind == VAL_FLOAT;
        if (number)
            out->peak = low_number(&v);
        else if (v.kind != VAL_POISON)
            low_error(l, e->at, "expected a learning rate, found %s",
                      low_describe(l, &v));
        return number && schedule_fits(l, e, out);
    }
    const Call *c = &e->u.call;
    out->kind = NULL;
    for (int i = 0; i < 3; i++)
        if (strcmp(c->callee.name.text, kinds[i]) == 0)
            out->kind = kinds[i];
    if (!out->kind) {
        if (low_error(l, c->callee.name.at, "there is no schedule `%s`",
                      c->callee.name.text))
            low_legal(l, c->callee.name.text, kinds, 3, "the schedules are");
        return false;
    }
    Settings s = {.l = l, .what = out->kind};
    if (!settings_take(&s, c->callee.name.at, &c->args, rows, N_LR))
        return false;
    out->peak = settings_number(&s, LR_peak, 0);
    out->floor = settings_number(&s, LR_floor, 0);
    out->warmup = settings_int(&s, LR_warmup, 0);
    out->steps = settings_int(&s, LR_steps, 0);
    if (s.given[LR_floor] && strcmp(out->kind, "constant") == 0) {
        low_error(l, s.given[LR_floor]->at,
                  "a constant learning rate has no "
                  "floor");
        return false;
    }
    if (!s.given[LR_steps] && strcmp(out->kind, "constant") != 0) {
        low_error(l, c->callee.name.at, "`%s` needs the setting `steps`",
                  out->kind);
        return false;
    }
    return schedule_fits(l, e, out);
}

static bool
in_range(Lower *l, const Settings *s, int i, double v, double lo, double hi)
{
    if (!s->given[i] || (v >= lo && v < hi))
        return true;
    low_error(l, s->given[i]->at,
              hi > 1 ? "must be 0 or more" : "must be from 0 to below 1");
    return false;
}

static bool
adam_betas(Lower *l, const Settings *s, int i, Train *t)
{
    t->beta1 = 0.9;
    t->beta2 = 0.999;
    if (!s->given[i])
        return true;
    const Val *v = &s->value[i];
    bool good = v->n == 2;
    for (int k = 0; good && k < 2; k++)
        good = has_kind(&v->list[k], ARG_number);
    if (!good) {
        low_error(l, s->given[i]->at, "betas are two numbers");
        return false;
    }
    t->beta1 = low_number(&v->list[0]);
    t->beta2 = low_number(&v->list[1]);
    return in_range(l, s, i, t->beta1, 0, 1) &&
           in_range(l, s, i, t->beta2, 0, 1);
}

static void
adamw(Lower *l, const Call *c, Train *t)
{
    static const Setting rows[] = {{"lr", ARG_any, true, {0}},
                                   {"betas", ARG_list, false, {0}},
                                   {"eps", ARG_number, false, {0}},
                                   {"weight_decay", ARG_number, false, {0}}};
    Settings s = {.l = l, .what = "adamw"};
    t->optimizer = "adamw";
    if (!settings_take(&s, c->callee.name.at, &c->args, rows, 4))
        return;
    t->eps = settings_number(&s, 2, 1e-8);
    t->weight_decay = settings_number(&s, 3, 0);
    if (learning_rate(l, s.given[0], &t->lr) && adam_betas(l, &s, 1, t) &&
        in_range(l, &s, 2, t->eps, 0, 1e300))
        in_range(l, &s, 3, t->weight_decay, 0, 1e300);
}

static void
sgd(Lower *l, const Call *c, Train *t)
{
    static const Setting rows[] = {{"lr", ARG_any, true, {0}},
                                   {"momentum", ARG_number, false, {0}},
                                   {"nesterov", ARG_bool, false, {0}},
                                   {"weight_decay", ARG_number, false, {0}}};
    Settings s = {.l = l, .what = "sgd"};
    t->optimizer = "sgd";
    if (!settings_take(&s, c->callee.name.at, &c->args, rows, 4))
        return;
    t->momentum = settings_number(&s, 1, 0);
    t->nesterov = settings_int(&s, 2, 0) != 0;
    t->weight_decay = settings_number(&s, 3, 0);
    if (t->nesterov && t->momentum == 0)
        low_error(l, s.given[2]->at, "nesterov needs a momentum");
    if (learning_rate(l, s.given[0], &t->lr) &&
        in_range(l, &s, 1, t->momentum, 0, 1))
        in_range(l, &s, 3, t->weight_decay, 0, 1e300);
}

void
train_optimizer(Lower *l, const Line *line, Train *t)
{
    static const char *const legal[] = {"adamw", "sgd"};
    const Item *item = &line->items.at[0];
    const Expr *e = item->value;
    bool call = item->kind == ITEM_EXPR && e->kind == EX_CALL;
    if (call && strcmp(e->u.call.callee.name.text, "adamw") == 0)
        adamw(l, &e->u.call, t);
    else if (call && strcmp(e->u.call.callee.name.text, "sgd") == 0)
        sgd(l, &e->u.call, t);
    else if (call) {
        const Name *name = &e->u.call.callee.name;
        if (low_error(l, name->at, "there is no optimizer `%s`", name->text))
            low_legal(l, name->text, legal, 2, "the optimizers are");
    } else
        low_error(l, item->at, "expected adamw(...) or sgd(...)");
}
