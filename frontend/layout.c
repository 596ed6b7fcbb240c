#include "frontend/token.h"

/* Which line ends are ends of statements, and brackets that balance, so that
 * one forgotten bracket is one error and the rest of the file is read. */

typedef struct Layout {
    Scan *scan;
    Tokens *out;
    Tokens open;         /* the brackets that are open */
    VEC(int) open_at;    /* where they are in out */
    int closed_for_user; /* braces whose own end may still come */
    const Token *head;   /* the first of the statement that is being read */
    int head_col;        /* where its line begins */
    const Token *wrong;  /* the first of the last one in which a bracket was
                          * closed by another's end */
    bool line_start;
    bool give_up;
} Layout;

static const char *
closer_of(const Token *open)
{
    return open->kind == '(' ? ")" : open->kind == '[' ? "]" : "}";
}

static const Token *
innermost(const Layout *l)
{
    return l->open.n ? &l->open.at[l->open.n - 1] : NULL;
}

static const Token *
last_out(const Layout *l)
{
    return l->out->n ? &l->out->at[l->out->n - 1] : NULL;
}

static void
emit(Layout *l, const Token *t)
{
    vec_push(l->scan->arena, l->out, *t);
}

/* A token that the user forgot; the grammar is silent about it. */
static void
emit_missing(Layout *l, TokenClass class, int kind, const Token *before)
{
    Span at = before->at;
    Token t = {.class = class,
               .kind = kind,
               .flags = TOK_REPORTED,
               .at = {at.file, at.line, at.col, at.line, at.col},
               .from = before->from,
               .to = before->from};
    emit(l, &t);
}

/* Ends the statement that is being read, if any. The place is behind its
 * last token, where the user looks, not behind a comment. */
static void
end_statement(Layout *l, const Token *newline)
{
    const Token *last = last_out(l);
    if (!last || last->class == TC_NEWLINE ||
        (last->kind == '{' && newline->class != TC_BAD))
        return;
    Token t = *newline;
    t.class = TC_NEWLINE;
    t.flags &= TOK_REPORTED;
    t.kind = l->scan->newline_kind;
    t.at = (Span){last->at.file, last->at.end_line, last->at.end_col,
                  last->at.end_line, last->at.end_col};
    emit(l, &t);
}

/* Closes the innermost bracket for the user, before t. */
static void
close_missing(Layout *l, const Token *t)
{
    const Token *open = innermost(l);
    if (open->kind == '{') {
        end_statement(l, t);
        l->closed_for_user++;
    }
    emit_missing(l, TC_PUNCT, closer_of(open)[0], t);
    l->open.n--;
}

static void
report_unclosed(Layout *l, const Token *t)
{
    const Token *open = innermost(l);
    diag_error(l->scan->diag, t->at, "expected '%s', found %s", closer_of(open),
               token_describe(l->scan->arena, l->scan->text, t));
    diag_note(l->scan->diag, open->at, "to close this '%c'", open->kind);
}

/* What else the statement closes is no news. */
static void
report_wrong(Layout *l, const Token *t)
{
    report_unclosed(l, t);
    l->wrong = l->head;
}

/* Parentheses and square brackets end before what no expression holds. What
 * stood in them since is no news to the user. */
static void
close_expressions(Layout *l, const Token *t)
{
    if (!innermost(l) || innermost(l)->kind == '{')
        return;
    report_unclosed(l, t);
    for (int i = l->open_at.at[l->open.n - 1]; i < l->out->n; i++)
        l->out->at[i].flags |= TOK_REPORTED;
    while (innermost(l) && innermost(l)->kind != '{')
        close_missing(l, t);
}

/* A declaration begins in the first column: everything must be closed. */
static void
close_all(Layout *l, const Token *t)
{
    close_expressions(l, t);
    if (!innermost(l))
        return;
    report_unclosed(l, t);
    while (innermost(l))
        close_missing(l, t);
}

static void
open_bracket(Layout *l, const Token *t)
{
    if (t->kind == '{')
        close_expressions(l, t);
    if (l->open.n >= SYNTAX_MAX_DEPTH) {
        diag_error(l->scan->diag, t->at,
                   "brackets are nested more than %d "
                   "deep",
                   SYNTAX_MAX_DEPTH);
        l->give_up = true;
        return;
    }
    l->open_at.n = l->open.n;
    vec_push(l->scan->arena, &l->open, *t);
    vec_push(l->scan->arena, &l->open_at, l->out->n);
    emit(l, t);
}

static bool
is_open(const Layout *l, int closer)
{
    for (int i = l->open.n - 1; i >= 0; i--) {
        if (closer_of(&l->open.at[i])[0] == closer)
            return true;
        if (l->open.at[i].kind == '{')
            return false;
    }
    return false;
}

/* A closing bracket without its opening one. */
static void
close_nothing(Layout *l, const Token *t)
{
    const Token *open = innermost(l);
    if (open && open->kind != '{') {
        report_wrong(l, t); /* `(a]`: the user took the wrong one */
        emit_missing(l, TC_PUNCT, closer_of(open)[0], t);
        l->open.n--;
        return;
    }
    if (t->kind == '}' && l->closed_for_user) {
        l->closed_for_user--;
        return;
    }
    if (t->kind == '}' || l->wrong != l->head)
        diag_error(l->scan->diag, t->at, "'%c' closes nothing", t->kind);
    if (t->kind != '}') { /* the grammar gives the statement up */
        emit(l, t);
        l->out->at[l->out->n - 1].flags |= TOK_REPORTED;
    }
}

static void
close_bracket(Layout *l, const Token *t)
{
    if (t->kind == '}')
        close_expressions(l, t);
    if (!is_open(l, t->kind)) {
        close_nothing(l, t);
        return;
    }
    if (closer_of(innermost(l))[0] != t->kind)
        report_wrong(l, t);
    while (closer_of(innermost(l))[0] != t->kind)
        close_missing(l, t);
    l->open.n--;
    emit(l, t);
}

static const Token *
next_word(const Scan *s, int i)
{
    while (s->tokens.at[i].class == TC_NEWLINE ||
           s->tokens.at[i].class == TC_COMMENT)
        i++;
    return &s->tokens.at[i];
}

static bool
is_reserved(const Token *t, const char *word)
{
    return t->class == TC_RESERVED && !strcmp(t->u.text, word);
}

/* `else` may stand on the line after the brace. */
static bool
else_follows(const Scan *s, int i)
{
    return is_reserved(next_word(s, i), "else");
}

/* Where a statement begins: behind another one, or a brace. */
static void
take_head(Layout *l, const Token *t)
{
    const Token *last = last_out(l);
    bool goes_on = last && last->kind == '}' && is_reserved(t, "else");
    if (last && last->class != TC_NEWLINE && last->kind != '{' && !goes_on)
        return;
    l->head = t;
    l->head_col = goes_on && last->at.line == t->at.line ? last->at.col
                                                         : t->at.col;
}

static bool
has_block(const Token *head)
{
    static const char *const words[] = {"layer", "model", "train", "plan",
                                        "for",   "if",    "else"};
    for (size_t i = 0; head && i < sizeof words / sizeof *words; i++)
        if (is_reserved(head, words[i]))
            return true;
    return false;
}

/* A block whose brace was forgotten: lines further in follow. The grammar
 * says so when it gets there. */
static void
open_missing(Layout *l, int i)
{
    const Token *last = last_out(l), *next = next_word(l->scan, i);
    if (next->class == TC_END || next->at.col <= l->head_col)
        return;
    Span end = {last->at.file, last->at.end_line, last->at.end_col,
                last->at.end_line, last->at.end_col};
    Token t = {.class = TC_PUNCT,
               .kind = '{',
               .flags = TOK_OPENS | TOK_REPORTED | TOK_MISSING,
               .at = end,
               .from = last->to,
               .to = last->to};
    open_bracket(l, &t);
}

static bool
ends_line(const Token *t)
{
    return t->class == TC_NEWLINE ||
           (t->class == TC_COMMENT && t->at.end_line > t->at.line);
}

/* The brace that opens a block ends the line before it; true where it was
 * begun on the next one. */
static bool
open_block(Layout *l, int i)
{
    const Token *last = last_out(l), *next = next_word(l->scan, i);
    if (!has_block(l->head) || last->kind == '{' || last->kind == '}' ||
        last->class == TC_NEWLINE)
        return false;
    if (next->kind != '{') {
        open_missing(l, i);
        return false;
    }
    diag_error(l->scan->diag, next->at,
               "the '{' of a block ends the line before");
    return true;
}

static void
newline(Layout *l, int i)
{
    Token *t = &l->scan->tokens.at[i];
    const Token *last = last_out(l), *open = innermost(l);
    l->line_start = true;
    if (!last || (open && open->kind != '{'))
        return;
    if ((last->flags & TOK_CONTINUES) ||
        (last->kind == '}' && else_follows(l->scan, i)))
        return;
    if (open_block(l, i))
        return;
    if (last->class != TC_NEWLINE)
        t->flags |= TOK_ENDS_LINE;
    end_statement(l, t);
}

/* Where the line of a statement that begins at i ends: a word that begins
 * another one ends all brackets. */
static int
end_of(const Scan *s, int i)
{
    int depth = 0;
    for (bool starts = false;; i++) {
        const Token *t = &s->tokens.at[i];
        bool begins = starts && (t->flags & (TOK_DECLARATION | TOK_STATEMENT));
        depth += (t->flags & TOK_OPENS) ? 1 : (t->flags & TOK_CLOSES) ? -1 : 0;
        bool goes_on = depth > 0 || (i > 0 && (t[-1].flags & TOK_CONTINUES));
        if (t->class == TC_END || begins || (ends_line(t) && !goes_on))
            return i;
        starts = ends_line(t);
    }
}

/* A constant in a block, which the user did not move in, and not what comes
 * behind a block without its end: the block goes on. */
static bool
is_in_block(const Layout *l, int i)
{
    const Token *t = &l->scan->tokens.at[i];
    if (!innermost(l) || !(is_reserved(t, "const") || is_reserved(t, "dim")))
        return false;
    const Token *next = next_word(l->scan, end_of(l->scan, i));
    return next->kind == '}' || (next->class != TC_END && next->at.col > 1);
}

static void
one_token(Layout *l, int i)
{
    const Token *t = &l->scan->tokens.at[i];
    if (ends_line(t)) {
        newline(l, i);
        return;
    }
    if (t->class == TC_COMMENT)
        return;
    if (l->line_start && (t->flags & TOK_DECLARATION) && t->at.col == 1 &&
        !is_in_block(l, i))
        close_all(l, t);
    else if (l->line_start && (t->flags & (TOK_DECLARATION | TOK_STATEMENT)))
        close_expressions(l, t);
    if (l->line_start && (t->flags & (TOK_DECLARATION | TOK_STATEMENT)))
        if (last_out(l) && !(last_out(l)->flags & TOK_CONTINUES))
            end_statement(l, t);
    l->line_start = false;
    take_head(l, t);
    if (t->flags & TOK_OPENS)
        open_bracket(l, t);
    else if (t->flags & TOK_CLOSES)
        close_bracket(l, t);
    else
        emit(l, t);
}

bool
layout_tokens(Scan *s, Tokens *out)
{
    Layout l = {.scan = s, .out = out, .line_start = true};
    int n = s->tokens.n - 1; /* without the end */
    for (int i = 0; i < n && !l.give_up; i++)
        one_token(&l, i);
    const Token *end = &s->tokens.at[n];
    if (l.give_up)
        return false;
    if (innermost(&l))
        report_unclosed(&l, end);
    while (innermost(&l))
        close_missing(&l, end);
    end_statement(&l, end);
    emit(&l, end);
    return true;
}

const char *
token_describe(Arena *a, const char *text, const Token *t)
{
    if (t->class == TC_END)
        return "end of file";
    if (t->class == TC_NEWLINE)
        return "end of line";
    size_t n = t->to - t->from, cut = n;
    if (n > 40)
        for (cut = 37; ((unsigned char)text[t->from + cut] & 0xc0) == 0x80;)
            cut--;
    const char *quote = t->class == TC_STRING ? "" : "'";
    if (t->kind == '\'')
        quote = "\"";
    return arena_printf(a, "%s%.*s%s%s", quote, (int)cut, text + t->from,
                        cut < n ? "..." : "", quote);
}
