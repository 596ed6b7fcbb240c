/* edl_json.h: a reader for the JSON in the head of a safetensors file. It
 * goes through the text once; the caller asks for what must come next. */
#ifndef EDL_JSON_H
#define EDL_JSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct EdlJson {
    const unsigned char *text;
    size_t size, at;
    char *strings; /* decoded strings go here; room for size + 1 bytes */
    size_t used;
    const char *wrong; /* first mistake, NULL so far; at is its place */
} EdlJson;

void edl_json_start(EdlJson *j, const void *text, size_t size, char *strings);
/* White space, then c: 1 and past it, else 0 and the place stays. */
int edl_json_take(EdlJson *j, char c);
/* As take; else it is a mistake. */
int edl_json_need(EdlJson *j, char c);
/* A string, decoded, valid UTF-8 without NUL, ended by one; NULL after a
 * mistake. */
const char *edl_json_string(EdlJson *j);
/* A whole number of 0 .. 2^63 - 1 without sign, fraction or exponent. */
int edl_json_integer(EdlJson *j, int64_t *out);
/* Only white space is left. */
int edl_json_end(EdlJson *j);

/* Length of the valid UTF-8 sequence at p, of at most n bytes; 0: none. */
size_t edl_utf8_length(const unsigned char *p, size_t n);

#ifdef __cplusplus
}
#endif

#endif
