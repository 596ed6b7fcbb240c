/* edl.h: what emitted models, their callers and the trainer agree on.
 *
 * C11 and C++17. Nothing here allocates, prints or exits behind the caller's
 * back: memory comes in as regions, text goes out through hooks, and every
 * call answers with a status. docs/api.md tells what is emitted per model. */
#ifndef EDL_H
#define EDL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a struct below changes its layout or a call its meaning.
 * NAME_init refuses a model that was emitted for another one. */
#define EDL_ABI 3u

/* Every region starts at a multiple of this; so does every placed value. */
#define EDL_ALIGN 64

#define EDL_MAX_RANK 8
#define EDL_ERROR_BYTES 512

/* Never renumbered. */
typedef enum EdlStatus {
    EDL_OK = 0,
    EDL_EINVAL = 1,    /* a null pointer, a bad name, a wrong size of buffer */
    EDL_EALIGN = 2,    /* a region that is not aligned to EDL_ALIGN */
    EDL_ESIZE = 3,     /* a region that is missing or too small */
    EDL_EABI = 4,      /* header, runtime and emitted code do not match */
    EDL_ERANGE = 5,    /* an id, class or index out of range */
    EDL_EIO = 6,       /* the system refused to read or write */
    EDL_EFORMAT = 7,   /* a file that is not what it says it is */
    EDL_EMISMATCH = 8, /* a good file of another model: names or shapes */
    EDL_ENOMEM = 9,
    EDL_EDEVICE = 10,     /* the accelerator failed */
    EDL_EUNSUPPORTED = 11 /* this model was compiled without that action */
} EdlStatus;

/* A short English text, never NULL. */
const char *edl_status_text(EdlStatus s);

/* The order is that of the compiler's ir/dtypes.def; those from U16 on exist
 * in data files only. */
typedef enum EdlDtype {
    EDL_F32,
    EDL_F16,
    EDL_BF16,
    EDL_F64,
    EDL_I32,
    EDL_I64,
    EDL_U8,
    EDL_BOOL,
    EDL_I8,
    EDL_I4,
    EDL_FP8,
    EDL_U16,
    EDL_U32,
    EDL_I16,
    EDL_U64,
    EDL_DTYPE_COUNT
} EdlDtype;

const char *edl_dtype_name(EdlDtype d);        /* "f32" */
const char *edl_dtype_safetensors(EdlDtype d); /* "F32" */
int edl_dtype_bits(EdlDtype d);

/* Where the bytes of a model lie. The caller owns all of them.
 *   STATE      parameters, masters, optimizer, buffers: what a checkpoint
 *              holds; lives as long as the model
 *   GRADS      mean gradients; valid from the backward passes to the next step
 *   STASH      what forward saves for backward; garbage between steps
 *   WORKSPACE  temporaries; garbage between calls
 *   IO         published outputs, valid until the next call; and room for the
 *              batch of a step, which a caller may use or not
 *   HOST       pool in host memory for offload; size 0 without it
 * DISK is no region of memory: a temporary file that init makes. */
typedef enum EdlRegion {
    EDL_STATE,
    EDL_GRADS,
    EDL_STASH,
    EDL_WORKSPACE,
    EDL_IO,
    EDL_HOST,
    EDL_REGION_COUNT,
    EDL_DISK = EDL_REGION_COUNT
} EdlRegion;

const char *edl_region_name(EdlRegion r); /* "state" */

typedef struct EdlRegionSizes {
    uint64_t bytes[EDL_REGION_COUNT];
} EdlRegionSizes;

typedef struct EdlRegions {
    void *at[EDL_REGION_COUNT]; /* NULL where the size is 0 */
} EdlRegions;

typedef void (*EdlBody)(void *arg, int64_t i);

typedef struct EdlProfile EdlProfile; /* edl_profile.h */

enum { EDL_LOG_ERROR, EDL_LOG_INFO };

/* All NULL: serial, silent, files through libc. */
typedef struct EdlHooks {
    /* Calls body(arg, i) once for every 0 <= i < n, in any order and from
     * any thread, and returns when all are done. The work is cut by shape:
     * the result has the same bits whatever this does. */
    void (*parallel_for)(void *user, int64_t n, EdlBody body, void *arg);
    void (*log)(void *user, int level, const char *text);
    /* NAME_save(m, NULL) and NAME_load(m, NULL) move their bytes through
     * these: all n bytes or a result other than 0. */
    int (*read)(void *user, void *dst, uint64_t n);
    int (*write)(void *user, const void *src, uint64_t n);
    void *user;
    /* The folder of the temporary file of --offload=disk; NULL: as compiled. */
    const char *disk;
    /* Where a build with -DEDL_PROFILE notes its times; others ignore it. */
    EdlProfile *profile;
} EdlHooks;

typedef enum EdlKind {
    EDL_PARAM,     /* trainable */
    EDL_FROZEN,    /* parameter without gradient and optimizer state */
    EDL_BUFFER,    /* `state`: saved, not trained */
    EDL_OPTIMIZER, /* name "optimizer/m/PATH" and so on */
    EDL_COUNTER,   /* i64 scalar; "updates" is metadata edl.updates */
    EDL_GRAD,      /* name "grad/PATH"; see scale */
    EDL_INPUT,     /* offset: of microbatch 0 of a step, the next follow */
    EDL_OUTPUT
} EdlKind;

typedef enum EdlInitKind {
    EDL_INIT_CONST,  /* a */
    EDL_INIT_NORMAL, /* mean a, standard deviation b */
    EDL_INIT_UNIFORM /* a <= x < b */
} EdlInitKind;

/* How the elements of an f32 tensor are stored. */
typedef enum EdlStored {
    EDL_AS_IS,
    EDL_CODES_OF,  /* a byte an element, in blocks with a scale: edl_code.h */
    EDL_CODES_ROOT /* the same of their roots */
} EdlStored;

/* Element (i0, i1, ...) lies at region + offset + sum(i[k] * stride[k])
 * elements. Calls that take or give whole tensors do so in row-major order
 * of dims, whatever the strides are. Unused dims and strides are 0. */
typedef struct EdlTensor {
    const char *name; /* path; that is its name in a checkpoint */
    EdlKind kind;
    EdlDtype dtype;
    EdlRegion region;
    uint64_t offset; /* bytes */
    int32_t ndim;
    int64_t dims[EDL_MAX_RANK];
    int64_t stride[EDL_MAX_RANK];
    /* EDL_GRAD: the mean over the microbatches is stored * scale. 1 else. */
    double scale;
    /* PARAM, FROZEN, BUFFER, OPTIMIZER, COUNTER: the value before step 0. */
    EdlInitKind init;
    double init_a, init_b;
    /* INPUT of integers: lo <= x < hi or x == also; no check when lo == hi.
     * Without such an exception `also` equals lo. */
    int64_t lo, hi, also;
    EdlStored stored;
    uint64_t scales; /* bytes from the start of the region to those of codes */
} EdlTensor;

int64_t edl_tensor_elements(const EdlTensor *t);
uint64_t edl_tensor_bytes(const EdlTensor *t); /* dense, in logical order */

/* Of the last step or evaluation. */
typedef struct EdlMetrics {
    double loss;            /* mean over the microbatches */
    double grad_norm;       /* of the mean gradient, before clipping; -1 where
                               the model does not compute it */
    double lr;              /* of this step */
    int64_t valid_targets;  /* of all microbatches; -1 without a loss of
                               classes */
    uint64_t step;          /* number of this step, from 0 */
    uint64_t skipped_steps; /* so far */
    int32_t skipped;        /* 1: this step's gradient was not finite */
} EdlMetrics;

/* What a checkpoint holds beside tensors. microbatch counts since step 0:
 * random numbers follow it. The steps that were not skipped are counted by
 * the model's own counter `updates`, which learning rate and Adam follow. */
typedef struct EdlCounters {
    uint64_t seed;
    uint64_t step;
    uint64_t microbatch;
    uint64_t epoch, index; /* of the next sample; the trainer's */
} EdlCounters;

typedef struct EdlModel EdlModel;
typedef struct EdlCopies EdlCopies;

/* struct NAME holds one of these and nothing else. Fixed size, owned by the
 * caller, may be moved between calls. Its members belong to the emitted code
 * and the runtime. */
typedef struct EdlInstance {
    const EdlModel *model;
    unsigned char *region[EDL_REGION_COUNT];
    EdlHooks hooks;
    EdlCounters count;
    double lr_override;  /* NaN: the schedule of the model rules */
    int32_t fault;       /* set by a kernel that met a bad index */
    int32_t phase;       /* of the separate actions; the emitted code's */
    uint64_t device[16]; /* streams, graphs and handles of a device */
    EdlCopies *copies;   /* of a model that moves values off the device */
    char error[EDL_ERROR_BYTES];
} EdlInstance;

/* Data of a trainer ------------------------------------------------------ */

typedef enum EdlSourceKind {
    EDL_NEXT_TOKEN, /* path of tokens: two inputs [B, T], the second is the
                       first one token later */
    EDL_NPY,        /* one input [B, ...] from an array [samples, ...] */
    EDL_TABLE       /* numeric CSV: input i takes the columns column[i] on */
} EdlSourceKind;

typedef enum EdlOrder { EDL_SEQUENTIAL, EDL_SHUFFLED } EdlOrder;

#define EDL_MAX_SOURCE_INPUTS 8

typedef struct EdlSource {
    EdlSourceKind kind;
    const char *path;
    EdlDtype dtype; /* NEXT_TOKEN: u8, u16, u32, i32 in the file */
    int64_t skip;   /* NEXT_TOKEN: bytes, TABLE: lines before the data */
    int32_t ninputs;
    int32_t input[EDL_MAX_SOURCE_INPUTS];  /* index into model->inputs */
    int32_t column[EDL_MAX_SOURCE_INPUTS]; /* TABLE: negative from the end */
    double scale; /* TABLE: floating inputs are multiplied by this */
} EdlSource;

/* The sources of one set have equally many samples and move together. */
typedef struct EdlData {
    const EdlSource *sources;
    int32_t nsources;
    EdlOrder order;
} EdlData;

/* The `train` block, as far as the emitted functions do not hold it. */
typedef struct EdlTrain {
    uint64_t seed;
    int64_t steps;
    EdlData data;     /* nsources 0: --inputs must be given */
    EdlData validate; /* nsources 0: none */
    int64_t validate_every, validate_batches;
    const char *checkpoint; /* NULL: none */
    int64_t checkpoint_every;
} EdlTrain;

/* Model ------------------------------------------------------------------ */

/* Memory that the host cannot reach. The regions of a model that has one of
 * these are the device's; all data of its calls are in host memory still. A
 * call waits for what was started before it; one that fails leaves a status
 * that stays. */
typedef struct EdlDevice {
    /* Of edl_init and edl_close: streams, handles, graphs. */
    EdlStatus (*open)(EdlInstance *m);
    void (*close)(EdlInstance *m);
    /* The first failure so far, in the text of the instance too. */
    EdlStatus (*status)(EdlInstance *m);
    void (*get)(const EdlInstance *m, void *dst, const void *region, size_t n);
    void (*put)(const EdlInstance *m, void *region, const void *src, size_t n);
    void (*zero)(const EdlInstance *m, void *region, size_t n);
    /* For callers that have no memory of the device: the trainer. */
    void *(*alloc)(uint64_t bytes);
    void (*release)(void *memory);
    /* Memory of the host that the device copies from and to by itself: for
     * region HOST. */
    void *(*alloc_host)(uint64_t bytes);
    void (*release_host)(void *memory);
    /* Why the last of them gave NULL: a status, and its text in *text. */
    EdlStatus (*why)(const char **text);
} EdlDevice;

/* What lies off the device; regions.bytes[EDL_HOST] is its pool in memory. */
typedef struct EdlOffload {
    uint64_t disk_bytes; /* of the temporary file; 0: none */
    uint64_t stage;      /* of the room for it at the end of EDL_IO */
    uint64_t stage_bytes; /* of one of the two buffers there */
    const char *folder;  /* where that is; NULL: the current one */
} EdlOffload;

/* The emitted `const EdlModel NAME_model`. In the functions, inputs[i]
 * belongs to model->inputs[i] and points to the microbatches one after
 * the other: accumulate of them for step, one for the others. Functions that
 * the model was compiled without are NULL. */
struct EdlModel {
    uint32_t abi; /* EDL_ABI of the compiler */
    const char *name;
    const char *id; /* hash of the schedule, hexadecimal */
    EdlRegionSizes regions;
    const EdlTensor *tensors; /* parameters, states, optimizer, gradients */
    int32_t ntensors;
    const EdlTensor *inputs;
    int32_t ninputs;
    const EdlTensor *outputs;
    int32_t noutputs;
    int32_t loss;                  /* index of it in outputs, -1 without */
    int32_t updates;               /* index in tensors of the counter of updates
                                      done, -1 without an optimizer */
    int64_t accumulate;            /* microbatches of a step */
    const EdlTrain *train;         /* NULL without a `train` block */
    const char *(*schedule)(void); /* text of the .sched; may be NULL */
    double (*lr)(uint64_t update); /* may be NULL: no update */
    EdlStatus (*step)(EdlInstance *m, const void *const *inputs,
                      EdlMetrics *out);
    EdlStatus (*forward)(EdlInstance *m, const void *const *inputs);
    EdlStatus (*backward)(EdlInstance *m, const void *const *inputs);
    EdlStatus (*update)(EdlInstance *m, EdlMetrics *out);
    EdlStatus (*evaluate)(EdlInstance *m, const void *const *inputs,
                          EdlMetrics *out);
    const EdlDevice *device; /* NULL: regions are host memory */
    const EdlOffload *offload; /* NULL: nothing is moved off the device */
};

/* The bodies of what is emitted per model; NAME_init and the like call them
 * with &NAME_model. See docs/api.md for the contracts. */
EdlStatus edl_init(EdlInstance *m, const EdlModel *model, uint32_t abi,
                   size_t size, const EdlRegions *regions,
                   const EdlHooks *hooks);
EdlStatus edl_init_params(EdlInstance *m, uint64_t seed);
EdlStatus edl_get(EdlInstance *m, const char *name, void *dst, uint64_t bytes);
EdlStatus edl_set(EdlInstance *m, const char *name, const void *src,
                  uint64_t bytes);
EdlStatus edl_save(EdlInstance *m, const char *path);
EdlStatus edl_load(EdlInstance *m, const char *path);
/* EDL_EINVAL in the middle of a step: a part of it may be updated. */
EdlStatus edl_set_lr(EdlInstance *m, double lr);
void edl_close(EdlInstance *m);

/* For the emitted actions. --------------------------------------------- */

/* Checks `microbatches` of all inputs against NULL and lo, hi, also. */
EdlStatus edl_check_inputs(EdlInstance *m, const void *const *inputs,
                           int64_t microbatches);
/* Steps done that were not skipped: the model's counter. */
uint64_t edl_updates(const EdlInstance *m);
/* EDL_ERANGE, once, when a kernel has noted a bad index since the last call;
 * phase says where, as "forward". */
EdlStatus edl_check_fault(EdlInstance *m, const char *phase);
/* EDL_EIO when a copy of the update has failed: the state is then of no use
 * until it is loaded or set anew. */
EdlStatus edl_check_update(EdlInstance *m);
/* The rate of the update to come: set_lr's or the schedule's. */
double edl_lr(const EdlInstance *m);
/* Leaves a message and answers s: `return edl_fail(m, EDL_ERANGE, ...)`. */
EdlStatus edl_fail(EdlInstance *m, EdlStatus s, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Runs a kernel's pieces through the hook, or one after the other. */
void edl_parallel(const EdlInstance *m, int64_t n, EdlBody body, void *arg);
/* The same for small kernels that follow each other, of at most n pieces:
 * piece i of the one, then of the next, and so on, while others run other
 * pieces. */
typedef struct EdlLink {
    EdlBody body;
    void *arg;
    int64_t pieces;
} EdlLink;
void edl_chain(const EdlInstance *m, int64_t n, const EdlLink *links,
               int count);

/* Copies between a region and the host pool or the file begin in the order of
 * the calls, those out and those in apart, and are done after edl_wait. */
typedef uint64_t EdlTicket;
EdlTicket edl_offload(const EdlInstance *m, EdlRegion to, int64_t at,
                      const void *from, int64_t bytes);
EdlTicket edl_fetch(const EdlInstance *m, void *to, EdlRegion from, int64_t at,
                    int64_t bytes);
void edl_wait(const EdlInstance *m, EdlTicket t);

/* The tensor of that name among tensors, outputs and inputs, or NULL. */
const EdlTensor *edl_find(const EdlModel *model, const char *name);

/* Threads ---------------------------------------------------------------- */

/* A pool for EdlHooks.parallel_for: user = pool. Made and ended by the
 * caller, once per process or per model. threads counts the calling one;
 * 1 makes no thread. NULL when the system gives none. */
typedef struct EdlPool EdlPool;
EdlPool *edl_pool_new(int threads);
void edl_pool_free(EdlPool *p);
void edl_pool_for(void *pool, int64_t n, EdlBody body, void *arg);

/* Trainer ---------------------------------------------------------------- */

/* The main of an emitted trainer; `--help` tells its flags. Exit status:
 * 0 done, 1 the input is wrong, 2 wrong usage, 3 not enough memory. */
int edl_trainer_main(const EdlModel *model, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
