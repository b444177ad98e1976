// The library of finding_load. Stripped, it has the name of json_entry only.
#include <stdint.h>

#include "profile_load.h"

static FUNCTION void json_parse(uint64_t n) {
    SPIN(n);
}

void json_entry(uint64_t n) {
    json_parse(n);
    __asm__ volatile(""); // no tail call
}
