// TCP connections whose receiver does not read: its receive window is closed (zero window), so that the sender waits.
//
// A connection with a closed window has a full receive queue, and queues take memory: the kernel is asked only while
// /proc/net/sockstat has memory of TCP or /proc/net/netstat new zero windows. The sender is found if it is in the same
// network namespace. Kernel documents: sock_diag(7), Documentation/networking/snmp_counter.rst.
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define WATCHED_MAX 64
#define MEMORY_KIB 64         // of all queues: less is no full queue, unless its limit is small
#define STAY_NS 8000000000ull // after the last zero window
#define DUMP_NS 1000000000ull // between dumps, or longer:
#define DUMP_SHARE 300        // they take at most 1/300 of the time
#define LINKS 16384           // descriptors that are read per sample, while an owner is searched
#define SEARCH_NS 5000000000ull
#define FULL_BYTES 32768 // a queue that is full, on kernels that do not report the window

enum { LOCAL, REMOTE, PID, COMM, QUEUE, READ, STALLED, SENDER_PID, SENDER_COMM, SENDER_QUEUE, NETNS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [LOCAL] = TEXT_COLUMN("local", "LOCAL", 21, .help = "Address and port of the receiver."),
    [REMOTE] = TEXT_COLUMN("remote", "REMOTE", 21, .help = "Address and port of the sender."),
    [PID] =
        COLUMN_PID(.help =
                       "The process that should read; none: it is on another machine or in another network namespace."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [QUEUE] = NUMBER_COLUMN("queue", "QUEUE", UNIT_BYTES, 7, .help = "Bytes that wait to be read."),
    [READ] =
        NUMBER_COLUMN("read_per_s", "READ/s", UNIT_BYTES_PER_S, 8, .help = "Bytes that the receiver reads per second."),
    [STALLED] = NUMBER_COLUMN("stalled_s", "STALLED", UNIT_S, 7, .help = "Time since it last read."),
    [SENDER_PID] = ID_COLUMN("sender_pid", "SENDER", 7, .help = "The process that waits to send; none: unknown."),
    [SENDER_COMM] = TEXT_COLUMN("sender_comm", "SENDERCOMM", 15, .help = "Name of that process."),
    [SENDER_QUEUE] = NUMBER_COLUMN("sender_queue", "SENDQ", UNIT_BYTES, 7, .help = "Bytes that wait to be sent."),
    [NETNS] = COLUMN_NETNS(.help = SOCKETS_NETNS_HELP),
};

const struct table_def sockets_unread_table = {
    .name = "unread_sockets",
    .help = "TCP connections with a closed receive window (zero window): the receiver does not read, the sender waits.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

// One end of a connection whose window is closed.
struct watched {
    struct unread_socket unread; // of a sender: read is unused, read_ns the time since the peer's window is closed
    char local[64], remote[64];
    bool sends, seen;
    int32_t pid; // 0: not found yet
};

struct unread {
    struct diag_owners *owners;
    struct watched watched[WATCHED_MAX];
    size_t n;
    uint64_t now_ns, window_ns, dump_ns, search_ns;
    bool searching;
};

void sockets_unread_update(struct unread_socket *unread, const struct diag_socket *socket, uint64_t now_ns) {
    uint64_t read = socket->received > socket->queue ? socket->received - socket->queue : 0;
    bool known = unread->at_ns && now_ns > unread->at_ns;
    unread->read_per_s = known ? (double)(read - unread->read) / ((double)(now_ns - unread->at_ns) / 1e9) : NAN;
    if (!known || read != unread->read)
        unread->read_ns = now_ns;
    if (socket->window == 0 || (socket->window == UINT32_MAX && socket->queue >= FULL_BYTES))
        unread->closed_ns = now_ns;
    unread->inode = socket->inode;
    unread->queue = socket->queue;
    unread->read = read;
    unread->at_ns = now_ns;
}

static struct watched *watched_get(struct unread *unread, uint64_t inode, bool add) {
    for (size_t i = 0; i < unread->n; i++)
        if (unread->watched[i].unread.inode == inode)
            return &unread->watched[i];
    if (!add || unread->n == WATCHED_MAX)
        return NULL;
    unread->watched[unread->n] = (struct watched){.seen = false};
    return &unread->watched[unread->n++];
}

static void socket_take(void *context, const struct diag_socket *socket) {
    struct unread *unread = context;
    bool full = socket->queue && (socket->window == 0 || (socket->window == UINT32_MAX && socket->queue >= FULL_BYTES));
    bool sends = socket->limit && socket->peer_window == 0;
    struct watched *watched =
        socket->inode && socket->has_info ? watched_get(unread, socket->inode, full || sends) : NULL;
    if (!watched || (!socket->queue && !sends))
        return;
    bool first = !watched->unread.at_ns;
    if (first)
        watched->sends = sends && !full;
    watched->seen = watched->sends ? sends : socket->queue > 0;
    snprintf(watched->local, sizeof(watched->local), "%s", socket->local);
    snprintf(watched->remote, sizeof(watched->remote), "%s", socket->remote);
    uint64_t since_ns = first ? unread->now_ns : watched->unread.read_ns;
    sockets_unread_update(&watched->unread, socket, unread->now_ns);
    if (!watched->sends)
        return;
    watched->unread.queue = socket->limit;
    watched->unread.closed_ns = unread->now_ns;
    watched->unread.read_ns = since_ns;
}

static void dump(struct unread *unread) {
    static const struct diag_query query = {.protocol = IPPROTO_TCP,
                                            .states = 1u << TCP_ESTABLISHED | 1u << TCP_CLOSE_WAIT |
                                                      1u << TCP_FIN_WAIT1 | 1u << TCP_FIN_WAIT2,
                                            .info = true};
    uint64_t begin = thread_cpu_ns();
    size_t n = 0;
    for (size_t i = 0; i < unread->n; i++)
        unread->watched[i].seen = false;
    diag_dump(&query, socket_take, unread);
    for (size_t i = 0; i < unread->n; i++) {
        const struct watched *watched = &unread->watched[i];
        // A slow reader opens its window for a moment at times.
        if (watched->seen && unread->now_ns - watched->unread.closed_ns < STAY_NS)
            unread->watched[n++] = *watched;
    }
    unread->n = n;
    // Half an interval earlier, or a sample that is a moment early would be skipped.
    unread->dump_ns = sockets_next_dump(unread->now_ns, begin, DUMP_SHARE, DUMP_NS / 2);
}

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct watched *watched = watched_get(context, inode, false);
    if (watched && !watched->pid)
        watched->pid = pid;
}

static void owners_search(struct unread *unread) {
    uint64_t inodes[WATCHED_MAX];
    size_t n = 0;
    if (!unread->searching && unread->now_ns >= unread->search_ns) {
        for (size_t i = 0; i < unread->n; i++)
            if (!unread->watched[i].pid)
                inodes[n++] = unread->watched[i].unread.inode;
        unread->searching = n;
        if (n)
            diag_owners_want(unread->owners, inodes, n);
    }
    if (!unread->searching || !diag_owners_search(unread->owners, LINKS, owner_found, unread))
        return;
    unread->searching = false;
    unread->search_ns = 0;
    for (size_t i = 0; i < unread->n; i++) // its process is in another PID namespace, or has no right to be seen
        if (!unread->watched[i].pid)
            unread->search_ns = unread->now_ns + SEARCH_NS;
}

static const struct watched *peer_of(const struct unread *unread, const struct watched *of) {
    for (size_t i = 0; i < unread->n; i++)
        if (unread->watched[i].sends != of->sends && !strcmp(unread->watched[i].local, of->remote) &&
            !strcmp(unread->watched[i].remote, of->local))
            return &unread->watched[i];
    return NULL;
}

static void row_add(const struct sockets_place *place, struct table_builder *rows, const struct watched *reader,
                    const struct watched *sender) {
    const struct watched *of = reader ? reader : sender;
    uint32_t slot = table_builder_add(rows);
    table_builder_set_text(rows, slot, LOCAL, text_from(reader ? of->local : of->remote));
    table_builder_set_text(rows, slot, REMOTE, text_from(reader ? of->remote : of->local));
    table_builder_set_num(rows, slot, STALLED, (double)(place->now_ns - of->unread.read_ns) / 1e9);
    sockets_set_netns(rows, slot, NETNS, place);
    if (reader) {
        table_builder_set_num(rows, slot, QUEUE, reader->unread.queue);
        table_builder_set_num(rows, slot, READ, reader->unread.read_per_s);
        sockets_set_process(rows, slot, PID, COMM, reader->pid);
    }
    if (sender) {
        table_builder_set_num(rows, slot, SENDER_QUEUE, sender->unread.queue);
        sockets_set_process(rows, slot, SENDER_PID, SENDER_COMM, sender->pid);
    }
}

static size_t unread_sample(void *state, const struct sockets_place *place, struct table_builder *rows) {
    struct unread *unread = state;
    unread->now_ns = place->now_ns;
    if (place->rates->zero_windows > 0)
        unread->window_ns = place->now_ns;
    bool any = unread->window_ns && place->now_ns < unread->window_ns + STAY_NS;
    // The memory is that of all network namespaces.
    if (!any && !(place->rates->socket_kib >= MEMORY_KIB && place->rates->established > 0) && !unread->n) {
        unread->searching = false;
    } else {
        if (place->now_ns >= unread->dump_ns)
            dump(unread);
        owners_search(unread);
    }
    for (size_t i = 0; i < unread->n; i++) {
        const struct watched *watched = &unread->watched[i], *peer = peer_of(unread, watched);
        if (!watched->sends)
            row_add(place, rows, watched, peer);
        else if (!peer)
            row_add(place, rows, NULL, watched);
    }
    return unread->n;
}

static void *unread_create(void) {
    struct unread *unread = xcalloc(1, sizeof(*unread));
    unread->owners = diag_owners_new();
    return unread;
}

static void unread_destroy(void *state) {
    struct unread *unread = state;
    diag_owners_free(unread->owners);
    free(unread);
}

const struct sockets_part sockets_unread_part = {
    .table = &sockets_unread_table, .create = unread_create, .sample = unread_sample, .destroy = unread_destroy};
