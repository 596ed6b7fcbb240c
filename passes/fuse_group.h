/* Groups of nodes while they are being formed: who reads what, and whether a
 * node may join without making a circle. What may join is in fuse_rules.c. */
#ifndef EDL_PASSES_FUSE_GROUP_H
#define EDL_PASSES_FUSE_GROUP_H

#include "ir/graph.h"

typedef struct Group {
    const char *kind;
    VEC(Node *) members;
    int first, last; /* least and greatest Node.order of them */
    Type shape;      /* of the values that elements of it are computed for */
    bool closed;     /* an accumulate ends it */
} Group;

/* Readers of a value, one entry an operand slot. */
typedef struct Users {
    VEC(Node *) at;
} Users;

typedef struct Fuse {
    Arena *a;
    Graph *g;
    Node **nodes; /* by Node.order */
    int n_nodes;
    VEC(Group *) groups;
    int *seen; /* by Node.order: the number of the search that met it */
    int search;
} Fuse;

/* Nodes farther apart than this are not put into one group: it would keep
 * operands alive for too long. */
enum { FUSE_REACH = 64 };

/* Numbers g and finds all users (Value.note); Node.mark is the group + 1. */
Fuse *fuse_new(Arena *a, Graph *g);
const Users *fuse_users(const Value *v);
Group *fuse_group_of(const Fuse *f, const Node *n);

Group *fuse_start(Fuse *f, const char *kind, Node *n, const Type *shape);
void fuse_join(Fuse *f, Group *g, Node *n);
/* Free, of the group's phase and stage, and near. */
bool fuse_is_near(const Fuse *f, const Group *g, const Node *n);
/* n can be of g's kernel without one of them waiting for the other through a
 * third; searches a bounded part of the graph, and answers false beyond. */
bool fuse_can_join(Fuse *f, const Group *g, Node *n);
/* Dissolves groups until none waits for itself: fuse_circle.c. */
void fuse_open_circles(Fuse *f);
/* All uses of n's results are by members of g. */
bool fuse_only_for(const Fuse *f, const Group *g, const Node *n);

#endif
