// One of many libraries: a few functions of its own name. -DN=NUMBER
#include <stdint.h>

#define NAME3(n, i) many_##n##_##i
#define NAME2(n, i) NAME3(n, i)
#define FUNCTION(i)                                                                                                    \
    __attribute__((noinline)) void NAME2(N, i)(uint64_t n) {                                                           \
        for (volatile uint64_t k = 0; k < n; k++)                                                                      \
            ;                                                                                                          \
    }

FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)
FUNCTION(8)
FUNCTION(9)
