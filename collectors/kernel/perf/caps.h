// What this process may do. Kernel document: capabilities(7).
#ifndef COLLECTORS_CAPS_H
#define COLLECTORS_CAPS_H

#include <stdbool.h>

// Whether the effective set has it: CAP_SYS_ADMIN and the like of linux/capability.h.
bool cap_have(int cap);

#endif
