// Programs at entries and returns; see the header.
#include "collectors/functions/program.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIST_RING_BYTES (256u << 10)
#define FUNCTION_PIDS_MAX 256 // as many as --pid takes

// The registers that a program gets (bpf_user_pt_regs_t).
#if defined(__x86_64__)
enum { REG_SP = 152 };
static const int16_t arg_regs[CALL_ARGS] = {112, 104, 96, 88, 72, 64}; // rdi rsi rdx rcx r8 r9
#elif defined(__aarch64__)
enum { REG_SP = 248 };
static const int16_t arg_regs[CALL_ARGS] = {0, 8, 16, 24, 32, 40};
#else
#error "registers of this machine are not described"
#endif

struct call_key {
    uint32_t place, pid;
    uint64_t stack;
};
struct call_value {
    uint64_t ns;
    uint64_t args[CALL_ARGS];
};
#define NESTED_MAX 7 // calls of one function by one thread that are timed
struct kernel_value {
    uint64_t depth;
    uint64_t ns[NESTED_MAX];
};

#define AT(field) ((int16_t)offsetof(struct place_counts, field))
#define IN(field) ((int16_t)offsetof(struct call_record, field))

void function_cpus_parse(struct function_cpus *cpus, const char *list) {
    bool set[CPUS_MAX] = {false};
    int n = cpu_list_parse(list, set, CPUS_MAX);
    *cpus = (struct function_cpus){.words = {0}};
    for (int cpu = 0; cpu < n; cpu++)
        cpus->words[cpu / 32] |= (uint32_t)set[cpu] << cpu % 32;
}

// A map in memory; NULL with *error.
static void *map_share(int map, size_t size, int *error) {
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    *error = shared == MAP_FAILED ? -errno : 0;
    return *error ? NULL : shared;
}

static int switch_open(struct function_maps *maps) {
    int error;
    maps->switch_map =
        bpf_map_flags(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(struct function_switch), 1, BPF_F_MMAPABLE);
    if (maps->switch_map < 0)
        return maps->switch_map;
    maps->switch_ = map_share(maps->switch_map, sizeof(struct function_switch), &error);
    return error;
}

int function_maps_open(struct function_maps *maps, uint32_t places, const struct function_uses *uses) {
    *maps = FUNCTION_MAPS_NONE;
    maps->places = places;
    maps->lists = uses->lists;
    maps->cpus = uses->cpus;
    if (uses->lists) {
        int error = bpf_recorder_open(&maps->recorder, LIST_RING_BYTES, sizeof(struct call_record));
        if (error) {
            maps->lists = false;
            return error;
        }
    }
    maps->counts =
        bpf_map_flags(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(struct place_counts), places, BPF_F_MMAPABLE);
    int error = maps->counts < 0 ? maps->counts : 0;
    if (!error) {
        maps->calls = bpf_map(BPF_MAP_TYPE_LRU_HASH, sizeof(struct call_key),
                              uses->lists ? sizeof(struct call_value) : sizeof(uint64_t), CALLS_MAX);
        error = maps->calls < 0 ? maps->calls : 0;
    }
    if (!error && uses->kernel) {
        maps->kernel = bpf_map(BPF_MAP_TYPE_LRU_HASH, sizeof(struct call_key), sizeof(struct kernel_value), CALLS_MAX);
        error = maps->kernel < 0 ? maps->kernel : 0;
    }
    if (!error)
        maps->shared = map_share(maps->counts, (size_t)places * sizeof(struct place_counts), &error);
    if (!error && uses->switched)
        error = switch_open(maps);
    if (error)
        function_maps_close(maps);
    return error;
}

void function_maps_close(struct function_maps *maps) {
    if (maps->shared)
        munmap(maps->shared, (size_t)maps->places * sizeof(struct place_counts));
    if (maps->counts >= 0)
        close(maps->counts);
    if (maps->calls >= 0)
        close(maps->calls);
    if (maps->kernel >= 0)
        close(maps->kernel);
    if (maps->lists)
        bpf_recorder_close(&maps->recorder);
    if (maps->switch_)
        munmap(maps->switch_, sizeof(*maps->switch_));
    if (maps->switch_map >= 0)
        close(maps->switch_map);
    *maps = FUNCTION_MAPS_NONE;
}

enum { CTX = BPF_REG_6, COUNTS = BPF_REG_7, NS = BPF_REG_8, VALUE = BPF_REG_9 };
// On the stack: key, value. The recorder has the 4 bytes at -4.
enum { KEY = -32, CALL = -96 };
_Static_assert(CALL + (int)sizeof(struct call_value) <= KEY, "room for a value");
_Static_assert(CALL + (int)sizeof(struct kernel_value) <= KEY, "room for a value");

static void add(struct bpf_code *code, uint8_t base, int16_t offset, uint8_t reg) {
    bpf_put(code, BPF_I(BPF_STX | BPF_XADD | BPF_DW, base, reg, offset, 0));
}

// COUNTS = the counts of the place, KEY begins with its index. Returns a jump that is taken if there are none.
static size_t counts_find(struct bpf_code *code, const struct function_maps *maps, uint32_t place) {
    if (place == PLACE_BY_COOKIE) {
        bpf_put(code, BPF_MOVE(BPF_REG_1, CTX));
        bpf_put(code, BPF_HELPER(BPF_FUNC_get_attach_cookie));
        bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY, BPF_REG_0));
    } else {
        bpf_put(code, BPF_STORE_IMM(BPF_W, BPF_REG_10, KEY, (int32_t)place));
    }
    bpf_put_lookup(code, maps->counts, KEY);
    size_t none = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_MOVE(COUNTS, BPF_REG_0));
    return none;
}

static void key_make(struct bpf_code *code, uint32_t returned_bytes) {
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_0, 32));
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY + 4, BPF_REG_0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, CTX, REG_SP));
    if (returned_bytes)
        bpf_put(code, BPF_ADD_IMM(BPF_REG_1, -(int32_t)returned_bytes));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, KEY + 8, BPF_REG_1));
}

static void calls_key(struct bpf_code *code, int map) {
    bpf_put_map(code, BPF_REG_1, map);
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, KEY));
}

static void update(struct bpf_code *code, int map, int flags) {
    bpf_put_update(code, map, KEY, CALL, flags);
}

static void finish(struct bpf_code *code) {
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
}

// ---- entries ----

// Ends the program for a process that is not wanted.
static void processes_filter(struct bpf_code *code, const struct function_abi *abi) {
    size_t wanted[FUNCTION_PIDS_MAX];
    if (!abi->n_pids && !abi->self)
        return;
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_0, 32));
    if (!abi->n_pids) {
        wanted[0] = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_0, abi->self));
        finish(code);
        bpf_land(code, wanted[0]);
        return;
    }
    size_t n = abi->n_pids < FUNCTION_PIDS_MAX ? abi->n_pids : FUNCTION_PIDS_MAX;
    for (size_t i = 0; i < n; i++)
        wanted[i] = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, abi->pids[i]));
    finish(code);
    for (size_t i = 0; i < n; i++)
        bpf_land(code, wanted[i]);
}

// Jumps of a program to one place.
struct jumps {
    size_t at[4], n;
};

static void jumps_add(struct jumps *jumps, size_t jump) {
    jumps->at[jumps->n++] = jump;
}

static void jumps_land(struct bpf_code *code, const struct jumps *jumps) {
    for (size_t i = 0; i < jumps->n; i++)
        bpf_land(code, jumps->at[i]);
}

// What start and stop functions do, then the check of the switch; skips calls that do not count.
static void switch_filter(struct bpf_code *code, const struct function_maps *maps, struct jumps *skips) {
    enum { ROLES = BPF_REG_1, SWITCH = BPF_REG_2, BIT = BPF_REG_3 };
    const int16_t on = offsetof(struct function_switch, on), starts = offsetof(struct function_switch, starts);
    bpf_put_map_value(code, SWITCH, maps->switch_map);
    bpf_put(code, BPF_LOAD(BPF_DW, ROLES, COUNTS, AT(roles)));
    size_t plain = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, ROLES, FUNCTION_COUNTED));
    bpf_put(code, BPF_MOVE(BIT, ROLES));
    bpf_put(code, BPF_AND_IMM(BIT, FUNCTION_START));
    size_t no_start = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BIT, 0));
    bpf_put(code, BPF_LOAD(BPF_DW, BIT, SWITCH, on));
    size_t is_on = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BIT, 0));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, SWITCH, on, 1));
    bpf_put(code, BPF_MOVE_IMM(BIT, 1));
    add(code, SWITCH, starts, BIT);
    bpf_land(code, is_on);
    bpf_land(code, no_start);
    bpf_put(code, BPF_MOVE(BIT, ROLES));
    bpf_put(code, BPF_AND_IMM(BIT, FUNCTION_STOP));
    size_t no_stop = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BIT, 0));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, SWITCH, on, 0));
    bpf_land(code, no_stop);
    bpf_put(code, BPF_AND_IMM(ROLES, FUNCTION_COUNTED));
    jumps_add(skips, bpf_put(code, BPF_JUMP_IF(BPF_JEQ, ROLES, 0)));
    bpf_land(code, plain);
    bpf_put(code, BPF_LOAD(BPF_DW, BIT, SWITCH, on));
    jumps_add(skips, bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BIT, 0)));
}

// Skips calls on CPUs that are not chosen: the word of the CPU, then its bit.
static void cpus_filter(struct bpf_code *code, const struct function_cpus *cpus, struct jumps *skips) {
    enum { CPU = BPF_REG_0, WORD = BPF_REG_1, BITS = BPF_REG_2 };
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_smp_processor_id));
    bpf_put(code, BPF_MOVE(WORD, CPU));
    bpf_put(code, BPF_SHIFT_RIGHT(WORD, 5));
    bpf_put(code, BPF_MOVE_IMM(BITS, 0));
    for (int i = 0; i < CPUS_MAX / 32; i++) {
        if (!cpus->words[i])
            continue;
        size_t other = bpf_put(code, BPF_JUMP_IF(BPF_JNE, WORD, i));
        bpf_put(code, BPF_I(BPF_ALU | BPF_MOV | BPF_K, BITS, 0, 0, (int32_t)cpus->words[i])); // zero-extends
        bpf_land(code, other);
    }
    bpf_put(code, BPF_AND_IMM(CPU, 31));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_RSH | BPF_X, BITS, CPU, 0, 0));
    bpf_put(code, BPF_AND_IMM(BITS, 1));
    jumps_add(skips, bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BITS, 0)));
}

// The thread; a CPU's idle thread, which all CPUs have with the ID 0, by its CPU.
static void kernel_key(struct bpf_code *code) {
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_I(BPF_ALU | BPF_MOV | BPF_X, BPF_REG_0, BPF_REG_0, 0, 0)); // the low half
    size_t thread = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_0, 0));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_smp_processor_id));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_OR | BPF_K, BPF_REG_0, 0, 0, 0x40000000)); // above any ID
    bpf_land(code, thread);
    bpf_put(code, BPF_STORE(BPF_W, BPF_REG_10, KEY + 4, BPF_REG_0));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, KEY + 8, 0));
}

// R1 = address of ns[R1] in the value at VALUE, without its offset there.
static void nested_address(struct bpf_code *code) {
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_1, 0, 0, 3));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_1, VALUE, 0, 0));
}

// R1 = how many calls of the thread are entered, at VALUE. Returns the jump of a thread that is unknown.
static size_t kernel_value_find(struct bpf_code *code, const struct function_maps *maps) {
    kernel_key(code);
    bpf_put_lookup(code, maps->kernel, KEY);
    size_t unknown = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_MOVE(VALUE, BPF_REG_0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, VALUE, 0));
    return unknown;
}

// Adds a call that was entered at NS to the R1 ones before it; 0: it does not count.
static void nested_add(struct bpf_code *code) {
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_1));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, 1));
    bpf_put(code, BPF_STORE(BPF_DW, VALUE, 0, BPF_REG_2));
    size_t deep = bpf_put(code, BPF_JUMP_IF(BPF_JGE, BPF_REG_1, NESTED_MAX));
    nested_address(code);
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_1, 8, NS));
    bpf_land(code, deep);
}

static void kernel_entry(struct bpf_code *code, const struct function_maps *maps) {
    kernel_key(code);
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_MOVE(NS, BPF_REG_0));
    bpf_put_lookup(code, maps->kernel, KEY);
    size_t known = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_0, 0));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, CALL, 1));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, CALL + 8, NS));
    for (int i = 1; i < NESTED_MAX; i++)
        bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, (int16_t)(CALL + 8 + 8 * i), 0));
    update(code, maps->kernel, BPF_ANY);
    finish(code);
    bpf_land(code, known);
    bpf_put(code, BPF_MOVE(VALUE, BPF_REG_0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, VALUE, 0));
    nested_add(code);
}

static void user_entry(struct bpf_code *code, const struct function_maps *maps) {
    key_make(code, 0);
    for (int i = 0; i < CALL_ARGS && maps->lists; i++) {
        bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, CTX, arg_regs[i]));
        bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, (int16_t)(CALL + 8 + 8 * i), BPF_REG_1));
    }
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, CALL, BPF_REG_0));
    update(code, maps->calls, BPF_NOEXIST);
    size_t added = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    update(code, maps->calls, BPF_ANY);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    add(code, COUNTS, AT(unwound), BPF_REG_1);
    bpf_land(code, added);
}

// A call that does not count, within one that does: its return takes the entry that was added last, so it adds an
// empty one. If it is nested deeper than NESTED_MAX, its return counts as missed, as that of any call there.
static void kernel_entry_skip(struct bpf_code *code, const struct function_maps *maps) {
    size_t unknown = kernel_value_find(code, maps);
    size_t outermost = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, 0));
    bpf_put(code, BPF_MOVE_IMM(NS, 0));
    nested_add(code);
    bpf_land(code, outermost);
    bpf_land(code, unknown);
}

// A call that does not count. An earlier call with its stack pointer ended without a reported return.
static void entry_skip(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi) {
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    add(code, COUNTS, AT(skipped), BPF_REG_1);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, COUNTS, AT(timing)));
    size_t untimed = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, 0));
    if (abi->kernel) {
        kernel_entry_skip(code, maps);
    } else {
        key_make(code, 0);
        calls_key(code, maps->calls);
        bpf_put(code, BPF_HELPER(BPF_FUNC_map_delete_elem));
        size_t none = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_0, 0));
        bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
        add(code, COUNTS, AT(unwound), BPF_REG_1);
        bpf_land(code, none);
    }
    bpf_land(code, untimed);
    finish(code);
}

void function_entry_program(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi) {
    struct jumps skips = {.n = 0};
    code->n = 0;
    bpf_put(code, BPF_MOVE(CTX, BPF_REG_1));
    processes_filter(code, abi);
    size_t none = counts_find(code, maps, abi->place);
    if (maps->switch_map >= 0)
        switch_filter(code, maps, &skips);
    if (maps->cpus)
        cpus_filter(code, maps->cpus, &skips);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    add(code, COUNTS, AT(entries), BPF_REG_1);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, COUNTS, AT(timing)));
    size_t untimed = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, 0));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    add(code, COUNTS, AT(begun), BPF_REG_1);
    if (abi->kernel)
        kernel_entry(code, maps);
    else
        user_entry(code, maps);
    bpf_land(code, untimed);
    bpf_land(code, none);
    finish(code);
    if (!skips.n)
        return;
    jumps_land(code, &skips);
    entry_skip(code, maps, abi);
}

// ---- returns ----

// R0 = the bucket of NS (hist_bucket), by halving: the position of its highest bit, then the bits below it.
static void bucket(struct bpf_code *code) {
    bpf_put(code, BPF_MOVE(BPF_REG_1, NS));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_OR | BPF_K, BPF_REG_1, 0, 0, 1 << HIST_SUB_BITS));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 0));
    for (int step = 32; step; step /= 2) {
        bpf_put(code, BPF_MOVE(BPF_REG_3, BPF_REG_1));
        bpf_put(code, BPF_SHIFT_RIGHT(BPF_REG_3, step));
        size_t low = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_3, 0));
        bpf_put(code, BPF_MOVE(BPF_REG_1, BPF_REG_3));
        bpf_put(code, BPF_ADD_IMM(BPF_REG_2, step));
        bpf_land(code, low);
    }
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, -HIST_SUB_BITS)); // the shift
    bpf_put(code, BPF_MOVE(BPF_REG_0, NS));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_RSH | BPF_X, BPF_REG_0, BPF_REG_2, 0, 0));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_2, 0, 0, HIST_SUB_BITS));
    bpf_put(code, BPF_ADD_REG(BPF_REG_0, BPF_REG_2));
    size_t fits = bpf_put(code, BPF_JUMP_IF(BPF_JLT, BPF_REG_0, HIST_BUCKETS));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, HIST_BUCKETS - 1));
    bpf_land(code, fits);
}

static void maximum(struct bpf_code *code, int16_t offset, uint8_t reg) {
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, COUNTS, offset));
    size_t less = bpf_put(code, BPF_JUMP_IF_REG(BPF_JGE, BPF_REG_1, reg));
    bpf_put(code, BPF_STORE(BPF_DW, COUNTS, offset, reg));
    bpf_land(code, less);
}

// The call on the stack, in NS how long it took.
static void list_call(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi) {
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, COUNTS, AT(slower_ns)));
    size_t not_listed = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_1, 0));
    size_t fast = bpf_put(code, BPF_JUMP_IF_REG(BPF_JLE, NS, BPF_REG_1));
    size_t none = bpf_put_scratch(code, VALUE, &maps->recorder);
    bpf_put(code, BPF_STORE(BPF_DW, VALUE, IN(took_ns), NS));
    bpf_put(code, BPF_LOAD(BPF_W, BPF_REG_1, BPF_REG_10, KEY));
    bpf_put(code, BPF_STORE(BPF_W, VALUE, IN(place), BPF_REG_1));
    for (int i = 0; i <= CALL_ARGS; i++) {
        bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, (int16_t)(CALL + 8 * i)));
        bpf_put(code, BPF_STORE(BPF_DW, VALUE, (int16_t)(i ? IN(args) + 8 * (i - 1) : IN(begin_ns)), BPF_REG_1));
    }
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_pid_tgid));
    bpf_put(code, BPF_STORE(BPF_DW, VALUE, IN(tid), BPF_REG_0));
    bpf_put(code, BPF_MOVE(BPF_REG_1, VALUE));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, IN(comm)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 16));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_current_comm));
    bpf_put(code, BPF_MOVE(BPF_REG_1, CTX));
    bpf_put(code, BPF_MOVE(BPF_REG_2, VALUE));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, IN(frames)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_3, CALL_FRAMES * 8));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_4, abi->kernel ? 0 : BPF_F_USER_STACK));
    bpf_put(code, BPF_HELPER(BPF_FUNC_get_stack));
    bpf_put(code, BPF_STORE(BPF_W, VALUE, IN(stack_bytes), BPF_REG_0));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_3, sizeof(struct call_record)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_4, BPF_RB_NO_WAKEUP));
    bpf_put_record(code, VALUE, BPF_REG_3, BPF_REG_4, &maps->recorder);
    bpf_land(code, none);
    bpf_land(code, fast);
    bpf_land(code, not_listed);
}

// Puts the entry of the call that returns on the stack, at CALL, and forgets it. Returns a jump that is taken if it is
// unknown: it was entered before the probes were there.
static size_t entry_take(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi) {
    key_make(code, abi->returned_bytes);
    bpf_put_lookup(code, maps->calls, KEY);
    size_t unknown = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    for (int i = 0; i <= (maps->lists ? CALL_ARGS : 0); i++) {
        bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_0, (int16_t)(8 * i)));
        bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, (int16_t)(CALL + 8 * i), BPF_REG_1));
    }
    calls_key(code, maps->calls);
    bpf_put(code, BPF_HELPER(BPF_FUNC_map_delete_elem));
    return unknown;
}

// The same for the kernel, without arguments.
static size_t kernel_entry_take(struct bpf_code *code, const struct function_maps *maps) {
    size_t unknown = kernel_value_find(code, maps);
    size_t some = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_1, 0));
    finish(code);
    bpf_land(code, some);
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, -1));
    bpf_put(code, BPF_STORE(BPF_DW, VALUE, 0, BPF_REG_1));
    size_t timed = bpf_put(code, BPF_JUMP_IF(BPF_JLT, BPF_REG_1, NESTED_MAX));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    add(code, COUNTS, AT(unwound), BPF_REG_1);
    finish(code);
    bpf_land(code, timed);
    nested_address(code);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_1, 8));
    size_t counts = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_1, 0));
    finish(code);
    bpf_land(code, counts);
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, CALL, BPF_REG_1));
    for (int i = 1; i <= CALL_ARGS; i++)
        bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, (int16_t)(CALL + 8 * i), 0));
    return unknown;
}

void function_return_program(struct bpf_code *code, const struct function_maps *maps, const struct function_abi *abi) {
    code->n = 0;
    bpf_put(code, BPF_MOVE(CTX, BPF_REG_1));
    processes_filter(code, abi);
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_MOVE(NS, BPF_REG_0));
    size_t none = counts_find(code, maps, abi->place);
    size_t unknown = abi->kernel ? kernel_entry_take(code, maps) : entry_take(code, maps, abi);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_10, CALL));
    bpf_put(code, BPF_SUB_REG(NS, BPF_REG_1));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_1, 1));
    add(code, COUNTS, AT(returns), BPF_REG_1);
    add(code, COUNTS, AT(sum_ns), NS);
    maximum(code, AT(max_ns), NS);
    bpf_put(code, BPF_MOVE(BPF_REG_2, NS));
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_XOR | BPF_K, BPF_REG_2, 0, 0, -1));
    maximum(code, AT(not_min_ns), BPF_REG_2);
    bucket(code);
    bpf_put(code, BPF_I(BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_0, 0, 0, 2));
    bpf_put(code, BPF_MOVE(BPF_REG_1, COUNTS));
    bpf_put(code, BPF_ADD_REG(BPF_REG_1, BPF_REG_0));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 1));
    bpf_put(code, BPF_I(BPF_STX | BPF_XADD | BPF_W, BPF_REG_1, BPF_REG_2, AT(buckets), 0));
    if (maps->lists)
        list_call(code, maps, abi);
    bpf_land(code, unknown);
    bpf_land(code, none);
    finish(code);
}
