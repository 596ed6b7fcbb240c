/* Copies to shared memory that go on while their thread does, for the
 * stand-in: until it waits, what they write is NaNs. */
#ifndef EDL_HOST_COPY_H
#define EDL_HOST_COPY_H

#include "cuda_runtime.h"

namespace edl_host
{
struct Copy {
    void *to;
    const void *from;
    size_t bytes;
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

static inline void
edl_copy16(void *shared, const void *from, int bytes)
{
    if ((uintptr_t)shared % 16 || (uintptr_t)from % 16)
        edl_host::stop("a copy of 16 bytes is not aligned");
    memset(shared, 0xff, 16);
    edl_host::copies().push_back({shared, from, (size_t)bytes, blockIdx.x});
}

static inline void
edl_copies_wait(void)
{
    for (const edl_host::Copy &c : edl_host::copies()) {
        memset(c.to, 0, 16);
        memcpy(c.to, c.from, c.bytes);
    }
    edl_host::copies().clear();
}

#endif
