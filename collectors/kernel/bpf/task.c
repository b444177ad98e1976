#include "collectors/kernel/bpf/task.h"

#include <stdio.h>

#include "collectors/kernel/bpf/btf.h"

#define AT(field) ((int16_t)(at + (int16_t)offsetof(struct bpf_task, field)))

struct bpf_task_offsets bpf_task_offsets(void) {
    struct btf_wanted wanted[] = {{"task_struct", "real_parent", -1}, {"task_struct", "tgid", -1}};
    if (btf_members("/sys/kernel/btf/vmlinux", wanted, 2))
        return (struct bpf_task_offsets){-1, -1};
    return (struct bpf_task_offsets){wanted[0].offset, wanted[1].offset};
}

void bpf_put_task(struct bpf_code *code, uint8_t out, int16_t at, int16_t stack,
                  const struct bpf_task_offsets *offsets) {
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_STORE(BPF_W, out, AT(tid), BPF_REG_0));
    bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_0, 32));
    bpf_put(code, BPF_STORE(BPF_W, out, AT(pid), BPF_REG_0));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_uid_gid));
    bpf_put(code, BPF_STORE(BPF_W, out, AT(user), BPF_REG_0));
    bpf_put(code, BPF_STORE_IMM(BPF_W, out, AT(ppid), 0));
    if (offsets->parent < 0)
        return;
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_task));
    bpf_put(code, BPF_MOVE(BPF_REG_3, BPF_REG_0));
    bpf_put_pointer(code, stack, offsets->parent);
    bpf_put(code, BPF_MOVE(BPF_REG_1, out));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, AT(ppid)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 4));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_10, stack));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_3, offsets->tgid));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel));
}

struct thread_status bpf_task_status(const struct bpf_task *task, const char *comm) {
    struct thread_status status = {.pid = (int32_t)task->pid, .parent = (int32_t)task->ppid, .user = task->user};
    snprintf(status.name, sizeof(status.name), "%.16s", comm);
    return status;
}
