// The unwinder on input that lies: stacks cut anywhere, files with random bytes changed, files that shrink, and the
// checks of frame pointers and chains. The stack is this program's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include "collectors/kernel/unwind/cfi.h"
#include "collectors/kernel/unwind/private.h"
#include "collectors/kernel/unwind/walk.h"
#include "tests/unit/stack_samples.h"

#define FRAMES_MAX 128
#define STACK_MAX 16384

static struct test_maps maps;
static struct unwind_input input;
static uint8_t stack[STACK_MAX];
static uint64_t callers[3]; // return addresses of the frames around the captured one
static const struct unwind_source own_source = {&maps, test_maps_find, test_file_read, NULL};

static __attribute__((noinline)) void capture(void) {
    ucontext_t context;
    callers[0] = (uint64_t)__builtin_return_address(0);
    getcontext(&context);
    input.pid = getpid();
#if defined(__x86_64__)
    const greg_t *r = context.uc_mcontext.gregs;
    input.registers = (struct unwind_registers){
        .ip = (uint64_t)r[REG_RIP],
        .sp = (uint64_t)r[REG_RSP],
        .fp = (uint64_t)r[REG_RBP],
        .saved = {(uint64_t)r[REG_RBX], (uint64_t)r[REG_R12], (uint64_t)r[REG_R13], (uint64_t)r[REG_R14],
                  (uint64_t)r[REG_R15]},
    };
#else
    const mcontext_t *r = &context.uc_mcontext;
    input.registers = (struct unwind_registers){.ip = r->pc, .sp = r->sp, .fp = r->regs[29], .lr = r->regs[30]};
    memcpy(input.registers.saved, r->regs + 19, sizeof(input.registers.saved));
#endif
    uint64_t top = 0;
    for (unsigned i = 0; i < maps.count; i++)
        if (input.registers.sp - maps.maps[i].map.start < maps.maps[i].map.end - maps.maps[i].map.start)
            top = maps.maps[i].map.end;
    input.stack_size = top - input.registers.sp < STACK_MAX ? top - input.registers.sp : STACK_MAX;
    // Not memcpy: AddressSanitizer guards the gaps between locals, which a copy of the stack includes.
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(memory, stack, input.stack_size, (off_t)input.registers.sp), (ssize_t)input.stack_size);
    close(memory);
    input.stack = stack;
}

static void capture_in_handler(int signal) {
    (void)signal;
    capture();
    __asm__ volatile("");
}

static __attribute__((noinline)) void middle(void) {
    callers[1] = (uint64_t)__builtin_return_address(0);
    capture();
    __asm__ volatile(""); // no tail call
}

static __attribute__((noinline)) int outer(void **state) {
    (void)state;
    callers[2] = (uint64_t)__builtin_return_address(0);
    assert_true(test_maps_read(&maps, getpid()));
    middle();
    return input.stack_size ? 0 : -1;
}

static size_t unwind(struct unwinder *unwinder, const struct unwind_input *what, struct unwind_frame *frames,
                     enum unwind_ending *ending) {
    size_t count = unwind_stack(unwinder, what, frames, FRAMES_MAX, ending);
    assert_true(count >= 1 && count <= FRAMES_MAX);
    assert_true(*ending < UNWIND_ENDINGS);
    assert_true(unwind_bytes(unwinder) <= UNWIND_BYTES_MAX);
    return count;
}

static void own_stack_is_whole(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    struct unwinder *unwinder = unwinder_new(&own_source);
    (void)state;
    size_t count = unwind(unwinder, &input, frames, &ending);
    assert_int_equal(ending, UNWIND_WHOLE);
    assert_true(count > 4 && frames[0].exact && !frames[1].exact);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(frames[i + 1].ip, callers[i]);
    unwinder_free(unwinder);
}

// The stack of a handler leads over the kernel's frame to the instruction that was interrupted.
static void own_handler_is_whole(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    const struct unwind_input before = input;
    uint8_t *before_stack = xmalloc(STACK_MAX);
    uint64_t caller = callers[0];
    size_t exact = 0;
    (void)state;
    memcpy(before_stack, stack, STACK_MAX);
    assert_true(test_maps_read(&maps, getpid())); // not in the handler: it allocates
    signal(SIGUSR1, capture_in_handler);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    struct unwinder *unwinder = unwinder_new(&own_source);
    size_t count = unwind(unwinder, &input, frames, &ending);
    assert_int_equal(ending, UNWIND_WHOLE);
    assert_int_equal(frames[1].ip, callers[0]);
    for (size_t i = 1; i < count; i++)
        exact += frames[i].exact;
    assert_int_equal(exact, 2); // the trampoline, and what was interrupted
    unwinder_free(unwinder);
    input = before;
    callers[0] = caller;
    memcpy(stack, before_stack, STACK_MAX);
    free(before_stack);
}

static void assert_same(const struct unwind_frame *frames, const struct unwind_frame *whole, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_true(frames[i].ip == whole[i].ip && frames[i].exact == whole[i].exact);
}

static void cut_anywhere(void **state) {
    struct unwind_frame whole[FRAMES_MAX], frames[FRAMES_MAX];
    uint64_t chain[FRAMES_MAX];
    enum unwind_ending ending;
    struct unwinder *unwinder = unwinder_new(&own_source);
    struct unwind_input cut = input;
    (void)state;
    size_t whole_count = unwind(unwinder, &input, whole, &ending);
    for (size_t i = 0; i < whole_count; i++)
        chain[i] = whole[i].ip;
    for (cut.stack_size = 0; cut.stack_size < input.stack_size; cut.stack_size += 3) {
        cut.chain_count = 0;
        size_t count = unwind(unwinder, &cut, frames, &ending);
        assert_true(ending == UNWIND_CUT || (ending == UNWIND_WHOLE && count == whole_count));
        assert_same(frames, whole, count);
        cut.chain = chain;
        cut.chain_count = whole_count;
        count = unwind(unwinder, &cut, frames, &ending);
        assert_true(ending == UNWIND_SPLICED || ending == UNWIND_WHOLE);
        assert_int_equal(count, whole_count);
        assert_same(frames, whole, count);
    }
    unwinder_free(unwinder);
}

static void few_frames_wanted(void **state) {
    struct unwind_frame frames[2];
    enum unwind_ending ending;
    struct unwinder *unwinder = unwinder_new(&own_source);
    (void)state;
    assert_int_equal(unwind_stack(unwinder, &input, frames, 2, &ending), 2);
    assert_int_equal(ending, UNWIND_FULL);
    assert_int_equal(unwind_stack(unwinder, &input, frames, 0, &ending), 0);
    unwinder_free(unwinder);
}

// ---- files that lie ----
static uint64_t seed = 88172645463325252ull;
static uint64_t noise(void) { // xorshift
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

struct changed {
    int fd; // what every file opens as
    unsigned shrink_after, opened;
};

static ssize_t changed_read(void *context, pid_t pid, const struct unwind_map *map, uint64_t offset, void *out,
                            size_t size, struct unwind_file_state *state) {
    struct changed *changed = context;
    (void)pid, (void)map;
    if (++changed->opened > changed->shrink_after && ftruncate(changed->fd, 4096))
        return -errno;
    return unwind_read(dup(changed->fd), offset, out, size, state);
}
static bool changed_map(void *context, pid_t pid, uint64_t address, struct unwind_map *out) {
    (void)context;
    return test_maps_find(&maps, pid, address, out);
}

// The C library's file, in memory: all frames of a stack use it, whichever file they are of.
static uint8_t *file_bytes(const char *path, size_t *size) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && !fstat(fd, &st));
    *size = (size_t)st.st_size;
    uint8_t *bytes = xmalloc(*size);
    assert_int_equal(read(fd, bytes, *size), (ssize_t)*size);
    close(fd);
    return bytes;
}

static void random_bytes_in_files(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    size_t size;
    uint8_t *bytes = file_bytes("/proc/self/exe", &size);
    struct timespec begin, end;
    // Where a walk reads: the headers, and the unwind tables.
    uint64_t headers[2] = {0, 1024}, tables[2] = {0, 0}, program_count = bytes[56];
    (void)state;
    for (uint64_t i = 0; i < program_count; i++) {
        const uint8_t *program = bytes + 64 + i * 56;
        uint32_t type;
        memcpy(&type, program, 4);
        if (type == 0x6474e550) { // PT_GNU_EH_FRAME; .eh_frame follows it
            memcpy(&tables[0], program + 8, 8);
            memcpy(&tables[1], program + 32, 8);
            tables[1] = tables[0] + tables[1] * 4 < size ? tables[1] * 4 : size - tables[0];
        }
    }
    assert_true(tables[1] > 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (unsigned round = 0; round < 1500; round++) {
        struct changed changed = {memfd_create("changed", MFD_CLOEXEC), ~0u, 0};
        struct unwind_source source = {&changed, changed_map, changed_read, NULL};
        struct unwinder *unwinder = round % 2 ? unwinder_new_oracle(&source) : unwinder_new(&source);
        assert_int_equal(write(changed.fd, bytes, size), (ssize_t)size);
        for (unsigned n = 0; n < 4000; n++) {
            const uint64_t *where = round % 8 == 7 && n < 3 ? headers : tables;
            uint8_t byte = (uint8_t)(noise() >> 32);
            assert_int_equal(pwrite(changed.fd, &byte, 1, (off_t)(where[0] + noise() % where[1])), 1);
        }
        struct unwind_input what = input;
        for (unsigned n = 0; n < 4; n++) {
            unwind(unwinder, &what, frames, &ending);
            what.registers.ip = callers[n % 3] + noise() % 4096;
            what.registers.fp += noise() % 64 * 8;
        }
        unwinder_free(unwinder);
        close(changed.fd);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - begin.tv_sec < 60);
    free(bytes);
}

static void random_stacks(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    struct unwinder *unwinder = unwinder_new(&own_source);
    uint8_t *changed = xmalloc(STACK_MAX);
    struct unwind_input what = input;
    (void)state;
    what.stack = changed;
    for (unsigned round = 0; round < 20000; round++) {
        memcpy(changed, stack, STACK_MAX);
        for (unsigned n = 0; n < 64; n++)
            changed[noise() % input.stack_size] = (uint8_t)noise();
        what.registers = input.registers;
        if (round % 4 == 0)
            what.registers.sp = noise();
        if (round % 4 == 1)
            what.registers.fp = noise();
        if (round % 4 == 2)
            what.registers.ip = noise() % 2 ? noise() : 0;
        unwind(unwinder, &what, frames, &ending);
    }
    free(changed);
    unwinder_free(unwinder);
}

static void shrinking_file(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    size_t size;
    uint8_t *bytes = file_bytes("/proc/self/exe", &size);
    (void)state;
    for (unsigned after = 0; after < 4; after++) {
        struct changed changed = {memfd_create("shrinking", MFD_CLOEXEC), after, 0};
        struct unwind_source source = {&changed, changed_map, changed_read, NULL};
        struct unwinder *unwinder = unwinder_new(&source);
        assert_int_equal(write(changed.fd, bytes, size), (ssize_t)size);
        unwind(unwinder, &input, frames, &ending);
        ftruncate(changed.fd, 100);
        struct unwind_input other = input;
        other.registers.ip += 1 << 16; // blocks that are not cached
        unwind(unwinder, &other, frames, &ending);
        unwind(unwinder, &input, frames, &ending);
        unwinder_free(unwinder);
        close(changed.fd);
    }
    free(bytes);
}

static void flushed_mappings_are_queried_again(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    struct unwinder *unwinder = unwinder_new(&own_source);
    unsigned count = maps.count;
    (void)state;
    unwind(unwinder, &input, frames, &ending);
    assert_int_equal(ending, UNWIND_WHOLE);
    maps.count = 0;
    unwind(unwinder, &input, frames, &ending);
    assert_int_equal(ending, UNWIND_WHOLE); // remembered
    unwind_flush(unwinder, getpid(), input.registers.ip, input.registers.ip + 1);
    assert_int_equal(unwind(unwinder, &input, frames, &ending), 1);
    assert_int_equal(ending, UNWIND_NO_MAP);
    maps.count = count;
    unwind(unwinder, &input, frames, &ending);
    assert_int_equal(ending, UNWIND_WHOLE);
    maps.count = 0;
    unwind_ended(unwinder, getpid());
    unwind(unwinder, &input, frames, &ending);
    assert_int_equal(ending, UNWIND_NO_MAP);
    maps.count = count;
    unwinder_free(unwinder);
}

static void many_processes_stay_bounded(void **state) {
    struct unwind_frame frames[FRAMES_MAX];
    enum unwind_ending ending;
    struct unwinder *unwinder = unwinder_new(&own_source);
    struct unwind_input what = input;
    (void)state;
    for (pid_t pid = 1; pid < 3000; pid++) {
        maps.pid = what.pid = pid;
        unwind(unwinder, &what, frames, &ending);
        assert_int_equal(ending, UNWIND_WHOLE);
    }
    maps.pid = getpid();
    unwinder_free(unwinder);
}

// ---- parts ----
static void splice_meets_the_last_frame(void **state) {
    const struct unwind_frame frames[] = {{.ip = 1, .exact = true}, {.ip = 5}, {.ip = 5}, {.ip = 5}};
    const uint64_t chain[] = {1, 5, 5, 5, 5, 5, 9}, other[] = {1, 7, 9}, jumped[] = {1, 7, 5, 9};
    (void)state;
    assert_int_equal(unwind_splice(frames, 4, chain, 7), 4);
    assert_int_equal(unwind_splice(frames, 2, chain, 7), 2);
    assert_int_equal(unwind_splice(frames, 4, other, 3), 3); // not met
    assert_int_equal(unwind_splice(frames, 4, jumped, 4), 3);
    assert_int_equal(unwind_splice(frames, 4, chain, 0), 0);
    const struct unwind_frame recursive[] = {{1, true}, {4, false}, {5, false}, {5, false}};
    const uint64_t no_caller[] = {1, 5, 5, 5, 5, 9}; // the chain has no 4
    assert_int_equal(unwind_splice(recursive, 4, no_caller, 6), 3);
    const struct unwind_frame interrupted[] = {{1, true}, {3, false}, {8, true}};
    const uint64_t signalled[] = {1, 3, 9};
    assert_int_equal(unwind_splice(interrupted, 3, signalled, 3), 2);
}

#if defined(__x86_64__)
static void call_instructions(void **state) {
    static const struct {
        uint8_t bytes[8];
        bool call;
    } cases[] = {
        {{0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},              // call rel32
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},  // call *%rax
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4}, true},  // call *%r12
        {{0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4}, true},              // call *0x4030201(%rip)
        {{0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 8}, true},     // call *8(%rsp)
        {{0x90, 0xff, 0x94, 0x24, 1, 2, 0, 0}, true},              // call *0x201(%rsp)
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, // jmp *%rax
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false},
        {{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0, 0x90}, false}, // a call, one byte earlier
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(unwind_is_call(cases[i].bytes, 8), cases[i].call);
}

static void edges_of_a_function(void **state) {
    static const struct {
        uint8_t code[4];
        size_t size;
        unsigned at; // where the return address is; ~0: it says nothing
    } cases[] = {
        {{0x55, 0x48, 0x89, 0xe5}, 4, 0},   // push %rbp
        {{0xf3, 0x0f, 0x1e, 0xfa}, 4, 0},   // endbr64
        {{0xf3, 0x0f, 0x1e, 0xfa}, 3, ~0u}, // cut
        {{0xc3, 0x90, 0x90, 0x90}, 1, 0},   // ret
        {{0x48, 0x89, 0xe5, 0x90}, 4, 8},   // mov %rsp,%rbp
        {{0x48, 0x8b, 0xec, 0x90}, 3, 8},   // the same, encoded the other way round
        {{0x48, 0x89, 0xe5}, 2, ~0u},       // cut
        {{0x5d, 0xc3, 0x90, 0x90}, 4, ~0u}, // pop %rbp: the record is still there
        {{0x90, 0x90, 0x90, 0x90}, 0, ~0u},
    };
    static const uint64_t stack[] = {0x111, 0x222};
    const struct unwind_copy copy = {(const uint8_t *)stack, 0x7000, sizeof(stack)};
    struct unwind_registers from = {.ip = 0x1000, .sp = 0x7000, .fp = 0x7100}, to;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool known = unwind_apply_edge(cases[i].code, cases[i].size, &copy, &from, &to);
        assert_int_equal(known, cases[i].at != ~0u);
        if (!known)
            continue;
        assert_int_equal(to.ip, cases[i].at ? 0x222 : 0x111);
        assert_int_equal(to.fp, cases[i].at ? 0x111 : 0x7100);
        assert_int_equal(to.sp, 0x7008 + cases[i].at);
    }
    from.sp = 0x7010; // above the copy
    assert_false(unwind_apply_edge(cases[0].code, 4, &copy, &from, &to));
}

// A CIE as gcc writes it ("zR", pcrel sdata4), and an FDE of 16 bytes of code at 0x1000 with a push of rbp at 1.
static const uint8_t cie_bytes[] = {0x14, 0,    0,    0, 0, 0,    0, 0, 1,    'z', 'R', 0,
                                    1,    0x78, 0x10, 1, 3, 0x0c, 7, 8, 0x90, 1,   0,   0};
static const uint8_t fde_bytes[] = {0x14, 0, 0, 0, 0x1c, 0,    0,    0,  0,    0x10, 0, 0,
                                    0x10, 0, 0, 0, 0,    0x41, 0x0e, 16, 0x86, 2,    0, 0};

static void rules_of_a_prologue(void **state) {
    struct cfi_cie cie;
    struct cfi_fde fde;
    struct cfi_rule rule;
    uint64_t cie_at;
    (void)state;
    assert_int_equal(cfi_parse_cie((struct cfi_bytes){cie_bytes, sizeof(cie_bytes), 0x100}, 0, &cie), CFI_OK);
    struct cfi_bytes record = {fde_bytes, sizeof(fde_bytes), 0x118};
    assert_true(cfi_fde_cie(record, &cie_at));
    assert_int_equal(cie_at, 0x100);
    assert_int_equal(cfi_parse_fde(record, 0, &cie, &fde), CFI_OK);
    assert_int_equal(fde.start, 0x1000);
    assert_int_equal(fde.end, 0x1010);
    assert_int_equal(cfi_run(&cie, &fde, 0x1000, &rule), CFI_OK);
    assert_true(rule.cfa == CFA_SP && rule.cfa_offset == 8 && rule.where[CFI_FP] == WHERE_SAME);
    assert_int_equal(cfi_run(&cie, &fde, 0x1001, &rule), CFI_OK);
    assert_true(rule.cfa == CFA_SP && rule.cfa_offset == 16);
    assert_true(rule.where[CFI_FP] == WHERE_CFA && rule.offset[CFI_FP] == -16);
    assert_true(rule.where[CFI_RA] == WHERE_CFA && rule.offset[CFI_RA] == -8);
    assert_int_equal(cfi_run(&cie, &fde, 0x1010, &rule), CFI_NO_ROW);
    for (size_t size = 0; size < sizeof(fde_bytes); size++) // cut records are malformed, never read beyond
        assert_int_equal(cfi_parse_fde((struct cfi_bytes){fde_bytes, size, 0x118}, 0, &cie, &fde), CFI_BAD);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_stack_is_whole),
        cmocka_unit_test(own_handler_is_whole),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(few_frames_wanted),
        cmocka_unit_test(random_stacks),
        cmocka_unit_test(random_bytes_in_files),
        cmocka_unit_test(shrinking_file),
        cmocka_unit_test(flushed_mappings_are_queried_again),
        cmocka_unit_test(many_processes_stay_bounded),
        cmocka_unit_test(splice_meets_the_last_frame),
#if defined(__x86_64__)
        cmocka_unit_test(call_instructions),
        cmocka_unit_test(edges_of_a_function),
        cmocka_unit_test(rules_of_a_prologue),
#endif
    };
    return cmocka_run_group_tests(tests, outer, NULL);
}
