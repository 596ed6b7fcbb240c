/* A computed index out of range is a status after the phase in which it
 * happened; there is no update, and the counters stay. */
#include "computed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(void)
{
    static unsigned char before[COMPUTED_STATE_BYTES];
    float at[6] = {0, 1, 2, 3, 4, 9};
    EdlRegions r = {{NULL}};
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        if (computed_model.regions.bytes[i])
            r.at[i] =
                aligned_alloc(EDL_ALIGN, computed_model.regions.bytes[i]);
    computed m;
    computed_init(&m, EDL_ABI, sizeof m, &r, NULL);
    computed_init_params(&m, 1);
    memcpy(before, r.at[EDL_STATE], sizeof before);
    computed_batch b = {at}, second = {at + 3};
    printf("step %d: %s\n", computed_step(&m, &b, NULL),
           computed_last_error(&m));
    printf("forward %d\n", computed_forward(&m, &b));
    printf("backward %d\n", computed_backward(&m, &b));
    printf("forward %d\n", computed_forward(&m, &second));
    printf("changed %d\n",
           memcmp(before, r.at[EDL_STATE], sizeof before) != 0);
    printf("microbatch %d, step %d\n", (int)m.self.count.microbatch,
           (int)m.self.count.step);
    at[5] = -0.5f; /* towards 0 */
    printf("step %d\n", computed_step(&m, &b, NULL));
    printf("microbatch %d, step %d\n", (int)m.self.count.microbatch,
           (int)m.self.count.step);
    for (int i = 0; i < EDL_REGION_COUNT; i++)
        free(r.at[i]);
    return 0;
}
