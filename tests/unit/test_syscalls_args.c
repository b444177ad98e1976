// Arguments as text, from this process's own memory and a /proc of the test's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/proc/memory.h"
#include "collectors/syscalls/args.h"

static struct syscalls_args *args;

static int begin(void **state) {
    (void)state;
    args = syscalls_args_new(NULL, "/nonexistent");
    return 0;
}

static int end(void **state) {
    (void)state;
    syscalls_args_free(args);
    return 0;
}

static uint64_t at(const char *string) {
    return (uint64_t)(uintptr_t)string;
}

static void expect_of(const char *proc, bool over, long number, const uint64_t values[6], const char *expected) {
    struct syscalls_args *other = syscalls_args_new(NULL, proc);
    const struct text *text = syscalls_args_text(other, getpid(), SYSCALLS_ABI_NATIVE, (uint32_t)number, values, over);
    assert_string_equal(text_bytes(text), expected);
    text_unref(text);
    syscalls_args_free(other);
}

static void expect(long number, const uint64_t values[6], const char *expected) {
    const struct text *text = syscalls_args_text(args, getpid(), SYSCALLS_ABI_NATIVE, (uint32_t)number, values, false);
    assert_string_equal(text_bytes(text), expected);
    text_unref(text);
}

#define CWD ((uint32_t)AT_FDCWD)

static void paths(void **state) {
    (void)state;
    expect(SYS_mkdirat, (uint64_t[6]){CWD, at("/tmp/a b"), 0755}, "AT_FDCWD, \"/tmp/a b\", 0755");
    expect(SYS_mkdirat, (uint64_t[6]){CWD, at("/tmp/\xc3\xa9"), 0}, "AT_FDCWD, \"/tmp/\xc3\xa9\", 00");
    expect(SYS_openat, (uint64_t[6]){CWD, 0, O_RDONLY}, "AT_FDCWD, NULL, O_RDONLY, 00");
}

// If events and /proc have different IDs, no process is read.
static void of_another_namespace(void **state) {
    (void)state;
    char number[64];
    snprintf(number, sizeof(number), "AT_FDCWD, 0x%llx, 0755", (unsigned long long)at("/tmp/a b"));
    expect_of(NULL, false, SYS_mkdirat, (uint64_t[6]){CWD, at("/tmp/a b"), 0755}, number);
    expect_of(NULL, false, SYS_fsync, (uint64_t[6]){0}, "0");
}

// What is no path any more when it is looked at.
static void stale_paths(void **state) {
    (void)state;
    expect(SYS_mkdirat, (uint64_t[6]){CWD, at("\x0c"), 0755}, "AT_FDCWD, ?, 0755");
    expect(SYS_mkdirat, (uint64_t[6]){CWD, at("/tmp/\x7f"), 0755}, "AT_FDCWD, ?, 0755");
    expect(SYS_mkdirat, (uint64_t[6]){CWD, at("/tmp\n"), 0755}, "AT_FDCWD, ?, 0755");
    expect(SYS_mkdirat, (uint64_t[6]){CWD, at(""), 0755}, "AT_FDCWD, ?, 0755");
    expect(SYS_chdir, (uint64_t[6]){at("")}, "?");
    expect(SYS_newfstatat, (uint64_t[6]){3, at(""), 0, AT_EMPTY_PATH}, "3, \"\", 0, 0x1000"); // fstat of today
    expect(SYS_newfstatat, (uint64_t[6]){3, at("\x01"), 0, 0}, "3, ?, 0, 0");
}

// After the call only what the program cannot have written since is its path for sure.
static void paths_after(void **state) {
    (void)state;
    static const char constant[] = "/etc/constant";
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), mine[] = "/tmp/mine";
    assert_true(page != MAP_FAILED);
    expect_of("/proc", true, SYS_chdir, (uint64_t[6]){at(mine)}, "~\"/tmp/mine\"");
    expect_of("/proc", false, SYS_chdir, (uint64_t[6]){at(mine)}, "\"/tmp/mine\"");
    expect_of("/nonexistent", true, SYS_chdir, (uint64_t[6]){at(constant)}, "~\"/etc/constant\""); // it cannot be known
    expect_of("/proc", true, SYS_chdir, (uint64_t[6]){at("\x01")}, "?");
    strcpy(page + 4090, "/ab/c");
    assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
    bool asks = process_memory_is_constant("/proc", getpid(), at(constant), strlen(constant));
    assert_false(process_memory_is_constant("/proc", getpid(), at(page) + 4090, 6)); // its end can be written
    munmap(page, 8192);
    assert_false(process_memory_is_constant("/proc", getpid(), at(page), 1));
    if (!asks)
        skip(); // before Linux 6.11
    expect_of("/proc", true, SYS_mkdirat, (uint64_t[6]){CWD, at(constant), 0}, "AT_FDCWD, \"/etc/constant\", 00");
}

// A sleep for a time, and one until a time of the clock.
static void times(void **state) {
    (void)state;
    const struct timespec time = {.tv_sec = 29463, .tv_nsec = 300000000};
    uint64_t address = (uint64_t)(uintptr_t)&time;
    expect(SYS_clock_nanosleep, (uint64_t[6]){1, 0, address}, "1, 0, 29463.3s, 0");
    expect(SYS_clock_nanosleep, (uint64_t[6]){1, TIMER_ABSTIME, address}, "1, TIMER_ABSTIME, until 29463.3s, 0");
    const struct timespec clock = {.tv_sec = 1763840123, .tv_nsec = 456000000};
    address = (uint64_t)(uintptr_t)&clock;
    expect(SYS_clock_nanosleep, (uint64_t[6]){0, TIMER_ABSTIME, address}, "0, TIMER_ABSTIME, until 1763840123.456s, 0");
    const struct timespec little = {.tv_nsec = 2500};
    address = (uint64_t)(uintptr_t)&little;
    expect(SYS_clock_nanosleep, (uint64_t[6]){1, 0, address}, "1, 0, 2.5e-06s, 0");
}

static bool idle(long number, uint64_t first, uint64_t second, const char *string) {
    const struct text *text = text_from(string);
    bool is = syscalls_args_idle(SYSCALLS_ABI_NATIVE, (uint32_t)number, (uint64_t[6]){first, second}, text);
    text_unref(text);
    return is;
}

static void idle_calls(void **state) {
    (void)state;
    enum { PRIVATE = 128, LOCK_PI = 6, WAIT_BITSET = 9 };
    assert_true(idle(SYS_ppoll, 0, 0, ""));
    assert_true(idle(SYS_wait4, 0, 0, ""));
    assert_true(idle(SYS_clock_nanosleep, 0, 0, ""));
    assert_true(idle(SYS_epoll_pwait, 0, 0, ""));
    assert_true(idle(SYS_accept4, 0, 0, ""));
    assert_true(idle(SYS_futex, 0x1000, PRIVATE, ""));
    assert_true(idle(SYS_futex, 0x1000, PRIVATE | WAIT_BITSET, ""));
    assert_false(idle(SYS_futex, 0x1000, PRIVATE | LOCK_PI, ""));
    assert_true(idle(SYS_read, 0, 0, "0</dev/pts/3>, 0x7ffe, 1"));
    assert_true(idle(SYS_read, 3, 0x1000, "3</dev/fuse>, 0x1000, 2097152")); // a server that has nothing to do
    assert_true(idle(SYS_read, 5, 0, "5<anon_inode:[timerfd]>, 0x7ffe, 8"));
    assert_true(idle(SYS_read, 8, 0, "8<pipe:[2652685]>, 0x7ffe, 8192"));
    assert_true(idle(SYS_recvfrom, 0, 0, ""));
    assert_false(idle(SYS_read, 3, 0, "3</mnt/dev/tty1>, 0x7ffe, 1"));
    assert_false(idle(SYS_read, 3, 0, "3</dev/vda>, 0x7ffe, 1"));
    assert_false(idle(SYS_write, 1, 0, "1</dev/pts/3>, 0x7ffe, 1"));
    assert_false(idle(SYS_fsync, 1, 0, ""));
    assert_false(idle(100000, 0, 0, ""));
    assert_false(syscalls_args_idle(SYSCALLS_ABI_NATIVE, SYS_read, (uint64_t[6]){0}, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths, begin, end),
        cmocka_unit_test_setup_teardown(stale_paths, begin, end),
        cmocka_unit_test_setup_teardown(of_another_namespace, begin, end),
        cmocka_unit_test(paths_after),
        cmocka_unit_test_setup_teardown(times, begin, end),
        cmocka_unit_test(idle_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
