// Peers to which most local ports are used: at the end of the range connect(2) fails. The kernel is asked only while
// that many sockets exist.
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define PEERS_MAX 64
#define NEAR 0.85             // of the range of local ports
#define LINKS 16384           // descriptors that are read per dump
#define DUMP_NS 2000000000ull // between dumps, or longer
#define DUMP_SHARE 200        // they take at most 1/200 of the time

enum { REMOTE, PORTS, RANGE, PID, COMM, NETNS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [REMOTE] = TEXT_COLUMN("remote", "REMOTE", 21, .help = "Address and port of the peer."),
    [PORTS] = {.name = "ports",
               .title = "PORTS",
               .help = "Local ports of connections to it, TIME-WAIT included.",
               .unit = UNIT_COUNT,
               .width = 7},
    [RANGE] = {.name = "range",
               .title = "RANGE",
               .help = "Ports that the kernel may choose (net.ipv4.ip_local_port_range).",
               .unit = UNIT_COUNT,
               .width = 7},
    [PID] = COLUMN_PID(.help = "A process with a connection to it."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [NETNS] = COLUMN_NETNS(.help = SOCKETS_NETNS_HELP),
};

const struct table_def sockets_ports_table = {
    .name = "local_ports",
    .help = "Peers to which most local ports are used.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct ports {
    struct diag_owners *owners;
    uint64_t dump_ns;     // no dump before
    uint64_t first, last; // ports that the kernel may choose in the thread's network namespace; 0: unknown
    struct {
        char remote[64];
        uint32_t ports;
        uint64_t inode; // of a socket that a process has; 0: none
        int32_t pid;
    } peers[PEERS_MAX];
    size_t n;
};

static void peer_take(void *context, const struct diag_socket *socket) {
    struct ports *ports = context;
    size_t i = 0;
    if (socket->local_port < ports->first ||
        socket->local_port > ports->last) // of a server: each of its clients has a port of its own
        return;
    while (i < ports->n && strcmp(ports->peers[i].remote, socket->remote) != 0)
        i++;
    if (i == PEERS_MAX)
        return;
    if (i == ports->n) {
        memset(&ports->peers[i], 0, sizeof(ports->peers[i]));
        snprintf(ports->peers[ports->n++].remote, sizeof(ports->peers[i].remote), "%s", socket->remote);
    }
    ports->peers[i].ports++;
    if (socket->inode)
        ports->peers[i].inode = socket->inode;
}

static void peer_found(void *context, uint64_t inode, int32_t pid) {
    struct ports *ports = context;
    for (size_t i = 0; i < ports->n; i++)
        if (ports->peers[i].inode == inode)
            ports->peers[i].pid = pid;
}

// How many ports the kernel may choose; NAN: unknown.
static double range_read(struct ports *ports) {
    uint64_t ends[2];
    char line[64];
    const char *at = line;
    if (proc_read_line("/proc/sys/net/ipv4/ip_local_port_range", line, sizeof(line)) ||
        proc_numbers(&at, ends, 2) != 2 || ends[1] < ends[0])
        return NAN;
    ports->first = ends[0];
    ports->last = ends[1];
    return (double)(ends[1] - ends[0] + 1);
}

static void ports_dump(struct ports *ports, double range, uint64_t now_ns) {
    static const struct diag_query query = {.protocol = IPPROTO_TCP,
                                            .states = 1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_FIN_WAIT1 |
                                                      1u << TCP_FIN_WAIT2 | 1u << TCP_TIME_WAIT | 1u << TCP_CLOSE_WAIT};
    uint64_t begin = thread_cpu_ns(), inodes[PEERS_MAX];
    size_t n = 0;
    ports->n = 0;
    diag_dump(&query, peer_take, ports);
    for (size_t i = 0; i < ports->n; i++)
        if (ports->peers[i].inode && ports->peers[i].ports >= range * NEAR)
            inodes[n++] = ports->peers[i].inode;
    if (n) {
        diag_owners_want(ports->owners, inodes, n);
        diag_owners_search(ports->owners, LINKS, peer_found, ports);
    }
    ports->dump_ns = sockets_next_dump(now_ns, begin, DUMP_SHARE, DUMP_NS);
}

static size_t ports_sample(void *state, const struct sockets_place *place, struct table_builder *rows) {
    struct ports *ports = state;
    double range = range_read(ports);
    size_t n = 0;
    if (!(place->rates->sockets >= range * NEAR))
        ports->n = 0;
    else if (place->now_ns >= ports->dump_ns)
        ports_dump(ports, range, place->now_ns);
    for (size_t i = 0; i < ports->n; i++) {
        if (ports->peers[i].ports < range * NEAR)
            continue;
        uint32_t slot = table_builder_add(rows);
        table_builder_set_text(rows, slot, REMOTE, text_from(ports->peers[i].remote));
        table_builder_set_num(rows, slot, PORTS, ports->peers[i].ports);
        table_builder_set_num(rows, slot, RANGE, range);
        sockets_set_netns(rows, slot, NETNS, place);
        sockets_set_process(rows, slot, PID, COMM, ports->peers[i].pid);
        n++;
    }
    return n;
}

static void *ports_create(void) {
    struct ports *ports = xcalloc(1, sizeof(*ports));
    ports->owners = diag_owners_new();
    return ports;
}

static void ports_destroy(void *state) {
    struct ports *ports = state;
    diag_owners_free(ports->owners);
    free(ports);
}

const struct sockets_part sockets_ports_part = {
    .table = &sockets_ports_table, .create = ports_create, .sample = ports_sample, .destroy = ports_destroy};
