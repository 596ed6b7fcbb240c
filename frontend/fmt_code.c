#include "frontend/fmt.h"

bool
fmt_is(const FmtCode *code, int i, const char *text)
{
    if (i < 0 || i >= code->n)
        return false;
    const Token *t = code->at[i].token;
    size_t n = strlen(text);
    return t->class != TC_STRING && t->to - t->from == n &&
           !memcmp(code->text + t->from, text, n);
}

/* The code tokens, and which of them begin statements. */
static void
collect(FmtCode *code, const Scan *s)
{
    bool start = true;
    for (int i = 0; i < s->tokens.n - 1; i++) {
        const Token *t = &s->tokens.at[i];
        if (t->flags & TOK_ENDS_LINE)
            start = true;
        if (t->class == TC_NEWLINE || t->class == TC_COMMENT)
            continue;
        code->at[code->n++] =
            (FmtToken){.token = t, .open = -1, .match = -1, .start = start};
        start = false;
    }
}

/* open and match of every token. */
static void
match_brackets(FmtCode *code)
{
    int open = -1;
    for (int i = 0; i < code->n; i++) {
        FmtToken *t = &code->at[i];
        if ((t->token->flags & TOK_CLOSES) && open >= 0) {
            t->match = open;
            code->at[open].match = i;
            open = code->at[open].open;
        }
        t->open = open;
        if (t->token->flags & TOK_OPENS)
            open = i;
    }
}

static void
mark_block(FmtCode *code, int brace)
{
    code->at[brace].block = true;
    if (code->at[brace].match < 0)
        return;
    code->at[code->at[brace].match].block = true;
    if (brace + 1 < code->n)
        code->at[brace + 1].start = true;
}

/* The lines of a train or plan block: keywords, and how wide they are. */
static void
mark_keywords(FmtCode *code, int brace)
{
    int end = code->at[brace].match, width = 0;
    for (int i = brace + 1; i < end; i++) {
        FmtToken *t = &code->at[i];
        t->keyword = t->start && t->open == brace;
        int n = (int)(t->token->to - t->token->from);
        if (t->keyword && n > width)
            width = n;
    }
    for (int i = brace + 1; i < end; i++)
        code->at[i].width = width;
}

/* A brace in a brace of train or plan holds settings; every other one holds
 * statements or lines. */
static void
mark_blocks(FmtCode *code)
{
    bool lines = false;
    for (int i = 0; i < code->n; i++) {
        const FmtToken *t = &code->at[i];
        if (t->open < 0 && t->start)
            lines = fmt_is(code, i, "train") || fmt_is(code, i, "plan");
        if (!fmt_is(code, i, "{") || (lines && t->open >= 0))
            continue;
        mark_block(code, i);
        if (lines)
            mark_keywords(code, i);
    }
}

FmtCode
fmt_code(Arena *a, const Scan *s)
{
    FmtCode code = {s->text, ARENA_ARRAY(a, FmtToken, s->tokens.n), 0};
    collect(&code, s);
    match_brackets(&code);
    mark_blocks(&code);
    return code;
}
