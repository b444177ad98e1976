// How the collector "suspects" finds what sends log lines: paths, sockets, their peers, and the counting program.
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/kernel/unix_diag.h"
#include "collectors/suspects/logs.h"

static void paths(void **state) {
    (void)state;
    static const char *const log[] = {"/dev/log", "/var/spool/postfix/dev/log", "/run/systemd/journal/dev-log",
                                      "/run/systemd/journal/stdout", "/run/systemd/journal.web/socket"};
    static const char *const other[] = {"", "/log", "/dev/log2", "@/dev/log/x", "/run/systemd/notify", "/tmp/dev-log"};
    for (size_t i = 0; i < sizeof(log) / sizeof(log[0]); i++)
        assert_true(logs_is_log_path(log[i]));
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
        assert_false(logs_is_log_path(other[i]));
}

// Lines of a real /proc/net/unix.
static void sockets(void **state) {
    (void)state;
    uint64_t inode = 0;
    const char *path;
    assert_false(logs_socket_parse("Num       RefCount Protocol Flags    Type St Inode Path", &inode, &path));
    assert_false(logs_socket_parse("", &inode, &path));
    assert_true(
        logs_socket_parse("00000000a6b4b54c: 00000003 00000000 00000000 0002 03 2530741 /dev/log", &inode, &path));
    assert_int_equal(inode, 2530741);
    assert_string_equal(path, "/dev/log");
    assert_true(logs_socket_parse("000000003102408a: 00000003 00000000 00000000 0001 03  1081", &inode, &path));
    assert_int_equal(inode, 1081);
    assert_string_equal(path, "");
}

static void waits(void **state) {
    (void)state;
    struct proc_syscall call = {.nr = SYS_sendto, .args = {5}};
    assert_true(logs_send_waits(&call, 5));
    assert_false(logs_send_waits(&call, 6));
    call.running = true;
    assert_false(logs_send_waits(&call, 5));
    call = (struct proc_syscall){.nr = SYS_recvfrom, .args = {5}};
    assert_false(logs_send_waits(&call, 5));
    call.nr = -1;
    assert_false(logs_send_waits(&call, 5));
    assert_true(logs_sleeps_in_send("unix_wait_for_peer"));
    assert_true(logs_sleeps_in_send("sock_alloc_send_pskb"));
    assert_false(logs_sleeps_in_send("0")); // it runs, or wchan is not available
    assert_false(logs_sleeps_in_send("request_wait_answer"));
}

// Every jump ends inside of the program, behind the jump: the kernel's verifier accepts no other.
static void program(void **state) {
    (void)state;
    static struct bpf_code code;
    if (!logs_program(&code, 5))
        skip();
    assert_true(code.n > 50 && code.n < 100);
    assert_int_equal(code.insns[code.n - 1].code, BPF_JMP | BPF_EXIT);
    size_t calls = 0;
    for (size_t i = 0; i < code.n; i++) {
        const struct bpf_insn *insn = &code.insns[i];
        calls += insn->code == (BPF_JMP | BPF_JEQ | BPF_K) && insn->dst_reg == BPF_REG_7;
        if (BPF_CLASS(insn->code) != BPF_JMP || BPF_OP(insn->code) == BPF_CALL || BPF_OP(insn->code) == BPF_EXIT)
            continue;
        assert_true(insn->off > 0);
        assert_true(i + 1 + (size_t)insn->off < code.n);
    }
    assert_int_equal(calls, 10);
}

// ---- peers ----

struct peers {
    struct unix_diag_socket seen[8];
    size_t n;
    uint64_t inode, peer; // of the one to find
};

static void peer_note(void *context, const struct unix_diag_socket *socket) {
    struct peers *peers = context;
    if (peers->n < 8)
        peers->seen[peers->n++] = *socket;
    if (socket->inode == peers->inode)
        peers->peer = socket->peer;
}

struct reply {
    struct nlmsghdr header;
    struct unix_diag_msg message;
    struct nlattr attribute;
    uint32_t peer;
};

static void replies(void **state) {
    (void)state;
    struct {
        struct reply a, b;
        struct nlmsghdr done;
    } reply = {.a = {{.nlmsg_len = sizeof(struct reply), .nlmsg_type = SOCK_DIAG_BY_FAMILY},
                     {.udiag_type = SOCK_DGRAM, .udiag_ino = 7},
                     {sizeof(struct nlattr) + 4, UNIX_DIAG_PEER},
                     9},
               .done = {.nlmsg_len = sizeof(struct nlmsghdr), .nlmsg_type = NLMSG_DONE}};
    struct peers peers = {0};
    reply.b = reply.a;
    reply.b.message.udiag_ino = 8;
    reply.b.attribute.nla_type = UNIX_DIAG_RQLEN;
    assert_int_equal(unix_diag_parse(&reply, sizeof(reply.a), peer_note, &peers), 1);
    peers.n = 0;
    assert_int_equal(unix_diag_parse(&reply, sizeof(reply), peer_note, &peers), 0);
    assert_int_equal(peers.n, 2);
    assert_int_equal(peers.seen[0].inode, 7);
    assert_int_equal(peers.seen[0].peer, 9);
    assert_int_equal(peers.seen[0].type, SOCK_DGRAM);
    assert_int_equal(peers.seen[1].peer, 0);
    reply.b.message.udiag_ino = 0; // not accepted yet: all such sockets would be the same
    peers.n = 0;
    assert_int_equal(unix_diag_parse(&reply, sizeof(reply), peer_note, &peers), 0);
    assert_int_equal(peers.n, 1);
    // Lengths that lie.
    reply.a.attribute.nla_len = 60;
    assert_int_equal(unix_diag_parse(&reply, sizeof(reply), peer_note, &peers), 0);
    assert_int_equal(unix_diag_parse(&reply, sizeof(reply.a) - 1, peer_note, &peers), -EBADMSG);
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } error = {{.nlmsg_len = sizeof(error), .nlmsg_type = NLMSG_ERROR}, {.error = -ENOENT}};
    assert_int_equal(unix_diag_parse(&error, sizeof(error), peer_note, &peers), -ENOENT);
}

// The kernel's own answer.
static void dump(void **state) {
    (void)state;
    struct stat a, b;
    struct peers peers = {0};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
    assert_int_equal(fstat(pair[0], &a), 0);
    assert_int_equal(fstat(pair[1], &b), 0);
    peers.inode = a.st_ino;
    int rc = unix_diag_dump(peer_note, &peers);
    close(pair[0]);
    close(pair[1]);
    if (rc == -ENOENT || rc == -EPROTONOSUPPORT)
        skip(); // without unix_diag
    assert_int_equal(rc, 0);
    assert_true(peers.peer == b.st_ino);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths),   cmocka_unit_test(sockets), cmocka_unit_test(waits),
                                       cmocka_unit_test(program), cmocka_unit_test(replies), cmocka_unit_test(dump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
