#include "collectors/events/call_program.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "collectors/kernel/bpf/regs.h"

static const int16_t regs_args[CALL_ARGS] = REGS_ARGUMENTS;

#define STACK_REGS (-(int)(8 + REGS_BYTES))
#define AT(field) ((int16_t)offsetof(struct call_record, field))

enum { CONTEXT = BPF_REG_6, OUT = BPF_REG_7, END = BPF_REG_8, CALL = BPF_REG_9 };
_Static_assert(sizeof(struct call_record) % 8 == 0, "strings follow");

// dst: an offset in the stack.
static void regs_read(struct bpf_code *code, int dst, int bytes, int from) {
    bpf_put(code, BPF_MOVE(BPF_REG_1, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, dst));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, bytes));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, CONTEXT, 0));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_3, from));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel));
}

static void header_write(struct bpf_code *code, const struct bpf_task_offsets *offsets) {
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_STORE(BPF_DW, OUT, AT(ns), BPF_REG_0));
    bpf_put_task(code, OUT, AT(task), -8, offsets);
    bpf_put(code, BPF_STORE(BPF_W, OUT, AT(call), CALL));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_smp_processor_id));
    bpf_put(code, BPF_STORE(BPF_W, OUT, AT(cpu), BPF_REG_0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, CONTEXT, 8));
    bpf_put(code, BPF_STORE(BPF_DW, OUT, AT(result), BPF_REG_1));
    for (int i = 0; i < CALL_ARGS; i++) {
        bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)(STACK_REGS + regs_args[i])));
        bpf_put(code, BPF_STORE(BPF_DW, OUT, (int16_t)(AT(args) + 8 * i), BPF_REG_1));
    }
    bpf_put(code, BPF_STORE_IMM(BPF_DW, OUT, AT(lengths), 0));
    bpf_put(code, BPF_MOVE(BPF_REG_1, OUT));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, AT(comm)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 16));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_comm));
}

// END: where the next string goes.
static void string_read(struct bpf_code *code, const struct call_arg *arg, int at, int string) {
    bool how = arg->kind == CALL_HOW;
    int16_t length = (int16_t)(AT(lengths) + 2 * string);
    bpf_put(code, BPF_MOVE(BPF_REG_1, OUT));
    bpf_put(code, BPF_ADD_REG(BPF_REG_1, END));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, how ? 24 : CALL_STRING_BYTES));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, OUT, (int16_t)(AT(args) + 8 * at)));
    bpf_put(code, BPF_HELPER(how ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_user_str));
    // An error is a large number here.
    size_t failed = bpf_put(code, BPF_JUMP_IF(BPF_JGT, BPF_REG_0, how ? 0 : CALL_STRING_BYTES));
    if (how)
        bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 24));
    bpf_put(code, BPF_STORE(BPF_H, OUT, length, BPF_REG_0));
    bpf_put(code, BPF_ADD_REG(END, BPF_REG_0));
    size_t done = bpf_put(code, BPF_JUMP);
    bpf_land(code, failed);
    bpf_put(code, BPF_STORE_IMM(BPF_H, OUT, length, CALL_UNREADABLE));
    bpf_land(code, done);
}

// Of hidden calls only those that change a directory or duplicate a descriptor.
static size_t hidden_check(struct bpf_code *code, const struct call *call, size_t *exits) {
    size_t n = 0;
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, OUT, AT(result)));
    exits[n++] = bpf_put(code, BPF_JUMP_IF(BPF_JSLT, BPF_REG_1, 0));
    if (call->number != SYS_fcntl)
        return n;
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, OUT, AT(args) + 8));
    size_t dup = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, F_DUPFD));
    size_t cloexec = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, F_DUPFD_CLOEXEC));
    exits[n++] = bpf_put(code, BPF_JUMP);
    bpf_land(code, dup);
    bpf_land(code, cloexec);
    return n;
}

// Stores the flags of the ring: a relative path wakes ktop at once, because its directory may change; other calls do
// when the ring fills.
static void wakeup_choose(struct bpf_code *code, const struct call *call, int ring) {
    bool path_first = call->args[0].kind == CALL_PATH || call->args[0].kind == CALL_DIRFD;
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, -8, call->hidden ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP));
    if (call->hidden || !path_first)
        return;
    bpf_put(code, BPF_LOAD(BPF_B, BPF_REG_1, OUT, (int16_t)sizeof(struct call_record)));
    size_t relative = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_1, '/'));
    bpf_put_map(code, BPF_REG_1, ring);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, BPF_RB_AVAIL_DATA));
    bpf_put(code, BPF_HELPER(BPF_FUNC_ringbuf_query));
    size_t full = bpf_put(code, BPF_JUMP_IF(BPF_JGT, BPF_REG_0, CALL_RING_BYTES / 4));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, -8, BPF_RB_NO_WAKEUP));
    bpf_land(code, relative);
    bpf_land(code, full);
}

void call_program(struct bpf_code *code, const bool *wanted, uint32_t self, const struct bpf_task_offsets *offsets,
                  const struct bpf_recorder *recorder) {
    size_t to_common[64], to_ring[64], exits[64], n_common = 0, n_ring = 0, n_exits = 0;
    code->n = 0;
    bpf_put(code, BPF_MOVE(CONTEXT, BPF_REG_1));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, -8, 0));
    regs_read(code, -8, REGS_NUMBER_BYTES, REGS_NUMBER);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, -8));
    for (size_t i = 0; i < calls_table_n; i++) {
        if (!wanted[i] || calls_table[i].number < 0)
            continue;
        size_t next = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_1, calls_table[i].number));
        bpf_put(code, BPF_MOVE_IMM(CALL, (int)i));
        to_common[n_common++] = bpf_put(code, BPF_JUMP);
        bpf_land(code, next);
    }
    exits[n_exits++] = bpf_put(code, BPF_JUMP);
    for (size_t i = 0; i < n_common; i++)
        bpf_land(code, to_common[i]);
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_0, 32));
    exits[n_exits++] = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, (int)self));
    regs_read(code, STACK_REGS, REGS_BYTES, 0);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, STACK_REGS + REGS_MODE));
    exits[n_exits++] = bpf_put(code, REGS_IS_32_BIT(BPF_REG_1));
    exits[n_exits++] = bpf_put_scratch(code, OUT, recorder);
    header_write(code, offsets);
    bpf_put(code, BPF_MOVE_IMM(END, sizeof(struct call_record)));
    for (size_t i = 0; i < calls_table_n; i++) {
        const struct call *call = &calls_table[i];
        if (!wanted[i] || call->number < 0)
            continue;
        size_t next = bpf_put(code, BPF_JUMP_IF(BPF_JNE, CALL, (int)i));
        if (call->hidden)
            n_exits += hidden_check(code, call, exits + n_exits);
        for (int at = 0, string = 0; at < CALL_ARGS; at++)
            if (call_is_string(call->args[at].kind))
                string_read(code, &call->args[at], at, string++);
        wakeup_choose(code, call, recorder->ring.fd);
        to_ring[n_ring++] = bpf_put(code, BPF_JUMP);
        bpf_land(code, next);
    }
    for (size_t i = 0; i < n_ring; i++)
        bpf_land(code, to_ring[i]);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_4, BPF_REG_10, -8));
    bpf_put_record(code, OUT, END, BPF_REG_4, recorder);
    for (size_t i = 0; i < n_exits; i++)
        bpf_land(code, exits[i]);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
}
