#include "ir/storage.h"

enum {
    UNIT = 4096,
    SMALL_STAGE = 128 << 10,
    LARGE_STAGE = 1 << 20,
    LARGE_DISK = 256 << 20 /* of more bytes the buffers are large */
};

static int64_t
stage_for(int64_t disk)
{
    return disk == 0 ? 0 : disk < LARGE_DISK ? SMALL_STAGE : LARGE_STAGE;
}

int64_t
storage_stage(const Module *m)
{
    return stage_for(m->region_bytes[REGION_disk]);
}

int64_t
storage_room_for(int64_t disk)
{
    return disk == 0 ? 0 : 2 * stage_for(disk) + UNIT;
}

int64_t
storage_stage_room(const Module *m)
{
    return storage_room_for(m->region_bytes[REGION_disk]);
}

bool
storage_prints(const Node *n, int i)
{
    if (op_info[n->op].flags & OP_ELEMENT)
        return true;
    return n->op == OP_cross_entropy_grad && i == 0;
}

static void
mark_readers(Graph *g)
{
    graph_each(g, n) {
        if (n->body) {
            mark_readers(n->body);
            continue;
        }
        for (int i = 0; i < n->n_args; i++) {
            Value *v = n->args[i];
            if (v->def->op == OP_const && !storage_prints(n, i))
                v->mark = 1;
        }
    }
}

void
storage_mark_constants(Graph *g)
{
    graph_each(g, n)
        if (n->op == OP_const)
            n->results[0]->mark = 0;
    mark_readers(g);
}
