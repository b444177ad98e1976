// Reads the effective capabilities by the system call: libcap is not needed for one call.
#include "collectors/kernel/perf/caps.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

bool cap_have(int cap) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    if (cap < 0 || cap > 63 || syscall(SYS_capget, &header, data))
        return false;
    return data[cap / 32].effective >> (cap % 32) & 1;
}
