#include "frontend/parse.h"
#include "frontend/print.h"
#include "frontend/session.h"

/* edlc ast FILE: the syntax tree, for tests. */
Status
cmd_ast(Session *s)
{
    const char *path, *text;
    size_t n;
    if (!session_one_input(s, &path))
        return STATUS_USAGE;
    if (!session_read(s, path, &text, &n))
        return STATUS_INPUT;
    Syntax *tree = parse_file(s->arena, s->interner, s->diag, path, text, n);
    if (!diag_count(s->diag))
        print_syntax(tree, stdout);
    return STATUS_DONE;
}
