#include "toy.h"

int
main(int argc, char **argv)
{
    return edl_trainer_main(&toy_model, argc, argv);
}
