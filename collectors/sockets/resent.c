// TCP connections that send segments again: which, and of which process. The kernel counts retransmits by connection
// (tcp_info); it is asked only while the machine's counter shows some. Kernel document: sock_diag(7).
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

#define CONNECTIONS 4096 // a power of two; of more connections some are not followed
#define PROBES_MAX 16    // of its hash table
#define ROWS_MAX 4
#define LEAST_PER_S 2         // of the machine
#define STAY_NS 6000000000ull // after the last ones
#define DUMP_NS 1000000000ull // between dumps, or longer:
#define DUMP_SHARE 300        // they take at most 1/300 of the time
#define LINKS 16384           // descriptors that are read per sample, while an owner is searched

enum { LOCAL, REMOTE, PID, COMM, RATE, NETNS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [LOCAL] = TEXT_COLUMN("local", "LOCAL", 21, .help = "Address and port of this side, which sends again."),
    [REMOTE] = TEXT_COLUMN("remote", "REMOTE", 21, .help = "Address and port of the peer."),
    [PID] = COLUMN_PID(.help = "The process that has the connection; none: it is closed there, or unknown."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [RATE] = NUMBER_COLUMN("retransmits_per_s", "RETR/s", UNIT_PER_S, 8,
                           .help = "Segments retransmitted per second (RetransSegs)."),
    [NETNS] = COLUMN_NETNS(.help = SOCKETS_NETNS_HELP),
};

const struct table_def sockets_resent_table = {
    .name = "resending",
    .help = "TCP connections that send most segments again, while the machine counts retransmits.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

struct connection {
    uint64_t inode; // 0: unused
    uint32_t count;
};

struct resending {
    uint64_t inode;
    char local[64], remote[64];
    double per_s;
    int32_t pid; // 0: not found yet
};

struct resent {
    struct diag_owners *owners;
    struct connection connections[CONNECTIONS];
    struct resending rows[ROWS_MAX], before[ROWS_MAX];
    size_t n;
    uint64_t now_ns, active_ns, dump_ns, last_ns;
};

static struct connection *connection_get(struct resent *resent, uint64_t inode) {
    for (size_t i = 0; i < PROBES_MAX; i++) {
        struct connection *connection =
            &resent->connections[((inode * 0x9e3779b97f4a7c15ull >> 40) + i) & (CONNECTIONS - 1)];
        if (connection->inode == inode || !connection->inode)
            return connection;
    }
    return NULL;
}

static void row_take(struct resent *resent, const struct diag_socket *socket, double per_s) {
    size_t at = resent->n < ROWS_MAX ? resent->n++ : ROWS_MAX - 1;
    if (at == ROWS_MAX - 1 && resent->rows[at].inode && resent->rows[at].per_s >= per_s)
        return;
    for (; at && resent->rows[at - 1].per_s < per_s; at--)
        resent->rows[at] = resent->rows[at - 1];
    struct resending *row = &resent->rows[at];
    *row = (struct resending){.inode = socket->inode, .per_s = per_s};
    snprintf(row->local, sizeof(row->local), "%s", socket->local);
    snprintf(row->remote, sizeof(row->remote), "%s", socket->remote);
    for (size_t i = 0; i < ROWS_MAX; i++)
        if (resent->before[i].inode == socket->inode)
            row->pid = resent->before[i].pid;
}

static void socket_take(void *context, const struct diag_socket *socket) {
    struct resent *resent = context;
    struct connection *connection = socket->inode && socket->has_info ? connection_get(resent, socket->inode) : NULL;
    if (!connection)
        return;
    bool known = connection->inode && resent->last_ns;
    uint32_t more = known ? socket->retransmits - connection->count : 0;
    *connection = (struct connection){socket->inode, socket->retransmits};
    if (more && more < UINT32_MAX / 2)
        row_take(resent, socket, more / ((double)(resent->now_ns - resent->last_ns) / 1e9));
}

static void connections_clear(struct resent *resent) {
    memset(resent->connections, 0, sizeof(resent->connections));
    resent->last_ns = 0;
    resent->n = 0;
}

static void dump(struct resent *resent) {
    static const struct diag_query query = {.protocol = IPPROTO_TCP,
                                            .states = 1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_CLOSE_WAIT,
                                            .info = true};
    uint64_t begin = thread_cpu_ns();
    size_t n = 0;
    memcpy(resent->before, resent->rows, sizeof(resent->rows));
    memset(resent->rows, 0, sizeof(resent->rows));
    resent->n = 0;
    diag_dump(&query, socket_take, resent);
    // Closed connections leave the table by a fresh start, before it is so full that others find no place.
    for (size_t i = 0; i < CONNECTIONS; i++)
        n += resent->connections[i].inode != 0;
    if (n > CONNECTIONS * 3 / 4)
        connections_clear(resent);
    else
        resent->last_ns = resent->now_ns;
    resent->dump_ns = sockets_next_dump(resent->now_ns, begin, DUMP_SHARE, DUMP_NS / 2);
}

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct resent *resent = context;
    for (size_t i = 0; i < resent->n; i++)
        if (resent->rows[i].inode == inode && !resent->rows[i].pid)
            resent->rows[i].pid = pid;
}

static void owners_search(struct resent *resent) {
    uint64_t inodes[ROWS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < resent->n && !diag_owners_searching(resent->owners); i++)
        if (!resent->rows[i].pid)
            inodes[n++] = resent->rows[i].inode;
    if (n)
        diag_owners_want(resent->owners, inodes, n);
    diag_owners_search(resent->owners, LINKS, owner_found, resent);
}

static size_t resent_sample(void *state, const struct sockets_place *place, struct table_builder *rows) {
    struct resent *resent = state;
    resent->now_ns = place->now_ns;
    if (place->rates->retransmits >= LEAST_PER_S)
        resent->active_ns = place->now_ns;
    if (resent->active_ns && place->now_ns < resent->active_ns + STAY_NS) {
        if (place->now_ns >= resent->dump_ns)
            dump(resent);
        owners_search(resent);
    } else if (resent->last_ns) {
        connections_clear(resent);
    }
    for (size_t i = 0; i < resent->n; i++) {
        uint32_t slot = table_builder_add(rows);
        table_builder_set_text(rows, slot, LOCAL, text_from(resent->rows[i].local));
        table_builder_set_text(rows, slot, REMOTE, text_from(resent->rows[i].remote));
        table_builder_set_num(rows, slot, RATE, resent->rows[i].per_s);
        sockets_set_netns(rows, slot, NETNS, place);
        sockets_set_process(rows, slot, PID, COMM, resent->rows[i].pid);
    }
    return resent->n;
}

static void *resent_create(void) {
    struct resent *resent = xcalloc(1, sizeof(*resent));
    resent->owners = diag_owners_new();
    return resent;
}

static void resent_destroy(void *state) {
    struct resent *resent = state;
    diag_owners_free(resent->owners);
    free(resent);
}

const struct sockets_part sockets_resent_part = {
    .table = &sockets_resent_table, .create = resent_create, .sample = resent_sample, .destroy = resent_destroy};
