/* The tables over ops agree with the flags in ops.def. */
#include <stdio.h>

#include "passes/grad.h"

int
main(void)
{
    int faults = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        bool flag = op_info[op].flags & OP_DIFF;
        if (flag == (grad_rule[op] != NULL))
            continue;
        printf("%s: OP_DIFF is %d, passes/grad.def says %d\n",
               op_info[op].name, flag, !flag);
        faults++;
    }
    return faults > 0;
}
