#include "collectors/syscalls/process.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "collectors/task_identity.h"

enum syscalls_abi syscalls_process_abi(void *ctx, int32_t pid) {
    const struct syscalls_procfs *procfs = ctx;
    char path[160];
    unsigned char head[EI_NIDENT];
    snprintf(path, sizeof(path), "%s/%d/exe", procfs->proc, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return SYSCALLS_ABI_NATIVE; // a kernel thread, or gone
    ssize_t n = read(fd, head, sizeof(head));
    close(fd);
    return n == sizeof(head) && head[EI_CLASS] == ELFCLASS32 && sizeof(long) == 8 ? SYSCALLS_ABI_32
                                                                                  : SYSCALLS_ABI_NATIVE;
}

void syscalls_process_identify(void *ctx, int32_t tid, struct syscalls_process *process, char *comm) {
    const struct syscalls_procfs *procfs = ctx;
    const struct task_identity identity = task_identify(procfs->proc, procfs->options, tid);
    const struct thread_status *status = &identity.status;
    *process = (struct syscalls_process){.pid = status->pid, .wanted = identity.wanted};
    if (!identity.found)
        return;
    process->parent = status->parent;
    process->user = status->user;
    process->abi = (uint8_t)syscalls_process_abi(ctx, status->pid);
    snprintf(comm, SYSCALLS_COMM, "%.15s", status->name);
    struct thread_status leader;
    if (status->pid == tid || !thread_status_read(procfs->proc, status->pid, &leader))
        leader = *status;
    snprintf(process->comm, SYSCALLS_COMM, "%.15s", leader.name);
}
