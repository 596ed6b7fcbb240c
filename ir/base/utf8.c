#include "ir/base/utf8.h"

int
utf8_decode(const char *s, size_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    int bytes = p[0] < 0x80             ? 1
                : (p[0] & 0xe0) == 0xc0 ? 2
                : (p[0] & 0xf0) == 0xe0 ? 3
                : (p[0] & 0xf8) == 0xf0 ? 4
                                        : 0;
    if (!bytes || (size_t)bytes > n)
        return 0;
    uint32_t c = bytes == 1 ? p[0] : p[0] & (0x7fu >> bytes);
    for (int i = 1; i < bytes; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (c < least[bytes] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    if (code)
        *code = c;
    return bytes;
}

typedef struct Range {
    uint32_t first, last;
} Range;

static int
in_ranges(uint32_t c, const Range *r, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= r[i].first && c <= r[i].last)
            return 1;
    return 0;
}

/* Marks that combine, and zero-width characters. */
static const Range zero_wide[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

/* East Asian wide and full-width characters, and pictures. */
static const Range two_wide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
    {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

int
utf8_width(uint32_t c)
{
    if (in_ranges(c, zero_wide, sizeof zero_wide / sizeof *zero_wide))
        return 0;
    return 1 + in_ranges(c, two_wide, sizeof two_wide / sizeof *two_wide);
}
