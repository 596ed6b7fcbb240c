#include "frontend/page.h"

static void
add(Page *p, const char *s)
{
    for (; *s; s++)
        vec_push(p->a, &p->text, *s);
}

void
page_put(Page *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(p, arena_vprintf(p->a, fmt, ap));
    va_end(ap);
}

void
page_text(Page *p, const char *text)
{
    for (; *text; text++) {
        char one[2] = {*text, '\0'};
        add(p, *text == '&'   ? "&amp;"
               : *text == '<' ? "&lt;"
               : *text == '>' ? "&gt;"
               : *text == '"' ? "&quot;"
                              : one);
    }
}

void
page_join(Page *p, const Page *other)
{
    for (int i = 0; i < other->text.n; i++)
        vec_push(p->a, &p->text, other->text.at[i]);
}

double
page_step(double span, int most)
{
    static const double factor[] = {2, 2.5, 2}; /* 1, 2, 5, 10 */
    double step = 1;
    if (!(span > 0))
        return 0;
    while (step * most > span)
        step /= 10;
    for (int i = 0; step * most < span; i++)
        step *= factor[i % 3];
    return step;
}
