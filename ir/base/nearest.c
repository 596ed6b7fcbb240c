#include "ir/base/diag.h"

enum { LONGEST = 63 };

static int
min3(int a, int b, int c)
{
    int m = a < b ? a : b;
    return m < c ? m : c;
}

/* Edits (insert, delete, replace, swap neighbours) from a to b. */
static int
distance(const char *a, const char *b)
{
    int row[3][LONGEST + 1] = {{0}};
    int na = (int)strlen(a), nb = (int)strlen(b);
    for (int j = 0; j <= nb; j++)
        row[0][j] = j;
    for (int i = 1; i <= na; i++) {
        int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= nb; j++) {
            int swap = a[i - 1] != b[j - 1];
            now[j] = min3(up[j] + 1, now[j - 1] + 1, up[j - 1] + swap);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && up2[j - 2] + 1 < now[j])
                now[j] = up2[j - 2] + 1;
        }
    }
    return row[na % 3][nb];
}

const char *
diag_nearest(const char *wrong, const char *const *legal, int n)
{
    size_t length = strlen(wrong);
    const char *best = NULL;
    int limit = length < 4 ? 1 : length < 8 ? 2 : 3;
    for (int i = 0; length && length <= LONGEST && i < n; i++) {
        size_t other = strlen(legal[i]);
        if (other > LONGEST)
            continue;
        int d = distance(wrong, legal[i]);
        /* All of a short word replaced is no typing mistake. */
        if (d <= limit && d < (int)(length > other ? length : other)) {
            best = legal[i];
            limit = d - 1;
        }
    }
    return best;
}
