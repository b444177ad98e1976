// A record of /dev/kmsg. Shared by the collector and its test.
#ifndef COLLECTORS_KMSG_H
#define COLLECTORS_KMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmsg_record {
    unsigned facility, level; // 0: the kernel; 0 to 7: emerg to debug
    uint64_t us;              // since boot
    char text[256];           // printable ASCII; the kernel escapes other bytes as \xNN
};
// "6,339,5140900,-;TEXT\n KEY=VALUE\n": false: not of that form.
bool kmsg_parse(const char *bytes, size_t size, struct kmsg_record *out);

#endif
