// The collector "sockets": to which process the sockets belong that drop connections or datagrams, and those that wait
// to be closed. The kernel is asked only while the counters of TCP and UDP, which the collector "system" reads, show
// drops or many connections. Other questions about sockets are parts in files of their own.
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/sockets/diag.h"
#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define QUEUES_MAX 32
#define WAITING_MAX 4096 // sockets in CLOSE-WAIT
#define CONNECTIONS_LEAST 100
#define OWNERS_MAX 32
#define PEERS_MAX 64
#define NEAR 0.85             // of the range of local ports
#define LINKS 4096            // descriptors that are read per sample
#define STAY_NS 5000000000ull // after the last drop
#define DUMP_NS 2000000000ull // between dumps of connections, or longer
#define DUMP_SHARE 200        // they take at most 1/200 of the time

enum { PROTOCOL, LOCAL, PID, COMM, QUEUE, LIMIT, DROPS, QUEUE_COLUMNS };

static const struct column queue_columns[QUEUE_COLUMNS] = {
    [PROTOCOL] = TEXT_COLUMN("protocol", "PROTO", 5,
                             .help = "tcp: a listener whose accept queue is full; udp: a socket that drops."),
    [LOCAL] = TEXT_COLUMN("local", "LOCAL", 21, .help = "Its address and port."),
    [PID] = COLUMN_PID(.help = "The process that has it open."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [QUEUE] = {.name = "queue",
               .title = "QUEUE",
               .help = "Connections to be accepted, or bytes to be read.",
               .unit = UNIT_COUNT,
               .width = 7},
    [LIMIT] = {.name = "queue_limit",
               .title = "LIMIT",
               .help = "Most connections that may wait to be accepted (listen(2)).",
               .unit = UNIT_COUNT,
               .width = 7},
    [DROPS] = {.name = "drops_per_s",
               .title = "DROPS/s",
               .help = "Datagrams that this socket dropped per second.",
               .unit = UNIT_PER_S,
               .width = 7},
};

static const struct table_def queues_table = {
    .name = "socket_queues",
    .help =
        "Listeners whose accept queue is full, and UDP sockets that drop datagrams, while the machine counts drops.",
    .columns = queue_columns,
    .n_columns = QUEUE_COLUMNS,
    .n_keys = 2,
};

enum { W_PID, W_COMM, W_SOCKETS, W_REMOTE, W_COLUMNS };

static const struct column waiting_columns[W_COLUMNS] = {
    [W_PID] = COLUMN_PID(.help = HELP_PID),
    [W_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [W_SOCKETS] = {.name = "sockets",
                   .title = "SOCKETS",
                   .help = "Sockets in CLOSE-WAIT: the peer has closed, the process has not.",
                   .unit = UNIT_COUNT,
                   .width = 7},
    [W_REMOTE] = TEXT_COLUMN("remote", "REMOTE", 21, .help = "The peer of one of them."),
};

static const struct table_def waiting_table = {
    .name = "close_wait",
    .help = "Processes with sockets in CLOSE-WAIT.",
    .columns = waiting_columns,
    .n_columns = W_COLUMNS,
    .n_keys = 1,
};

enum { P_REMOTE, P_PORTS, P_RANGE, P_PID, P_COMM, P_COLUMNS };

static const struct column ports_columns[P_COLUMNS] = {
    [P_REMOTE] = TEXT_COLUMN("remote", "REMOTE", 21, .help = "Address and port of the peer."),
    [P_PORTS] = {.name = "ports",
                 .title = "PORTS",
                 .help = "Local ports of connections to it, TIME-WAIT included.",
                 .unit = UNIT_COUNT,
                 .width = 7},
    [P_RANGE] = {.name = "range",
                 .title = "RANGE",
                 .help = "Ports that the kernel may choose (net.ipv4.ip_local_port_range).",
                 .unit = UNIT_COUNT,
                 .width = 7},
    [P_PID] = COLUMN_PID(.help = "A process with a connection to it."),
    [P_COMM] = COLUMN_COMM(.help = "Name of that process."),
};

static const struct table_def ports_table = {
    .name = "local_ports",
    .help = "Peers to which most local ports are used.",
    .columns = ports_columns,
    .n_columns = P_COLUMNS,
    .n_keys = 1,
};

struct queue {
    bool udp;
    struct diag_socket socket;
    double drops_per_s;
    int32_t pid; // 0: not found yet
    uint64_t seen_ns;
    uint32_t drops;
    uint64_t drops_ns; // when they were read; 0: never
};

static const struct sockets_part *const parts[] = {&sockets_unread_part, &sockets_lookups_part, &sockets_resent_part};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct sockets {
    void *states[PARTS];
    struct table_builder *queue_rows, *waiting_rows;
    struct diag_owners *owners;
    struct queue queues[QUEUES_MAX];
    size_t n_queues;
    bool udp;                           // the dump that goes on
    uint64_t now_ns, listen_ns, udp_ns; // the last drops
    // CLOSE-WAIT
    uint64_t waiting[WAITING_MAX], dump_ns;
    size_t n_waiting;
    char remote[64];
    struct {
        int32_t pid;
        uint32_t sockets;
    } counts[OWNERS_MAX];
    size_t n_counts;
    // Local ports
    struct table_builder *port_rows;
    struct proc_file sockstat, range;
    struct proc_buffer buffer;
    uint64_t ports_ns; // no dump before
    struct {
        char remote[64];
        uint32_t ports;
        uint64_t inode; // of a socket that a process has; 0: none
        int32_t pid;
    } peers[PEERS_MAX];
    size_t n_peers;
    bool searching, searching_waiting; // a search goes on, and it is for CLOSE-WAIT
};

double sockets_counter(const struct section *system, const char *table, const char *column) {
    const struct table *rows = system ? section_find_table(system, table) : NULL;
    size_t cursor = 0;
    const union cell *row = rows ? table_next(rows, &cursor) : NULL;
    int at = row ? table_column(table_def(rows), column) : -1;
    return at < 0 ? NAN : row[at].num;
}

void sockets_comm(int32_t pid, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    if (format_file(path, out, size) <= 0)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

void sockets_set_process(struct table_builder *rows, uint32_t slot, uint16_t pid_column, uint16_t comm_column,
                         int32_t pid) {
    char comm[32];
    sockets_comm(pid, comm, sizeof(comm));
    if (!pid || !comm[0])
        return;
    table_builder_set_num(rows, slot, pid_column, pid);
    table_builder_set_text(rows, slot, comm_column, text_from(comm));
}

// ---- queues ----

static struct queue *queue_get(struct sockets *sockets, uint64_t inode, bool add) {
    for (size_t i = 0; i < sockets->n_queues; i++)
        if (sockets->queues[i].socket.inode == inode)
            return &sockets->queues[i];
    if (!add || sockets->n_queues == QUEUES_MAX)
        return NULL;
    struct queue *queue = &sockets->queues[sockets->n_queues++];
    *queue = (struct queue){.drops_per_s = NAN};
    return queue;
}

static void queue_take(void *context, const struct diag_socket *socket) {
    struct sockets *sockets = context;
    bool full = sockets->udp ? socket->drops > 0 : socket->queue >= socket->limit && socket->queue > 0;
    struct queue *queue = socket->inode ? queue_get(sockets, socket->inode, full) : NULL;
    if (!queue)
        return;
    queue->udp = sockets->udp;
    queue->socket = *socket;
    if (full && !sockets->udp)
        queue->seen_ns = sockets->now_ns;
    if (!sockets->udp)
        return;
    if (queue->drops_ns && sockets->now_ns > queue->drops_ns) {
        uint32_t more = socket->drops - queue->drops;
        queue->drops_per_s = more / ((double)(sockets->now_ns - queue->drops_ns) / 1e9);
        if (more)
            queue->seen_ns = sockets->now_ns;
    } else {
        queue->seen_ns = sockets->now_ns;
    }
    queue->drops = socket->drops;
    queue->drops_ns = sockets->now_ns;
}

static void queues_forget(struct sockets *sockets) {
    size_t n = 0;
    for (size_t i = 0; i < sockets->n_queues; i++)
        if (sockets->now_ns < sockets->queues[i].seen_ns + STAY_NS)
            sockets->queues[n++] = sockets->queues[i];
    sockets->n_queues = n;
}

static void queues_dump(struct sockets *sockets, const struct section *system) {
    if (sockets_counter(system, "tcp", "listen_drops_per_s") > 0 ||
        sockets_counter(system, "tcp", "listen_overflows_per_s") > 0)
        sockets->listen_ns = sockets->now_ns;
    if (sockets_counter(system, "udp", "receive_buffer_errors_per_s") > 0)
        sockets->udp_ns = sockets->now_ns;
    sockets->udp = false;
    if (sockets->listen_ns && sockets->now_ns < sockets->listen_ns + STAY_NS)
        diag_dump(&(struct diag_query){.protocol = IPPROTO_TCP, .states = 1u << TCP_LISTEN}, queue_take, sockets);
    sockets->udp = true;
    if (sockets->udp_ns && sockets->now_ns < sockets->udp_ns + STAY_NS)
        diag_dump(&(struct diag_query){.protocol = IPPROTO_UDP, .states = ~0u}, queue_take, sockets);
    queues_forget(sockets);
}

// ---- CLOSE-WAIT ----

static void waiting_take(void *context, const struct diag_socket *socket) {
    struct sockets *sockets = context;
    if (socket->inode && sockets->n_waiting < WAITING_MAX) {
        sockets->waiting[sockets->n_waiting++] = socket->inode;
        snprintf(sockets->remote, sizeof(sockets->remote), "%s", socket->remote);
    }
}

static void waiting_dump(struct sockets *sockets, const struct section *system) {
    if (sockets->searching || sockets->now_ns < sockets->dump_ns)
        return;
    sockets->n_waiting = 0;
    // CurrEstab counts both states.
    if (sockets_counter(system, "tcp", "established") >= CONNECTIONS_LEAST) {
        uint64_t begin = thread_cpu_ns();
        diag_dump(&(struct diag_query){.protocol = IPPROTO_TCP, .states = 1u << TCP_CLOSE_WAIT}, waiting_take, sockets);
        uint64_t rest = (thread_cpu_ns() - begin) * DUMP_SHARE;
        sockets->dump_ns = sockets->now_ns + (rest > DUMP_NS ? rest : DUMP_NS);
    }
    if (sockets->n_waiting < CONNECTIONS_LEAST)
        sockets->n_counts = 0;
}

// ---- local ports ----

static void peer_take(void *context, const struct diag_socket *socket) {
    struct sockets *sockets = context;
    size_t i = 0;
    while (i < sockets->n_peers && strcmp(sockets->peers[i].remote, socket->remote) != 0)
        i++;
    if (i == PEERS_MAX)
        return;
    if (i == sockets->n_peers) {
        memset(&sockets->peers[i], 0, sizeof(sockets->peers[i]));
        snprintf(sockets->peers[sockets->n_peers++].remote, sizeof(sockets->peers[i].remote), "%s", socket->remote);
    }
    sockets->peers[i].ports++;
    if (socket->inode)
        sockets->peers[i].inode = socket->inode;
}

static void peer_found(void *context, uint64_t inode, int32_t pid) {
    struct sockets *sockets = context;
    for (size_t i = 0; i < sockets->n_peers; i++)
        if (sockets->peers[i].inode == inode)
            sockets->peers[i].pid = pid;
}

// Ports that the kernel may choose; NAN: unknown.
static double range_size(struct sockets *sockets) {
    uint64_t ends[2];
    if (proc_file_read(&sockets->range, &sockets->buffer))
        return NAN;
    const char *at = sockets->buffer.bytes;
    return proc_numbers(&at, ends, 2) == 2 && ends[1] >= ends[0] ? (double)(ends[1] - ends[0] + 1) : NAN;
}

// "TCP: inuse 1 orphan 0 tw 1 ...": all sockets of TCP.
static double sockets_in_all(struct sockets *sockets) {
    unsigned used, waiting;
    const char *at =
        proc_file_read(&sockets->sockstat, &sockets->buffer) ? NULL : strstr(sockets->buffer.bytes, "TCP:");
    return at && sscanf(at, "TCP: inuse %u orphan %*u tw %u", &used, &waiting) == 2 ? used + waiting : NAN;
}

static void ports_look(struct sockets *sockets) {
    double range = range_size(sockets), all = sockets_in_all(sockets);
    table_builder_clear(sockets->port_rows);
    if (!(all >= range * NEAR))
        sockets->n_peers = 0;
    else if (sockets->now_ns >= sockets->ports_ns) {
        uint64_t begin = thread_cpu_ns(), inodes[PEERS_MAX];
        size_t n = 0;
        sockets->n_peers = 0;
        const struct diag_query query = {.protocol = IPPROTO_TCP,
                                         .states = 1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_FIN_WAIT1 |
                                                   1u << TCP_FIN_WAIT2 | 1u << TCP_TIME_WAIT | 1u << TCP_CLOSE_WAIT};

        diag_dump(&query, peer_take, sockets);
        for (size_t i = 0; i < sockets->n_peers; i++)
            if (sockets->peers[i].inode && sockets->peers[i].ports >= range * NEAR)
                inodes[n++] = sockets->peers[i].inode;
        if (n && !sockets->searching) {
            diag_owners_want(sockets->owners, inodes, n);
            diag_owners_search(sockets->owners, LINKS * 4, peer_found, sockets);
        }
        uint64_t rest = (thread_cpu_ns() - begin) * DUMP_SHARE;
        sockets->ports_ns = sockets->now_ns + (rest > DUMP_NS ? rest : DUMP_NS);
    }
    for (size_t i = 0; i < sockets->n_peers; i++) {
        if (sockets->peers[i].ports < range * NEAR)
            continue;
        uint32_t slot = table_builder_add(sockets->port_rows);
        table_builder_set_text(sockets->port_rows, slot, P_REMOTE, text_from(sockets->peers[i].remote));
        table_builder_set_num(sockets->port_rows, slot, P_PORTS, sockets->peers[i].ports);
        table_builder_set_num(sockets->port_rows, slot, P_RANGE, range);
        sockets_set_process(sockets->port_rows, slot, P_PID, P_COMM, sockets->peers[i].pid);
    }
}

// ---- owners ----

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct sockets *sockets = context;
    struct queue *queue = queue_get(sockets, inode, false);
    if (queue && !queue->pid)
        queue->pid = pid;
    if (!sockets->searching_waiting || queue)
        return;
    size_t i = 0;
    while (i < sockets->n_counts && sockets->counts[i].pid != pid)
        i++;
    if (i == OWNERS_MAX)
        return;
    if (i == sockets->n_counts) {
        sockets->counts[sockets->n_counts].pid = pid;
        sockets->counts[sockets->n_counts++].sockets = 0;
    }
    sockets->counts[i].sockets++;
}

static void owners_search(struct sockets *sockets) {
    uint64_t inodes[QUEUES_MAX];
    size_t n = 0;
    if (!sockets->searching) {
        for (size_t i = 0; i < sockets->n_queues; i++)
            if (!sockets->queues[i].pid)
                inodes[n++] = sockets->queues[i].socket.inode;
        sockets->searching_waiting = !n && sockets->n_waiting >= CONNECTIONS_LEAST;
        sockets->searching = n || sockets->searching_waiting;
        if (n)
            diag_owners_want(sockets->owners, inodes, n);
        else if (sockets->searching_waiting)
            diag_owners_want(sockets->owners, sockets->waiting, sockets->n_waiting);
        if (sockets->searching_waiting)
            sockets->n_counts = 0;
    }
    if (!sockets->searching || !diag_owners_search(sockets->owners, LINKS, owner_found, sockets))
        return;
    sockets->searching = false;
    if (sockets->searching_waiting)
        sockets->n_waiting = 0; // the next dump counts again
}

// ---- the collector ----

static int sockets_open(struct collector_run *run) {
    struct sockets *sockets = xcalloc(1, sizeof(*sockets));
    run->state = sockets;
    sockets->queue_rows = table_builder_new(&queues_table);
    sockets->waiting_rows = table_builder_new(&waiting_table);
    sockets->port_rows = table_builder_new(&ports_table);
    sockets->sockstat = PROC_FILE("/proc/net/sockstat");
    sockets->range = PROC_FILE("/proc/sys/net/ipv4/ip_local_port_range");
    sockets->owners = diag_owners_new();
    for (size_t i = 0; i < PARTS; i++)
        sockets->states[i] = parts[i]->create();
    return 0;
}

static void queue_row(struct sockets *sockets, const struct queue *queue) {
    struct table_builder *rows = sockets->queue_rows;
    uint32_t slot = table_builder_add(rows);
    table_builder_set_text(rows, slot, PROTOCOL, text_from(queue->udp ? "udp" : "tcp"));
    table_builder_set_text(rows, slot, LOCAL, text_from(queue->socket.local));
    table_builder_set_num(rows, slot, QUEUE, queue->socket.queue);
    if (!queue->udp)
        table_builder_set_num(rows, slot, LIMIT, queue->socket.limit);
    table_builder_set_num(rows, slot, DROPS, queue->drops_per_s);
    sockets_set_process(rows, slot, PID, COMM, queue->pid);
}

static int sockets_sample(struct collector_run *run, struct section *out) {
    struct sockets *sockets = run->state;
    sockets->now_ns = now_ns();
    queues_dump(sockets, run->input);
    waiting_dump(sockets, run->input);
    owners_search(sockets);
    ports_look(sockets);
    table_builder_clear(sockets->queue_rows);
    for (size_t i = 0; i < sockets->n_queues; i++)
        queue_row(sockets, &sockets->queues[i]);
    // While a search for CLOSE-WAIT goes on, the rows of the last one stay.
    if (!sockets->searching || !sockets->searching_waiting) {
        table_builder_clear(sockets->waiting_rows);
        for (size_t i = 0; i < sockets->n_counts; i++) {
            char comm[32];
            sockets_comm(sockets->counts[i].pid, comm, sizeof(comm));
            if (!comm[0]) // it has ended
                continue;
            uint32_t slot = table_builder_add(sockets->waiting_rows);
            table_builder_set_num(sockets->waiting_rows, slot, W_PID, sockets->counts[i].pid);
            table_builder_set_text(sockets->waiting_rows, slot, W_COMM, text_from(comm));
            table_builder_set_num(sockets->waiting_rows, slot, W_SOCKETS, sockets->counts[i].sockets);
            table_builder_set_text(sockets->waiting_rows, slot, W_REMOTE, text_from(sockets->remote));
        }
    }
    section_table(out, table_builder_seal(sockets->queue_rows));
    section_table(out, table_builder_seal(sockets->waiting_rows));
    section_table(out, table_builder_seal(sockets->port_rows));
    for (size_t i = 0; i < PARTS; i++)
        parts[i]->sample(sockets->states[i], out, run->input, sockets->now_ns);
    section_set_state(out, SECTION_OK);
    return 0;
}

static void sockets_close(struct collector_run *run) {
    struct sockets *sockets = run->state;
    run->state = NULL;
    if (!sockets)
        return;
    table_builder_free(sockets->queue_rows);
    table_builder_free(sockets->waiting_rows);
    table_builder_free(sockets->port_rows);
    proc_file_close(&sockets->sockstat);
    proc_file_close(&sockets->range);
    proc_buffer_free(&sockets->buffer);
    diag_owners_free(sockets->owners);
    for (size_t i = 0; i < PARTS; i++)
        parts[i]->destroy(sockets->states[i]);
    free(sockets);
}

static const struct table_def *const tables[] = {
    &queues_table,          &waiting_table,        &ports_table, &sockets_unread_table,
    &sockets_lookups_table, &sockets_resent_table, NULL};

const struct collector collector_sockets = {
    .name = "sockets",
    .help = "which process has the socket that drops, is not read, waits to be closed, or waits for a name server: "
            "sock_diag "
            "and /proc/PID/fd, only while counters or sockets show such a case.",
    .input = "system",
    .always = true,
    .tables = tables,
    .open = sockets_open,
    .sample = sockets_sample,
    .close = sockets_close,
};
