#include "collectors/events/exec_program.h"

#include <string.h>

#include "collectors/kernel/bpf/btf.h"

#define AT(field) ((int16_t)offsetof(struct exec_record, field))

// On the stack.
enum { FOUND = -16, DENTRY = -24, MNT = -32, NAME = -40 };
enum { TASK = BPF_REG_6, OUT = BPF_REG_7, END = BPF_REG_8, N = BPF_REG_9 };
_Static_assert(sizeof(struct exec_record) % 8 == 0, "names follow");

int exec_program_offsets(int32_t offsets[EXEC_OFFSETS]) {
    struct btf_wanted wanted[EXEC_OFFSETS] = {
        [EXEC_PARENT] = {"task_struct", "real_parent", -1},
        [EXEC_LEADER] = {"task_struct", "group_leader", -1},
        [EXEC_TGID] = {"task_struct", "tgid", -1},
        [EXEC_COMM] = {"task_struct", "comm", -1},
        [EXEC_MM] = {"task_struct", "mm", -1},
        [EXEC_FS] = {"task_struct", "fs", -1},
        [EXEC_ARG_START] = {"mm_struct", "arg_start", -1},
        [EXEC_ARG_END] = {"mm_struct", "arg_end", -1},
        [EXEC_PWD] = {"fs_struct", "pwd", -1},
        [EXEC_PATH_MNT] = {"path", "mnt", -1},
        [EXEC_PATH_DENTRY] = {"path", "dentry", -1},
        [EXEC_D_PARENT] = {"dentry", "d_parent", -1},
        [EXEC_D_NAME] = {"dentry", "d_name", -1},
        [EXEC_D_HASH] = {"dentry", "d_hash", -1},
        [EXEC_HASH_PPREV] = {"hlist_bl_node", "pprev", -1},
        [EXEC_NAME] = {"qstr", "name", -1},
        [EXEC_MNT_ROOT] = {"vfsmount", "mnt_root", -1},
        [EXEC_MOUNT_MNT] = {"mount", "mnt", -1},
        [EXEC_MOUNT_PARENT] = {"mount", "mnt_parent", -1},
        [EXEC_MOUNT_POINT] = {"mount", "mnt_mountpoint", -1},
    };
    int error = btf_members("/sys/kernel/btf/vmlinux", wanted, EXEC_OFFSETS);
    for (int i = 0; i < EXEC_OFFSETS; i++)
        offsets[i] = wanted[i].offset;
    return error;
}

// The pointer at an offset of what a pointer on the stack points to.
static void pointer_follow(struct bpf_code *code, int16_t to, int from, int offset) {
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_10, (int16_t)from));
    bpf_put_pointer(code, to, offset);
}

// Bytes at an offset of what a pointer on the stack points to, to the record.
static void field_read(struct bpf_code *code, int16_t field, int bytes, int from, int offset) {
    bpf_put(code, BPF_MOVE(BPF_REG_1, OUT));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, field));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, bytes));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_10, (int16_t)from));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_3, offset));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel));
}

static void stack_copy(struct bpf_code *code, int16_t field, int from) {
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)from));
    bpf_put(code, BPF_STORE(BPF_DW, OUT, field, BPF_REG_1));
}

static void flag_add(struct bpf_code *code, int flag) {
    bpf_put(code, BPF_LOAD(BPF_W, BPF_REG_1, OUT, AT(flags)));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, flag));
    bpf_put(code, BPF_STORE(BPF_W, OUT, AT(flags), BPF_REG_1));
}

static void header_write(struct bpf_code *code, const int32_t *offsets) {
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_STORE(BPF_DW, OUT, AT(ns), BPF_REG_0));
    bpf_put_task(code, OUT, AT(task), FOUND, &(struct bpf_task_offsets){offsets[EXEC_PARENT], offsets[EXEC_TGID]});
    pointer_follow(code, FOUND, FOUND, offsets[EXEC_LEADER]);
    field_read(code, AT(parent), 16, FOUND, offsets[EXEC_COMM]);
    bpf_put(code, BPF_STORE_IMM(BPF_W, OUT, AT(flags), 0));
    bpf_put(code, BPF_MOVE(BPF_REG_1, OUT));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, AT(comm)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 16));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_comm));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_task));
    bpf_put(code, BPF_MOVE(TASK, BPF_REG_0));
}

// Names of the working directory and its parents, across mount points, as prepend_path does.
static void dir_read(struct bpf_code *code, const int32_t *offsets) {
    bpf_put(code, BPF_MOVE(BPF_REG_3, TASK));
    bpf_put_pointer(code, FOUND, offsets[EXEC_FS]);
    pointer_follow(code, DENTRY, FOUND, offsets[EXEC_PWD] + offsets[EXEC_PATH_DENTRY]);
    pointer_follow(code, MNT, FOUND, offsets[EXEC_PWD] + offsets[EXEC_PATH_MNT]);
    pointer_follow(code, FOUND, DENTRY, offsets[EXEC_D_HASH] + offsets[EXEC_HASH_PPREV]);
    stack_copy(code, AT(dentry), DENTRY);
    stack_copy(code, AT(hashed), FOUND);
    pointer_follow(code, FOUND, MNT, offsets[EXEC_MNT_ROOT]);
    stack_copy(code, AT(root), FOUND);
    bpf_put(code, BPF_MOVE_IMM(N, 0));
    const size_t top = code->n;
    size_t deep = bpf_put(code, BPF_JUMP_IF(BPF_JGE, N, EXEC_NAMES));
    bpf_put(code, BPF_ADD_IMM(N, 1));
    pointer_follow(code, FOUND, MNT, offsets[EXEC_MNT_ROOT]);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, FOUND));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_2, BPF_REG_10, DENTRY));
    size_t below = bpf_put(code, BPF_JUMP_IF_REG(BPF_JNE, BPF_REG_1, BPF_REG_2));
    // The root of a mount: go on at its mount point. The topmost mount is its own parent.
    pointer_follow(code, FOUND, MNT, offsets[EXEC_MOUNT_PARENT] - offsets[EXEC_MOUNT_MNT]);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, FOUND));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, offsets[EXEC_MOUNT_MNT]));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, FOUND, BPF_REG_1));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_2, BPF_REG_10, MNT));
    size_t known = bpf_put(code, BPF_JUMP_IF_REG(BPF_JEQ, BPF_REG_1, BPF_REG_2));
    pointer_follow(code, DENTRY, MNT, offsets[EXEC_MOUNT_POINT] - offsets[EXEC_MOUNT_MNT]);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, FOUND));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, MNT, BPF_REG_1));
    bpf_jump_to(code, top);
    bpf_land(code, below);
    pointer_follow(code, FOUND, DENTRY, offsets[EXEC_D_PARENT]);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, FOUND));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_2, BPF_REG_10, DENTRY));
    size_t detached = bpf_put(code, BPF_JUMP_IF_REG(BPF_JEQ, BPF_REG_1, BPF_REG_2));
    size_t failed = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, 0));
    pointer_follow(code, NAME, DENTRY, offsets[EXEC_D_NAME] + offsets[EXEC_NAME]);
    bpf_put(code, BPF_MOVE(BPF_REG_1, OUT));
    bpf_put(code, BPF_ADD_REG(BPF_REG_1, END));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, EXEC_NAME_BYTES));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_10, NAME));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel_str));
    size_t unreadable = bpf_put(code, BPF_JUMP_IF(BPF_JGT, BPF_REG_0, EXEC_NAME_BYTES)); // errors are large numbers
    bpf_put(code, BPF_ADD_REG(END, BPF_REG_0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, FOUND));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, DENTRY, BPF_REG_1));
    bpf_jump_to(code, top);
    bpf_land(code, known);
    flag_add(code, EXEC_DIR_KNOWN);
    bpf_land(code, deep);
    bpf_land(code, detached);
    bpf_land(code, failed);
    bpf_land(code, unreadable);
    bpf_put(code, BPF_MOVE(BPF_REG_1, END));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, -(int)sizeof(struct exec_record)));
    bpf_put(code, BPF_STORE(BPF_W, OUT, AT(dir_bytes), BPF_REG_1));
}

static void args_read(struct bpf_code *code, const int32_t *offsets) {
    bpf_put(code, BPF_STORE_IMM(BPF_W, OUT, AT(args_bytes), 0));
    bpf_put(code, BPF_MOVE(BPF_REG_3, TASK));
    bpf_put_pointer(code, FOUND, offsets[EXEC_MM]);
    pointer_follow(code, NAME, FOUND, offsets[EXEC_ARG_START]);
    pointer_follow(code, FOUND, FOUND, offsets[EXEC_ARG_END]);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_10, NAME));
    bpf_put(code, BPF_LOAD(BPF_DW, N, BPF_REG_10, FOUND));
    bpf_put(code, BPF_SUB_REG(N, BPF_REG_3));
    size_t fits = bpf_put(code, BPF_JUMP_IF(BPF_JLE, N, EXEC_ARGS_BYTES));
    bpf_put(code, BPF_MOVE_IMM(N, EXEC_ARGS_BYTES));
    bpf_land(code, fits);
    bpf_put(code, BPF_MOVE(BPF_REG_1, OUT));
    bpf_put(code, BPF_ADD_REG(BPF_REG_1, END));
    bpf_put(code, BPF_MOVE(BPF_REG_2, N));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_user));
    size_t failed = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_0, 0));
    bpf_put(code, BPF_STORE(BPF_W, OUT, AT(args_bytes), N));
    bpf_put(code, BPF_ADD_REG(END, N));
    flag_add(code, EXEC_ARGS_KNOWN);
    bpf_land(code, failed);
}

void exec_program(struct bpf_code *code, const int32_t offsets[EXEC_OFFSETS], const struct bpf_recorder *recorder) {
    code->n = 0;
    size_t none = bpf_put_scratch(code, OUT, recorder);
    header_write(code, offsets);
    bpf_put(code, BPF_MOVE_IMM(END, sizeof(struct exec_record)));
    dir_read(code, offsets);
    args_read(code, offsets);
    // ktop reads at its pace; it is woken if the ring fills.
    bpf_put_map(code, BPF_REG_1, recorder->ring.fd);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, BPF_RB_AVAIL_DATA));
    bpf_put(code, BPF_HELPER(BPF_FUNC_ringbuf_query));
    bpf_put(code, BPF_MOVE_IMM(N, BPF_RB_FORCE_WAKEUP));
    size_t full = bpf_put(code, BPF_JUMP_IF(BPF_JGT, BPF_REG_0, EXEC_RING_BYTES / 4));
    bpf_put(code, BPF_MOVE_IMM(N, BPF_RB_NO_WAKEUP));
    bpf_land(code, full);
    bpf_put_record(code, OUT, END, N, recorder);
    bpf_land(code, none);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
}

bool exec_dir_path(const struct exec_record *record, const char *names, char *out, size_t size) {
    static const char deleted[] = " (deleted)";
    bool removed = !record->hashed && record->dentry != record->root;
    size_t left = record->dir_bytes, at = size - 1 - (removed ? sizeof(deleted) - 1 : 0), end = at;
    if (!(record->flags & EXEC_DIR_KNOWN) || size < sizeof(deleted) + 2)
        return false;
    for (const char *name = names; left;) {
        size_t length = strnlen(name, left);
        if (length == left || length + 1 > at)
            return false;
        at -= length + 1;
        out[at] = '/';
        memcpy(out + at + 1, name, length);
        name += length + 1;
        left -= length + 1;
    }
    if (at == end)
        out[--at] = '/';
    memmove(out, out + at, end - at);
    memcpy(out + (end - at), deleted, removed ? sizeof(deleted) - 1 : 0);
    out[end - at + (removed ? sizeof(deleted) - 1 : 0)] = '\0';
    return true;
}
