/* One function of the emitted file: named pointers in, loops, no state.
 *
 * A kernel's text is written by a function that asks for its operands and
 * prints loops. It runs once with canonical names; a text that is there
 * already means that an equal kernel exists, which is then called with other
 * pointers. Only a new text is written again, with names from the source. */
#ifndef EDL_CODEGEN_KERNEL_H
#define EDL_CODEGEN_KERNEL_H

#include "codegen/codegen.h"
#include "codegen/emit.h"
#include "codegen/names.h"

/* A named offset of a region that some call uses. */
typedef struct Offset {
    const char *name;
    Region region;
    int64_t at;
    const char *comment;
} Offset;

/* A node that calls kernels, for profiles. */
typedef struct ProfiledNode {
    const Node *node;
    const char *kernel; /* of its first call */
    int64_t calls;      /* in one run of the graph */
} ProfiledNode;

typedef VEC(ProfiledNode) ProfiledNodes;

/* The state of one codegen_c. */
typedef struct Cg {
    Module *m;
    Arena *arena;
    Names names;  /* of the file's scope */
    Emit kernels; /* finished functions */
    Map known;    /* canonical text -> const char * name of the function */
    VEC(Offset) offsets;
    Map offset_map; /* key -> Offset index + 1 */
    bool has_access[DT_COUNT];
    bool failed;
    bool cuda; /* kernels are __global__ functions */
    LibraryProducts products; /* the table for cuBLASLt */
    Map product_map;          /* words -> index + 1 */
    bool has_attention, has_mma, has_plain_attention;
    bool has_bf16;  /* products of bf16 */
    bool has_codes; /* optimizer states in 8 bits */
    Map written;  /* name of a function -> the Kernel that it was made of */
    Map launched; /* names of functions that hand out pieces */
    /* of the graph function that is being written */
    const Graph *graph;
    const char *prefix; /* of its offsets: forward */
    Emit calls;         /* cg_calls, codegen/chain.h */
    struct Chain *chain; /* kernels that wait for their launch */
    /* the block of what comes; it if it is not named yet; the last named */
    const char *block, *heading, *headed;
    bool uses[REGION_COUNT];
    Map inputs; /* names of the inputs that it reads */
    bool uses_mb, uses_slot;
    Map tickets; /* result of a copy -> the variable of its ticket */
    ProfiledNodes profiled;
    /* of the node that is being written */
    const char *node_kernel;
    int64_t node_calls;
    int64_t repeats; /* of the loop around the calls; 0: none */
    Map profiled_kernels;
    VEC(const char *) kernel_names; /* in the order of their first calls */
} Cg;

/* Bytes of a region that a kernel touches: piece i those from at + i * step
 * on. Of what is not known, all regions. */
typedef struct Reach {
    bool known;
    Region region; /* REGION_none: nothing that a kernel writes */
    int64_t at, step, bytes;
} Reach;

typedef struct Param {
    const char *type; /* without const: "float *", "uint64_t " */
    const char *name;
    const char *pass; /* what a call writes */
    bool pointer, written;
    int64_t offset; /* elements from a multiple of 64 bytes, or a part of it */
    int64_t start;  /* bytes of the region before its element 0 */
    int64_t size;   /* bytes of an element */
    Reach whole, cut; /* of all pieces; of each, if all its uses have said */
    int uses, said;
} Param;

typedef struct Chain Chain;
typedef struct Kernel Kernel;
typedef void (*KernelBody)(Kernel *k);

/* How a CUDA kernel is spread over the device (codegen/cuda_kernel.c). */
typedef enum {
    RUN_pieces,  /* a thread a piece, as the C target cuts them */
    RUN_threads, /* `count` threads; the body knows its own */
    RUN_blocks   /* `count` blocks of `threads` */
} RunKind;

/* A line at the head of a CUDA kernel if what follows uses the word. */
typedef struct HeadLine {
    const char *word, *line; /* word NULL: always */
} HeadLine;

struct Kernel {
    Cg *cg;
    const Node *node;
    const void *aux; /* for the body */
    Emit out;
    Names names;
    VEC(Param) params;
    bool canonical;
    int64_t pieces;      /* set by the body; 1: runs where it is called */
    int64_t want; /* pieces that it should have although it is small, or 0 */
    const char *comment; /* set by the body: what it computes */
    const char *name;
    RunKind run;
    int64_t count;
    int threads;
    int64_t shared; /* bytes of shared memory that its launch gives it */
    /* Elements of a part that a call does, from row `part_row` of so many
     * columns on; NULL: all. */
    const char *part_row;
    int64_t part_elements, part_columns;
    VEC(HeadLine) head;
};

/* Runs a body. name: of the function; NULL: with canonical names, to see
 * whether there is one. */
Kernel kernel_run(Cg *cg, const Node *node, KernelBody body, const void *aux,
                  const char *name, int64_t want);

/* Operands. The same address twice is one parameter. offset: elements beyond
 * the value's own first. Answers the index of the parameter. */
int kernel_value(Kernel *k, const Value *v, int64_t offset, bool write);
int kernel_tensor(Kernel *k, const Tensor *t, bool write);
/* An address that the caller has made; path: for its name. */
int kernel_address(Kernel *k, Dtype d, const char *pass, bool write,
                   const char *path);
/* Where bytes of a node's scratch are: "f32(work, forward_loss_logits)". */
const char *address_scratch(Cg *cg, const Node *n, int64_t at, Dtype d,
                            const char *name);
/* Piece i reads and writes elements of it from first + i * step on, n of
 * them. Said twice with other numbers: anywhere. */
void kernel_cut(Kernel *k, int param, int64_t first, int64_t step, int64_t n);
/* It begins at a multiple of 64 bytes, as parts of a scratch do. */
void kernel_aligned(Kernel *k, int param);
/* Bytes of the node's scratch from `at` on, a multiple of 64, as elements of
 * d. */
int kernel_scratch(Kernel *k, int64_t at, Dtype d, const char *name);
/* The start of a region. path: for its name; NULL: the region's. */
int kernel_region(Kernel *k, Region region, Dtype d, bool write,
                  const char *path);
int kernel_scalar(Kernel *k, const char *type, const char *name,
                  const char *pass);
const char *kernel_name(const Kernel *k, int param);
/* The name of a flag: whether an accumulate adds to what is there. */
const char *kernel_add(Kernel *k, const Node *accumulate);
/* The body speaks of `piece`, but there is only piece 0. */
void emit_one_piece(Kernel *k);
/* False for a result that nothing reads, and for what a body keeps. */
bool has_memory(const Value *v);
/* uint64_t microbatch: since step 0. */
void kernel_microbatch(Kernel *k);
/* "const float *x", of a parameter in the head of the function. */
const char *kernel_declaration(Kernel *k, const Param *p, bool with_restrict);
/* Of the CUDA target: the finished function, and the call of a kernel. */
void cuda_function(Kernel *k, Emit *e);
void cuda_call(Cg *cg, const Kernel *k, const char *name);
/* int32_t *fault, for edl_index. */
const char *kernel_fault(Kernel *k);
/* A free local name. */
const char *kernel_local(Kernel *k, const char *path);
/* The C type in which a value of a dtype is computed. */
const char *c_compute(Dtype d);
/* An element as a value of its compute type, and the way back. */
const char *c_load(Arena *a, Dtype d, const char *element);
const char *c_store(Arena *a, Dtype d, const char *value);

/* Where a value or a tensor starts: "f32(work, forward_x)". */
const char *address_value(Cg *cg, const Value *v, int64_t offset);
const char *address_tensor(Cg *cg, const Tensor *t, int64_t offset);
/* The name of the constant that holds the place of a home, or of its tensor,
 * in bytes from the start of its region. */
const char *address_offset(Cg *cg, const Value *home);

/* The input's name in the batch: legal in C, and no other input's; and the
 * pointer to it in a graph's function. */
const char *c_input_field(Arena *a, const Module *m, const Tensor *t);
const char *c_input_name(Cg *cg, const Tensor *t);

/* "f32[4, 64]" for comments. */
const char *describe(Cg *cg, const Value *v);
/* codegen/c_profile.c: after a node's calls; at each call of a kernel, the
 * name of whose function may be known later; of functions that are called. */
void profile_node(Cg *cg, const Node *n);
int profile_call(Cg *cg);
void profile_name(Cg *cg, int call, const char *kernel);
void profile_macro(Cg *cg, const char *kernel);
/* Says that the module needs something that has no C yet. */
void cg_refuse(Cg *cg, const Node *n, const char *why);

#endif
