/* unit.h: a check that says where it failed and lets the others run. */
#ifndef UNIT_H
#define UNIT_H

#include <stdio.h>
#include <string.h>

typedef int (*UnitTest)(void); /* number of failed checks */

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
            failed++;                                                       \
        }                                                                   \
    } while (0)

int unit_philox(void);
int unit_uniforms(void);
int unit_half(void);
int unit_lanes(void);
int unit_narrow(void);
int unit_permute(void);
int unit_tails(void);
int unit_header(void);
int unit_round_trip(void);
int unit_hooks(void);
int unit_npy(void);
int unit_csv(void);
int unit_names(void);
int unit_number(void);
int unit_pool(void);
int unit_init(void);
int unit_layout(void);
int unit_range(void);
int unit_rows(void);
int unit_feed(void);

#endif
