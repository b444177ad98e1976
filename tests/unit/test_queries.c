// DNS queries without an answer: forged datagrams, their pairing, and the packet socket on a real "lo".
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/sockets/parts.h"
#include "model/clock.h"

#define SECOND 1000000000ull
#define PORT 40000

static struct dns_queries queries;

struct datagram {
    uint8_t bytes[96];
    size_t size;
};

static void put_word(uint8_t *at, unsigned word) {
    at[0] = (uint8_t)(word >> 8);
    at[1] = (uint8_t)word;
}

static void put_dns(struct datagram *datagram, size_t at, unsigned from, unsigned to, unsigned id, bool answer) {
    put_word(datagram->bytes + at, from);
    put_word(datagram->bytes + at + 2, to);
    put_word(datagram->bytes + at + 8, id);
    put_word(datagram->bytes + at + 10, answer ? 0x8180 : 0x0100);
    datagram->size = at + 20;
}

// Between 127.0.0.1 and the server 10.0.0.N.
static struct datagram v4(unsigned server, unsigned port, unsigned id, bool answer) {
    const uint8_t local[4] = {127, 0, 0, 1}, remote[4] = {10, 0, 0, (uint8_t)server};
    struct datagram datagram = {.bytes = {0x45, [9] = IPPROTO_UDP}};
    memcpy(datagram.bytes + 12, answer ? remote : local, 4);
    memcpy(datagram.bytes + 16, answer ? local : remote, 4);
    put_dns(&datagram, 20, answer ? 53 : port, answer ? port : 53, id, answer);
    return datagram;
}

// Between ::1 and fd00::9; `before`: bytes of extension headers.
static struct datagram v6(unsigned port, unsigned id, bool answer, size_t before) {
    const uint8_t local[16] = {[15] = 1}, remote[16] = {0xfd, [15] = 9};
    struct datagram datagram = {.bytes = {0x60, [6] = before ? IPPROTO_FRAGMENT : IPPROTO_UDP, [40] = IPPROTO_UDP}};
    memcpy(datagram.bytes + 8, answer ? remote : local, 16);
    memcpy(datagram.bytes + 24, answer ? local : remote, 16);
    put_dns(&datagram, 40 + before, answer ? 53 : port, answer ? port : 53, id, answer);
    return datagram;
}

static void take(struct datagram datagram, uint64_t at_ns) {
    dns_queries_take(&queries, datagram.bytes, datagram.size, at_ns);
}

static const struct unconnected_socket sockets[] = {
    {.inode = 7, .port = PORT, .any_address = true, .local = "0.0.0.0:40000"},
    {.inode = 8, .port = PORT + 1, .local = "127.0.0.1:40001"},
    {.inode = 9, .port = PORT + 2, .local = "127.0.0.2:40002"},
    {.inode = 10, .port = PORT + 3, .any_address = true, .local = "[::]:40003"},
};

static void match(uint64_t now_ns) {
    dns_queries_match(&queries, sockets, sizeof(sockets) / sizeof(sockets[0]), now_ns);
}

static uint64_t since(uint64_t inode) {
    const struct dns_query *oldest = dns_queries_oldest(&queries, inode);
    return oldest ? oldest->since_ns : 0;
}

static void parser(void **state) {
    (void)state;
    queries.n = 0;
    struct datagram whole = v4(9, PORT, 5, false);
    for (size_t size = 0; size < whole.size; size++)
        dns_queries_take(&queries, whole.bytes, size, SECOND);
    struct datagram other = v6(PORT, 5, false, 0);
    for (size_t size = 0; size < other.size; size++)
        dns_queries_take(&queries, other.bytes, size, SECOND);
    other = whole;
    put_word(other.bytes + 22, 5353); // mDNS
    take(other, SECOND);
    other = whole;
    put_word(other.bytes + 6, 0x2001); // a later fragment
    take(other, SECOND);
    other = whole;
    other.bytes[9] = IPPROTO_TCP;
    take(other, SECOND);
    other = whole;
    other.bytes[30] = 0x28; // an update
    take(other, SECOND);
    other = whole;
    other.bytes[0] = 0x44; // shorter than a header
    take(other, SECOND);
    other = v6(PORT, 5, false, 8);
    put_word(other.bytes + 42, 0x0100); // a later fragment
    take(other, SECOND);
    other = v6(PORT, 5, false, 0);
    other.bytes[6] = IPPROTO_HOPOPTS;
    take(other, SECOND);
    take(v4(9, PORT, 5, true), SECOND); // of no query
    assert_int_equal(queries.n, 0);

    other = whole; // with IP options
    memmove(other.bytes + 32, other.bytes + 20, 20);
    other.bytes[0] = 0x48;
    other.size += 12;
    take(other, SECOND);
    assert_int_equal(queries.n, 1);
    assert_int_equal(queries.queries[0].port, PORT);
    assert_int_equal(queries.queries[0].id, 5);
    take(v6(PORT + 3, 6, false, 0), SECOND);
    assert_int_equal(queries.n, 2);
    char server[DNS_ADDRESS_TEXT];
    dns_query_server(&queries.queries[0], server);
    assert_string_equal(server, "10.0.0.9:53");
    dns_query_server(&queries.queries[1], server);
    assert_string_equal(server, "[fd00::9]:53");
    take(v6(PORT + 3, 6, true, 8), SECOND); // the first fragment of a long answer
    assert_int_equal(queries.n, 1);
}

static void pairing(void **state) {
    (void)state;
    queries.n = 0;
    // A and AAAA, each at two servers; again after 2.5 s.
    for (unsigned server = 8; server <= 9; server++)
        for (unsigned id = 1; id <= 2; id++)
            take(v4(server, PORT, id, false), 1 * SECOND);
    take(v4(8, PORT, 1, false), 3 * SECOND);
    assert_int_equal(queries.n, 4);
    match(4 * SECOND);
    assert_int_equal(since(7), 1 * SECOND);
    take(v4(9, PORT, 1, true), 4 * SECOND);
    assert_int_equal(queries.n, 2); // AAAA waits still
    assert_int_equal(since(7), 1 * SECOND);
    take(v4(9, PORT, 3, true), 4 * SECOND); // of another ID
    take(v4(9, PORT + 1, 2, true), 4 * SECOND);
    assert_int_equal(queries.n, 2);
    take(v4(8, PORT, 2, true), 4 * SECOND);
    assert_int_equal(queries.n, 0);

    // New queries from one socket, each given up: the wait goes on. An answer ends it.
    for (unsigned id = 1; id <= 4; id++)
        take(v4(9, PORT, id, false), (id * 5 + 5) * SECOND);
    match(26 * SECOND);
    assert_int_equal(queries.n, 2); // sent within 10 s
    assert_int_equal(since(7), 10 * SECOND);
    take(v4(9, PORT, 5, false), 27 * SECOND);
    take(v4(9, PORT, 4, true), 27 * SECOND);
    match(27 * SECOND);
    assert_int_equal(queries.n, 1);
    assert_int_equal(since(7), 27 * SECOND);
    match(37 * SECOND);
    assert_int_equal(queries.n, 0);

    // A query that was lost, while the server answers others, of any socket.
    take(v4(9, PORT, 1, false), 40 * SECOND);
    take(v4(8, PORT, 2, false), 40 * SECOND);
    take(v4(9, PORT + 1, 3, false), 41 * SECOND);
    take(v4(9, PORT + 1, 3, true), 41 * SECOND);
    assert_int_equal(queries.n, 1);
    assert_int_equal(queries.queries[0].id, 2);
}

static void owners(void **state) {
    (void)state;
    queries.n = 0;
    struct datagram foreign = v4(9, PORT, 1, false);
    foreign.bytes[12] = 203; // 203.0.0.1: forwarded
    take(foreign, SECOND);
    take(v4(9, PORT + 1, 1, false), SECOND);
    take(v4(9, PORT + 2, 1, false), SECOND); // the socket has another address
    take(v4(9, PORT + 3, 1, false), SECOND); // IPv4 from a socket of IPv6
    take(v4(9, PORT + 4, 1, false), SECOND); // connected, or closed
    match(2 * SECOND);
    assert_int_equal(queries.n, 2);
    assert_int_equal(since(8), SECOND);
    assert_int_equal(since(10), SECOND);
    dns_queries_match(&queries, sockets, 2, 2 * SECOND); // the last one was closed
    assert_int_equal(queries.n, 1);

    queries.n = 0;
    for (unsigned id = 0; id < DNS_QUERIES_MAX + 9; id++)
        take(v4(9, PORT, id, false), SECOND);
    assert_int_equal(queries.n, DNS_QUERIES_MAX);
    match(SECOND);
    assert_int_equal(queries.n, DNS_QUERIES_MAX);
}

// ---- the packet socket ----

static bool lo_up(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool up = !ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
    return up;
}

static void packet_take(void *context, const uint8_t *bytes, size_t size, uint64_t at_ns) {
    (*(size_t *)context)++;
    dns_queries_take(&queries, bytes, size, at_ns);
}

static size_t tap_count(struct tap *tap) {
    size_t n = 0;
    assert_true(tap_read(tap, now_ns(), packet_take, &n));
    return n;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int udp_open(int family, union address *address, uint16_t port) {
    *address = (union address){.any.sa_family = (sa_family_t)family};
    socklen_t size = sizeof(*address);
    address->v4.sin_port = htons(port); // as that of IPv6
    if (family == AF_INET)
        address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        address->v6.sin6_addr = in6addr_loopback;
    int fd = socket(family, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, &address->any, sizeof(*address)), 0);
    assert_int_equal(getsockname(fd, &address->any, &size), 0);
    return fd;
}

static void packets(struct tap *tap, int family) {
    const uint8_t query[12] = {0x12, 0x34, 1, [5] = 1}, answer[12] = {0x12, 0x34, 0x81, 0x80, [5] = 1};
    union address server, client;
    int server_fd = udp_open(family, &server, 53), client_fd = udp_open(family, &client, 0);
    queries.n = 0;
    uint64_t begin = now_ns();
    assert_int_equal(sendto(client_fd, query, sizeof(query), 0, &server.any, sizeof(server)), sizeof(query));
    uint64_t end = now_ns();
    assert_int_equal(tap_count(tap), 1); // not once more where it arrives
    assert_int_equal(queries.n, 1);
    assert_int_equal(queries.queries[0].port, ntohs(client.v4.sin_port));
    assert_int_equal(queries.queries[0].id, 0x1234);
    // When it was sent, not when it was read; between two clocks.
    assert_true(queries.queries[0].first_ns + SECOND / 1000 >= begin && queries.queries[0].first_ns <= end + SECOND);
    assert_int_equal(sendto(client_fd, query, sizeof(query), 0, &client.any, sizeof(client)), sizeof(query));
    assert_int_equal(tap_count(tap), 0);
    assert_int_equal(sendto(server_fd, answer, sizeof(answer), 0, &client.any, sizeof(client)), sizeof(answer));
    assert_int_equal(tap_count(tap), 1);
    assert_int_equal(queries.n, 0);
    for (unsigned i = 0; i < 3000; i++) // around the ring
        assert_int_equal(sendto(client_fd, query, sizeof(query), 0, &server.any, sizeof(server)), sizeof(query));
    size_t n = 0;
    assert_false(tap_read(tap, now_ns(), packet_take, &n));
    assert_int_equal(n, 1024);
    assert_int_equal(tap_count(tap), 0);
    close(server_fd);
    close(client_fd);
}

static void tap(void **state) {
    (void)state;
    int error;
    if (unshare(CLONE_NEWNET) || !lo_up()) {
        print_message("no network namespaces\n");
        skip();
    }
    struct tap *taps[16] = {tap_open(&error)};
    if (!taps[0]) {
        print_message("no packet sockets: %s\n", strerror(-error));
        skip();
    }
    packets(taps[0], AF_INET);
    packets(taps[0], AF_INET6);
    size_t n = 1;
    while (n < 16 && (taps[n] = tap_open(&error)))
        n++;
    assert_int_equal(n, 8);
    assert_int_equal(error, -EBUSY);
    while (n)
        tap_close(taps[--n]);
    assert_non_null(taps[0] = tap_open(&error));
    tap_close(taps[0]);
    tap_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parser), cmocka_unit_test(pairing), cmocka_unit_test(owners),
                                       cmocka_unit_test(tap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
