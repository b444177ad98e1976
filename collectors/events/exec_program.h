// What a BPF program records at each sched:sched_process_exec: the new program's arguments, its parent, and its working
// directory as names from the directory up to the root of its mount namespace. The kernel has just written the
// arguments into the new memory and the program has not run yet, so they are what execve(2) was given, also if it
// exits at once. Kernel sources: fs/exec.c (exec_binprm), fs/d_path.c (prepend_path), fs/mount.h.
#ifndef COLLECTORS_EVENTS_EXEC_PROGRAM_H
#define COLLECTORS_EVENTS_EXEC_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/bpf/recorder.h"
#include "collectors/kernel/bpf/task.h"

#define EXEC_ARGS_BYTES 16384 // longer arguments are cut
#define EXEC_NAMES 32         // of the directory, with its mount points; a deeper one is unknown
#define EXEC_NAME_BYTES 256   // NAME_MAX with its NUL
#define EXEC_RING_BYTES (2u << 20)

enum { EXEC_DIR_KNOWN = 1, EXEC_ARGS_KNOWN = 2 };
struct exec_record {
    uint64_t ns; // CLOCK_MONOTONIC
    struct bpf_task task;
    uint64_t dentry, root; // the directory's, and its mount's
    uint64_t hashed;       // 0: the directory was removed, unless dentry == root
    uint32_t flags;
    uint32_t dir_bytes, args_bytes; // of the names and the arguments, which follow; each ends with a NUL
    char comm[16], parent[16];
};

// Where the kernel's structures have what is read. 0 or -errno of btf_members.
enum {
    EXEC_PARENT,
    EXEC_LEADER,
    EXEC_TGID,
    EXEC_COMM,
    EXEC_MM,
    EXEC_FS,
    EXEC_ARG_START,
    EXEC_ARG_END,
    EXEC_PWD,
    EXEC_PATH_MNT,
    EXEC_PATH_DENTRY,
    EXEC_D_PARENT,
    EXEC_D_NAME,
    EXEC_D_HASH,
    EXEC_HASH_PPREV,
    EXEC_NAME,
    EXEC_MNT_ROOT,
    EXEC_MOUNT_MNT,
    EXEC_MOUNT_PARENT,
    EXEC_MOUNT_POINT,
    EXEC_OFFSETS
};
int exec_program_offsets(int32_t offsets[EXEC_OFFSETS]);

#define EXEC_SCRATCH_BYTES                                                                                             \
    (sizeof(struct exec_record) + (EXEC_NAMES + 1) * EXEC_NAME_BYTES + EXEC_ARGS_BYTES) // for bpf_recorder_open
void exec_program(struct bpf_code *code, const int32_t offsets[EXEC_OFFSETS], const struct bpf_recorder *recorder);

// The directory's path from its names, leaf first, with " (deleted)" as the kernel writes it. False: it is malformed,
// or longer than `size`.
bool exec_dir_path(const struct exec_record *record, const char *names, char *out, size_t size);

#endif
