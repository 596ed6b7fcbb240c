/* The train section as text. */
#include <inttypes.h>

#include "ir/text_printer.h"

static void
print_setting(FILE *to, const char *key, double v)
{
    fprintf(to, ", %s = ", key);
    print_double(to, v);
}

static void
print_optimizer(FILE *to, const Train *t)
{
    fprintf(to, "  optimizer %s(lr = %s(peak = ", t->optimizer,
            t->lr.kind ? t->lr.kind : "constant");
    print_double(to, t->lr.peak);
    print_setting(to, "floor", t->lr.floor);
    fprintf(to, ", warmup = %" PRId64 ", steps = %" PRId64 ")", t->lr.warmup,
            t->lr.steps);
    if (strcmp(t->optimizer, "sgd") == 0) {
        print_setting(to, "momentum", t->momentum);
        fprintf(to, ", nesterov = %s", t->nesterov ? "true" : "false");
    } else {
        print_setting(to, "beta1", t->beta1);
        print_setting(to, "beta2", t->beta2);
        print_setting(to, "eps", t->eps);
    }
    print_setting(to, "weight_decay", t->weight_decay);
    fputs(")\n", to);
}

static void
print_source(FILE *to, const char *word, const DataSource *s)
{
    fprintf(to, "  %s", word);
    for (int i = 0; i < s->names.n; i++)
        fprintf(to, "%s%s", i ? ", " : " ", s->names.at[i]);
    fprintf(to, "%s %s(", s->names.n ? " =" : "", s->kind);
    if (s->path)
        print_quoted(to, s->path);
    for (int i = 0; i < s->options.n; i++) {
        fputs(i || s->path ? ", " : "", to);
        print_attr(to, &s->options.at[i], true);
    }
    fputc(')', to);
}

static void
print_data(FILE *to, const Train *t)
{
    for (int i = 0; i < t->data.n; i++) {
        print_source(to, "data", &t->data.at[i]);
        fputc('\n', to);
    }
    for (int i = 0; i < t->validate.n; i++) {
        print_source(to, "validate", &t->validate.at[i]);
        if (t->validate_every || t->validate_batches)
            fprintf(to, " every %" PRId64 " batches %" PRId64,
                    t->validate_every, t->validate_batches);
        fputc('\n', to);
    }
}

void
print_train(FILE *to, const Train *t)
{
    fprintf(to, "\ntrain {\n  seed %" PRIu64 "\n", t->seed);
    print_data(to, t);
    if (t->minimize)
        fprintf(to, "  minimize %s\n", t->minimize);
    if (t->optimizer)
        print_optimizer(to, t);
    if (t->clip_norm != 0) {
        fputs("  clip_norm ", to);
        print_double(to, t->clip_norm);
        fputc('\n', to);
    }
    if (t->skip_nonfinite)
        fputs("  skip_nonfinite\n", to);
    fprintf(to, "  accumulate %" PRId64 "\n  steps %" PRId64 "\n",
            t->accumulate, t->steps);
    if (t->checkpoint) {
        fputs("  checkpoint ", to);
        print_quoted(to, t->checkpoint);
        fprintf(to, " every %" PRId64 "\n", t->checkpoint_every);
    }
    fputs("}\n", to);
}
