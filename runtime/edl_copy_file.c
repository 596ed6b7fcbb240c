/* The file has no name once it is open, so that nothing is left of a process
 * that was killed. Where its file system can, it is read and written past the
 * page cache, through an aligned buffer for each way: with EDL_URING by an
 * io_uring that has several transfers under way, else one after the other. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "edl_copy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- open ---- */

/* Without a name where the system can, else with one for a moment. */
static int
open_unnamed(const char *folder, int flags)
{
#ifdef O_TMPFILE
    int unnamed = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
    if (unnamed >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return unnamed;
#endif
    char path[512];
    snprintf(path, sizeof path, "%s/edl-offload-XXXXXX", folder);
    int file = mkostemp(path, O_CLOEXEC | flags);
    if (file >= 0)
        unlink(path);
    return file;
}

/* All of its bytes are asked for now: a full disk shows before a step. */
static int
reserve(int file, uint64_t bytes)
{
    if (fallocate(file, 0, 0, (off_t)bytes) == 0)
        return 1;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return 0;
    return ftruncate(file, (off_t)bytes) == 0;
}

int
edl_file_open(const char *folder, uint64_t bytes, int *direct)
{
    int file = -1;
    *direct = 0;
#ifdef O_DIRECT
    file = open_unnamed(folder, O_DIRECT);
    *direct = file >= 0;
#endif
    if (file < 0)
        file = open_unnamed(folder, 0);
    if (file < 0 || reserve(file, bytes))
        return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

/* ---- one transfer after the other ---- */

static int
transfer(const EdlFileQueue *q, int out, unsigned char *p, uint64_t at,
         uint64_t n)
{
    while (n > 0) {
        ssize_t done = out ? pwrite(q->file, p, (size_t)n, (off_t)at)
                           : pread(q->file, p, (size_t)n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : out ? ENOSPC : EDL_FILE_SHORT;
        p += done;
        at += (uint64_t)done;
        n -= (uint64_t)done;
    }
    return 0;
}

/* Bytes i to i + n of a copy, in whole units of the file. */
typedef struct Part {
    unsigned char *memory, *stage;
    uint64_t skip, n;     /* the copy's bytes in the stage */
    uint64_t from, whole; /* in the file */
} Part;

static Part
part_of(unsigned char *stage, unsigned char *memory, uint64_t at, uint64_t i,
        uint64_t n, uint64_t room)
{
    Part p;
    p.skip = (at + i) % EDL_FILE_UNIT;
    p.n = n - i < room - p.skip ? n - i : room - p.skip;
    p.from = at + i - p.skip;
    p.whole = (p.skip + p.n + EDL_FILE_UNIT - 1) / EDL_FILE_UNIT *
              EDL_FILE_UNIT;
    p.stage = stage;
    p.memory = memory + i;
    return p;
}

static int
move_part(const EdlFileQueue *q, const Part *p, int around)
{
    int error = 0;
    if (!q->out || (around && p->whole != p->n))
        error = transfer(q, 0, p->stage, p->from, p->whole);
    if (error)
        return error;
    if (!q->out) {
        memcpy(p->memory, p->stage + p->skip, (size_t)p->n);
        return 0;
    }
    memcpy(p->stage + p->skip, p->memory, (size_t)p->n);
    return transfer(q, 1, p->stage, p->from, p->whole);
}

static int
move_in_turn(const EdlFileQueue *q, unsigned char *memory, uint64_t at,
             uint64_t n, int around)
{
    for (uint64_t i = 0; i < n;) {
        Part p = part_of(q->stage, memory, at, i, n, q->stage_bytes);
        int error = move_part(q, &p, around);
        if (error)
            return error;
        i += p.n;
    }
    return 0;
}

/* ---- several at once ---- */

#ifdef EDL_URING

typedef struct Flight {
    EdlFileQueue *q;
    Part part[EDL_FILE_PARTS];
    int busy[EDL_FILE_PARTS];
    int under_way, error;
} Flight;

static int
launch(Flight *f, unsigned i, const Part *p)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&f->q->ring);
    if (!sqe)
        return 0;
    f->part[i] = *p;
    if (f->q->out) {
        memcpy(p->stage + p->skip, p->memory, (size_t)p->n);
        io_uring_prep_write(sqe, f->q->file, p->stage, (unsigned)p->whole,
                            p->from);
    } else {
        io_uring_prep_read(sqe, f->q->file, p->stage, (unsigned)p->whole,
                           p->from);
    }
    io_uring_sqe_set_data(sqe, &f->part[i]);
    f->busy[i] = 1;
    f->under_way++;
    return 1;
}

/* What came short or was interrupted goes on in turn. */
static int
land(Flight *f, Part *p, int result)
{
    uint64_t done = result > 0 ? (uint64_t)result : 0;
    int again = result == -EINTR || result == -EAGAIN;
    if (result < 0 && !again)
        return -result;
    if (done < p->whole) {
        int error = transfer(f->q, f->q->out, p->stage + done, p->from + done,
                             p->whole - done);
        if (error)
            return error;
    }
    if (!f->q->out)
        memcpy(p->memory, p->stage + p->skip, (size_t)p->n);
    return 0;
}

static void
reap(Flight *f)
{
    struct io_uring_cqe *cqe;
    int got = io_uring_submit_and_wait(&f->q->ring, 1);
    if (got < 0 && got != -EINTR && got != -EAGAIN && !f->error)
        f->error = -got;
    while (io_uring_peek_cqe(&f->q->ring, &cqe) == 0) {
        Part *p = (Part *)io_uring_cqe_get_data(cqe);
        int error = land(f, p, cqe->res);
        io_uring_cqe_seen(&f->q->ring, cqe);
        f->busy[p - f->part] = 0;
        f->under_way--;
        if (error && !f->error)
            f->error = error;
    }
}

static int
move_at_once(EdlFileQueue *q, unsigned char *memory, uint64_t at, uint64_t n)
{
    Flight f;
    memset(&f, 0, sizeof f);
    f.q = q;
    uint64_t room = q->stage_bytes / EDL_FILE_PARTS, i = 0;
    while ((i < n && !f.error) || f.under_way > 0) {
        for (unsigned k = 0; k < EDL_FILE_PARTS && i < n && !f.error; k++) {
            Part p = part_of(q->stage + k * room, memory, at, i, n, room);
            if (!f.busy[k] && launch(&f, k, &p))
                i += p.n;
        }
        reap(&f);
    }
    return f.error;
}

#endif

/* ---- queues ---- */

void
edl_file_begin(EdlFileQueue *q)
{
#ifdef EDL_URING
    q->has_ring = q->stage && io_uring_queue_init(EDL_FILE_PARTS, &q->ring,
                                                  0) == 0;
#else
    (void)q;
#endif
}

void
edl_file_end(EdlFileQueue *q)
{
#ifdef EDL_URING
    if (q->has_ring)
        io_uring_queue_exit(&q->ring);
#else
    (void)q;
#endif
}

int
edl_file_move(EdlFileQueue *q, unsigned char *memory, uint64_t at, uint64_t n,
              int around)
{
    if (!q->stage)
        return transfer(q, q->out, memory, at, n);
#ifdef EDL_URING
    if (q->has_ring && !(q->out && around))
        return move_at_once(q, memory, at, n);
#endif
    return move_in_turn(q, memory, at, n, around);
}
