/* Files of named tensors in the safetensors format, read and written whole.
 * Reading is strict: what is accepted here the Python package accepts too. */
#ifndef EDL_FRONTEND_SAFETENSORS_H
#define EDL_FRONTEND_SAFETENSORS_H

#include <stdio.h>

#include "ir/base/map.h"
#include "ir/type.h"

/* One axis more than a tensor's may count microbatches. */
enum { ST_MAX_RANK = MAX_RANK + 1 };

typedef struct StEntry {
    const char *name;
    const char *dtype; /* as the file says it: "F32", "I64", "U16" */
    int rank;          /* may be above ST_MAX_RANK; then dim is cut */
    int64_t dim[ST_MAX_RANK];
    int64_t elements;
    const unsigned char *bytes;
    int64_t n_bytes;
} StEntry;

typedef struct StMeta {
    const char *key, *value;
} StMeta;

typedef struct StFile {
    VEC(StEntry) entries; /* in the order of their bytes */
    VEC(StMeta) meta;
    Map by_name; /* -> StEntry */
} StFile;

/* The file's content, in the arena. NULL, and a message in *why, when the
 * file cannot be read or is not what it says it is. */
StFile *st_read(Arena *a, const char *path, const char **why);
/* The same from memory; bytes must outlive the result. */
StFile *st_parse(Arena *a, const unsigned char *bytes, size_t n,
                 const char **why);
/* Elements as doubles. False: a dtype that edlc does not know. */
bool st_values(const StEntry *e, double *out);
/* Floating, integer or boolean; KIND_STORAGE for all that is none of them. */
DtypeKind st_kind(const StEntry *e);

typedef struct StOut {
    const char *name;
    Type type;
    const double *at;
} StOut;

/* Writes beside the file, then renames. False, and a message in *why. */
bool st_write(Arena *a, const char *path, const StOut *tensors, int n,
              const StMeta *meta, int n_meta, const char **why);

/* Bits of a floating type that is not C's, nearest even. */
uint16_t st_to_bf16(double x);
uint16_t st_to_f16(double x);

#endif
