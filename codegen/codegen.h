/* From a scheduled and placed module to text. Codegen decides nothing: what
 * it prints follows from the module alone. */
#ifndef EDL_CODEGEN_CODEGEN_H
#define EDL_CODEGEN_CODEGEN_H

#include "ir/graph.h"

/* Generated files, in memory: they are written only when all is well. */
typedef struct OutFile {
    const char *name; /* gpt2.c */
    const char *text;
    size_t n;
} OutFile;

typedef struct OutFiles {
    VEC(OutFile) files;
} OutFiles;

typedef struct CodegenOptions {
    bool copy_runtime; /* false with --runtime=installed */
} CodegenOptions;

/* A product that the CUDA target leaves to cuBLASLt. numbers: C text, of an
 * EdlProductShape from m to workspace. bias: some of them add a row. */
typedef struct LibraryProduct {
    const char *words, *numbers;
    bool bias;
} LibraryProduct;

typedef VEC(LibraryProduct) LibraryProducts;

/* All of the program, in the order in which it meets them. False after an
 * error. */
bool codegen_products(Module *m, LibraryProducts *out);

/* The targets by name, as --target and `option target` say it; NULL: no such
 * target. */
typedef bool (*Codegen)(Module *m, const CodegenOptions *o, OutFiles *out);
Codegen codegen_target(const char *name);
/* "c, cuda" */
const char *codegen_targets(Arena *a);

/* NAME.c, NAME.h, NAME.sched, NAME_main.c, Makefile, runtime files. False:
 * something in the module has no C yet; the errors are in its diag. */
bool codegen_c(Module *m, const CodegenOptions *o, OutFiles *out);
/* The same with NAME.cu for NAME.c. */
bool codegen_cuda(Module *m, const CodegenOptions *o, OutFiles *out);

#endif
