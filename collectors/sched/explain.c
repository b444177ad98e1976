// The order of reading matters: first what cannot block, then what helps most.
#include "collectors/sched/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/proc/holder.h"
#include "collectors/kernel/proc/memory.h"
#include "collectors/kernel/proc/syscall.h"
#include "collectors/kernel/proc/syscall_args.h"
#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/kernel/proc/thread_status.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/live.h"

const char *const blocked_by_names[BLOCKED_BYS] = {
    [BLOCKED_BY_UNINTERRUPTIBLE] = "uninterruptible",
    [BLOCKED_BY_SERVER] = "server",
    [BLOCKED_BY_LOCK] = "lock",
    [BLOCKED_BY_THROTTLED] = "throttled",
    [BLOCKED_BY_REALTIME] = "realtime",
    [BLOCKED_BY_CPU] = "cpu",
};

static long task_file(const char *proc, int32_t tid, const char *file, char *out, size_t size) {
    char path[192];
    snprintf(path, sizeof(path), "%s/%d/%s", proc, tid, file);
    long n = format_file(path, out, size);
    if (n < 0)
        out[0] = 0;
    return n;
}

static void comm_of(const char *proc, int32_t tid, char *out, size_t size) {
    if (task_file(proc, tid, "comm", out, size) <= 0)
        snprintf(out, size, "?");
    out[strcspn(out, "\n")] = 0;
}

// ---- the kernel stack ----

void kernel_stack_join(const char *text, char *out, unsigned size) {
    size_t n = 0;
    out[0] = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *name = strchr(line, ']');
        const char *end = line + strcspn(line, "\n");
        if (!name || name > end)
            continue;
        name += 1 + strspn(name + 1, " ");
        size_t length = strcspn(name, "+ \n");
        if (!strncmp(name, "entry_SYSCALL", 13) || !strncmp(name, "do_syscall_64", length) ||
            !strncmp(name, "el0", 3) || !strncmp(name, "invoke_syscall", 14) || n + length + 4 > size)
            break; // the end of every stack, or no more room
        n += (size_t)snprintf(out + n, size - n, "%s%.*s", n ? " < " : "", (int)length, name);
    }
}

const char *kernel_stack_meaning(const char *stack) {
    // First match wins; order from cause to mechanism.
    static const struct {
        const char *function, *means;
    } known[] = {
        {"fuse_", "a FUSE server's reply"},
        {"request_wait_answer", "a FUSE server's reply"},
        {"nfs", "an NFS server's reply"},
        {"rpc_wait", "an NFS server's reply"},
        {"cifs_", "an SMB server's reply"},
        {"ceph_", "a Ceph server's reply"},
        {"p9_", "a 9p server's reply"},
        {"balance_dirty_pages", "writeback: too many dirty pages"},
        {"blk_throtl", "the I/O limit of its cgroup"},
        {"rq_qos_wait", "writeback throttling (rq-qos)"},
        {"blk_mq_get_tag", "a free tag in the disk's queue"},
        {"jbd2_", "the file system's journal"},
        {"xlog_", "the file system's journal"},
        {"xfs_log", "the file system's journal"},
        {"refrigerator", "thaw: the task is frozen"},
        {"do_freezer_trap", "thaw: its cgroup is frozen"},
        {"mem_cgroup_handle_over_high", "memory: its cgroup is above memory.high"},
        {"mem_cgroup_oom", "memory: its cgroup is out of memory"},
        {"shrink_", "memory: direct reclaim"},
        {"wait_for_vfork_done", "a vfork child"},
        {"kernel_clone", "a vfork child"},
        {"coredump", "a core dump"},
        {"rwsem_down_read", "a kernel rwsem (read)"},
        {"rwsem_down_write", "a kernel rwsem (write)"},
        {"mutex_lock", "a kernel mutex"},
        {"__down", "a kernel semaphore"},
        {"synchronize_rcu", "an RCU grace period"},
        {"__wait_rcu_gp", "an RCU grace period"},
        {"io_schedule", "a disk"},
        {"blk_", "a disk"},
        {"submit_bio", "a disk"},
        {"wait_on_buffer", "a disk"},
        {"folio_wait", "a page under I/O"},
        {"wait_on_page", "a page under I/O"},
        {"lock_page", "a page lock"},
        {"folio_lock", "a page lock"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strstr(stack, known[i].function))
            return known[i].means;
    return NULL;
}

// ---- files ----

struct mount {
    char type[64], source[128], point[128];
    unsigned minor; // of its device
};

// Whether the path is at or below the mount point; the longest match is the path's mount.
static size_t lies_below(const char *path, const char *point) {
    size_t length = strcmp(point, "/") ? strlen(point) : 0;
    return !strncmp(path, point, length) && (path[length] == '/' || !path[length]) ? length + 1 : 0;
}

// The mount with that ID, or, with 0, the mount of the path.
static bool mount_of(const char *proc, int32_t tid, long id, const char *of_path, struct mount *out) {
    static const size_t room = 256 * 1024;
    char *text = malloc(room);
    size_t best = 0;
    if (!text)
        return false;
    if (task_file(proc, tid, "mountinfo", text, room) > 0)
        for (char *line = text, *end; line && *line; line = end) {
            struct mount mount;
            long number;
            end = strchr(line, '\n');
            if (end)
                *end++ = 0;
            const char *fields = strstr(line, " - ");
            if (!fields || sscanf(fields, " - %63s %127s", mount.type, mount.source) != 2 ||
                sscanf(line, "%ld %*d %*u:%u %*s %127s", &number, &mount.minor, mount.point) != 3)
                continue;
            size_t fits = id ? number == id : lies_below(of_path, mount.point);
            if (!fits || fits < best)
                continue;
            best = fits; // of two at one mount point the later one is on top
            *out = mount;
        }
    free(text);
    return best > 0;
}

static bool link_read(const char *proc, int32_t tid, uint64_t fd, char *out, size_t size) {
    char link[192];
    snprintf(link, sizeof(link), "%s/%d/fd/%u", proc, tid, (uint32_t)fd);
    ssize_t n = readlink(link, out, size - 1);
    out[n > 0 ? n : 0] = 0;
    return n > 0;
}

// "PATH (ext4 from /dev/vda1)". The path comes from the dentry cache: the file system itself is not accessed.
static bool file_of(const char *proc, int32_t tid, uint64_t fd, char *out, size_t size, struct mount *mount) {
    char path[128], info[1024], file[32];
    if (!link_read(proc, tid, fd, path, sizeof(path)))
        return false;
    snprintf(file, sizeof(file), "fdinfo/%u", (uint32_t)fd);
    task_file(proc, tid, file, info, sizeof(info));
    const char *id = strstr(info, "mnt_id:");
    if (path[0] == '/' && id && mount_of(proc, tid, strtol(id + 7, NULL, 10), "", mount))
        return snprintf(out, size, "%s (%.24s from %.48s)", path, mount->type, mount->source) > 0;
    return snprintf(out, size, "%s", path) > 0;
}

static bool memory_read(int32_t tid, uint64_t address, void *out, size_t size) {
    return process_memory_read(tid, address, out, size) == size;
}

static bool string_read(int32_t tid, uint64_t address, char *out, size_t size) {
    size_t n = process_memory_read(tid, address, out, size - 1);
    out[n] = 0;
    return out[0] != 0;
}

// The file that the call works on; "": none, or unknown. mount: the file's; type "" when unknown.
static void call_file(const char *proc, int32_t tid, const struct proc_syscall *call, char *out, size_t size,
                      struct mount *mount) {
    bool is_path;
    const char *name = call->nr < 0 ? NULL : syscalls_plain_name(SYSCALLS_ABI_NATIVE, (uint32_t)call->nr);
    int argument = name ? syscall_file_arg(name, &is_path) : -1;
    out[0] = mount->type[0] = 0;
    if (argument >= 0 && !is_path)
        file_of(proc, tid, call->args[argument], out, size, mount);
    else if (argument >= 0 && string_read(tid, call->args[argument], out, size < 160 ? size : 160) && out[0] == '/')
        mount_of(proc, tid, 0, out, mount);
}

// ---- locks ----

int32_t sched_lock_holder(const char *locks, int32_t waiter) {
    int32_t holder = 0;
    for (const char *line = locks; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char class[16], mode[16], access[16];
        int32_t pid;
        bool blocked = sscanf(line, "%*s -> %15s %15s %15s %d", class, mode, access, &pid) == 4;
        if (!blocked && sscanf(line, "%*s %15s %15s %15s %d", class, mode, access, &pid) == 4)
            holder = pid; // the lines after it are its waiters
        else if (blocked && pid == waiter)
            return holder;
    }
    return 0;
}

static bool explain_file_lock(const char *proc, const struct proc_syscall *call, struct blocked_reply *out) {
    static const size_t room = 512 * 1024;
    bool sets = call->nr == SYS_fcntl && (call->args[1] == F_SETLKW || call->args[1] == F_OFD_SETLKW);
    struct mount mount;
    char path[256], file[224], comm[32], *locks = call->nr == SYS_flock || sets ? malloc(room) : NULL;
    if (!locks)
        return false;
    int32_t tid = out->query.tid, holder = 0;
    struct thread_status status;
    snprintf(path, sizeof(path), "%s/locks", proc);
    if (format_file(path, locks, room) > 0)
        holder = sched_lock_holder(locks, thread_status_read(proc, tid, &status) ? status.pid : tid);
    free(locks);
    call_file(proc, tid, call, file, sizeof(file), &mount);
    out->why = BLOCKED_BY_LOCK;
    snprintf(path, sizeof(path), "%s/%d/comm", proc, holder);
    int32_t keeper = holder;
    if (holder && (holder < 0 || access(path, F_OK))) // the taker exited: a process that inherited the file holds it
        keeper = link_read(proc, tid, call->args[0], path, sizeof(path)) ? sched_lock_keeper(proc, path, holder) : 0;
    if (keeper > 0) {
        comm_of(proc, keeper, comm, sizeof(comm));
        snprintf(out->waits_for, sizeof(out->waits_for), "%s (%d) holds the lock on %s", comm, keeper, file);
    } else if (holder > 0) {
        snprintf(out->waits_for, sizeof(out->waits_for), "the lock on %s, taken by exited PID %d", file, holder);
    } else {
        snprintf(out->waits_for, sizeof(out->waits_for), "the lock on %s", file);
    }
    return true;
}

#ifndef FUTEX_LOCK_PI
enum { FUTEX_WAIT = 0, FUTEX_LOCK_PI = 6, FUTEX_WAIT_BITSET = 9, FUTEX_LOCK_PI2 = 13 };
#endif

// Whether that ID is a thread that can hold a lock of tid: one of the same process, or, with `shared`, of any.
static bool could_hold(const char *proc, int32_t tid, int32_t holder, bool shared) {
    char path[192];
    if (holder <= 0 || holder == tid)
        return false;
    if (shared)
        snprintf(path, sizeof(path), "%s/%d/comm", proc, holder);
    else
        snprintf(path, sizeof(path), "%s/%d/task/%d/comm", proc, tid, holder);
    return !access(path, F_OK);
}

// Recognises mutexes of glibc ({lock = 2, count, owner}) and of musl, and every PI or robust one (the word is the
// owner's TID and flags). Other futexes have no holder (condition variables, idle workers).
static bool explain_futex(const char *proc, const struct proc_syscall *call, struct blocked_reply *out) {
    enum { OWNER = 0x3fffffff, PRIVATE = 128 };
    uint32_t words[3] = {0}, op = (uint32_t)call->args[1] & 127;
    int32_t tid = out->query.tid, holder;
    bool waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET, pi = op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2;
    bool shared = !(call->args[1] & PRIVATE);
    if ((!waits && !pi) || !memory_read(tid, call->args[0], words, sizeof(words[0])))
        return false;
    holder = (int32_t)(words[0] & OWNER);
    if (!(words[0] & ~(uint32_t)OWNER) || !could_hold(proc, tid, holder, shared)) {
        if (words[0] != 2 || (uint32_t)call->args[2] != 2 || !memory_read(tid, call->args[0], words, sizeof(words)))
            return false;
        holder = (int32_t)words[2];
        if (!could_hold(proc, tid, holder, shared))
            return false;
    }
    char comm[32];
    comm_of(proc, holder, comm, sizeof(comm));
    out->why = BLOCKED_BY_LOCK;
    snprintf(out->waits_for, sizeof(out->waits_for), "%s (%d) holds the mutex at 0x%llx", comm, holder,
             (unsigned long long)call->args[0]);
    return true;
}

// ---- the whole ----

static void read_stack(const char *proc, int32_t tid, struct blocked_reply *out) {
    char text[4096];
    if (!out->stack[0] && task_file(proc, tid, "stack", text, sizeof(text)) > 0)
        kernel_stack_join(text, out->stack, sizeof(out->stack));
}

// wchan; where it needs frame pointers (x86 before 5.16), the innermost function of the stack.
static void read_where(const char *proc, int32_t tid, const struct proc_syscall *call, struct blocked_reply *out) {
    if (out->where[0] == '0') // it runs, or wchan is unavailable
        out->where[0] = 0;
    if (out->where[0] || call->running)
        return;
    read_stack(proc, tid, out);
    size_t n = strcspn(out->stack, " ");
    snprintf(out->where, sizeof(out->where), "%.*s", (int)(n < 60 ? n : 60), out->stack);
}

// The FUSE server that has to reply, if it can be found: "slowfs (250) to reply".
static bool fuse_server(const char *proc, const struct mount *mount, char *out, size_t size) {
    char comm[32];
    int32_t pid = strncmp(mount->type, "fuse", 4) ? 0 : sched_fuse_server(proc, mount->minor, mount->point);
    if (!pid)
        return false;
    comm_of(proc, pid, comm, sizeof(comm));
    snprintf(out, size, "%s (%d) to reply", comm, pid);
    return true;
}

static void explain_deep(const char *proc, const struct proc_syscall *call, struct blocked_reply *out) {
    char file[224] = "", server[80];
    struct mount mount = {.type = ""};
    int32_t tid = out->query.tid;
    read_stack(proc, tid, out);
    if (!call->is_32)
        call_file(proc, tid, call, file, sizeof(file), &mount);
    const char *stack = out->stack[0] ? out->stack : out->where, *means = kernel_stack_meaning(stack);
    if (means && strstr(means, "FUSE") && fuse_server(proc, &mount, server, sizeof(server)))
        means = server;
    snprintf(out->waits_for, sizeof(out->waits_for), "%s%s%s", means ? means : "", means && file[0] ? ": " : "", file);
}

static void read_state(const char *proc, struct blocked_reply *out) {
    char text[1024];
    long n = task_file(proc, out->query.tid, "stat", text, sizeof(text));
    out->gone = n == -ENOENT || n == -ESRCH;
    const char *close = n > 0 ? strrchr(text, ')') : NULL;
    if (close && close[1] == ' ')
        out->state = close[2];
}

void blocked_explain(const char *proc, const struct blocked_query *query, struct blocked_reply *out) {
    struct proc_syscall call;
    *out = (struct blocked_reply){.query = *query, .syscall = BLOCKED_NO_SYSCALL, .read_ns = now_ns()};
    bool with_state = query->deep || query->state == BLOCKED_RUNNABLE;
    if (with_state)
        read_state(proc, out);
    if (query->state == BLOCKED_RUNNABLE) {
        thread_cgroup(proc, query->tid, "cpu", out->cgroup, sizeof(out->cgroup));
        return;
    }
    // Kernels without CONFIG_KALLSYMS have no wchan: only stat shows that a thread is gone.
    if (task_file(proc, query->tid, "wchan", out->where, sizeof(out->where)) < 0 && !with_state)
        read_state(proc, out);
    if (out->gone)
        return;
    proc_syscall_read(proc, query->tid, &call);
    read_where(proc, query->tid, &call, out);
    out->syscall = call.nr;
    out->is_32 = call.is_32;
    bool remote = strstr(out->where, "request_wait_answer") || strstr(out->where, "rpc_wait");
    if (query->deep && (query->state == BLOCKED_DISK || remote)) {
        out->why = query->state == BLOCKED_DISK ? BLOCKED_BY_UNINTERRUPTIBLE : BLOCKED_BY_SERVER;
        explain_deep(proc, &call, out);
    } else if (call.is_32) {
        return;
    } else if (query->deep && call.nr == SYS_futex ? !explain_futex(proc, &call, out)
                                                   : !query->deep || !explain_file_lock(proc, &call, out)) {
        return;
    }
    thread_cgroup(proc, query->tid, "cpu", out->cgroup, sizeof(out->cgroup));
}
