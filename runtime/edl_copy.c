/* Asynchronous copies between the regions and the host pool or a temporary
 * file: two queues, out and in, each a thread that works off its copies in
 * order. Threads, file and buffers are made in edl_init and ended in
 * edl_close; a copy allocates nothing. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "edl_copy.h"

#include "edl_copy_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How far copies are queued ahead. */
#define AHEAD 256u

enum { OUT, IN, QUEUES };

typedef struct Copy {
    unsigned char *memory;
    EdlRegion away;
    int part; /* of a slot: what is around it stays */
    uint64_t at, bytes;
} Copy;

typedef struct Queue {
    struct EdlCopies *all;
    int way;
    pthread_t thread;
    int running, stop;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    Copy ring[AHEAD];
    uint64_t begun, ended; /* copies so far */
    EdlFileQueue file;
} Queue;

struct EdlCopies {
    Queue queue[QUEUES];
    unsigned char *host; /* the pool */
    int file;            /* -1: none */
    char folder[EDL_ERROR_BYTES / 2];
    pthread_mutex_t mutex; /* of what follows */
    int failed; /* what edl_file_move answered first */
    int failed_way;
    int broken; /* an update failed in between: the state is neither old nor
                 * new */
};

/* ---- failures ---- */

static void
note_failure(EdlCopies *c, int way, int error)
{
    pthread_mutex_lock(&c->mutex);
    if (!c->failed) {
        c->failed = error;
        c->failed_way = way;
    }
    pthread_mutex_unlock(&c->mutex);
}

EdlStatus
edl_copies_status(EdlInstance *m, const char *phase)
{
    EdlCopies *c = m->copies;
    if (!c)
        return EDL_OK;
    pthread_mutex_lock(&c->mutex);
    int failed = c->failed, way = c->failed_way;
    c->failed = 0;
    pthread_mutex_unlock(&c->mutex);
    if (!failed)
        return EDL_OK;
    return edl_fail(m, EDL_EIO,
                    "%s: %s the offload file in %s failed in %s: %s",
                    m->model->name, way == OUT ? "writing to" : "reading from",
                    c->folder, phase,
                    failed == EDL_FILE_SHORT ? "the file is too short"
                                    : strerror(failed));
}

int
edl_copies_failed(const EdlInstance *m)
{
    EdlCopies *c = m->copies;
    if (!c)
        return 0;
    pthread_mutex_lock(&c->mutex);
    int failed = c->failed != 0;
    pthread_mutex_unlock(&c->mutex);
    return failed;
}

EdlStatus
edl_copies_sound(EdlInstance *m)
{
    if (!m->copies || !m->copies->broken)
        return EDL_OK;
    return edl_fail(m, EDL_EIO,
                    "%s: an update failed half way: load a checkpoint first",
                    m->model->name);
}

void
edl_copies_renew(EdlInstance *m)
{
    if (!m->copies)
        return;
    (void)edl_copies_status(m, "");
    m->copies->broken = 0;
}

EdlStatus
edl_check_update(EdlInstance *m)
{
    EdlStatus s = edl_copies_status(m, "the update");
    if (s != EDL_OK)
        m->copies->broken = 1;
    return s;
}

/* ---- queues ---- */

static void
move(Queue *q, const Copy *x)
{
    EdlCopies *c = q->all;
    int error = 0;
    if (x->away == EDL_HOST && q->way == OUT)
        memcpy(c->host + x->at, x->memory, (size_t)x->bytes);
    else if (x->away == EDL_HOST)
        memcpy(x->memory, c->host + x->at, (size_t)x->bytes);
    else
        error = edl_file_move(&q->file, x->memory, x->at, x->bytes, x->part);
    if (error)
        note_failure(c, q->way, error);
}

static void *
worker(void *arg)
{
    Queue *q = (Queue *)arg;
    pthread_mutex_lock(&q->mutex);
    for (;;) {
        while (q->begun == q->ended && !q->stop)
            pthread_cond_wait(&q->work, &q->mutex);
        if (q->begun == q->ended)
            break;
        Copy x = q->ring[q->ended % AHEAD];
        pthread_mutex_unlock(&q->mutex);
        move(q, &x);
        pthread_mutex_lock(&q->mutex);
        q->ended++;
        pthread_cond_broadcast(&q->done);
    }
    pthread_mutex_unlock(&q->mutex);
    return NULL;
}

static EdlTicket
begin(const EdlInstance *m, int way, Copy x)
{
    Queue *q = &m->copies->queue[way];
    pthread_mutex_lock(&q->mutex);
    while (q->begun - q->ended >= AHEAD)
        pthread_cond_wait(&q->done, &q->mutex);
    q->ring[q->begun++ % AHEAD] = x;
    EdlTicket t = q->begun * QUEUES + (uint64_t)way;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->mutex);
    return t;
}

EdlTicket
edl_offload(const EdlInstance *m, EdlRegion to, int64_t at, const void *from,
            int64_t bytes)
{
    Copy x = {(unsigned char *)(uintptr_t)from, to, 0, (uint64_t)at,
              (uint64_t)bytes};
    return begin(m, OUT, x);
}

EdlTicket
edl_fetch(const EdlInstance *m, void *to, EdlRegion from, int64_t at,
          int64_t bytes)
{
    Copy x = {(unsigned char *)to, from, 0, (uint64_t)at, (uint64_t)bytes};
    return begin(m, IN, x);
}

void
edl_wait(const EdlInstance *m, EdlTicket t)
{
    Queue *q = &m->copies->queue[t % QUEUES];
    pthread_mutex_lock(&q->mutex);
    while (q->ended < t / QUEUES)
        pthread_cond_wait(&q->done, &q->mutex);
    pthread_mutex_unlock(&q->mutex);
}

void
edl_offload_now(const EdlInstance *m, EdlRegion to, uint64_t at,
                const void *from, uint64_t bytes)
{
    Copy x = {(unsigned char *)(uintptr_t)from, to, 1, at, bytes};
    edl_wait(m, begin(m, OUT, x));
}

void
edl_fetch_now(const EdlInstance *m, void *to, EdlRegion from, uint64_t at,
              uint64_t bytes)
{
    edl_wait(m, edl_fetch(m, to, from, (int64_t)at, (int64_t)bytes));
}

/* ---- init and close ---- */

static EdlStatus
open_file(EdlInstance *m, EdlCopies *c)
{
    const EdlOffload *o = m->model->offload;
    const char *folder = m->hooks.disk ? m->hooks.disk
                         : o->folder   ? o->folder
                                       : ".";
    int direct;
    snprintf(c->folder, sizeof c->folder, "%s", folder);
    c->file = edl_file_open(folder, o->disk_bytes, &direct);
    if (c->file < 0)
        return edl_fail(m, EDL_EIO,
                        "%s: no offload file of %llu bytes in %s: %s",
                        m->model->name, (unsigned long long)o->disk_bytes,
                        folder, strerror(errno));
    unsigned char *stage = m->region[EDL_IO] + o->stage;
    stage += (EDL_FILE_UNIT - (uintptr_t)stage % EDL_FILE_UNIT) % EDL_FILE_UNIT;
    for (int i = 0; i < QUEUES; i++) {
        EdlFileQueue *q = &c->queue[i].file;
        q->file = c->file;
        q->out = i == OUT;
        q->stage = direct ? stage + (size_t)i * o->stage_bytes : NULL;
        q->stage_bytes = o->stage_bytes;
        edl_file_begin(q);
    }
    return EDL_OK;
}

static EdlStatus
start(EdlInstance *m, Queue *q)
{
    if (pthread_create(&q->thread, NULL, worker, q) != 0)
        return edl_fail(m, EDL_ENOMEM, "%s: no thread for copies",
                        m->model->name);
    q->running = 1;
    return EDL_OK;
}

EdlStatus
edl_copies_open(EdlInstance *m)
{
    if (!m->model->offload)
        return EDL_OK;
    EdlCopies *c = (EdlCopies *)calloc(1, sizeof *c);
    if (!c)
        return edl_fail(m, EDL_ENOMEM, "%s: out of memory", m->model->name);
    m->copies = c;
    c->host = m->region[EDL_HOST];
    c->file = -1;
    pthread_mutex_init(&c->mutex, NULL);
    for (int i = 0; i < QUEUES; i++) {
        Queue *q = &c->queue[i];
        q->all = c;
        q->way = i;
        pthread_mutex_init(&q->mutex, NULL);
        pthread_cond_init(&q->work, NULL);
        pthread_cond_init(&q->done, NULL);
    }
    EdlStatus s = m->model->offload->disk_bytes ? open_file(m, c) : EDL_OK;
    for (int i = 0; i < QUEUES && s == EDL_OK; i++)
        s = start(m, &c->queue[i]);
    if (s != EDL_OK)
        edl_copies_close(m);
    return s;
}

static void
end_queue(Queue *q)
{
    pthread_mutex_lock(&q->mutex);
    q->stop = 1;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->mutex);
    if (q->running)
        pthread_join(q->thread, NULL);
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->done);
    pthread_mutex_destroy(&q->mutex);
    edl_file_end(&q->file);
}

void
edl_copies_close(EdlInstance *m)
{
    EdlCopies *c = m->copies;
    if (!c)
        return;
    for (int i = 0; i < QUEUES; i++)
        end_queue(&c->queue[i]);
    if (c->file >= 0)
        close(c->file);
    pthread_mutex_destroy(&c->mutex);
    free(c);
    m->copies = NULL;
}
