#include "ir/base/random.h"

uint64_t
random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t
random_next(uint64_t *state)
{
    return random_mix(*state += 0x9e3779b97f4a7c15u);
}
