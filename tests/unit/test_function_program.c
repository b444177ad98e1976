// The programs at entries and returns, run by a small interpreter: which calls count, on chosen CPUs and between start
// and stop functions; nested calls of a thread that changes its CPU.
#include "collectors/functions/program.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/model_test.h"

enum { COUNTS_MAP = 100, CALLS_MAP, KERNEL_MAP, SWITCH_MAP };
enum { PLACES = 4, ENTRIES = 16 };

struct key {
    uint32_t place, pid;
    uint64_t stack;
};
static struct entry {
    bool used;
    int map;
    struct key key;
    uint64_t value[8];
} entries[ENTRIES];
static struct place_counts counts[PLACES];
static struct function_switch switch_;
static struct function_cpus cpus;
static struct function_maps maps;
static uint64_t now, thread;
static uint32_t cpu, place;

static struct entry *entry_find(int map, const void *key) {
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].used && entries[i].map == map && !memcmp(&entries[i].key, key, sizeof(struct key)))
            return &entries[i];
    return NULL;
}

static uint64_t lookup(int map, const void *key) {
    uint32_t index;
    memcpy(&index, key, sizeof(index));
    if (map == COUNTS_MAP)
        return index < PLACES ? (uintptr_t)&counts[index] : 0;
    struct entry *entry = entry_find(map, key);
    return entry ? (uintptr_t)entry->value : 0;
}

static uint64_t update(int map, const void *key, const void *value, uint64_t flags) {
    struct entry *entry = entry_find(map, key);
    if (entry && flags == BPF_NOEXIST)
        return (uint64_t)-17;
    for (size_t i = 0; i < ENTRIES && !entry; i++)
        entry = entries[i].used ? NULL : &entries[i];
    assert_non_null(entry);
    *entry = (struct entry){.used = true, .map = map};
    memcpy(&entry->key, key, sizeof(entry->key));
    memcpy(entry->value, value, map == KERNEL_MAP ? sizeof(entry->value) : sizeof(uint64_t));
    return 0;
}

static uint64_t erase(int map, const void *key) {
    struct entry *entry = entry_find(map, key);
    if (entry)
        entry->used = false;
    return entry ? 0 : (uint64_t)-2;
}

static uint64_t helper(int function, const uint64_t *reg) {
    const void *key = (const void *)(uintptr_t)reg[2];
    switch (function) {
    case BPF_FUNC_map_lookup_elem:
        return lookup((int)reg[1], key);
    case BPF_FUNC_map_update_elem:
        return update((int)reg[1], key, (const void *)(uintptr_t)reg[3], reg[4]);
    case BPF_FUNC_map_delete_elem:
        return erase((int)reg[1], key);
    case BPF_FUNC_get_current_pid_tgid:
        return thread;
    case BPF_FUNC_get_smp_processor_id:
        return cpu;
    case BPF_FUNC_ktime_get_ns:
        return now;
    case BPF_FUNC_get_attach_cookie:
        return place;
    default:
        fail_msg("helper %d", function);
        return 0;
    }
}

static uint64_t alu(uint8_t op, uint64_t a, uint64_t b) {
    switch (op) {
    case BPF_MOV:
        return b;
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_AND:
        return a & b;
    case BPF_OR:
        return a | b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return a << b;
    case BPF_RSH:
        return a >> b;
    default:
        fail_msg("operation %#x", op);
        return 0;
    }
}

static bool jumps(uint8_t op, uint64_t a, uint64_t b) {
    switch (op) {
    case BPF_JA:
        return true;
    case BPF_JEQ:
        return a == b;
    case BPF_JNE:
        return a != b;
    case BPF_JGE:
        return a >= b;
    case BPF_JLT:
        return a < b;
    case BPF_JLE:
        return a <= b;
    default:
        fail_msg("jump %#x", op);
        return false;
    }
}

static size_t size_of(uint8_t code) {
    return BPF_SIZE(code) == BPF_DW ? 8 : BPF_SIZE(code) == BPF_W ? 4 : 0;
}

static void run(const struct bpf_code *code, const void *context) {
    uint64_t stack[64], reg[11] = {[1] = (uintptr_t)context, [10] = (uintptr_t)(stack + 64)};
    memset(stack, 0x5a, sizeof(stack));
    assert_true(code->n < BPF_CODE_MAX);
    for (size_t at = 0; at < code->n; at++) {
        const struct bpf_insn *insn = &code->insns[at];
        uint64_t *dst = &reg[insn->dst_reg], sum = 0;
        uint64_t src = BPF_SRC(insn->code) == BPF_X ? reg[insn->src_reg] : (uint64_t)(int64_t)insn->imm;
        void *to = (void *)(uintptr_t)(*dst + (uint64_t)(int64_t)insn->off);
        switch (BPF_CLASS(insn->code)) {
        case BPF_LD:
            *dst = insn->src_reg == BPF_PSEUDO_MAP_VALUE ? (uintptr_t)&switch_ : (uint64_t)insn->imm;
            at++;
            break;
        case BPF_LDX:
            memcpy(&sum, (void *)(uintptr_t)(reg[insn->src_reg] + (uint64_t)(int64_t)insn->off), size_of(insn->code));
            *dst = sum;
            break;
        case BPF_ST:
            sum = (uint64_t)(int64_t)insn->imm;
            memcpy(to, &sum, size_of(insn->code));
            break;
        case BPF_STX:
            if (BPF_MODE(insn->code) == BPF_XADD)
                memcpy(&sum, to, size_of(insn->code));
            sum += reg[insn->src_reg];
            memcpy(to, &sum, size_of(insn->code));
            break;
        case BPF_ALU64:
            *dst = alu(BPF_OP(insn->code), *dst, src);
            break;
        case BPF_ALU:
            *dst = (uint32_t)alu(BPF_OP(insn->code), (uint32_t)*dst, (uint32_t)src);
            break;
        default:
            if (BPF_OP(insn->code) == BPF_EXIT)
                return;
            if (BPF_OP(insn->code) == BPF_CALL)
                reg[0] = helper(insn->imm, reg);
            else if (jumps(BPF_OP(insn->code), *dst, src))
                at += (size_t)insn->off;
        }
    }
    fail_msg("a program without an end");
}

static bool of_kernel;

static void go(uint32_t of, uint32_t on_cpu, uint64_t stack, bool returns) {
    static struct bpf_code code;
    const struct function_abi abi = {.place = PLACE_BY_COOKIE, .kernel = of_kernel};
    uint64_t registers[64];
    for (size_t i = 0; i < 64; i++)
        registers[i] = stack; // whichever is the stack pointer
    place = of;
    cpu = on_cpu;
    now += 1000;
    (returns ? function_return_program : function_entry_program)(&code, &maps, &abi);
    run(&code, registers);
}

static void enter(uint32_t of, uint32_t on_cpu, uint64_t stack) {
    go(of, on_cpu, stack, false);
}

static void leave(uint32_t of, uint32_t on_cpu, uint64_t stack) {
    go(of, on_cpu, stack, true);
}

static void start(bool kernel, const char *list) {
    memset(entries, 0, sizeof(entries));
    memset(counts, 0, sizeof(counts));
    switch_ = (struct function_switch){.on = 0};
    for (int i = 0; i < PLACES; i++)
        counts[i].timing = counts[i].roles = 1;
    of_kernel = kernel;
    thread = 7ull << 32 | 8;
    if (list)
        function_cpus_parse(&cpus, list);
    maps = FUNCTION_MAPS_NONE;
    maps.counts = COUNTS_MAP;
    maps.calls = CALLS_MAP;
    maps.kernel = KERNEL_MAP;
    maps.cpus = list ? &cpus : NULL;
}

static void expect(uint32_t of, uint64_t calls, uint64_t returns, uint64_t missed, uint64_t skipped) {
    const struct place_counts *got = &counts[of];
    if (got->entries != calls || got->begun != calls || got->returns != returns || got->unwound != missed ||
        got->skipped != skipped)
        fail_msg("calls %d, begun %d, returns %d, missed %d, skipped %d", (int)got->entries, (int)got->begun,
                 (int)got->returns, (int)got->unwound, (int)got->skipped);
}

static void all_cpus(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        start(kernel, NULL);
        enter(0, 3, 800);
        enter(0, 3, 700);
        leave(0, 3, 700);
        leave(0, 3, 800);
        expect(0, 2, 2, 0, 0);
        assert_int_equal(counts[0].sum_ns, 1000 + 3000);
        expect(1, 0, 0, 0, 0);
    }
    start(false, NULL);
    enter(0, 0, 800); // unwound
    enter(0, 0, 800);
    leave(0, 0, 800);
    expect(0, 2, 1, 1, 0);
}

static void lists(void **state) {
    (void)state;
    static const struct {
        const char *list;
        uint32_t cpu;
        bool counts;
    } cases[] = {{"0", 0, true},       {"0", 1, false},       {"31", 31, true},         {"31", 30, false},
                 {"32", 32, true},     {"32", 0, false},      {"2,40-41", 41, true},    {"2,40-41", 42, false},
                 {"0-255", 255, true}, {"0-255", 256, false}, {"8191", 8191, true},     {"8191", 31, false},
                 {"0-8191", 77, true}, {"1,3,5", 4, false},   {"0-31,64-95", 40, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        start(false, cases[i].list);
        enter(0, cases[i].cpu, 800);
        expect(0, cases[i].counts, 0, 0, !cases[i].counts);
    }
}

// A call counts by the CPU of its entry.
static void moves(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        start(kernel, "0");
        enter(0, 0, 800);
        leave(0, 1, 800);
        expect(0, 1, 1, 0, 0);
        enter(0, 1, 800);
        leave(0, 0, 800);
        expect(0, 1, 1, 0, 1);
        // One that does not count, within one that does, within one that does not.
        enter(0, 1, 900);
        enter(0, 0, 800);
        enter(0, 1, 700);
        leave(0, 0, 700);
        expect(0, 2, 1, 0, 3);
        leave(0, 1, 800);
        expect(0, 2, 2, 0, 3);
        leave(0, 0, 900);
        expect(0, 2, 2, 0, 3);
        // The other way round.
        enter(0, 0, 900);
        enter(0, 1, 800);
        enter(0, 0, 700);
        leave(0, 1, 700);
        leave(0, 0, 800);
        leave(0, 0, 900);
        expect(0, 4, 4, 0, 4);
        assert_int_equal(counts[0].sum_ns, 1000 + 3000 + 1000 + 5000);
        for (size_t i = 0; i < ENTRIES; i++)
            assert_true(!entries[i].used || (kernel && !entries[i].value[0]));
    }
    // A call that was unwound is missed at once, not as the return of a later one.
    start(false, "0");
    enter(0, 0, 800);
    enter(0, 1, 800);
    leave(0, 1, 800);
    expect(0, 1, 0, 1, 1);
}

static void switched(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        start(kernel, "0");
        maps.switch_map = SWITCH_MAP;
        counts[1].roles = FUNCTION_START;
        counts[2].roles = FUNCTION_STOP;
        counts[3].roles = FUNCTION_START | FUNCTION_COUNTED;
        counts[1].timing = counts[2].timing = 0;
        enter(0, 0, 800);
        leave(0, 0, 800);
        expect(0, 0, 0, 0, 1);
        enter(1, 1, 900); // on any CPU
        enter(1, 0, 900);
        assert_int_equal(switch_.on, 1);
        assert_int_equal(switch_.starts, 1);
        enter(0, 0, 800);
        enter(2, 0, 700);
        enter(0, 0, 600);
        leave(0, 0, 600);
        leave(0, 0, 800); // begun while it was on
        expect(0, 1, 1, 0, 2);
        assert_int_equal(switch_.on, 0);
        expect(1, 0, 0, 0, 2);
        expect(2, 0, 0, 0, 1);
        enter(3, 0, 800); // counts itself
        leave(3, 0, 800);
        expect(3, 1, 1, 0, 0);
        assert_int_equal(switch_.starts, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cpus),
        cmocka_unit_test(lists),
        cmocka_unit_test(moves),
        cmocka_unit_test(switched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
