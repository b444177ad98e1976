// The tables of names: held against the numbers that the compiler's own headers have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>
#include <sys/syscall.h>

#include "collectors/kernel/proc/syscall_names.h"

static void known(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int32_t x86_64, i386, arm64;
    } rows[] = {
        {"read", 0, 3, 63},
        {"write", 1, 4, 64},
        {"openat", 257, 295, 56},
        {"clone", 56, 120, 220},
        {"execve", 59, 11, 221},
        {"exit_group", 231, 252, 94},
        {"rt_sigreturn", 15, 173, 139},
        {"restart_syscall", 219, 0, 128},
        {"futex", 202, 240, 98},
        {"newfstatat", 262, -1, 79},
        {"fork", 57, 2, -1},
        {"clock_gettime64", -1, 403, -1},
        {"io_uring_enter", 426, 426, 426},
        {"clone3", 435, 435, 435},
        {"mseal", 462, 462, 462},
        {"mmap", 9, 90, 222},
        {"fstat", 5, 108, 80},
        {"ppoll", 271, 309, 73},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(syscalls_number_of(SYSCALLS_X86_64, rows[i].name), rows[i].x86_64);
        assert_int_equal(syscalls_number_of(SYSCALLS_I386, rows[i].name), rows[i].i386);
        assert_int_equal(syscalls_number_of(SYSCALLS_ARM64, rows[i].name), rows[i].arm64);
    }
    assert_null(syscalls_name_of(SYSCALLS_X86_64, 400)); // a hole
    assert_null(syscalls_name_of(SYSCALLS_X86_64, 100000));
}

// The last of each stretch of the native table, as this machine's compiler knows it.
static void as_the_headers(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int32_t number;
    } rows[] = {
#define ROW(name_) {#name_, SYS_##name_}
        ROW(read),
        ROW(close),
        ROW(getdents64),
        ROW(setxattr),
        ROW(io_setup),
        ROW(epoll_pwait),
        ROW(openat),
        ROW(unshare),
        ROW(splice),
        ROW(eventfd2),
        ROW(prlimit64),
        ROW(finit_module),
        ROW(getrandom),
        ROW(execveat),
        ROW(membarrier),
        ROW(statx),
        ROW(io_pgetevents),
        ROW(rseq),
        ROW(pidfd_send_signal),
        ROW(io_uring_register),
        ROW(pidfd_open),
        ROW(openat2),
        ROW(faccessat2),
        ROW(process_madvise),
        ROW(kexec_load),
        ROW(sched_setattr),
        ROW(tgkill),
        ROW(wait4),
        ROW(accept4),
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(syscalls_number_of(SYSCALLS_MACHINE, rows[i].name), rows[i].number);
}

static void shown(void **state) {
    (void)state;
    char name[64];
    syscalls_name(SYSCALLS_ABI_NATIVE, 435, name, sizeof(name));
    assert_string_equal(name, "clone3");
    syscalls_name(SYSCALLS_ABI_NATIVE, 500, name, sizeof(name));
    assert_string_equal(name, "#500");
    syscalls_name(SYSCALLS_ABI_NATIVE, SYSCALLS_NUMBERS - 1, name, sizeof(name));
    assert_string_equal(name, "unknown");
    if (SYSCALLS_MACHINE == SYSCALLS_X86_64) {
        syscalls_name(SYSCALLS_ABI_32, 20, name, sizeof(name));
        assert_string_equal(name, "i386:getpid");
        syscalls_name(SYSCALLS_ABI_X32, 39, name, sizeof(name));
        assert_string_equal(name, "x32:getpid");
    }
    syscalls_error_name(2, name, sizeof(name));
    assert_string_equal(name, "ENOENT");
    syscalls_error_name(524, name, sizeof(name));
    assert_string_equal(name, "524");
    for (int64_t error = 0; error < 600; error++)
        assert_int_equal(syscalls_is_restart(-error), error == 512 || error == 513 || error == 514 || error == 516);
    assert_false(syscalls_is_restart(512));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(as_the_headers),
                                       cmocka_unit_test(shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
