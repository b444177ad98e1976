// See walk.h. No state.
#include "collectors/kernel/unwind/walk.h"

#include <string.h>
#include <sys/auxv.h>

#include "collectors/kernel/unwind/link.h"

// The main stack lies above the copy, by at most the usual limit of a thread's stack and more.
#define STACK_SPAN (1ull << 30)

bool unwind_registers_decode(const uint64_t *values, size_t count, struct unwind_registers *out) {
    *out = (struct unwind_registers){0};
#if !defined(UNWIND_ARM64)
    if (count < 8)
        return false;
    out->saved[0] = values[0];
    out->fp = values[1];
    out->sp = values[2];
    out->ip = values[3];
    memcpy(out->saved + 1, values + 4, 4 * sizeof(*values));
#else
    if (count < 14)
        return false;
    memcpy(out->saved, values, 10 * sizeof(*values));
    out->fp = values[10];
    out->lr = unwind_code_address(values[11]);
    out->sp = values[12];
    out->ip = values[13];
#endif
    return true;
}

uint64_t unwind_link_decode(uint64_t value) {
    return unwind_code_address(value);
}

enum step unwind_copy_word(const struct unwind_copy *copy, uint64_t address, uint64_t *value) {
    uint64_t offset = address - copy->start;
    if (offset < copy->size && copy->size - offset >= sizeof(*value)) {
        memcpy(value, copy->bytes + offset, sizeof(*value));
        return STEP_OK;
    }
    return address >= copy->start && offset < STACK_SPAN ? STEP_LEFT : STEP_BAD;
}

uint64_t unwind_address_mask(uint64_t high) {
    return high ? ~0ull >> __builtin_clzll(high) : ~0ull;
}

uint64_t unwind_code_address(uint64_t address) {
#if defined(UNWIND_ARM64)
    // The bits above those of addresses, of which a kernel has 39 to 52, hold the code. The first stack is at the top.
    static _Atomic uint64_t known;
    uint64_t mask = known;
    if (!mask)
        known = mask = unwind_address_mask(getauxval(AT_RANDOM));
    return address & mask;
#else
    return address;
#endif
}

static enum step frame_address(const struct cfi_rule *rule, const struct unwind_copy *copy,
                               const struct unwind_registers *from, uint64_t *cfa) {
    int64_t offset = rule->cfa_offset;
    switch (rule->cfa) {
    case CFA_SP:
        *cfa = from->sp + (uint64_t)offset;
        return STEP_OK;
    case CFA_FP:
        *cfa = from->fp + (uint64_t)offset;
        return STEP_OK;
    case CFA_SAVED:
        *cfa = from->saved[rule->cfa_slot] + (uint64_t)offset;
        return STEP_OK;
    case CFA_PLT:
        *cfa = from->sp + 8 + ((from->ip & 15) >= (uint64_t)offset ? 8 : 0);
        return STEP_OK;
    case CFA_DEREF:
        return unwind_copy_word(copy, from->sp + (uint64_t)offset, cfa);
    default:
        return STEP_BAD;
    }
}

enum step unwind_apply_rule(const struct cfi_rule *rule, const struct unwind_copy *copy,
                            const struct unwind_registers *from, struct unwind_registers *to) {
    uint64_t cfa, values[CFI_SLOTS];
    if (rule->where[CFI_RA] == WHERE_UNDEFINED)
        return STEP_WHOLE;
    enum step step = frame_address(rule, copy, from, &cfa);
    if (step != STEP_OK)
        return step;
    memcpy(values, from->saved, sizeof(from->saved));
    values[CFI_FP] = from->fp;
    values[CFI_RA] = from->lr;
    for (int i = 0; i < CFI_SLOTS; i++) {
        uint64_t base = rule->where[i] == WHERE_SP ? from->sp : cfa;
        if (rule->where[i] != WHERE_CFA && rule->where[i] != WHERE_SP)
            continue;
        step = unwind_copy_word(copy, base + (uint64_t)(int64_t)rule->offset[i], &values[i]);
        // Only the return address is needed for this step; the loss of another register may never matter.
        if (step != STEP_OK && i == CFI_RA)
            return step;
    }
#if !defined(UNWIND_ARM64)
    if (rule->where[CFI_RA] == WHERE_SAME)
        return STEP_BAD;
#endif
    to->ip = unwind_code_address(values[CFI_RA]);
    to->lr = to->ip;
    to->sp = cfa;
    to->fp = values[CFI_FP];
    memcpy(to->saved, values, sizeof(to->saved));
    return STEP_OK;
}

bool unwind_keeps_record(const struct cfi_rule *rule) {
    return rule->where[CFI_FP] == WHERE_CFA && rule->where[CFI_RA] == WHERE_CFA &&
           rule->offset[CFI_RA] == rule->offset[CFI_FP] + 8;
}

bool unwind_rule_by_record(struct cfi_rule *rule) {
    if (rule->cfa != CFA_SP || !unwind_keeps_record(rule))
        return false;
    rule->cfa = CFA_FP;
    rule->cfa_offset = -rule->offset[CFI_FP];
    return true;
}

enum step unwind_apply_fp(const struct unwind_copy *copy, const struct unwind_registers *from,
                          struct unwind_registers *to) {
    uint64_t ip, fp;
    if (!from->fp)
        return STEP_WHOLE;
    if (from->fp % 8 || from->fp < from->sp)
        return STEP_NO_ROW;
    enum step step = unwind_copy_word(copy, from->fp + 8, &ip);
    if (step == STEP_OK)
        step = unwind_copy_word(copy, from->fp, &fp);
    if (step != STEP_OK)
        return step == STEP_LEFT ? STEP_LEFT : STEP_NO_ROW;
    *to = *from;
    to->ip = to->lr = unwind_code_address(ip);
    to->fp = fp;
    to->sp = from->fp + 16;
    return STEP_OK;
}

#if defined(UNWIND_ARM64)
bool unwind_apply_sigreturn(const uint8_t code[8], const struct unwind_copy *copy, const struct unwind_registers *from,
                            struct unwind_registers *to, enum step *step) {
    // mov x8, #139 (rt_sigreturn); svc #0
    static const uint8_t trampoline[8] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
    // struct rt_sigframe: siginfo 128, then ucontext: uc_mcontext at 176, regs at 8 of it (asm/sigcontext.h).
    uint64_t registers = from->sp + 128 + 176 + 8, words[34];
    if (memcmp(code, trampoline, sizeof(trampoline)))
        return false;
    for (unsigned i = 19; i < 33; i++) {
        *step = unwind_copy_word(copy, registers + i * 8ull, &words[i]);
        if (*step != STEP_OK)
            return true;
    }
    memcpy(to->saved, words + 19, sizeof(to->saved));
    to->fp = words[29];
    to->lr = unwind_code_address(words[30]);
    to->sp = words[31];
    to->ip = unwind_code_address(words[32]);
    return true;
}

bool unwind_apply_edge(const uint8_t *code, size_t size, const struct unwind_copy *copy,
                       const struct unwind_registers *from, struct unwind_registers *to) {
    (void)code, (void)size, (void)copy, (void)from, (void)to;
    return false;
}

bool unwind_apply_go(uint32_t size, const struct unwind_copy *copy, const struct unwind_registers *from,
                     struct unwind_registers *to) {
    (void)size, (void)copy, (void)from, (void)to;
    return false;
}

bool unwind_is_call(const uint8_t *before, size_t size) {
    uint32_t code;
    if (size < 4)
        return false;
    memcpy(&code, before + size - 4, 4);
    return unwind_link_is_call(code);
}
#else
bool unwind_apply_sigreturn(const uint8_t code[8], const struct unwind_copy *copy, const struct unwind_registers *from,
                            struct unwind_registers *to, enum step *step) {
    (void)code, (void)copy, (void)from, (void)to, (void)step;
    return false;
}

bool unwind_apply_edge(const uint8_t *code, size_t size, const struct unwind_copy *copy,
                       const struct unwind_registers *from, struct unwind_registers *to) {
    static const uint8_t moves[2][3] = {{0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xec}}; // mov rbp, rsp
    static const uint8_t endbr[4] = {0xf3, 0x0f, 0x1e, 0xfa};
    bool pushed = size >= 3 && (!memcmp(code, moves[0], 3) || !memcmp(code, moves[1], 3));
    bool entry = size >= 1 && (code[0] == 0x55 || code[0] == 0xc3); // push rbp; ret
    entry |= size >= 4 && !memcmp(code, endbr, 4);
    uint64_t at = from->sp + (pushed ? 8 : 0), ip, fp = from->fp;
    if ((!pushed && !entry) || unwind_copy_word(copy, at, &ip) != STEP_OK ||
        (pushed && unwind_copy_word(copy, from->sp, &fp) != STEP_OK))
        return false;
    *to = *from;
    to->ip = to->lr = ip;
    to->fp = fp;
    to->sp = at + 8;
    return true;
}

bool unwind_apply_go(uint32_t size, const struct unwind_copy *copy, const struct unwind_registers *from,
                     struct unwind_registers *to) {
    uint64_t at = from->sp + size, ip, fp = from->fp;
    if (unwind_copy_word(copy, at, &ip) != STEP_OK)
        return false;
    // The frame pointer is the caller's until the prologue has stored it below the return address.
    if (size >= 8 && from->fp == at - 8 && unwind_copy_word(copy, at - 8, &fp) != STEP_OK)
        return false;
    *to = *from;
    to->ip = to->lr = ip;
    to->fp = fp;
    to->sp = at + 8;
    return true;
}

// Bytes of `call r/m64` (ff /2) after the opcode.
static size_t operand_size(uint8_t modrm) {
    uint8_t mod = modrm >> 6, rm = modrm & 7;
    size_t sib = mod != 3 && rm == 4;
    if (mod == 1)
        return 2 + sib;
    if (mod == 2 || (mod == 0 && rm == 5))
        return 5 + sib;
    return 1 + sib;
}

bool unwind_is_call(const uint8_t *before, size_t size) {
    if (size >= 5 && before[size - 5] == 0xe8)
        return true;
    for (size_t back = 2; back <= 7 && back <= size; back++) {
        const uint8_t *code = before + size - back;
        if (code[0] == 0xff && (code[1] >> 3 & 7) == 2 && operand_size(code[1]) == back - 1)
            return true;
    }
    return false;
}
#endif

size_t unwind_splice(const struct unwind_frame *frames, size_t count, const uint64_t *chain, size_t chain_count) {
    size_t best = chain_count, best_length = 0;
    // A chain steps over the function that a signal interrupted: meet it at the handler's return.
    size_t last = count > 1 && frames[count - 1].exact ? count - 2 : count - 1;
    // It also steps over the caller of a function without a frame record.
    bool short_by_one = last > 1 && chain_count > 1 && frames[1].ip != chain[1] && frames[2].ip == chain[1];
    size_t expected = short_by_one ? last - 1 : last;
    for (size_t at = 0; at < chain_count; at++) {
        size_t length = 0;
        while (length <= last && length <= at && frames[last - length].ip == chain[at - length])
            length++;
        // Of recursion every frame looks the same: the longest match, and of equal ones the nearest in depth.
        size_t distance = at > expected ? at - expected : expected - at;
        size_t best_distance = best > expected ? best - expected : expected - best;
        if (length && (length > best_length || (length == best_length && distance < best_distance))) {
            best = at;
            best_length = length;
        }
    }
    return best == chain_count ? chain_count : best + 1;
}
