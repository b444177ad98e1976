// DNS queries from sockets that are not connected, as those of musl, Netty and simple programs: where they go is in the
// datagrams only.
//
// A resolver's socket lives for milliseconds if its answers come. So a UDP socket at a port that the kernel chose, not
// connected and with nothing to read, that is there in two samples is a sign that a process may wait. Other sockets
// live long too (senders of statistics, QUIC). So each gives that sign once, when the socket or ktop is new, and
// later only while a thread of its owner sleeps as a resolver does. Then a tap is opened for seconds; it captures the
// queries and the answers of the network namespace. Not found: queries of a long-lived socket of an event loop that
// begin to fail later, and queries that wait for the resolution of a neighbour (ARP), because they never leave. Kernel
// documents: sock_diag(7), packet(7).
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/mem.h"

#define SOCKETS_MAX 256
#define SIGN_SAMPLES 2 // in which a socket is there and has nothing to read
#define SECOND_NS 1000000000ull
#define UNANSWERED_NS (SECOND_NS * 9 / 10)
#define STAY_NS (SECOND_NS * 12) // a tap is open after the last sign
// Where sockets are opened all the time, a tap that finds no query without an answer for IDLE_NS rests.
#define IDLE_NS (SECOND_NS * 36)
#define REST_NS (SECOND_NS * 60)
#define CHECK_NS (SECOND_NS * 2)
#define PACKETS_MOST 200000 // per second, with an open tap: each costs 0.2 us
#define CHECKED_MAX 4       // owners whose threads are read per sample
#define SEARCH_NS (SECOND_NS * 30)
#define LINKS 4096 // descriptors that are read per sample, while an owner is searched
#define DUMP_SHARE 500

struct unconnected {
    struct tap *tap;           // NULL: closed
    struct dns_queries *found; // NULL: no tap was open yet
    struct diag_owners *owners;
    struct unconnected_socket sockets[SOCKETS_MAX];
    size_t n, turn;
    uint64_t now_ns, dump_ns, search_ns;
    uint64_t sign_ns; // the last one; 0: none
    uint64_t idle_ns; // when the tap was opened, or had a query without an answer, whichever is later
    uint64_t rest_ns; // no tap before
    bool denied, searching;
};

static void socket_take(void *context, const struct diag_socket *socket) {
    struct unconnected *all = context;
    size_t i = 0;
    while (i < all->n && all->sockets[i].inode != socket->inode)
        i++;
    if (!socket->inode || i == SOCKETS_MAX)
        return;
    struct unconnected_socket *found = &all->sockets[i];
    if (i == all->n || found->port != socket->local_port) {
        all->n += i == all->n;
        *found = (struct unconnected_socket){.inode = socket->inode,
                                             .first_ns = all->now_ns,
                                             .port = socket->local_port,
                                             .any_address = !strncmp(socket->local, "0.0.0.0:", 8) ||
                                                            !strncmp(socket->local, "[::]:", 5)};
        snprintf(found->local, sizeof(found->local), "%s", socket->local);
    }
    found->seen = true;
    found->samples += !socket->queue; // else its owner does not wait
}

static void sockets_dump(struct unconnected *all) {
    static const struct diag_query query = {.protocol = IPPROTO_UDP, .states = 1u << TCP_CLOSE, .chosen_port = true};
    uint64_t begin = thread_cpu_ns();
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        all->sockets[i].seen = false;
    int error = diag_dump(&query, socket_take, all);
    for (size_t i = 0; i < all->n; i++)
        if (all->sockets[i].seen || error)
            all->sockets[n++] = all->sockets[i];
    all->n = n;
    if (all->found)
        dns_queries_match(all->found, all->sockets, all->n, all->now_ns);
    all->dump_ns = sockets_next_dump(all->now_ns, begin, DUMP_SHARE, 0);
}

bool unconnected_is_open(const struct unconnected *all, uint64_t inode) {
    for (size_t i = 0; i < all->n; i++)
        if (all->sockets[i].inode == inode)
            return true;
    return false;
}

// ---- signs ----

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct unconnected *all = context;
    for (size_t i = 0; i < all->n; i++)
        if (all->sockets[i].inode == inode)
            all->sockets[i].pid = pid;
}

// Once for each socket that lives long.
static void owners_search(struct unconnected *all) {
    uint64_t inodes[SOCKETS_MAX];
    size_t n = 0;
    if (!all->searching && all->now_ns >= all->search_ns) {
        for (size_t i = 0; i < all->n; i++) {
            struct unconnected_socket *socket = &all->sockets[i];
            if (socket->searched || all->now_ns - socket->first_ns < STAY_NS)
                continue;
            socket->searched = true;
            inodes[n++] = socket->inode;
        }
        all->searching = n;
        if (n)
            diag_owners_want(all->owners, inodes, n);
    }
    if (!all->searching || !diag_owners_search(all->owners, LINKS, owner_found, all))
        return;
    all->searching = false;
    all->search_ns = all->now_ns + SEARCH_NS;
}

static void owners_check(struct unconnected *all) {
    for (size_t i = 0, checked = 0; i < all->n && checked < CHECKED_MAX; i++) {
        struct unconnected_socket *socket = &all->sockets[all->turn++ % all->n];
        if (!socket->pid || all->now_ns < socket->check_ns || all->now_ns < socket->rest_ns)
            continue;
        checked++;
        socket->check_ns = all->now_ns + CHECK_NS;
        if (!sockets_owner_waits(socket->pid, socket->inode))
            continue;
        socket->rest_ns = all->now_ns + REST_NS;
        all->sign_ns = all->now_ns;
    }
}

// Returns how many sockets must be looked at in the next sample.
static size_t signs_find(struct unconnected *all) {
    size_t young = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct unconnected_socket *socket = &all->sockets[i];
        young += socket->samples < SIGN_SAMPLES && all->now_ns - socket->first_ns < STAY_NS;
        if (socket->samples == SIGN_SAMPLES) {
            socket->samples++;
            all->sign_ns = all->now_ns;
        }
    }
    for (size_t i = 0; all->tap && i < all->found->n; i++) {
        const struct dns_query *query = &all->found->queries[i];
        if (query->inode && all->now_ns >= query->since_ns + UNANSWERED_NS)
            all->sign_ns = all->idle_ns = all->now_ns;
    }
    if (!all->tap)
        owners_check(all);
    owners_search(all);
    return young + all->searching;
}

// ---- the tap ----

void unconnected_release(struct unconnected *all) {
    if (!all->tap)
        return;
    tap_close(all->tap);
    all->tap = NULL;
    all->found->n = 0;
}

static void tap_decide(struct unconnected *all, double packets_per_s) {
    bool wanted = all->sign_ns && all->now_ns < all->sign_ns + STAY_NS && !(packets_per_s > PACKETS_MOST);
    int error = 0;
    if (all->tap && all->now_ns >= all->idle_ns + IDLE_NS) {
        all->rest_ns = all->now_ns + REST_NS;
        wanted = false;
    }
    if (!wanted)
        unconnected_release(all);
    if (all->tap || !wanted || all->now_ns < all->rest_ns)
        return;
    all->tap = tap_open(&error);
    all->denied = error && error != -EBUSY;
    all->idle_ns = all->now_ns;
    if (all->tap && !all->found)
        all->found = xcalloc(1, sizeof(*all->found));
}

static void datagram_take(void *context, const uint8_t *bytes, size_t size, uint64_t at_ns) {
    dns_queries_take(context, bytes, size, at_ns);
}

size_t unconnected_sample(struct unconnected *all, const struct sockets_place *place,
                          void (*fn)(void *context, uint64_t inode, const char *server, uint64_t since_ns),
                          void *context) {
    const uint64_t now_ns = all->now_ns = place->now_ns;
    if (all->denied)
        return 0;
    // Before the dump, so that it has the socket of each query that was read.
    if (all->tap && !tap_read(all->tap, now_ns, datagram_take, all->found))
        all->found->n = 0; // the answers may be among those that were dropped
    if (now_ns >= all->dump_ns)
        sockets_dump(all);
    size_t busy = signs_find(all);
    tap_decide(all, place->rates->packets);
    for (size_t i = 0; all->tap && i < all->n; i++) {
        const struct dns_query *query = dns_queries_oldest(all->found, all->sockets[i].inode);
        char server[DNS_ADDRESS_TEXT];
        if (!query)
            continue;
        dns_query_server(query, server);
        fn(context, all->sockets[i].inode, server, query->since_ns);
    }
    return busy + (all->tap != NULL);
}

struct unconnected *unconnected_new(void) {
    struct unconnected *all = xcalloc(1, sizeof(*all));
    all->owners = diag_owners_new();
    return all;
}

void unconnected_free(struct unconnected *all) {
    tap_close(all->tap);
    diag_owners_free(all->owners);
    free(all->found);
    free(all);
}
