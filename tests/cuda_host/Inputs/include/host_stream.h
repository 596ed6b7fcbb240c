/* Streams, events, graphs and memory of the stand-in. */
#ifndef EDL_HOST_STREAM_H
#define EDL_HOST_STREAM_H

#include "host_block.h"

namespace edl_host
{

/* ---- memory ---- */

struct Allocation {
    unsigned char *at, *map;
    size_t bytes, mapped;
};

inline std::vector<Allocation> &
allocations(void)
{
    static std::vector<Allocation> a;
    return a;
}

inline void
protect(int how)
{
    for (const Allocation &a : allocations())
        mprotect(a.map + 4096, a.mapped - 2 * 4096, how);
}

/* ---- streams ---- */

typedef std::function<void()> Work;

/* Done when as many records as issued have run. */
struct Event {
    uint64_t issued, done;
    struct Capture *capture; /* of a record in a graph: */
    size_t node;
    bool timed;
    double ms;
};

/* A piece of a stream: work, after a record of an event or with one of its
 * own. */
struct Item {
    Work work;
    Event *wait, *record;
    uint64_t number;
};

/* A graph: work after other work. */
struct Node {
    Work work;
    std::vector<size_t> after;
};

struct Capture {
    std::vector<Node> nodes;
};

struct Stream {
    std::vector<Item> queue;
    Capture *capture; /* NULL: none */
    bool origin;      /* of the capture */
    std::vector<size_t> after; /* what the next node of it waits for */
};

inline std::vector<Stream *> &
streams(void)
{
    static std::vector<Stream *> s;
    return s;
}

inline bool
is_free(const Stream *s)
{
    return !s->queue.empty() && (!s->queue[0].wait ||
                                 s->queue[0].wait->done >= s->queue[0].number);
}

/* ms, of events: 0.5 a record, and what work adds. */
inline double &
clock(void)
{
    static double ms;
    return ms;
}

inline void
run_head(Stream *s)
{
    Item i = std::move(s->queue[0]);
    s->queue.erase(s->queue.begin());
    if (i.work)
        i.work();
    if (i.record) {
        i.record->done = i.number;
        i.record->ms = clock() += 0.5;
    }
}

/* Runs until the stream has `left` items: always what the seed picks of all
 * streams that can go on; the one that is asked for where the seed is 0. */
inline void
run(Stream *s, size_t left)
{
    if (s->queue.size() <= left)
        return;
    protect(PROT_READ | PROT_WRITE);
    while (s->queue.size() > left) {
        std::vector<Stream *> can;
        for (Stream *x : streams())
            if (is_free(x))
                can.push_back(x);
        if (can.empty())
            stop("streams wait for each other");
        bool mine = is_free(s) && (!random_state() || choose(3) == 0);
        run_head(mine ? s : can[choose(can.size())]);
    }
    protect(PROT_NONE);
}

inline size_t
capture_node(Stream *s, Work w)
{
    s->capture->nodes.push_back({std::move(w), std::move(s->after)});
    s->after.assign(1, s->capture->nodes.size() - 1);
    return s->after[0];
}

inline void
enqueue(Stream *s, Work w)
{
    if (s->capture) {
        capture_node(s, std::move(w));
        return;
    }
    s->queue.push_back({std::move(w), nullptr, nullptr, 0});
    if (choose(8) == 1)
        run(s, choose(s->queue.size() + 1));
}

/* Every node once, after those that it waits for, else as the seed says. */
inline void
run_graph(const std::vector<Node> &nodes)
{
    std::vector<size_t> left(nodes.size()), can;
    std::vector<std::vector<size_t>> next(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) {
        left[i] = nodes[i].after.size();
        for (size_t a : nodes[i].after)
            next[a].push_back(i);
        if (!left[i])
            can.push_back(i);
    }
    while (!can.empty()) {
        size_t pick = 0; /* seed 0: in the order of the capture */
        for (size_t i = 1; i < can.size(); i++)
            pick = can[i] < can[pick] ? i : pick;
        if (random_state())
            pick = choose(can.size());
        size_t node = can[pick];
        can.erase(can.begin() + (ptrdiff_t)pick);
        if (nodes[node].work)
            nodes[node].work();
        for (size_t n : next[node])
            if (--left[n] == 0)
                can.push_back(n);
    }
}

/* Does all of the capture come before what the stream has at its end? */
inline bool
is_joined(const Stream *s)
{
    const std::vector<Node> &nodes = s->capture->nodes;
    std::vector<bool> seen(nodes.size());
    std::vector<size_t> todo = s->after;
    size_t n = 0;
    while (!todo.empty()) {
        size_t i = todo.back();
        todo.pop_back();
        if (seen[i])
            continue;
        seen[i] = true;
        n++;
        todo.insert(todo.end(), nodes[i].after.begin(), nodes[i].after.end());
    }
    return n == nodes.size();
}

struct Graph {
    std::vector<Node> nodes;
};

/* Memory of the host that copies reach while the program goes on. */
inline std::vector<std::pair<unsigned char *, size_t>> &
pinned(void)
{
    static std::vector<std::pair<unsigned char *, size_t>> p;
    return p;
}

inline bool
is_pinned(const void *p)
{
    for (const auto &a : pinned())
        if ((const unsigned char *)p >= a.first &&
            (const unsigned char *)p < a.first + a.second)
            return true;
    return false;
}

} // namespace edl_host

#endif
