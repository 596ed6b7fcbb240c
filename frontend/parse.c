#include "frontend/parse.h"

#include "frontend/parser.h"

/* Past this many errors nobody reads on, and neither does the parser. */
enum { ENOUGH_ERRORS = 100 };

/* Far above what people write; tokens need a hundred times the memory. */
static const size_t max_text = (size_t)8 << 20;

Token *
parser_next(Parser *p)
{
    int last = p->tokens.n - 1; /* the end of the file, as often as asked */
    return &p->tokens.at[p->next <= last ? p->next++ : last];
}

void
parser_skip_statement(Parser *p)
{
    int i = p->next - 1, depth = 0;
    if (diag_count(p->diag) - p->errors_before > ENOUGH_ERRORS) {
        p->next = p->tokens.n - 1;
        return;
    }
    if (p->tokens.at[i].class == TC_NEWLINE)
        return;
    for (; p->tokens.at[i].class != TC_END; i++) {
        const Token *t = &p->tokens.at[i];
        if (t->class == TC_NEWLINE && !depth)
            break;
        if (t->kind == '}' && depth-- == 0)
            break;
        depth += t->kind == '{';
    }
    if (i > p->next - 1)
        p->next = i;
}

void
parser_skip_body(Parser *p)
{
    while (p->tokens.at[p->next].class != TC_END &&
           p->tokens.at[p->next].at.col > 1) {
        p->next++;
        parser_skip_statement(p);
        p->next += p->tokens.at[p->next].class == TC_NEWLINE;
    }
}

void
parser_missing_brace(Parser *p, const Token *brace)
{
    diag_error(p->diag, brace->at, "expected '{', found end of line");
}

void
parser_too_deep(Parser *p, Span at)
{
    if (!p->too_deep)
        diag_error(p->diag, at, "this is nested more than %d deep",
                   SYNTAX_MAX_DEPTH);
    p->too_deep = true;
}

static bool
mentions_version(const Parser *p)
{
    for (int i = 0; i < p->tokens.n; i++)
        if (p->tokens.at[i].class == TC_RESERVED &&
            !strcmp(p->tokens.at[i].u.text, "edl"))
            return true;
    return false;
}

void
parser_version(Parser *p, const Token *number)
{
    p->tree->version = SYNTAX_VERSION;
    if (number && number->u.integer != SYNTAX_VERSION) {
        diag_error(p->diag, number->at,
                   "this edlc knows version %d of the language, the file "
                   "asks for %lld",
                   SYNTAX_VERSION, (long long)number->u.integer);
    } else if (!number && !mentions_version(p)) {
        const Token *first = &p->tokens.at[0];
        diag_error(p->diag, first->at,
                   "expected 'edl 1' as the first line, "
                   "found %s",
                   token_describe(p->arena, p->text, first));
    }
}

bool
parse_tokens(Scan *s, Tokens *tokens)
{
    if (s->n > max_text) {
        diag_error(s->diag, (Span){s->file, 1, 1, 1, 1},
                   "a file of EDL is at most 8 MiB");
        return false;
    }
    if (s->n >= 3 && !memcmp(s->text, "\xef\xbb\xbf", 3))
        s->pos = 3; /* a byte-order mark is no character of the text */
    if (!scan_text_is_clean(s))
        return false;
    edl_scan(s);
    return layout_tokens(s, tokens);
}

Syntax *
parse_file(Arena *a, Interner *in, Diag *d, const char *name, const char *text,
           size_t n)
{
    int file = diag_add_source(d, name, text, n);
    Syntax *tree = ARENA_NEW(a, Syntax);
    tree->file = file;
    Scan scan = {.arena = a,
                 .interner = in,
                 .diag = d,
                 .file = file,
                 .text = text,
                 .n = n,
                 .line = 1,
                 .col = 1};
    Parser parser = {.arena = a,
                     .interner = in,
                     .diag = d,
                     .file = file,
                     .text = text,
                     .tree = tree,
                     .errors_before = diag_count(d)};
    if (parse_tokens(&scan, &parser.tokens))
        edl_parse(&parser);
    return tree;
}
