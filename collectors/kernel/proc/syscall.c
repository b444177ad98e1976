#include "collectors/kernel/proc/syscall.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/tracefs/format.h"

int proc_syscall_read(const char *proc, int32_t tid, struct proc_syscall *out) {
    char path[192], text[256], *at = text, *end;
    *out = (struct proc_syscall){.nr = -1};
    snprintf(path, sizeof(path), "%s/%d/syscall", proc, tid);
    long n = format_file(path, text, sizeof(text));
    if (n < 0)
        return (int)n;
    out->running = text[0] == 'r'; // "running"
    int64_t nr = strtoll(at, &at, 10);
    if (at == text || nr < 0) // "running", or "-1 SP PC": blocked outside of a call
        return 0;
    uint64_t words[8]; // arguments, stack pointer, program counter
    for (int i = 0; i < 8; i++, at = end) {
        words[i] = strtoull(at, &end, 16);
        if (end == at)
            return 0;
    }
    if (!words[7]) // a kernel thread
        return 0;
    out->nr = nr;
    for (int i = 0; i < 6; i++)
        out->args[i] = words[i];
    // Only a 32-bit program has both its stack and its code below 4 GiB.
    out->is_32 = words[6] && words[6] <= UINT32_MAX && words[7] <= UINT32_MAX;
    return 0;
}
