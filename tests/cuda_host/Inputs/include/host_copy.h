/* Shared memory for the stand-in: what a launch gives, and copies to it that go
 * on while their thread does; until it waits, what they write is NaNs. */
#ifndef EDL_HOST_COPY_H
#define EDL_HOST_COPY_H

#include "cuda_runtime.h"

namespace edl_host
{
struct Copy {
    void *to;
    const void *from;
    size_t bytes, size;
    unsigned block;
};

/* Those of the thread that runs. */
inline std::vector<Copy> &
copies(void)
{
#ifdef EDL_HOST_THREADS
    static thread_local std::vector<std::vector<Copy>> all(1024);
#else
    static std::vector<std::vector<Copy>> all(1024);
#endif
    std::vector<Copy> &mine = all[threadIdx.x];
    if (!mine.empty() && mine[0].block != blockIdx.x)
        stop("a block ends before its copies");
    return mine;
}
} // namespace edl_host

/* The shared memory that the launch gives the block. */
static inline float4 *
edl_shared(void)
{
    return (float4 *)(void *)edl_host::block().shared.data();
}

static inline void
edl_host_copy(void *shared, const void *from, int bytes, size_t size)
{
    if ((uintptr_t)shared % size || (uintptr_t)from % size)
        edl_host::stop("a copy to shared memory is not aligned");
    memset(shared, 0xff, size);
    edl_host::copies().push_back(
        {shared, from, (size_t)bytes, size, blockIdx.x});
}

static inline void
edl_copy16(void *shared, const void *from, int bytes)
{
    edl_host_copy(shared, from, bytes, 16);
}

static inline void
edl_copy4(void *shared, const void *from, int bytes)
{
    edl_host_copy(shared, from, bytes, 4);
}

static inline void
edl_copies_wait(void)
{
    for (const edl_host::Copy &c : edl_host::copies()) {
        memset(c.to, 0, c.size);
        memcpy(c.to, c.from, c.bytes);
    }
    edl_host::copies().clear();
}

#endif
