/* edl_copy_file.h: the temporary file of the copies to and from disk. */
#ifndef EDL_COPY_FILE_H
#define EDL_COPY_FILE_H

#include <stdint.h>

#ifdef EDL_URING
#include <liburing.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a disk takes at once. */
#define EDL_FILE_UNIT 4096u
/* Transfers that one queue has under way. */
#define EDL_FILE_PARTS 4u

/* Instead of an errno: the file ends before it should. */
enum { EDL_FILE_SHORT = -1 };

/* One way: used by one thread. */
typedef struct EdlFileQueue {
    int file;
    int out;              /* it writes */
    unsigned char *stage; /* aligned; NULL: the page cache is used */
    uint64_t stage_bytes; /* a multiple of EDL_FILE_PARTS units */
#ifdef EDL_URING
    struct io_uring ring;
    int has_ring; /* the kernel may have none */
#endif
} EdlFileQueue;

/* A file without a name of so many bytes, or -1 and errno. *direct: it is read
 * and written past the page cache. */
int edl_file_open(const char *folder, uint64_t bytes, int *direct);
void edl_file_begin(EdlFileQueue *q);
void edl_file_end(EdlFileQueue *q);
/* Moves n bytes between memory and the file; around: what is in the same units
 * of the file stays. 0, an errno or EDL_FILE_SHORT. */
int edl_file_move(EdlFileQueue *q, unsigned char *memory, uint64_t at,
                  uint64_t n, int around);

#ifdef __cplusplus
}
#endif

#endif
