/* One line of a graph: inside ir/ only. */
#ifndef EDL_IR_TEXT_READ_NODE_H
#define EDL_IR_TEXT_READ_NODE_H

#include "ir/shape.h"
#include "ir/text_reader.h"

typedef struct ResultType {
    Token at;
    Type type;
    Storage storage;
} ResultType;

/* What a line says, before anything is looked up but its tensor. */
typedef struct Line {
    Token at, op_at;
    Tokens results, args;
    Op op;
    Tensor *tensor;
    VEC(Attr) attrs;
    int64_t stage;
    bool recomputed;
    VEC(ResultType) types;
} Line;

/* Up to the end of the line, or the brace of a group. */
bool line_read(Reader *r, Line *l);
/* The node, or NULL when it would be wrong; then its results are poison. */
Node *line_build(Reader *r, const Line *l);

#endif
