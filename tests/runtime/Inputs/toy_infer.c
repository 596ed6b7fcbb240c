/* The toy without its training: it runs forward. */
#include "toy.h"

int
main(int argc, char **argv)
{
    EdlModel model = toy_model;
    model.step = NULL;
    model.train = NULL;
    return edl_trainer_main(&model, argc, argv);
}
