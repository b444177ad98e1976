// The BPF program that counts events by the process that causes them, and by a detail of the event.
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "collectors/kernel/bpf/regs.h"
#include "collectors/storms/storms.h"

#define KEY (-16)   // struct storm_key, or storm_wait_key
#define VALUE (-32) // struct storm_count, or storm_wait
#define READ (-40)
#define ERROR_MAX 4095
#define SIGINFO_OF_KERNEL 1 // SEND_SIG_PRIV
#define LOCK_SPINS 1        // LCB_F_SPIN of contention_begin

// ctx: the registers, the result. Returns a jump that is taken for calls that do not count; 0: all do.
static size_t put_result(struct bpf_code *code, const struct storm_source *source) {
    size_t other = 0;
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_7, 0));
#ifdef REGS_NUMBER
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_6, 0));
    bpf_put_word(code, BPF_REG_7, READ, REGS_NUMBER);
    bpf_put(code, BPF_AND_IMM(BPF_REG_7, 0xffff));
    if (source->detail == DETAIL_SYNC) {
        size_t is = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_7, SYS_fsync));
        other = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_7, SYS_fdatasync));
        bpf_land(code, is);
    }
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_7, 0, 0, 16));
#endif
    // 0 - result is the error, if it is small.
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_6, 8));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 0));
    bpf_put(code, BPF_SUB_REG(BPF_REG_2, BPF_REG_1));
    if (source->detail == DETAIL_NO_SPACE)
        other = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_2, ENOSPC));
    size_t success = bpf_put(code, BPF_JUMP_IF(BPF_JGT, BPF_REG_2, ERROR_MAX));
    bpf_put(code, BPF_ADD_REG(BPF_REG_7, BPF_REG_2));
    bpf_land(code, success);
    return other;
}

// ctx: the lock, flags. Spins are no waits: no task sleeps.
void storm_wait_program(struct bpf_code *code, int waits) {
    code->n = 0;
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_8, BPF_REG_1, 0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_7, BPF_REG_1, 8));
    bpf_put(code, BPF_AND_IMM(BPF_REG_7, 0xff));
    size_t spins = bpf_put(code, BPF_JUMP_IF(BPF_JSET, BPF_REG_7, LOCK_SPINS));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, VALUE + 8, BPF_REG_7));
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, VALUE, BPF_REG_0));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, KEY, BPF_REG_0));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, KEY + 8, BPF_REG_8));
    bpf_put_update(code, waits, KEY, VALUE, BPF_NOEXIST); // a mutex reports each sleep of one wait
    bpf_land(code, spins);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
}

// R7: flags of the wait that ends, R8: its duration. Returns a jump that is taken if its begin was not traced. During a
// wait the thread may spin for the lock's own spinlock, so the key has the lock (ctx, R6).
static size_t put_wait(struct bpf_code *code, int waits) {
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_8, BPF_REG_6, 0));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, KEY + 8, BPF_REG_8));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, KEY, BPF_REG_0));
    bpf_put_lookup(code, waits, KEY);
    size_t none = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_8, BPF_REG_0, 0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_7, BPF_REG_0, 8));
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, KEY));
    bpf_put_map(code, BPF_REG_1, waits);
    bpf_put(code, BPF_HELPER(BPF_FUNC_map_delete_elem));
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_SUB_REG(BPF_REG_0, BPF_REG_8));
    bpf_put(code, BPF_MOVE(BPF_REG_8, BPF_REG_0));
    return none;
}

// ctx: the signal, its siginfo. Returns a jump that is taken for signals of timers, and of the kernel itself: an
// interrupt sends them, during which any process may run.
static size_t put_sender(struct bpf_code *code) {
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_3, BPF_REG_6, 8));
    size_t kernel = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_3, SIGINFO_OF_KERNEL));
    bpf_put_word(code, BPF_REG_7, READ, offsetof(siginfo_t, si_code)); // 0 without siginfo
    bpf_put(code, BPF_I(BPF_ALU | BPF_SUB | BPF_K, BPF_REG_7, 0, 0, SI_TIMER));
    bpf_land(code, kernel);
    return bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_7, 0));
}

void storm_program(struct bpf_code *code, const struct storm_source *source, int map, int waits) {
    size_t other = 0;
    code->n = 0;
    bpf_put(code, BPF_MOVE(BPF_REG_6, BPF_REG_1));
    if (source->has_value) {
        bpf_put(code, BPF_LOAD(BPF_W, BPF_REG_1, BPF_REG_6, 8 * source->argument));
        other = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_1, source->value));
    }
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_7, 0));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_8, 0));
    if (storm_is_of_calls(source))
        other = put_result(code, source);
    if (source->detail == DETAIL_SIGNAL)
        other = put_sender(code);
    if (source->detail == DETAIL_SIGNAL || source->detail == DETAIL_ORDER) {
        bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_7, BPF_REG_6, 0));
        bpf_put(code, BPF_AND_IMM(BPF_REG_7, 0xff));
    }
    if (source->detail == DETAIL_LOCK)
        other = put_wait(code, waits);
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_0, 32));
    size_t idle = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY, BPF_REG_0));
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY + 4, BPF_REG_7));
    bpf_put_lookup(code, map, KEY);
    size_t none = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    bpf_put(code, BPF_I(BPF_STX | BPF_XADD | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD));
    bpf_put(code, BPF_I(BPF_STX | BPF_XADD | BPF_DW, BPF_REG_0, BPF_REG_8, 8, BPF_ADD));
    size_t counted = bpf_put(code, BPF_JUMP);
    bpf_land(code, none);
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, VALUE, 1));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, VALUE + 8, BPF_REG_8));
    bpf_put_update(code, map, KEY, VALUE, BPF_NOEXIST);
    bpf_land(code, counted);
    bpf_land(code, idle);
    if (other)
        bpf_land(code, other);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
}
