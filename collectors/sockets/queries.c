// DNS queries without an answer, from the first bytes of datagrams, and the sockets that sent them.
//
// A query is paired with its answer by the local address and port and the ID. An answer also ends the waits for
// earlier queries to the same server: the server works, and those queries or their answers were lost. Document: RFC
// 1035, section 4.1.1.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/sockets/parts.h"

#define SENT_NS 10000000000ull // a resolver has given up a query that was sent before

static uint16_t word_at(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

// Where the UDP header begins; 0: in none of the forms that the tap's filter passes.
static size_t udp_offset(const uint8_t *bytes, size_t size) {
    if (size >= 20 && bytes[0] >> 4 == 4)
        return bytes[9] == IPPROTO_UDP && !(word_at(bytes + 6) & 0x1fff) ? (bytes[0] & 15u) * 4u : 0;
    if (size < 48 || bytes[0] >> 4 != 6)
        return 0;
    if (bytes[6] == IPPROTO_FRAGMENT)
        return bytes[40] == IPPROTO_UDP && !(word_at(bytes + 42) & 0xfff8) ? 48 : 0;
    return bytes[6] == IPPROTO_UDP ? 40 : 0;
}

// Fills the addresses, the port and the ID.
static bool datagram_parse(const uint8_t *bytes, size_t size, struct dns_query *query, bool *is_answer) {
    size_t at = udp_offset(bytes, size);
    if (at < 20 || size < at + 20) // the headers of UDP and of DNS
        return false;
    const uint8_t *udp = bytes + at, *dns = udp + 8;
    bool v6 = bytes[0] >> 4 == 6;
    size_t length = v6 ? 16 : 4, source = v6 ? 8 : 12;
    *is_answer = dns[2] & 0x80; // QR
    *query = (struct dns_query){.is_v6 = v6, .port = word_at(udp + (*is_answer ? 2 : 0)), .id = word_at(dns)};
    memcpy(*is_answer ? query->server : query->local, bytes + source, length);
    memcpy(*is_answer ? query->local : query->server, bytes + source + length, length);
    return word_at(udp + (*is_answer ? 0 : 2)) == DNS_PORT && !(dns[2] & 0x78); // the standard opcode
}

static bool same_server(const struct dns_query *a, const struct dns_query *b) {
    return a->is_v6 == b->is_v6 && !memcmp(a->server, b->server, sizeof(a->server));
}

static bool same_port(const struct dns_query *a, const struct dns_query *b) {
    return a->is_v6 == b->is_v6 && a->port == b->port && !memcmp(a->local, b->local, sizeof(a->local));
}

static void query_sent(struct dns_queries *queries, struct dns_query *sent, uint64_t at_ns) {
    sent->first_ns = sent->last_ns = sent->since_ns = at_ns;
    for (size_t i = 0; i < queries->n; i++) {
        struct dns_query *query = &queries->queries[i];
        if (!same_port(query, sent) || !same_server(query, sent))
            continue;
        if (query->id == sent->id) { // sent again, or captured on another device
            query->last_ns = at_ns;
            return;
        }
        if (query->since_ns < sent->since_ns)
            sent->since_ns = query->since_ns;
    }
    if (queries->n < DNS_QUERIES_MAX)
        queries->queries[queries->n++] = *sent;
}

// A resolver may have sent the query to several servers: one answer is enough.
static void query_answered(struct dns_queries *queries, const struct dns_query *answer) {
    uint64_t sent_ns = 0;
    size_t n = 0;
    for (size_t i = 0; i < queries->n; i++) {
        const struct dns_query *query = &queries->queries[i];
        if (query->id == answer->id && same_port(query, answer))
            sent_ns = query->first_ns;
        else
            queries->queries[n++] = *query;
    }
    queries->n = n;
    n = 0;
    for (size_t i = 0; i < queries->n; i++) {
        struct dns_query query = queries->queries[i];
        if (sent_ns && same_server(&query, answer)) {
            if (query.last_ns < sent_ns)
                continue;
            query.since_ns = query.first_ns;
        }
        queries->queries[n++] = query;
    }
    queries->n = n;
}

void dns_queries_take(struct dns_queries *queries, const uint8_t *bytes, size_t size, uint64_t at_ns) {
    struct dns_query query;
    bool is_answer;
    if (!datagram_parse(bytes, size, &query, &is_answer))
        return;
    if (is_answer)
        query_answered(queries, &query);
    else
        query_sent(queries, &query, at_ns);
}

// ---- their sockets ----

static void address_text(bool v6, const uint8_t *address, uint16_t port, char out[DNS_ADDRESS_TEXT]) {
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(v6 ? AF_INET6 : AF_INET, address, text, sizeof(text));
    snprintf(out, DNS_ADDRESS_TEXT, v6 ? "[%s]:%u" : "%s:%u", text, port);
}

// A forwarded query leaves with the address of another host. The socket is closed before the next dump.
static bool is_local(const struct dns_query *query) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = query->is_v6 ? AF_INET6 : AF_INET};
    if (query->is_v6)
        memcpy(&address.v6.sin6_addr, query->local, 16);
    else
        memcpy(&address.v4.sin_addr, query->local, 4);
    int fd = socket(address.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool foreign = fd < 0 || (bind(fd, &address.any, sizeof(address)) && errno == EADDRNOTAVAIL);
    if (fd >= 0)
        close(fd);
    return !foreign;
}

static uint64_t socket_of(const struct dns_query *query, const struct unconnected_socket *sockets, size_t n) {
    char local[DNS_ADDRESS_TEXT];
    address_text(query->is_v6, query->local, query->port, local);
    for (size_t i = 0; i < n; i++)
        if (sockets[i].port == query->port &&
            (sockets[i].any_address ? is_local(query) : !strcmp(sockets[i].local, local)))
            return sockets[i].inode;
    return 0;
}

void dns_queries_match(struct dns_queries *queries, const struct unconnected_socket *sockets, size_t n,
                       uint64_t now_ns) {
    size_t kept = 0;
    for (size_t i = 0; i < queries->n; i++) {
        struct dns_query query = queries->queries[i];
        bool is_open = false;
        if (!query.inode)
            query.inode = socket_of(&query, sockets, n);
        for (size_t k = 0; k < n && !is_open; k++)
            is_open = sockets[k].inode == query.inode;
        if (is_open && now_ns < query.last_ns + SENT_NS)
            queries->queries[kept++] = query;
    }
    queries->n = kept;
}

const struct dns_query *dns_queries_oldest(const struct dns_queries *queries, uint64_t inode) {
    const struct dns_query *oldest = NULL;
    for (size_t i = 0; i < queries->n; i++)
        if (queries->queries[i].inode == inode && (!oldest || queries->queries[i].since_ns < oldest->since_ns))
            oldest = &queries->queries[i];
    return oldest;
}

void dns_query_server(const struct dns_query *query, char out[DNS_ADDRESS_TEXT]) {
    address_text(query->is_v6, query->server, DNS_PORT, out);
}
