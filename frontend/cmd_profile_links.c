/* How fast this machine copies: in memory, and to and from a file that has no
 * name, past the cache of the system where that can be. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_DIRECT */
#endif
#include "frontend/cmd_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 3, BLOCK = 4 << 20, PAGE = 4096 };

/* One stream of transfers on a thread of its own. */
typedef struct Stream {
    char *memory, *other; /* other: of copies in memory */
    int file;             /* of transfers */
    bool out;
    long blocks;
    int error;
} Stream;

static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool
transfer(Stream *x, long block)
{
    size_t done = 0;
    off_t at = (off_t)block * BLOCK;
    while (done < BLOCK) {
        ssize_t n = x->out ? pwrite(x->file, x->memory + done, BLOCK - done,
                                    at + (off_t)done)
                           : pread(x->file, x->memory + done, BLOCK - done,
                                   at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            x->error = n < 0 ? errno : EIO;
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

static void *
run_stream(void *arg)
{
    Stream *x = arg;
    for (long i = 0; i < x->blocks; i++) {
        if (x->other)
            memcpy(x->out ? x->other + i * BLOCK : x->memory,
                   x->out ? x->memory : x->other + i * BLOCK, BLOCK);
        else if (!transfer(x, i))
            break;
    }
    return NULL;
}

/* GB/s of all streams together, the median of some tries; 0: one failed. */
static double
rate(Stream *streams, int n)
{
    double rates[TRIES];
    for (int t = 0; t < TRIES; t++) {
        pthread_t threads[2];
        double bytes = 0, from = seconds();
        for (int i = 0; i < n; i++)
            if (pthread_create(&threads[i], NULL, run_stream, &streams[i]))
                bug("cannot make a thread");
        for (int i = 0; i < n; i++) {
            pthread_join(threads[i], NULL);
            bytes += (double)streams[i].blocks * BLOCK;
            if (streams[i].error)
                return 0;
        }
        rates[t] = bytes / (seconds() - from) * 1e-9;
    }
    double low = rates[0] < rates[1] ? rates[0] : rates[1];
    double high = rates[0] < rates[1] ? rates[1] : rates[0];
    return rates[2] < low ? low : rates[2] > high ? high : rates[2];
}

/* ---- memory ---- */

static void
measure_memory(char *memory, char *far, long blocks, Machine *k)
{
    Stream x[2] = {{.memory = memory, .other = far, .blocks = blocks},
                   {.memory = memory + BLOCK,
                    .other = far + blocks * BLOCK,
                    .out = true,
                    .blocks = blocks}};
    run_stream(&x[0]); /* touched before it is measured */
    run_stream(&x[1]);
    k->host_in = rate(&x[0], 1);
    k->host_out = rate(&x[1], 1);
    k->host_both = rate(x, 2);
}

/* ---- disk ---- */

static int
open_file(Session *s, const char *folder)
{
    char *path = arena_printf(s->arena, "%s/edlc-disk-XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    unlink(path);
#ifdef O_DIRECT
    /* A file system that cannot is measured with the cache of the system. */
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_DIRECT);
#endif
    return fd;
}

static double
latency_ns(int file, char *memory)
{
    double from = seconds();
    int done = 0;
    for (; done < 64; done++)
        if (pread(file, memory, PAGE, (off_t)done * BLOCK / 8 / PAGE * PAGE) <=
            0)
            break;
    return done ? (seconds() - from) / done * 1e9 : 0;
}

static bool
measure_disk(Session *s, const char *folder, char *memory, long blocks,
             Machine *k)
{
    int file = open_file(s, folder);
    Stream x[2] = {{.memory = memory, .file = file, .blocks = blocks},
                   {.memory = memory + BLOCK,
                    .file = file,
                    .out = true,
                    .blocks = blocks}};
    if (file < 0) {
        diag_error(s->diag, (Span){0}, "cannot make a file in %s: %s", folder,
                   strerror(errno));
        return false;
    }
    k->disk_out = rate(&x[1], 1);
    k->disk_in = rate(&x[0], 1);
    k->disk_both = rate(x, 2);
    k->disk_latency_ns = latency_ns(file, memory);
    close(file);
    if (k->disk_in > 0 && k->disk_out > 0 && k->disk_both > 0)
        return true;
    diag_error(s->diag, (Span){0}, "cannot use a file in %s: %s", folder,
               strerror(x[0].error ? x[0].error : x[1].error));
    return false;
}

bool
profile_links(Session *s, const char *folder, bool quick, Machine *k)
{
    long blocks = quick ? 16 : 64;
    char *memory = NULL, *far = malloc((size_t)blocks * 2 * BLOCK);
    if (!far || posix_memalign((void **)&memory, PAGE, 2 * (size_t)BLOCK)) {
        free(far);
        diag_error(s->diag, (Span){0}, "not enough memory for the probes");
        return false;
    }
    memset(memory, 1, 2 * (size_t)BLOCK);
    memset(far, 1, (size_t)blocks * 2 * BLOCK);
    measure_memory(memory, far, blocks, k);
    bool good = measure_disk(s, folder, memory, blocks, k);
    free(memory);
    free(far);
    return good;
}
