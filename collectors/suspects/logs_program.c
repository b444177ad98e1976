// The BPF program that counts calls which send or read, by thread and descriptor: log lines, among others.
#include <stddef.h>
#include <sys/syscall.h>

#include "collectors/kernel/bpf/regs.h"
#include "collectors/suspects/logs.h"

#define KEY (-16)
#define VALUE (-24)
#define WORD (-32)

static const int32_t sends[] = {SYS_sendto, SYS_sendmsg, SYS_write, SYS_writev, SYS_sendmmsg};
static const int32_t reads[] = {SYS_recvfrom, SYS_recvmsg, SYS_read, SYS_readv, SYS_recvmmsg};
#define SENDS (sizeof(sends) / sizeof(sends[0]))
#define READS (sizeof(reads) / sizeof(reads[0]))

bool logs_send_waits(const struct proc_syscall *call, uint32_t fd) {
    for (size_t i = 0; i < SENDS; i++)
        if (!call->running && !call->is_32 && call->nr == sends[i])
            return call->args[0] == fd;
    return false;
}

#ifdef REGS_NUMBER
// Adds 1 to the value of the key on the stack.
static void put_count(struct bpf_code *code, int map) {
    bpf_put_lookup(code, map, KEY);
    size_t none = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    bpf_put(code, BPF_I(BPF_STX | BPF_XADD | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD));
    size_t counted = bpf_put(code, BPF_JUMP);
    bpf_land(code, none);
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, VALUE, 1));
    bpf_put_update(code, map, KEY, VALUE, BPF_NOEXIST);
    bpf_land(code, counted);
}

// ctx of sys_exit: the registers, the result.
bool logs_program(struct bpf_code *code, int map) {
    static const int16_t arguments[] = REGS_ARGUMENTS;
    size_t at_send[SENDS], at_read[READS];
    code->n = 0;
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_8, BPF_REG_1, 0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_6, BPF_REG_1, 8));
    size_t failed = bpf_put(code, BPF_JUMP_IF(BPF_JSLT, BPF_REG_6, 0));
    bpf_put(code, BPF_MOVE(BPF_REG_3, BPF_REG_8));
    bpf_put_word(code, BPF_REG_7, WORD, REGS_NUMBER);
    for (size_t i = 0; i < SENDS; i++)
        at_send[i] = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_7, sends[i]));
    for (size_t i = 0; i < READS; i++)
        at_read[i] = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_7, reads[i]));
    size_t other = bpf_put(code, BPF_JUMP);
    for (size_t i = 0; i < READS; i++)
        bpf_land(code, at_read[i]);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_9, (int32_t)LOGS_READS));
    size_t is = bpf_put(code, BPF_JUMP);
    for (size_t i = 0; i < SENDS; i++)
        bpf_land(code, at_send[i]);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_9, 0));
    bpf_land(code, is);
    bpf_put(code, BPF_MOVE(BPF_REG_3, BPF_REG_8));
    bpf_put_word(code, BPF_REG_7, WORD, arguments[0]);
    bpf_put(code, BPF_ADD_REG(BPF_REG_9, BPF_REG_7));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY + 4, BPF_REG_0));
    bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_0, 32));
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY, BPF_REG_0));
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY + 8, BPF_REG_9));
    bpf_put(code, BPF_STORE_IMM(BPF_W, BPF_REG_10, KEY + 12, 0));
    put_count(code, map);
    bpf_land(code, other);
    bpf_land(code, failed);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
    return true;
}
#else
bool logs_program(struct bpf_code *code, int map) {
    (void)code;
    (void)map;
    return false;
}
#endif
