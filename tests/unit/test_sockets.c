// The decisions of the collector "sockets": which receiver does not read, and which thread waits for a name server.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "collectors/sockets/parts.h"

#define SECOND 1000000000ull

static void unread(void **state) {
    (void)state;
    struct unread_socket unread = {0};
    struct diag_socket socket = {.inode = 5, .has_info = true, .received = 70000, .queue = 65000, .window = 0};
    sockets_unread_update(&unread, &socket, 10 * SECOND);
    assert_true(isnan(unread.read_per_s)); // what came before is unknown
    assert_int_equal(unread.read_ns, 10 * SECOND);
    sockets_unread_update(&unread, &socket, 12 * SECOND);
    assert_true(unread.read_per_s == 0);
    assert_int_equal(unread.read_ns, 10 * SECOND);
    assert_int_equal(unread.closed_ns, 12 * SECOND);
    socket.received = 72000; // 2,000 were read, as many came
    socket.window = 4096;
    sockets_unread_update(&unread, &socket, 14 * SECOND);
    assert_true(unread.read_per_s == 1000);
    assert_int_equal(unread.read_ns, 14 * SECOND);
    assert_int_equal(unread.closed_ns, 12 * SECOND); // open again
    // A kernel that does not report the window: a full queue counts.
    socket.window = UINT32_MAX;
    sockets_unread_update(&unread, &socket, 16 * SECOND);
    assert_int_equal(unread.closed_ns, 16 * SECOND);
    socket.queue = 100;
    sockets_unread_update(&unread, &socket, 18 * SECOND);
    assert_int_equal(unread.closed_ns, 16 * SECOND);
}

static bool waits(int64_t nr, uint64_t first, uint64_t second, uint64_t third) {
    const struct proc_syscall call = {.nr = nr, .args = {first, second, third}};
    return sockets_lookup_waits(&call, first == 4 ? "socket:[77]" : "/dev/null", 77);
}

static void lookup(void **state) {
    (void)state;
#ifdef SYS_poll
    assert_true(waits(SYS_poll, 0x7ffc0000, 1, 5000));
    assert_false(waits(SYS_poll, 0x7ffc0000, 1, (uint64_t)-1)); // for ever: not a resolver
    assert_false(waits(SYS_poll, 0x7ffc0000, 40, 5000));        // a server with many clients
#endif
    assert_true(waits(SYS_ppoll, 0x7ffc0000, 2, 0x7ffc1000));
    assert_false(waits(SYS_ppoll, 0x7ffc0000, 2, 0));
    assert_true(waits(SYS_recvfrom, 4, 0x7ffc0000, 512));
    assert_false(waits(SYS_recvfrom, 5, 0x7ffc0000, 512));
    assert_false(waits(SYS_epoll_pwait, 4, 0x7ffc0000, 512)); // an event loop: cannot be seen
    assert_false(waits(-1, 4, 0, 0));
    struct proc_syscall call = {.nr = SYS_recvfrom, .args = {4}, .is_32 = true};
    assert_false(sockets_lookup_waits(&call, "socket:[77]", 77));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unread), cmocka_unit_test(lookup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
