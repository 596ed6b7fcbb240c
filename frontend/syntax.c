#include "frontend/syntax.h"

const char *const binary_text[BIN_COUNT] = {
#define X(id, text) [BIN_##id] = text,
    SYNTAX_BINARIES(X)
#undef X
};
