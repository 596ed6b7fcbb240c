#include "frontend/session.h"

#include <errno.h>
#include <stdlib.h>

static bool
read_all(Session *s, FILE *f, const char **text, size_t *n)
{
    VEC(char) bytes = {0};
    char piece[1 << 14];
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, f)) > 0) {
        while ((size_t)bytes.cap < (size_t)bytes.n + got + 1) {
            if (bytes.cap > INT32_MAX / 4) {
                errno = EFBIG;
                return false;
            }
            bytes.at = vec_more(s->arena, bytes.at, &bytes.cap, 1);
        }
        memcpy(bytes.at + bytes.n, piece, got);
        bytes.n += (int)got;
    }
    *text = bytes.at ? bytes.at : "";
    *n = (size_t)bytes.n;
    return !ferror(f);
}

bool
session_read(Session *s, const char *path, const char **text, size_t *n)
{
    bool standard = !strcmp(path, "-");
    FILE *f = standard ? stdin : fopen(path, "rb");
    bool ok = f && read_all(s, f, text, n);
    if (!ok)
        diag_error(s->diag, (Span){0}, "cannot read %s: %s", path,
                   strerror(errno));
    if (f && !standard)
        fclose(f);
    return ok;
}

bool
session_one_input(Session *s, const char **path)
{
    const Texts *in = &s->options->inputs;
    *path = in->n ? in->at[0] : NULL;
    if (in->n == 1)
        return true;
    if (in->n)
        fprintf(stderr, "edlc: expected one file, found also %s\n", in->at[1]);
    else
        fprintf(stderr, "edlc: expected a file\n");
    return false;
}

enum { EFFORT = 100, MOST_EFFORT = 1000000 };

bool
session_effort(Session *s, int *percent)
{
    const char *text = s->options->effort;
    char *end;
    *percent = EFFORT;
    if (!text)
        return true;
    long n = strtol(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && n >= 1 && n <= MOST_EFFORT) {
        *percent = (int)n;
        return true;
    }
    diag_error(s->diag, (Span){0},
               "--effort=%s: expected a number from 1 to %d (%d unless "
               "written)", text, MOST_EFFORT, EFFORT);
    return false;
}
