#include "frontend/fmt.h"

#include "frontend/parse.h"
#include "frontend/parser.h"
#include "ir/base/utf8.h"

/* Code wider than this does not push the comments of other lines away. */
enum { ALIGN_LIMIT = 72 };

typedef struct OutLine {
    bool blank_before;
    const char *code;    /* with its indentation; may hold a long comment */
    int width;           /* columns of its last line */
    const char *comment; /* behind the code, or NULL */
} OutLine;

typedef VEC(OutLine) OutLines;

typedef struct Fmt {
    Arena *arena;
    const Scan *scan;
    FmtCode code;
    int next; /* the next token of code */
    OutLines lines;
    VEC(char) line;      /* what is being written */
    int col;             /* columns of it */
    int indent;          /* of it */
    bool blank;          /* before it */
    const char *comment; /* behind it, or NULL */
    int newlines;        /* line ends since the last token or comment */
    int depth;           /* open blocks */
    int *column;         /* of each bracket, -1: nothing follows it there */
    int *line_indent;    /* of each bracket: that of its line */
    bool after_comment;
    bool after_block_brace;
} Fmt;

static bool
closes_block(const FmtCode *code, int i)
{
    return i < code->n && code->at[i].block &&
           (code->at[i].token->flags & TOK_CLOSES);
}

/* ---- lines ---- */

static void
append(Fmt *f, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vec_push(f->arena, &f->line, s[i]);
        if (s[i] == '\n')
            f->col = 0;
        else if (((unsigned char)s[i] & 0xc0) != 0x80)
            f->col++;
    }
}

static void
pad_to(Fmt *f, int col)
{
    while (f->col < col)
        append(f, " ", 1);
}

static void
space(Fmt *f)
{
    if (f->line.n && f->line.at[f->line.n - 1] != ' ')
        append(f, " ", 1);
}

static void
flush(Fmt *f)
{
    if (!f->line.n)
        return;
    OutLine line = {f->blank,
                    arena_strndup(f->arena, f->line.at, (size_t)f->line.n),
                    f->col, f->comment};
    vec_push(f->arena, &f->lines, line);
    f->line.n = 0;
    f->col = 0;
    f->comment = NULL;
}

/* The indentation inside of parentheses, square brackets and settings. */
static int
indent_in_bracket(Fmt *f, int open, int i, bool closes)
{
    if (i == open + 1)
        f->column[open] = -1;
    if (f->column[open] < 0)
        return f->line_indent[open] + (closes ? 0 : 2);
    int inside = fmt_is(&f->code, open, "{") ? 2 : 1;
    return f->column[open] + (closes ? 0 : inside);
}

/* Where a line begins that holds token i, or a comment before it. */
static int
indent_of(Fmt *f, int i, bool comment)
{
    const FmtCode *code = &f->code;
    if (i >= code->n)
        return 0;
    const FmtToken *t = &code->at[i];
    bool closes = t->token->flags & TOK_CLOSES;
    int open = closes ? t->match : t->open;
    if (open >= 0 && !code->at[open].block)
        return indent_in_bracket(f, open, i, closes && !comment);
    if (closes)
        return 2 * f->depth - (comment ? 0 : 2);
    bool starts = t->start || fmt_is(code, i, "else");
    return 2 * f->depth + (starts ? 0 : 4);
}

static void
begin_line(Fmt *f, int i, bool comment)
{
    flush(f);
    f->blank = f->newlines > 1 && f->lines.n && !f->after_block_brace &&
               (comment || !closes_block(&f->code, i));
    f->indent = indent_of(f, i, comment);
    pad_to(f, f->indent);
}

/* ---- comments ---- */

/* Without spaces at the ends of its lines. */
static const char *
clean_comment(Fmt *f, const Token *t)
{
    char *out = arena_alloc(f->arena, t->to - t->from + 1);
    size_t n = 0;
    for (size_t i = t->from; i <= t->to; i++) {
        char c = i < t->to ? f->scan->text[i] : '\n';
        while (c == '\n' && n && strchr(" \t\r", out[n - 1]))
            n--;
        out[n++] = c;
    }
    out[n - 1] = '\0';
    return out;
}

/* Whether the comment at token i is the last thing of its line, once the
 * braces of blocks have moved. */
static bool
is_trailing(const Fmt *f, int i)
{
    const Token *t = &f->scan->tokens.at[i];
    if (f->after_block_brace || (t->flags & TOK_ENDS_LINE))
        return true;
    while (t->class == TC_COMMENT)
        t++;
    return t->class == TC_NEWLINE || t->class == TC_END ||
           (closes_block(&f->code, f->next) && f->code.at[f->next].token == t);
}

static void
comment(Fmt *f, int i)
{
    const char *text = clean_comment(f, &f->scan->tokens.at[i]);
    if (f->newlines > 0 || (!f->line.n && !f->lines.n)) {
        begin_line(f, f->next, true);
        f->after_block_brace = false;
        append(f, text, strlen(text));
    } else if (is_trailing(f, i)) {
        f->comment = f->comment
                         ? arena_printf(f->arena, "%s %s", f->comment, text)
                         : text;
    } else {
        space(f);
        append(f, text, strlen(text));
    }
    f->after_comment = true;
    f->newlines = 0;
}

/* ---- code ---- */

static void
bracket(Fmt *f, int i)
{
    const FmtToken *t = &f->code.at[i];
    f->column[i] = f->col;
    f->line_indent[i] = f->indent;
    if (t->block)
        f->depth += t->token->flags & TOK_OPENS ? 1 : -1;
}

/* Whether token i begins a line. `else` never does after its brace. */
static bool
breaks_before(const Fmt *f, int i)
{
    bool joined = fmt_is(&f->code, i, "else") && !f->after_comment;
    return !i || f->after_block_brace || closes_block(&f->code, i) ||
           f->comment || (f->newlines > 0 && !joined);
}

static void
code_token(Fmt *f, int i)
{
    const FmtToken *t = &f->code.at[i];
    if (breaks_before(f, i)) {
        begin_line(f, i, false);
    } else if (f->code.at[i - 1].keyword) {
        pad_to(f, f->indent + f->code.at[i - 1].width + 1);
        space(f);
    } else if (f->after_comment || fmt_space_before(&f->code, i)) {
        space(f);
    }
    if (t->token->flags & (TOK_OPENS | TOK_CLOSES))
        bracket(f, i);
    append(f, f->scan->text + t->token->from, t->token->to - t->token->from);
    f->after_block_brace = t->block && (t->token->flags & TOK_OPENS);
    f->after_comment = false;
    f->newlines = 0;
}

static void
lay_out(Fmt *f)
{
    const Tokens *all = &f->scan->tokens;
    for (int i = 0; i < all->n - 1; i++) {
        TokenClass class = all->at[i].class;
        if (class == TC_NEWLINE)
            f->newlines++;
        else if (class == TC_COMMENT)
            comment(f, i);
        else
            code_token(f, f->next++);
    }
    flush(f);
}

/* ---- output ---- */

/* Where the comments stand of the lines from i on; *end: behind the last of
 * the lines that have one beside each other. */
static int
comment_column(const OutLines *lines, int i, int *end)
{
    int col = 0;
    for (*end = i; *end < lines->n; (*end)++) {
        const OutLine *l = &lines->at[*end];
        if (!l->comment || (*end > i && l->blank_before))
            break;
        if (l->width > col && l->width <= ALIGN_LIMIT)
            col = l->width;
    }
    return col + 2;
}

static const char *
join_lines(Fmt *f)
{
    int end = 0, col = 0;
    for (int i = 0; i < f->lines.n; i++) {
        const OutLine *l = &f->lines.at[i];
        if (i >= end)
            col = comment_column(&f->lines, i, &end);
        if (l->blank_before)
            append(f, "\n", 1);
        append(f, l->code, strlen(l->code));
        if (l->comment) {
            pad_to(f, col > l->width + 2 ? col : l->width + 2);
            append(f, l->comment, strlen(l->comment));
        }
        append(f, "\n", 1);
        end += i == end;
    }
    return arena_strndup(f->arena, f->line.n ? f->line.at : "",
                         (size_t)f->line.n);
}

const char *
fmt_text(Arena *a, Interner *in, Diag *d, const char *name, const char *text,
         size_t n)
{
    int errors = diag_count(d);
    parse_file(a, in, d, name, text, n);
    if (diag_count(d) != errors)
        return NULL;
    Scan scan = {.arena = a,
                 .interner = in,
                 .diag = diag_new(a),
                 .text = text,
                 .n = n,
                 .line = 1,
                 .col = 1};
    Tokens tokens = {0};
    if (!parse_tokens(&scan, &tokens))
        bug("a text has tokens only once");
    Fmt f = {.arena = a, .scan = &scan, .code = fmt_code(a, &scan)};
    f.column = ARENA_ARRAY(a, int, f.code.n + 1);
    f.line_indent = ARENA_ARRAY(a, int, f.code.n + 1);
    lay_out(&f);
    return join_lines(&f);
}
