/* Between low_train.c (the lines) and low_settings.c (their parts). */
#ifndef EDL_FRONTEND_LOW_TRAIN_H
#define EDL_FRONTEND_LOW_TRAIN_H

#include "frontend/low.h"

/* A setting of a call: lr = 1e-3. */
typedef struct Setting {
    const char *name;
    ArgKind
        kind; /* ARG_number, ARG_int, ARG_bool, ARG_list, ARG_word, ARG_any */
    bool required;
    const char *words[5];
} Setting;

enum { MAX_SETTINGS = 8 };

/* The values of a call's settings, by place or name. False with an error.
 * ARG_any ones are left unevaluated in given. */
typedef struct Settings {
    Lower *l;
    const char *what; /* adamw */
    Val value[MAX_SETTINGS];
    Expr *given[MAX_SETTINGS];
} Settings;

bool settings_take(Settings *s, Span at, const Args *args, const Setting *rows,
                   int n);
double settings_number(const Settings *s, int i, double otherwise);
int64_t settings_int(const Settings *s, int i, int64_t otherwise);

/* One constant of a line's items. */
bool train_number(Lower *l, const Line *line, const Item *item, double *out);
bool train_int(Lower *l, const Line *line, const Item *item, int64_t least,
               int64_t *out);
bool train_string(Lower *l, const Item *item, const char **out);

/* optimizer adamw(...), sgd(...) */
void train_optimizer(Lower *l, const Line *line, Train *t);
/* data and validate lines */
void train_data(Lower *l, const Line *line, Train *t);
void train_validate(Lower *l, const Line *line, Train *t);
void train_check_data(Lower *l, const Train *t, const Decl *block);
/* group, no_decay, freeze: fills weight_decay, lr_scale and kind */
void train_groups(Lower *l, const Decl *block, const Train *t);

#endif
