/* Loaded before libc: of the copies of the offload file, the one of number
 * SHIM_AT fails: SHIM=full (no space), broken (an error of the device) or
 * short (a read past the end). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t Reads(int, void *, size_t, off_t);
typedef ssize_t Writes(int, const void *, size_t, off_t);

static int
fails(const char *kind)
{
    static int n;
    const char *want = getenv("SHIM"), *at = getenv("SHIM_AT");
    if (!want || strcmp(want, kind) != 0)
        return 0;
    return __atomic_add_fetch(&n, 1, __ATOMIC_SEQ_CST) >= atoi(at);
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
    Writes *next = (Writes *)dlsym(RTLD_NEXT, "pwrite");
    if (!fails("full"))
        return next(fd, p, n, at);
    errno = ENOSPC;
    return -1;
}

ssize_t
pread(int fd, void *p, size_t n, off_t at)
{
    Reads *next = (Reads *)dlsym(RTLD_NEXT, "pread");
    if (fails("short"))
        return 0;
    if (!fails("broken"))
        return next(fd, p, n, at);
    errno = EIO;
    return -1;
}
