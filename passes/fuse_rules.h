/* What each kind of group takes. */
#ifndef EDL_PASSES_FUSE_RULES_H
#define EDL_PASSES_FUSE_RULES_H

#include "passes/fuse_group.h"

typedef struct FuseRule {
    const char *kind;
    /* Can a group of this kind start at n? Gives its shape. */
    bool (*seeds)(const Node *n, Type *shape);
    /* May c, which reads a member and is near, be one too? */
    bool (*takes_user)(const Fuse *f, const Group *g, const Node *c);
    /* May d, whose result a member reads, be one too? */
    bool (*takes_operand)(const Fuse *f, const Group *g, const Node *d);
    /* Takes further seeds into a grown group; true when it did. Or NULL. */
    bool (*siblings)(Fuse *f, Group *g);
    /* Is the grown group of use? NULL: when it has two members. */
    bool (*keep)(const Group *g);
} FuseRule;

extern const FuseRule fuse_rules[];
extern const int fuse_n_rules;

#endif
