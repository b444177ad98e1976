// Records of the kernel log, and replies of sock_diag.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "collectors/kmsg/kmsg.h"
#include "collectors/sockets/diag.h"

static bool parse(const char *text, struct kmsg_record *out) {
    return kmsg_parse(text, strlen(text), out);
}

static void records(void **state) {
    (void)state;
    struct kmsg_record record;
    assert_true(parse("3,339,5140900,-;EXT4-fs error (device vda): x\\x1b\n SUBSYSTEM=block\n", &record));
    assert_int_equal(record.facility, 0);
    assert_int_equal(record.level, 3);
    assert_int_equal(record.us, 5140900);
    assert_string_equal(record.text, "EXT4-fs error (device vda): x\\x1b");
    assert_true(parse("11,340,5140901,c;from \x1b[2J user space", &record)); // facility 1
    assert_int_equal(record.facility, 1);
    assert_string_equal(record.text, "from ?[2J user space");
    assert_false(parse("", &record));
    assert_false(parse("3,339", &record));
    assert_false(parse("no;thing", &record));
}

static void socket_add(void *context, const struct diag_socket *socket) {
    char *out = context;
    sprintf(out + strlen(out), "%s > %s inode %llu queue %u/%u drops %u; ", socket->local, socket->remote,
            (unsigned long long)socket->inode, socket->queue, socket->limit, socket->drops);
}

static void replies(void **state) {
    (void)state;
    struct {
        struct nlmsghdr header;
        struct inet_diag_msg message;
        struct nlattr attribute;
        uint32_t values[SK_MEMINFO_VARS];
        struct nlmsghdr done;
    } reply = {.header = {.nlmsg_len = offsetof(__typeof__(reply), done), .nlmsg_type = SOCK_DIAG_BY_FAMILY},
               .message = {.idiag_family = AF_INET, .idiag_rqueue = 3, .idiag_wqueue = 1, .idiag_inode = 77},
               .attribute = {.nla_len = sizeof(struct nlattr) + sizeof(reply.values), .nla_type = INET_DIAG_SKMEMINFO},
               .values = {[SK_MEMINFO_DROPS] = 9},
               .done = {.nlmsg_len = sizeof(struct nlmsghdr), .nlmsg_type = NLMSG_DONE}};
    char out[512] = "";
    reply.message.id.idiag_src[0] = htonl(0x7f000001);
    reply.message.id.idiag_sport = htons(80);
    assert_int_equal(diag_parse(&reply, sizeof(reply), socket_add, out), 0);
    assert_string_equal(out, "127.0.0.1:80 > 0.0.0.0:0 inode 77 queue 3/1 drops 9; ");
    // More follows; an attribute that is cut off; a length beyond the end.
    out[0] = '\0';
    assert_int_equal(diag_parse(&reply, offsetof(__typeof__(reply), done), socket_add, out), 1);
    reply.attribute.nla_len = 4000;
    assert_int_equal(diag_parse(&reply, sizeof(reply), socket_add, out), 0);
    assert_true(strstr(out, "drops 0"));
    reply.header.nlmsg_len = 4000;
    assert_true(diag_parse(&reply, sizeof(reply), socket_add, out) < 0);
}

static void window_add(void *context, const struct diag_socket *socket) {
    *(struct diag_socket *)context = *socket;
}

// tcp_info of kernels that have less and less of it.
static void windows(void **state) {
    (void)state;
    struct {
        struct nlmsghdr header;
        struct inet_diag_msg message;
        struct nlattr attribute;
        uint8_t info[256];
    } reply = {.header = {.nlmsg_type = SOCK_DIAG_BY_FAMILY}, .message = {.idiag_family = AF_INET}};
    const uint64_t received = 5000;
    const uint32_t peer = 77, window = 3;
    struct diag_socket socket;
    memcpy(reply.info + 128, &received, 8);
    memcpy(reply.info + 228, &peer, 4);
    memcpy(reply.info + 232, &window, 4);
    static const struct {
        uint16_t bytes;
        bool has;
        uint32_t peer, window;
    } cases[] = {{248, true, 77, 3},
                 {232, true, 77, UINT32_MAX},
                 {224, true, UINT32_MAX, UINT32_MAX},
                 {104, false, UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        reply.attribute = (struct nlattr){(uint16_t)(sizeof(struct nlattr) + cases[i].bytes), INET_DIAG_INFO};
        reply.header.nlmsg_len = (uint32_t)(offsetof(__typeof__(reply), info) + cases[i].bytes);
        assert_int_equal(diag_parse(&reply, reply.header.nlmsg_len, window_add, &socket), 1);
        assert_int_equal(socket.has_info, cases[i].has);
        assert_int_equal(socket.received, cases[i].has ? 5000 : 0);
        assert_int_equal(socket.peer_window, cases[i].peer);
        assert_int_equal(socket.window, cases[i].window);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(records), cmocka_unit_test(replies), cmocka_unit_test(windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
