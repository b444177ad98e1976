// Capabilities of this process. Kernel document: capabilities(7).
#ifndef COLLECTORS_CAPS_H
#define COLLECTORS_CAPS_H

#include <linux/capability.h>
#include <stdbool.h>

#ifndef CAP_PERFMON // 5.8
#define CAP_PERFMON 38
#endif

// Whether the effective set has a capability of linux/capability.h (CAP_SYS_ADMIN, ...).
bool cap_have(int cap);

#endif
