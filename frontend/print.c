#include "frontend/print.h"

#include <inttypes.h>

static void print_expr(const Expr *e, FILE *to);

static void
print_string(const char *s, FILE *to)
{
    fputc('"', to);
    for (; *s; s++) {
        if (*s == '\n')
            fputs("\\n", to);
        else
            fprintf(to, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    }
    fputc('"', to);
}

static void
print_path(const Path *path, FILE *to)
{
    if (path->module.text)
        fprintf(to, "%s.", path->module.text);
    fputs(path->name.text, to);
}

static void
print_args(const Args *args, FILE *to)
{
    for (int i = 0; i < args->n; i++) {
        fputc(' ', to);
        if (args->at[i].name.text)
            fprintf(to, "%s=", args->at[i].name.text);
        print_expr(args->at[i].value, to);
    }
}

static void
print_call(const Call *call, FILE *to)
{
    fputs("(call ", to);
    print_path(&call->callee, to);
    print_args(&call->args, to);
    if (call->label.text)
        fprintf(to, " as %s", call->label.text);
    fputc(')', to);
}

static void
print_opt(const Expr *e, FILE *to)
{
    if (e)
        print_expr(e, to);
    else
        fputc('_', to);
}

static void
print_index(const Expr *e, FILE *to)
{
    fputs("(index ", to);
    print_expr(e->u.index.base, to);
    for (int i = 0; i < e->u.index.slices.n; i++) {
        const Slice *s = &e->u.index.slices.at[i];
        fputc(' ', to);
        if (s->kind == SLICE_REST) {
            fputs("..", to);
        } else if (s->kind == SLICE_AT) {
            print_expr(s->start, to);
        } else {
            print_opt(s->start, to);
            fputc(':', to);
            print_opt(s->stop, to);
            fputc(':', to);
            print_opt(s->step, to);
        }
    }
    fputc(')', to);
}

static void
print_exprs(const Exprs *list, FILE *to)
{
    for (int i = 0; i < list->n; i++) {
        if (i)
            fputc(' ', to);
        print_expr(list->at[i], to);
    }
}

static void
print_expr(const Expr *e, FILE *to)
{
    switch (e->kind) {
    case EX_INT:
        fprintf(to, "%" PRId64, e->u.integer);
        break;
    case EX_FLOAT:
        fprintf(to, "%.17gf", e->u.number);
        break;
    case EX_STRING:
        print_string(e->u.string, to);
        break;
    case EX_BOOL:
        fputs(e->u.boolean ? "true" : "false", to);
        break;
    case EX_NAME:
    case EX_TYPE:
        print_path(&e->u.path, to);
        break;
    case EX_CALL:
        print_call(&e->u.call, to);
        break;
    case EX_INDEX:
        print_index(e, to);
        break;
    case EX_UNARY:
        fputs(e->u.unary.op == UN_NEG ? "(- " : "(not ", to);
        print_expr(e->u.unary.operand, to);
        fputc(')', to);
        break;
    case EX_BINARY:
        fprintf(to, "(%s ", binary_text[e->u.binary.op]);
        print_expr(e->u.binary.left, to);
        fputc(' ', to);
        print_expr(e->u.binary.right, to);
        fputc(')', to);
        break;
    case EX_TRANSPOSE:
        fputs("(' ", to);
        print_expr(e->u.operand, to);
        fputc(')', to);
        break;
    case EX_LIST:
        fputc('[', to);
        print_exprs(&e->u.list, to);
        fputc(']', to);
        break;
    case EX_REST:
        fputs("..", to);
        break;
    }
}

static void
print_names(const Names *names, FILE *to)
{
    for (int i = 0; i < names->n; i++)
        fprintf(to, " %s", names->at[i].text);
}

static void
print_type(const TypeExpr *t, FILE *to)
{
    fprintf(to, ": %s", t->name.text);
    if (!t->has_dims)
        return;
    fputc('[', to);
    print_exprs(&t->dims, to);
    fputc(']', to);
}

static void
print_init(const Expr *init, FILE *to)
{
    if (!init)
        return;
    fputs(" = ", to);
    print_expr(init, to);
}

static void
indent(int depth, FILE *to)
{
    fprintf(to, "%*s", 2 * depth, "");
}

static void
print_function(const Function *f, FILE *to)
{
    fprintf(to, "function %s", f->name.text);
    print_names(&f->params, to);
    print_init(f->value, to);
    fputc('\n', to);
}

static void print_stmts(const Stmts *list, int depth, FILE *to);

static void
print_assign(const char *word, const Stmt *s, FILE *to)
{
    fputs(word, to);
    print_names(&s->u.assign.names, to);
    print_init(s->u.assign.value, to);
    fputc('\n', to);
}

static void
print_variable(const char *word, const Stmt *s, FILE *to)
{
    fprintf(to, "%s%s %s", word, s->u.variable.frozen ? " frozen" : "",
            s->u.variable.name.text);
    print_type(s->u.variable.type, to);
    print_init(s->u.variable.init, to);
    fputc('\n', to);
}

static void
print_loop(const Stmt *s, int depth, FILE *to)
{
    fprintf(to, "for %s ", s->u.loop.index.text);
    print_expr(s->u.loop.from, to);
    fputs("..", to);
    print_expr(s->u.loop.to, to);
    if (s->u.loop.label.text)
        fprintf(to, " as %s", s->u.loop.label.text);
    fputc('\n', to);
    print_stmts(&s->u.loop.body, depth + 1, to);
}

static void
print_branch(const Stmt *s, int depth, FILE *to)
{
    fputs("if ", to);
    print_expr(s->u.branch.condition, to);
    fputc('\n', to);
    print_stmts(&s->u.branch.then_body, depth + 1, to);
    if (!s->u.branch.else_body.n)
        return;
    indent(depth, to);
    fputs("else\n", to);
    print_stmts(&s->u.branch.else_body, depth + 1, to);
}

static void
print_stmt(const Stmt *s, int depth, FILE *to)
{
    indent(depth, to);
    switch (s->kind) {
    case ST_ASSIGN:
        print_assign("let", s, to);
        break;
    case ST_NEXT:
        print_assign("next", s, to);
        break;
    case ST_OUTPUT:
        print_assign("output", s, to);
        break;
    case ST_FUNCTION:
        print_function(&s->u.function, to);
        break;
    case ST_PARAM:
        print_variable("param", s, to);
        break;
    case ST_STATE:
        print_variable("state", s, to);
        break;
    case ST_FOR:
        print_loop(s, depth, to);
        break;
    case ST_IF:
        print_branch(s, depth, to);
        break;
    case ST_RETURN:
        fputs("return ", to);
        print_exprs(&s->u.values, to);
        fputc('\n', to);
        break;
    }
}

static void
print_stmts(const Stmts *list, int depth, FILE *to)
{
    for (int i = 0; i < list->n; i++)
        print_stmt(list->at[i], depth, to);
}

static void
print_layer(const char *word, const Decl *d, FILE *to)
{
    fprintf(to, "%s %s", word, d->name.text);
    for (int i = 0; i < d->u.layer.params.n; i++) {
        const Param *param = &d->u.layer.params.at[i];
        fprintf(to, " (%s", param->name.text);
        if (param->type)
            print_type(param->type, to);
        print_init(param->init, to);
        fputc(')', to);
    }
    fputc('\n', to);
    print_stmts(&d->u.layer.body, 1, to);
}

static void
print_item(const Item *item, FILE *to)
{
    fputc(' ', to);
    switch (item->kind) {
    case ITEM_EXPR:
        print_expr(item->value, to);
        break;
    case ITEM_WORD:
        fprintf(to, "`%s`", item->word);
        break;
    case ITEM_SIZE:
        fprintf(to, "%" PRId64 "B", item->bytes);
        break;
    case ITEM_PERCENT:
        fprintf(to, "%.17g%%", item->percent);
        break;
    }
}

static void
print_block(const char *word, const Decl *d, FILE *to)
{
    fprintf(to, "%s %s\n", word, d->name.text ? d->name.text : "_");
    for (int i = 0; i < d->u.settings.n; i++) {
        const Line *line = d->u.settings.at[i];
        fprintf(to, "  %s:", line->keyword.text);
        print_names(&line->targets, to);
        fputs(line->targets.n ? " =" : "", to);
        for (int k = 0; k < line->items.n; k++)
            print_item(&line->items.at[k], to);
        fputs(line->has_block ? " {" : "", to);
        print_args(&line->settings, to);
        fputs(line->has_block ? " }\n" : "\n", to);
    }
}

static void
print_constant(const char *word, const Decl *d, FILE *to)
{
    fprintf(to, "%s %s", word, d->name.text);
    print_init(d->u.constant, to);
    fputc('\n', to);
}

static void
print_decl(const Decl *d, FILE *to)
{
    switch (d->kind) {
    case DECL_IMPORT:
        fprintf(to, "import %s\n", d->name.text);
        break;
    case DECL_DIM:
        print_constant("dim", d, to);
        break;
    case DECL_CONST:
        print_constant("const", d, to);
        break;
    case DECL_FUNCTION:
        print_function(&d->u.function, to);
        break;
    case DECL_LAYER:
        print_layer("layer", d, to);
        break;
    case DECL_MODEL:
        print_layer("model", d, to);
        break;
    case DECL_TRAIN:
        print_block("train", d, to);
        break;
    case DECL_PLAN:
        print_block("plan", d, to);
        break;
    }
}

void
print_syntax(const Syntax *tree, FILE *to)
{
    fprintf(to, "edl %d\n", tree->version);
    for (int i = 0; i < tree->decls.n; i++)
        print_decl(tree->decls.at[i], to);
}
