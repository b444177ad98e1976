// The shared library of profile_load.
#include <stdint.h>

#include "profile_load.h"

FUNCTION void lib_ten(uint64_t n) {
    SPIN(n);
}
