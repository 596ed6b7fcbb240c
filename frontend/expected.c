#include "frontend/parser.h"

/* Syntax errors in the user's words: expected this, found that. */

/* Room for what one message lists. */
enum { MOST = 8 };

typedef struct Wanted {
    const char *const *names; /* the grammar's */
    int n;
    const char *shown[MOST];
    int n_shown;
} Wanted;

static bool
wants(const Wanted *w, const char *name)
{
    for (int i = 0; i < w->n; i++)
        if (!strcmp(w->names[i], name))
            return true;
    return false;
}

static bool
listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(*list, name))
            return true;
    return false;
}

/* What can begin an expression, and what can go on with one. */
static const char *const starters[] = {
    "a name", "a type", "an integer", "a number", "a string", "not",
    "true",   "false",  "'('",        "'['",      "'-'",      NULL};
static const char *const operators[] = {
    "'+'", "'-'", "'*'", "'/'", "'@'", "**",    "==",  "!=", "'<'", "<=", "'>'",
    ">=",  "and", "or",  "'('", "'['", "'\\''", "'.'", "as", "'%'", NULL};
static const char *const never[] = {"a word", "something else", NULL};

static void
show(Wanted *w, const char *name)
{
    if (w->n_shown < MOST)
        w->shown[w->n_shown++] = name;
}

/* Words and marks in quotes, descriptions as they are. */
static const char *
quoted(Parser *p, const char *name)
{
    bool bare = name[0] == '\'' || !strncmp(name, "a ", 2) ||
                !strncmp(name, "an ", 3) || !strncmp(name, "end of ", 7);
    return bare ? name : arena_printf(p->arena, "'%s'", name);
}

/* The few things worth telling among all that would be legal. */
static void
choose(Parser *p, Wanted *w)
{
    bool operand_before = wants(w, "'+'");
    bool line_end = wants(w, "end of line");
    bool statement = wants(w, "return"), declaration = wants(w, "layer");
    bool expression = wants(w, "a string") && !(operand_before && line_end);
    if (statement || declaration)
        show(w, statement ? "a statement" : "a declaration");
    else if (expression)
        show(w, "an expression");
    for (int i = 0; i < w->n && !statement && !declaration; i++) {
        const char *name = w->names[i];
        bool hidden = (expression && listed(name, starters)) ||
                      (operand_before && listed(name, operators)) ||
                      (operand_before && line_end && listed(name, starters));
        bool minor = (!strcmp(name, "'}'") && line_end) ||
                     (!strcmp(name, "','") && line_end) ||
                     (!strcmp(name, "'='") && operand_before);
        if (!hidden && !minor && !listed(name, never))
            show(w, quoted(p, name));
    }
}

static const char *
join(Parser *p, const Wanted *w)
{
    const char *text = "";
    for (int i = 0; i < w->n_shown; i++)
        text = arena_printf(p->arena, "%s%s%s", text,
                            !i                   ? ""
                            : i + 1 < w->n_shown ? ", "
                                                 : " or ",
                            w->shown[i]);
    return w->n_shown ? text : "something else";
}

static int
statement_start(const Parser *p)
{
    int i = p->next - 1;
    while (i > 0 && p->tokens.at[i - 1].class != TC_NEWLINE &&
           p->tokens.at[i - 1].kind != '{')
        i--;
    return i;
}

static bool
is_outside(const Parser *p, int start)
{
    int depth = 0;
    for (int i = 0; i < start; i++)
        depth += (p->tokens.at[i].kind == '{') - (p->tokens.at[i].kind == '}');
    return depth == 0;
}

/* `modle gpt2(`: the word before is what is wrong. */
static bool
report_unknown_keyword(Parser *p, const char *const *words, int n_words)
{
    int start = statement_start(p), at = p->next - 1;
    const Token *word = &p->tokens.at[start], *found = &p->tokens.at[at];
    if (at != start + 1 || word->class != TC_NAME)
        return false;
    bool outside = is_outside(p, start);
    bool call = found->kind == '(' || found->kind == '.' ||
                found->kind == '[' || found->class == TC_NEWLINE;
    const char *near = NULL;
    if (word->u.text[0] && word->u.text[1]) /* a letter is near to all */
        near = diag_nearest(word->u.text, words, n_words);
    if (!outside && (!near || found->kind == '=' || call))
        return false;
    diag_error(p->diag, word->at, "expected a %s, found '%s'",
               outside ? "declaration" : "statement", word->u.text);
    if (found->kind == '=')
        diag_note(p->diag, (Span){0},
                  "a constant is written "
                  "`const %s = ...`",
                  word->u.text);
    else if (near)
        diag_note(p->diag, (Span){0}, "did you mean '%s'?", near);
    return true;
}

static bool
only_a_name(const Wanted *w)
{
    return w->n_shown == 1 && !strcmp(w->shown[0], "a name");
}

static bool
is_arithmetic(const Token *t)
{
    return t->kind == '+' || t->kind == '-' || t->kind == '*' ||
           t->kind == '/';
}

static void
hint(Parser *p, const Wanted *w, const Token *found)
{
    const char *text = NULL;
    const Token *before = p->next > 1 ? &p->tokens.at[p->next - 2] : found;
    if (found->kind == '\'' && wants(w, "a string"))
        text = "strings are written in double quotes";
    else if (found->class == TC_WORD)
        text = "a name begins with a letter or '_'";
    else if (found->class == TC_RESERVED && !strcmp(found->u.text, "not"))
        text = "'not' is weaker than what is before it: put it in brackets";
    else if ((found->flags & TOK_DECLARATION) && wants(w, "return"))
        text = arena_printf(p->arena, "'%s' stands outside of every block",
                            found->u.text);
    else if (found->class == TC_RESERVED && only_a_name(w))
        text = arena_printf(p->arena, "'%s' is a reserved word", found->u.text);
    else if (found->class == TC_TYPE && only_a_name(w))
        text =
            arena_printf(p->arena, "'%s' is the name of a type", found->u.text);
    else if (found->kind == '=' && is_arithmetic(before))
        text = arena_printf(p->arena, "there is no '%c=': write x = x %c ...",
                            before->kind, before->kind);
    else if (found->class == TC_RESERVED && !strcmp(found->u.text, "dim") &&
             p->next < p->tokens.n && p->tokens.at[p->next].kind == '=')
        text = "'dim' is a reserved word; operations name it 'axis'";
    else if (found->kind == ',' && wants(w, "')'") && !wants(w, "','"))
        text = "a list is written in brackets: [a, b]";
    else if (found->kind == '=' && wants(w, "=="))
        text = "equality is written '=='";
    else if (found->kind == '%' && wants(w, "'+'"))
        text = "there is no remainder operator";
    if (text)
        diag_note(p->diag, (Span){0}, "%s", text);
}

static void
report(Parser *p, Wanted *w, const Token *found)
{
    if (found->class == TC_RESERVED && !strcmp(found->u.text, "edl")) {
        diag_error(p->diag, found->at,
                   "'edl N' is the first line of a file, "
                   "and comes once");
        return;
    }
    choose(p, w);
    diag_error(p->diag, found->at, "expected %s, found %s", join(p, w),
               token_describe(p->arena, p->text, found));
    hint(p, w, found);
}

void
parser_expected(Parser *p, const char *const *expected, int n,
                const char *const *words, int n_words)
{
    Wanted w = {.names = expected, .n = n};
    const Token *found = &p->tokens.at[p->next - 1];
    if (!(found->flags & TOK_REPORTED) &&
        !report_unknown_keyword(p, words, n_words))
        report(p, &w, found);
    parser_skip_statement(p);
}
