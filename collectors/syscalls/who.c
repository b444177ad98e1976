// Reading /proc about threads that make system calls. Once per thread that was not seen being made, never per event.
#include "collectors/syscalls/who.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/proc/thread_status.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

bool syscalls_who_filters(const struct syscalls_who *who) {
    return thread_filters(who->options);
}

static bool is_wanted(const struct syscalls_who *who, const struct thread_status *status) {
    if (who->options && !who->options->show_self && self_process(status->pid))
        return false;
    return thread_wanted(who->proc, who->options, status);
}

enum syscalls_abi syscalls_who_abi(void *ctx, int32_t pid) {
    const struct syscalls_who *who = ctx;
    char path[160];
    unsigned char head[EI_NIDENT];
    snprintf(path, sizeof(path), "%s/%d/exe", who->proc, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return SYSCALLS_ABI_NATIVE; // of the kernel itself, or gone
    ssize_t n = read(fd, head, sizeof(head));
    close(fd);
    return n == sizeof(head) && head[EI_CLASS] == ELFCLASS32 && sizeof(long) == 8 ? SYSCALLS_ABI_32
                                                                                  : SYSCALLS_ABI_NATIVE;
}

void syscalls_who_identify(void *ctx, int32_t tid, struct syscalls_process *process, char *comm) {
    const struct syscalls_who *who = ctx;
    struct thread_status status, leader;
    *process = (struct syscalls_process){.pid = tid, .wanted = !syscalls_who_filters(who)};
    if (!thread_status_read(who->proc, tid, &status))
        return;
    process->pid = status.pid;
    process->parent = status.parent;
    process->user = status.user;
    process->wanted = is_wanted(who, &status);
    process->abi = (uint8_t)syscalls_who_abi(ctx, status.pid);
    snprintf(comm, SYSCALLS_COMM, "%.15s", status.name);
    if (status.pid == tid || !thread_status_read(who->proc, status.pid, &leader))
        leader = status;
    snprintf(process->comm, SYSCALLS_COMM, "%.15s", leader.name);
}

int syscalls_who_call(const struct syscalls_who *who, int32_t tid, int32_t *id, uint64_t args[6]) {
    char path[160], text[256];
    if (!who->proc)
        return -ENOENT;
    snprintf(path, sizeof(path), "%s/%d/syscall", who->proc, tid);
    long length = format_file(path, text, sizeof(text));
    if (length < 0)
        return (int)length;
    char *at = text, *end;
    long number = strtol(at, &end, 10);
    if (end == at || number < 0) // "running", or "-1 ...": blocked, but in no call
        return -ENOENT;
    for (int i = 0; i < 6; i++) {
        at = end;
        args[i] = strtoull(at, &end, 16);
        if (end == at)
            return -ENOENT;
    }
    at = end;
    strtoull(at, &end, 16); // the stack, and the program's place: threads of the kernel have none
    at = end;
    if (!strtoull(at, &end, 16))
        return -ENOENT;
    *id = (int32_t)number;
    return 0;
}

// ---- all threads ----

struct syscalls_scan {
    char proc[128];
    DIR *processes, *threads;
};

struct syscalls_scan *syscalls_scan_new(const struct syscalls_who *who) {
    struct syscalls_scan *scan = xcalloc(1, sizeof(*scan));
    snprintf(scan->proc, sizeof(scan->proc), "%s", who->proc);
    scan->processes = opendir(who->proc);
    return scan;
}

void syscalls_scan_free(struct syscalls_scan *scan) {
    if (!scan)
        return;
    if (scan->processes)
        closedir(scan->processes);
    if (scan->threads)
        closedir(scan->threads);
    free(scan);
}

static int32_t next_number(DIR *dir) {
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            return (int32_t)strtol(entry->d_name, NULL, 10);
    return 0;
}

int32_t syscalls_scan_next(struct syscalls_scan *scan) {
    for (;;) {
        int32_t tid = next_number(scan->threads), pid;
        if (tid)
            return tid;
        if (scan->threads)
            closedir(scan->threads);
        scan->threads = NULL;
        if (!(pid = next_number(scan->processes)))
            return 0;
        char path[192];
        snprintf(path, sizeof(path), "%s/%d/task", scan->proc, pid);
        scan->threads = opendir(path);
    }
}
