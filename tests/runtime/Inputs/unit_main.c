/* unit NAME: runs one test of the runtime; exit 0 when all its checks hold. */
#include "unit.h"

typedef struct Row {
    const char *name;
    UnitTest run;
} Row;

static const Row rows[] = {
    {"philox", unit_philox},   {"half", unit_half},
    {"lanes", unit_lanes},     {"narrow", unit_narrow},
    {"permute", unit_permute}, {"tails", unit_tails},
    {"header", unit_header},   {"round_trip", unit_round_trip},
    {"hooks", unit_hooks},     {"npy", unit_npy},
    {"csv", unit_csv},         {"names", unit_names},
    {"number", unit_number},   {"pool", unit_pool},
    {"init", unit_init},       {"layout", unit_layout},
    {"range", unit_range},     {"feed", unit_feed},
    {"uniforms", unit_uniforms}, {"rows", unit_rows},
};

int
main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof rows / sizeof *rows; i++) {
        if (!strcmp(argv[1], rows[i].name))
            return rows[i].run() != 0;
    }
    printf("no such test\n");
    return 2;
}
