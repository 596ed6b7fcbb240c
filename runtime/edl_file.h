/* edl_file.h: files that are read as a whole, and files that are there
 * completely or not at all. */
#ifndef EDL_FILE_H
#define EDL_FILE_H

#include "edl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for a message; `at` says what it is about. */
typedef struct EdlError {
    char text[EDL_ERROR_BYTES];
} EdlError;

EdlStatus edl_error(EdlError *e, EdlStatus s, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* A file as bytes; mapped, read-only. */
typedef struct EdlMap {
    const unsigned char *data; /* NULL when size is 0 */
    uint64_t size;
} EdlMap;

EdlStatus edl_map(EdlMap *map, const char *path, EdlError *e);
void edl_unmap(EdlMap *map);

/* A file written under PATH.new, and renamed to PATH when all of it is on
 * the disk; until then an old PATH stays as it is. A device or a pipe is
 * written as it is. */
typedef struct EdlNewFile {
    int fd;
    const char *path; /* the caller's, until commit or abandon */
    char *temporary;
} EdlNewFile;

EdlStatus edl_new_file(EdlNewFile *f, const char *path, EdlError *e);
EdlStatus edl_new_write(EdlNewFile *f, const void *data, uint64_t n,
                        EdlError *e);
EdlStatus edl_new_commit(EdlNewFile *f, EdlError *e);
void edl_new_abandon(EdlNewFile *f);

#ifdef __cplusplus
}
#endif

#endif
