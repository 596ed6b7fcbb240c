#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "edl_machine.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((uint64_t)2 << 20)

static uint64_t
round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* One mapping for all regions, on huge pages where the system has them, and
 * touched now: a step never waits for a page. */
static EdlStatus
map_memory(EdlMemory *memory, uint64_t total, unsigned char **at, EdlError *e)
{
    memory->mapped_bytes = total + HUGE_PAGE;
    void *p = mmap(NULL, (size_t)memory->mapped_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return edl_error(e, EDL_ENOMEM,
                         "not enough memory: the model needs %llu bytes",
                         (unsigned long long)total);
    memory->mapped = (unsigned char *)p;
#ifdef MADV_HUGEPAGE
    (void)madvise(p, (size_t)memory->mapped_bytes, MADV_HUGEPAGE);
#endif
    uint64_t skip =
        round_up((uint64_t)(uintptr_t)p, HUGE_PAGE) - (uint64_t)(uintptr_t)p;
    *at = memory->mapped + skip;
    for (uint64_t i = 0; i < total; i += 4096)
        *(volatile unsigned char *)(*at + i) = 0;
    return EDL_OK;
}

static EdlStatus
no_memory(const EdlModel *model, const char *where, uint64_t bytes, EdlError *e)
{
    const char *why;
    EdlStatus s = model->device->why(&why);
    return edl_error(e, s, "no memory %s, %s: the model needs %llu bytes",
                     where, why, (unsigned long long)bytes);
}

/* The same of a device, in one piece. */
static EdlStatus
take_device(EdlMemory *memory, const EdlModel *model, uint64_t total,
            unsigned char **at, EdlError *e)
{
    memory->on_device = (unsigned char *)model->device->alloc(total);
    *at = memory->on_device;
    return memory->on_device ? EDL_OK
                             : no_memory(model, "on the device", total, e);
}

/* The region HOST of a device, apart from the others. */
static EdlStatus
take_host_pool(EdlMemory *memory, const EdlModel *model, EdlRegions *regions,
               EdlError *e)
{
    uint64_t bytes = model->regions.bytes[EDL_HOST];
    if (!model->device || bytes == 0)
        return EDL_OK;
    memory->on_host = (unsigned char *)model->device->alloc_host(bytes);
    if (!memory->on_host)
        return no_memory(model, "for the pool of the host", bytes, e);
    regions->at[EDL_HOST] = memory->on_host;
    memory->bytes += bytes;
    return EDL_OK;
}

EdlStatus
edl_memory_take(EdlMemory *memory, const EdlModel *model, EdlRegions *regions,
                EdlError *e)
{
    const uint64_t *bytes = model->regions.bytes;
    uint64_t total = 0;
    unsigned char *at = NULL;
    int n = model->device ? EDL_HOST : EDL_REGION_COUNT; /* the last */
    for (int r = 0; r < n; r++)
        total += round_up(bytes[r], EDL_ALIGN);
    EdlStatus s = model->device ? take_device(memory, model, total, &at, e)
                                : map_memory(memory, total, &at, e);
    if (s != EDL_OK)
        return s;
    for (int r = 0; r < n; r++) {
        regions->at[r] = bytes[r] ? at : NULL;
        at += round_up(bytes[r], EDL_ALIGN);
    }
    memory->bytes = total - bytes[EDL_HOST];
    return take_host_pool(memory, model, regions, e);
}

void
edl_memory_free(EdlMemory *memory, const EdlModel *model)
{
    if (memory->on_device)
        model->device->release(memory->on_device);
    if (memory->on_host)
        model->device->release_host(memory->on_host);
    if (memory->mapped)
        munmap(memory->mapped, (size_t)memory->mapped_bytes);
    memset(memory, 0, sizeof *memory);
}

int
edl_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
#endif
    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}
