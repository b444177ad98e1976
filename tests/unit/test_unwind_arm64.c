// The unwinder's rules, steps and decoding of instructions for arm64, on any machine: with the code and the unwind
// tables that gcc 12 made of the functions of tests/vm/programs/profile.
#ifndef UNWIND_ARM64
#define UNWIND_ARM64
#endif
#include "collectors/kernel/unwind/cfi.c"
#include "collectors/kernel/unwind/link.c"
#include "collectors/kernel/unwind/walk.c"

// After the sources: a macro of cmocka has the name of a function there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define CIE "\x10\0\0\0\0\0\0\0\x01\x7a\x52\0\x04\x78\x1e\x01\x1b\x0c\x1f\0"
// Built with -fomit-frame-pointer -mbranch-protection=standard: paciasp; str x30, [sp, #-16]!; bl burn; ldr x30, [sp],
// #16; autiasp; ret.
#define THIRTY 0x400e20u
#define THIRTY_FDE                                                                                                     \
    "\x1c\0\0\0\x50\x01\0\0\x1c\xec\xf8\xff\x18\0\0\0\0\x41\x2d\x41\x0e\x10\x9e\x02\x42\xde\x0e\0\x41\x2d\0\0"
static const uint32_t thirty_code[] = {0xd503233f, 0xf81f0ffe, 0x97ffffaa, 0xf84107fe, 0xd50323bf, 0xd65f03c0};
// stp x29, x30, [sp, #-16]!; mov x29, sp; ...
#define DEEP 0x11e4u
#define DEEP_FDE                                                                                                       \
    "\x24\0\0\0\x44\x01\0\0\xcc\xfc\xff\xff\x30\0\0\0\0\x41\x0e\x10\x9d\x02\x9e\x01\x46\x0a\xde\xdd\x0e\0\x41\x0b"     \
    "\x43\xde\xdd\x0e\0\0\0\0"
static const uint32_t deep_code[] = {0xa9bf7bfd, 0x910003fd, 0x7100041f};
// Undefined return address.
#define START_FDE "\x10\0\0\0\x18\0\0\0\x34\xea\xf8\xff\x3c\0\0\0\0\x41\x07\x1e"
// A leaf function.
#define BURN_FDE "\x10\0\0\0\0\x01\0\0\x50\xdb\xf8\xff\x10\0\0\0\0\0\0\0"
static const uint32_t burn_code[] = {0xb4000060, 0xf1000400, 0x54ffffe1, 0xd65f03c0};

#define AT(text, address) ((struct cfi_bytes){(const uint8_t *)(text), sizeof(text) - 1, (address)})

static struct cfi_rule rule_of(struct cfi_bytes cie, struct cfi_bytes fde, uint64_t address) {
    struct cfi_cie common;
    struct cfi_fde frame;
    struct cfi_rule rule;
    assert_int_equal(cfi_parse_cie(cie, 0, &common), CFI_OK);
    assert_int_equal(common.return_register, 30);
    assert_int_equal(cfi_parse_fde(fde, 0, &common, &frame), CFI_OK);
    assert_int_equal(cfi_run(&common, &frame, address, &rule), CFI_OK);
    return rule;
}

static struct cfi_rule rule_thirty(uint64_t address) {
    return rule_of(AT(CIE, 0x4720b0), AT(THIRTY_FDE, 0x4721fc), address);
}

static struct cfi_rule rule_deep(uint64_t address) {
    return rule_of(AT(CIE, 0x13d0), AT(DEEP_FDE, 0x1510), address);
}

static void signed_function(void **state) {
    (void)state;
    struct cfi_rule rule = rule_thirty(THIRTY + 4);
    assert_int_equal(rule.cfa, CFA_SP);
    assert_int_equal(rule.cfa_offset, 0);
    assert_int_equal(rule.where[CFI_RA], WHERE_SAME);
    rule = rule_thirty(THIRTY + 8);
    assert_int_equal(rule.cfa, CFA_SP);
    assert_int_equal(rule.cfa_offset, 16);
    assert_int_equal(rule.where[CFI_RA], WHERE_CFA);
    assert_int_equal(rule.offset[CFI_RA], -16);
    assert_int_equal(rule.where[CFI_FP], WHERE_SAME);
    assert_false(unwind_keeps_record(&rule));
    assert_false(unwind_rule_by_record(&rule));
    rule = rule_thirty(THIRTY + 16); // restored
    assert_int_equal(rule.where[CFI_RA], WHERE_SAME);
    assert_int_equal(rule.cfa_offset, 0);
}

static void frame_record(void **state) {
    (void)state;
    struct cfi_rule rule = rule_deep(DEEP);
    assert_false(unwind_keeps_record(&rule));
    rule = rule_deep(DEEP + 8);
    assert_int_equal(rule.cfa, CFA_SP);
    assert_int_equal(rule.cfa_offset, 16);
    assert_int_equal(rule.offset[CFI_FP], -16);
    assert_int_equal(rule.offset[CFI_RA], -8);
    assert_true(unwind_keeps_record(&rule));
    assert_true(unwind_rule_by_record(&rule));
    assert_int_equal(rule.cfa, CFA_FP);
    assert_int_equal(rule.cfa_offset, 16);
}

static void steps(void **state) {
    (void)state;
    // burn, called by thirty, called by deep, which calls itself: a signed return address and two frame records.
    const uint64_t stack[] = {0x5a000000000011f8, 0, 0x7fff00001030, 0x2a000000000011f8, 0x7fff00001050, 0x1210};
    const struct unwind_copy copy = {(const uint8_t *)stack, 0x7fff00001000, sizeof(stack)};
    struct unwind_registers at = {
        .ip = 0x400cc4 + 4, .sp = 0x7fff00001000, .fp = 0x7fff00001010, .lr = 0x400e2c, .saved = {19, 20}};
    struct unwind_registers to;
    struct cfi_rule rule = rule_of(AT(CIE, 0x473070), AT(BURN_FDE, 0x47316c), at.ip);
    assert_int_equal(unwind_apply_rule(&rule, &copy, &at, &to), STEP_OK);
    assert_int_equal(to.ip, 0x400e2c);
    assert_int_equal(to.sp, at.sp);
    assert_int_equal(to.saved[1], 20);
    rule = rule_thirty(to.ip - 1);
    at = to;
    assert_int_equal(unwind_apply_rule(&rule, &copy, &at, &to), STEP_OK);
    assert_int_equal(to.ip, 0x11f8); // without the signature
    assert_int_equal(to.sp, 0x7fff00001010);
    assert_int_equal(to.fp, 0x7fff00001010);
    rule = rule_deep(to.ip - 1);
    at = to;
    assert_int_equal(unwind_apply_rule(&rule, &copy, &at, &to), STEP_OK);
    assert_int_equal(to.ip, 0x11f8);
    assert_int_equal(to.sp, 0x7fff00001020);
    assert_int_equal(to.fp, 0x7fff00001030);
    // The same by the frame record alone.
    at.sp = 0x7fff00001008;
    assert_int_equal(unwind_apply_fp(&copy, &at, &to), STEP_OK);
    assert_int_equal(to.ip, 0x11f8);
    assert_int_equal(to.fp, 0x7fff00001030);
    assert_true(unwind_rule_by_record(&rule));
    assert_int_equal(unwind_apply_rule(&rule, &copy, &at, &to), STEP_OK);
    assert_int_equal(to.sp, 0x7fff00001020);
    rule = rule_of(AT(CIE, 0x4720b0), AT(START_FDE, 0x4720c4), 0x400b00 + 0x30);
    assert_int_equal(unwind_apply_rule(&rule, &copy, &at, &to), STEP_WHOLE);
}

static void registers(void **state) {
    (void)state;
    uint64_t values[14];
    struct unwind_registers at;
    for (unsigned i = 0; i < 14; i++)
        values[i] = 19 + i;
    values[11] |= 0x3full << 48;
    assert_int_equal(__builtin_popcountll(UNWIND_REGS_MASK), 14);
    assert_true(unwind_registers_decode(values, 14, &at));
    assert_int_equal(at.saved[0], 19);
    assert_int_equal(at.saved[9], 28);
    assert_int_equal(at.fp, 29);
    assert_int_equal(at.lr, 30);
    assert_int_equal(at.sp, 31);
    assert_int_equal(at.ip, 32);
    assert_false(unwind_registers_decode(values, 13, &at));
    assert_int_equal(unwind_link_decode(values[11]), 30);
    // The address of a kernel's first stack has the bits that addresses have.
    assert_int_equal(unwind_address_mask(0x0000ffffe5a31000), 0x0000ffffffffffff);
    assert_int_equal(unwind_address_mask(0x0000007fe5a31000), 0x0000007fffffffff);
    assert_int_equal(unwind_address_mask(0x000fffffe5a31000), 0x000fffffffffffff);
    assert_int_equal(unwind_address_mask(0), ~0ull);
}

// struct rt_sigframe: 128 bytes of siginfo, then a ucontext whose uc_mcontext is at 176; x0 is at 8 of that.
static void signal_frame(void **state) {
    (void)state;
    static const uint8_t code[8] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
    uint64_t stack[80] = {0}, *x = stack + (128 + 176 + 8) / 8;
    struct unwind_copy copy = {(const uint8_t *)stack, 0x7fff00001000, sizeof(stack)};
    const struct unwind_registers at = {.ip = 0x7fff000007bc, .sp = 0x7fff00001000};
    struct unwind_registers to;
    enum step step;
    for (unsigned i = 0; i < 33; i++)
        x[i] = 100 + i;
    assert_true(unwind_apply_sigreturn(code, &copy, &at, &to, &step));
    assert_int_equal(step, STEP_OK);
    assert_int_equal(to.saved[0], 119);
    assert_int_equal(to.fp, 129);
    assert_int_equal(to.lr, 130);
    assert_int_equal(to.sp, 131);
    assert_int_equal(to.ip, 132);
    copy.size = 128 + 176 + 8 + 32 * 8; // cut before the program counter
    assert_true(unwind_apply_sigreturn(code, &copy, &at, &to, &step));
    assert_int_equal(step, STEP_LEFT);
    assert_false(unwind_apply_sigreturn((const uint8_t *)burn_code, &copy, &at, &to, &step));
}

static void link_register(void **state) {
    (void)state;
    static const uint32_t moved[] = {0xd503233f, 0xa9ac53f3}, lowered[] = {0xd10083ff},
                          spilled[] = {0xd10083ff, 0xf90007fe};
    for (size_t i = 0; i <= 4; i++)
        assert_int_equal(unwind_link_after(burn_code, i), LINK_HELD);
    assert_int_equal(unwind_link_after(thirty_code, 1), LINK_HELD);
    assert_int_equal(unwind_link_after(thirty_code, 2), LINK_LOST);
    assert_int_equal(unwind_link_after(thirty_code + 2, 1), LINK_LOST); // a call
    assert_int_equal(unwind_link_after(deep_code, 1), LINK_LOST);
    assert_int_equal(unwind_link_after(moved, 2), LINK_SP_MOVED); // stp x19, x20, [sp, #-320]!
    assert_int_equal(unwind_link_after(lowered, 1), LINK_SP_MOVED);
    assert_int_equal(unwind_link_after(spilled, 2), LINK_LOST);
}

static void calls(void **state) {
    (void)state;
    static const uint32_t blr = 0xd63f0060, blraaz = 0xd63f08bf, two[] = {0xd65f03c0, 0xd503201f, 0xb4000060};
    static const uint32_t plt[] = {0x90000110, 0xf9403a11, 0x9101c210, 0xd61f0220};
    uint64_t target;
    assert_true(unwind_link_target(thirty_code[2], THIRTY + 12, &target));
    assert_int_equal(target, 0x400cd0);
    assert_true(unwind_link_target(0x94000002, 0x1004, &target));
    assert_int_equal(target, 0x1008);
    assert_false(unwind_link_target(blr, 0x1004, &target));
    assert_true(unwind_is_call((const uint8_t *)&blr, 4));
    assert_true(unwind_is_call((const uint8_t *)&blraaz, 4));
    assert_true(unwind_is_call((const uint8_t *)&thirty_code[2], 4));
    assert_false(unwind_is_call((const uint8_t *)&thirty_code[1], 4));
    assert_false(unwind_is_call((const uint8_t *)&blr, 3));
    assert_int_equal(unwind_link_begin(thirty_code, 6), 6); // from paciasp on
    assert_int_equal(unwind_link_begin(burn_code, 3), 3);   // no return before
    assert_int_equal(unwind_link_begin(burn_code, 4), 0);   // just after one
    assert_int_equal(unwind_link_begin(two, 3), 2);
    assert_true(unwind_link_is_plt(plt));
    assert_false(unwind_link_is_plt(burn_code));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signed_function), cmocka_unit_test(frame_record), cmocka_unit_test(steps),
        cmocka_unit_test(registers),       cmocka_unit_test(signal_frame), cmocka_unit_test(link_register),
        cmocka_unit_test(calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
