#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

EdlStatus
edl_error(EdlError *e, EdlStatus s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->text, sizeof e->text, format, args);
    va_end(args);
    return s;
}

static EdlStatus
system_error(EdlError *e, const char *verb, const char *path)
{
    return edl_error(e, EDL_EIO, "%s: cannot %s: %s", path, verb,
                     strerror(errno));
}

/* ---- reading ---- */

static EdlStatus
map_fd(EdlMap *map, int fd, const char *path, EdlError *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return system_error(e, "read", path);
    if (!S_ISREG(st.st_mode))
        return edl_error(e, EDL_EIO, "%s: not a regular file", path);
    map->size = (uint64_t)st.st_size;
    if (map->size == 0)
        return EDL_OK;
    void *p = mmap(NULL, (size_t)map->size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return system_error(e, "map", path);
    map->data = (const unsigned char *)p;
    return EDL_OK;
}

EdlStatus
edl_map(EdlMap *map, const char *path, EdlError *e)
{
    map->data = NULL;
    map->size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return system_error(e, "open", path);
    EdlStatus s = map_fd(map, fd, path, e);
    close(fd);
    return s;
}

void
edl_unmap(EdlMap *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, (size_t)map->size);
    map->data = NULL;
    map->size = 0;
}

/* ---- writing ---- */

/* A device or a pipe is written as it is; there is nothing to replace. */
static bool
is_no_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static const char *
name_of(const EdlNewFile *f)
{
    return f->temporary ? f->temporary : f->path;
}

static EdlStatus
open_as_is(EdlNewFile *f, EdlError *e)
{
    f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
    return f->fd >= 0 ? EDL_OK : system_error(e, "write", f->path);
}

EdlStatus
edl_new_file(EdlNewFile *f, const char *path, EdlError *e)
{
    size_t n = strlen(path);
    f->path = path;
    f->fd = -1;
    f->temporary = NULL;
    if (is_no_file(path))
        return open_as_is(f, e);
    f->temporary = (char *)malloc(n + 5);
    if (!f->temporary)
        return edl_error(e, EDL_ENOMEM, "%s: out of memory", path);
    memcpy(f->temporary, path, n);
    memcpy(f->temporary + n, ".new", 5);
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd >= 0)
        return EDL_OK;
    EdlStatus s = system_error(e, "write", f->temporary);
    free(f->temporary);
    f->temporary = NULL;
    return s;
}

EdlStatus
edl_new_write(EdlNewFile *f, const void *data, uint64_t n, EdlError *e)
{
    const unsigned char *p = (const unsigned char *)data;
    while (n > 0) {
        size_t piece = n < 0x40000000u ? (size_t)n : 0x40000000u;
        ssize_t done = write(f->fd, p, piece);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return system_error(e, "write", name_of(f));
        p += done;
        n -= (uint64_t)done;
    }
    return EDL_OK;
}

/* The rename is on the disk when its folder is. Not every file system syncs
 * a folder; the file itself is safe by then. */
static void
sync_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        slash[slash == path] = '\0';
    int fd = open(slash ? path : ".", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

EdlStatus
edl_new_commit(EdlNewFile *f, EdlError *e)
{
    EdlStatus s = EDL_OK;
    if (f->temporary && fsync(f->fd) != 0)
        s = system_error(e, "sync", f->temporary);
    if (close(f->fd) != 0 && s == EDL_OK)
        s = system_error(e, "close", name_of(f));
    f->fd = -1;
    if (!f->temporary)
        return s;
    if (s == EDL_OK && rename(f->temporary, f->path) != 0)
        s = system_error(e, "replace", f->path);
    if (s == EDL_OK)
        sync_folder(f->temporary);
    else
        unlink(f->temporary);
    free(f->temporary);
    f->temporary = NULL;
    return s;
}

void
edl_new_abandon(EdlNewFile *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->temporary) {
        unlink(f->temporary);
        free(f->temporary);
    }
    f->fd = -1;
    f->temporary = NULL;
}
