/* Copies off a CUDA device and back, beside what it computes. */
#include "edl_cuda_parts.cuh"

static void
open_copies(EdlInstance *m, Copies *q)
{
    edl_cuda_note(m, cudaStreamCreateWithFlags(&q->stream,
                                               cudaStreamNonBlocking));
    for (int i = 0; i < AHEAD && !context(m)->failed; i++)
        edl_cuda_note(m, cudaEventCreateWithFlags(&q->done[i],
                                                  cudaEventDisableTiming));
}

static void
close_copies(Copies *q)
{
    for (int i = 0; i < AHEAD; i++)
        if (q->done[i])
            (void)cudaEventDestroy(q->done[i]);
    if (q->stream)
        (void)cudaStreamDestroy(q->stream);
}

/* A ticket is the number of the copy, twice, and the way. */
static EdlTicket
begin_copy(EdlInstance *m, int way, void *to, const void *from, int64_t bytes)
{
    Context *c = context(m);
    Copies *q = &c->copies[way];
    uint64_t n = q->begun++;
    edl_cuda_note(m, cudaEventRecord(c->here, c->stream));
    edl_cuda_note(m, cudaStreamWaitEvent(q->stream, c->here, 0));
    edl_cuda_note(m, cudaMemcpyAsync(to, from, (size_t)bytes,
                                     way ? cudaMemcpyHostToDevice
                                         : cudaMemcpyDeviceToHost,
                                     q->stream));
    edl_cuda_note(m, cudaEventRecord(q->done[n % AHEAD], q->stream));
    return 2 * n + (uint64_t)way;
}

EdlTicket
edl_cuda_offload(EdlInstance *m, EdlRegion to, int64_t at, const void *from,
                 int64_t bytes)
{
    return begin_copy(m, 0, m->region[to] + at, from, bytes);
}

EdlTicket
edl_cuda_fetch(EdlInstance *m, void *to, EdlRegion from, int64_t at,
               int64_t bytes)
{
    return begin_copy(m, 1, to, m->region[from] + at, bytes);
}

void
edl_cuda_wait(EdlInstance *m, EdlTicket t)
{
    Context *c = context(m);
    Copies *q = &c->copies[t % 2];
    if (q->begun - t / 2 > AHEAD)
        fail(c, "offload", "too many copies under way");
    edl_cuda_note(m, cudaStreamWaitEvent(c->stream, q->done[t / 2 % AHEAD], 0));
}

void
edl_cuda_copies_begin(EdlInstance *m)
{
    Context *c = context(m);
    edl_cuda_note(m, cudaEventCreateWithFlags(&c->here,
                                              cudaEventDisableTiming));
    open_copies(m, &c->copies[0]);
    open_copies(m, &c->copies[1]);
}

void
edl_cuda_copies_end(EdlInstance *m)
{
    Context *c = context(m);
    close_copies(&c->copies[0]);
    close_copies(&c->copies[1]);
    if (c->here)
        (void)cudaEventDestroy(c->here);
}
