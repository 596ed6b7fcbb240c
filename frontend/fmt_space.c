#include "frontend/fmt.h"

/* Where spaces stand. Products and powers are tight, weaker operators loose:
 * 3*C + 1, x @ w, p : p + 1. */

typedef enum Strength { NOT_BINARY, LOOSE, MATMUL, PRODUCT, POWER } Strength;

static const struct Operator {
    const char *text;
    Strength strength;
} operators[] = {
    {"and", LOOSE}, {"or", LOOSE},  {"==", LOOSE},  {"!=", LOOSE}, {"<", LOOSE},
    {"<=", LOOSE},  {">", LOOSE},   {">=", LOOSE},  {"+", LOOSE},  {"-", LOOSE},
    {"@", MATMUL},  {"*", PRODUCT}, {"/", PRODUCT}, {"**", POWER},
};

static bool
is_any(const FmtCode *code, int i, const char *const *list)
{
    for (; *list; list++)
        if (fmt_is(code, i, *list))
            return true;
    return false;
}

/* Whether token i can end an operand, so that an operator may follow. */
static bool
ends_operand(const FmtCode *code, int i)
{
    static const char *const ends[] = {")",    "]",     "'", "%",
                                       "true", "false", NULL};
    if (i < 0 || code->at[i].keyword)
        return false;
    TokenClass class = code->at[i].token->class;
    return class == TC_NAME || class == TC_WORD || class == TC_TYPE ||
           class == TC_NUMBER || class == TC_STRING || is_any(code, i, ends);
}

static Strength
strength(const FmtCode *code, int i)
{
    if (!ends_operand(code, i - 1))
        return NOT_BINARY;
    for (size_t k = 0; k < sizeof operators / sizeof *operators; k++)
        if (fmt_is(code, i, operators[k].text))
            return operators[k].strength;
    return NOT_BINARY;
}

/* Whether a chain of products or a part of a slice ends at token i. */
static bool
ends_part(const FmtCode *code, int i)
{
    static const char *const marks[] = {",", "=", ":", "..", "{", "}", NULL};
    return is_any(code, i, marks) || strength(code, i) == LOOSE ||
           (code->at[i].token->class == TC_RESERVED && !ends_operand(code, i));
}

/* Whether one product chain holds * or / and also @: then all are loose,
 * since tight ones would look stronger. */
static bool
mixes_matmul(const FmtCode *code, int i)
{
    int open = code->at[i].open;
    int end = open < 0 ? code->n : code->at[open].match;
    for (int k = i; k > open; k--) {
        if (code->at[k].open != open)
            continue;
        if (strength(code, k) == MATMUL)
            return true;
        if (code->at[k].start || ends_part(code, k))
            break;
    }
    for (int k = i + 1; k < end; k++) {
        if (code->at[k].open != open)
            continue;
        if (strength(code, k) == MATMUL)
            return true;
        if (code->at[k].start || ends_part(code, k))
            break;
    }
    return false;
}

/* Whether the slice around a `:` holds an operator that is loose. */
static bool
is_loose_slice(const FmtCode *code, int i)
{
    int open = code->at[i].open, from = i, to = i, end = code->at[open].match;
    while (from > open + 1 &&
           !(code->at[from].open == open && fmt_is(code, from, ",")))
        from--;
    while (to < end && !(code->at[to].open == open && fmt_is(code, to, ",")))
        to++;
    for (int k = from; k < to; k++) {
        if (code->at[k].open != open)
            continue;
        Strength s = strength(code, k);
        if (s == LOOSE || s == MATMUL)
            return true;
    }
    return false;
}

static bool
space_at_colon(const FmtCode *code, int i)
{
    int colon = fmt_is(code, i, ":") ? i : i - 1;
    int open = code->at[colon].open;
    if (open >= 0 && fmt_is(code, open, "["))
        return is_loose_slice(code, colon);
    return colon == i - 1;
}

static bool
space_at_operator(const FmtCode *code, int i)
{
    switch (strength(code, i)) {
    case POWER:
        return false;
    case PRODUCT:
        return mixes_matmul(code, i);
    case NOT_BINARY:
    case LOOSE:
    case MATMUL:
        break;
    }
    return true;
}

bool
fmt_space_before(const FmtCode *code, int i)
{
    static const char *const tight[] = {")", "]", ",", ".", "'", "%", NULL};
    static const char *const opens[] = {"(", "[", ".", NULL};
    if (i == 0 || is_any(code, i, tight) || is_any(code, i - 1, opens))
        return false;
    if (fmt_is(code, i - 1, ",") || code->at[i - 1].keyword)
        return true;
    if (fmt_is(code, i, ":") || fmt_is(code, i - 1, ":"))
        return space_at_colon(code, i);
    if (fmt_is(code, i, "..") || fmt_is(code, i - 1, ".."))
        return false;
    if ((fmt_is(code, i, "(") || fmt_is(code, i, "[")) &&
        ends_operand(code, i - 1))
        return false;
    if (fmt_is(code, i - 1, "-") && strength(code, i - 1) == NOT_BINARY)
        return false;
    if (strength(code, i) != NOT_BINARY)
        return space_at_operator(code, i);
    if (strength(code, i - 1) != NOT_BINARY)
        return space_at_operator(code, i - 1);
    return true;
}
