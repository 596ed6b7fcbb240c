#include "frontend/syntax.h"

const char *const binary_text[BIN_COUNT] = {
#define X(id, text) [BIN_##id] = text,
    SYNTAX_BINARIES(X)
#undef X
};

const char *const syntax_type_words[] = {
#define DTYPE(id, bits, kind, c, st) #id,
#include "ir/dtypes.def"
#undef DTYPE
    "float", "int", NULL};

bool
syntax_is_type(const char *word)
{
    for (const char *const *t = syntax_type_words; *t; t++)
        if (!strcmp(*t, word))
            return true;
    return false;
}
