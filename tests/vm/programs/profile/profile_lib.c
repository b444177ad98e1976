// The shared library of the dynamic profile_load; static programs contain it.
#include "profile_load.h"

FUNCTION void lib_ten(uint64_t n) {
    SPIN(n);
}
