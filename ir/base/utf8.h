/* UTF-8, strictly: no overlong forms, no surrogates, nothing past U+10FFFF. */
#ifndef EDL_IR_BASE_UTF8_H
#define EDL_IR_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at s (n > 0 bytes are there), 0 when it is none.
 * code may be NULL. */
int utf8_decode(const char *s, size_t n, uint32_t *code);

/* Columns that a terminal gives the character: 0, 1 or 2. */
int utf8_width(uint32_t code);

#endif
