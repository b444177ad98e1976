// Listeners whose accept queue is full and UDP sockets that drop datagrams: of which process. The kernel is asked only
// while counters show drops.
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>

#include "collectors/sockets/parts.h"
#include "model/columns.h"
#include "model/mem.h"

#define QUEUES_MAX 32
#define LINKS 4096            // descriptors that are read per sample
#define STAY_NS 5000000000ull // after the last drop

enum { PROTOCOL, LOCAL, PID, COMM, QUEUE, LIMIT, DROPS, NETNS, COLUMNS };

static const struct column columns[COLUMNS] = {
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
    [NETNS] = COLUMN_NETNS(.help = SOCKETS_NETNS_HELP),
};

const struct table_def sockets_queues_table = {
    .name = "socket_queues",
    .help =
        "Listeners whose accept queue is full, and UDP sockets that drop datagrams, while the machine counts drops.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
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

struct queues {
    struct diag_owners *owners;
    struct queue queues[QUEUES_MAX];
    size_t n;
    bool udp;                           // the dump that goes on
    uint64_t now_ns, listen_ns, udp_ns; // the last drops
};

static struct queue *queue_get(struct queues *queues, uint64_t inode, bool add) {
    for (size_t i = 0; i < queues->n; i++)
        if (queues->queues[i].socket.inode == inode)
            return &queues->queues[i];
    if (!add || queues->n == QUEUES_MAX)
        return NULL;
    struct queue *queue = &queues->queues[queues->n++];
    *queue = (struct queue){.drops_per_s = NAN};
    return queue;
}

static void queue_take(void *context, const struct diag_socket *socket) {
    struct queues *queues = context;
    bool full = queues->udp ? socket->drops > 0 : socket->queue >= socket->limit && socket->queue > 0;
    struct queue *queue = socket->inode ? queue_get(queues, socket->inode, full) : NULL;
    if (!queue)
        return;
    queue->udp = queues->udp;
    queue->socket = *socket;
    if (full && !queues->udp)
        queue->seen_ns = queues->now_ns;
    if (!queues->udp)
        return;
    if (queue->drops_ns && queues->now_ns > queue->drops_ns) {
        uint32_t more = socket->drops - queue->drops;
        queue->drops_per_s = more / ((double)(queues->now_ns - queue->drops_ns) / 1e9);
        if (more)
            queue->seen_ns = queues->now_ns;
    } else {
        queue->seen_ns = queues->now_ns;
    }
    queue->drops = socket->drops;
    queue->drops_ns = queues->now_ns;
}

static void queues_forget(struct queues *queues) {
    size_t n = 0;
    for (size_t i = 0; i < queues->n; i++)
        if (queues->now_ns < queues->queues[i].seen_ns + STAY_NS)
            queues->queues[n++] = queues->queues[i];
    queues->n = n;
}

static void queues_dump(struct queues *queues, const struct sockets_rates *rates) {
    if (rates->listen_drops > 0 || rates->listen_overflows > 0)
        queues->listen_ns = queues->now_ns;
    if (rates->udp_drops > 0)
        queues->udp_ns = queues->now_ns;
    queues->udp = false;
    if (queues->listen_ns && queues->now_ns < queues->listen_ns + STAY_NS)
        diag_dump(&(struct diag_query){.protocol = IPPROTO_TCP, .states = 1u << TCP_LISTEN}, queue_take, queues);
    queues->udp = true;
    if (queues->udp_ns && queues->now_ns < queues->udp_ns + STAY_NS)
        diag_dump(&(struct diag_query){.protocol = IPPROTO_UDP, .states = ~0u}, queue_take, queues);
    queues_forget(queues);
}

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct queue *queue = queue_get(context, inode, false);
    if (queue && !queue->pid)
        queue->pid = pid;
}

static void owners_search(struct queues *queues) {
    uint64_t inodes[QUEUES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < queues->n && !diag_owners_searching(queues->owners); i++)
        if (!queues->queues[i].pid)
            inodes[n++] = queues->queues[i].socket.inode;
    if (n)
        diag_owners_want(queues->owners, inodes, n);
    diag_owners_search(queues->owners, LINKS, owner_found, queues);
}

static void queue_row(const struct queue *queue, const struct sockets_place *place, struct table_builder *rows) {
    uint32_t slot = table_builder_add(rows);
    table_builder_set_text(rows, slot, PROTOCOL, text_from(queue->udp ? "udp" : "tcp"));
    table_builder_set_text(rows, slot, LOCAL, text_from(queue->socket.local));
    table_builder_set_num(rows, slot, QUEUE, queue->socket.queue);
    if (!queue->udp)
        table_builder_set_num(rows, slot, LIMIT, queue->socket.limit);
    table_builder_set_num(rows, slot, DROPS, queue->drops_per_s);
    sockets_set_netns(rows, slot, NETNS, place);
    sockets_set_process(rows, slot, PID, COMM, queue->pid);
}

static size_t queues_sample(void *state, const struct sockets_place *place, struct table_builder *rows) {
    struct queues *queues = state;
    queues->now_ns = place->now_ns;
    queues_dump(queues, place->rates);
    owners_search(queues);
    for (size_t i = 0; i < queues->n; i++)
        queue_row(&queues->queues[i], place, rows);
    return queues->n;
}

static void *queues_create(void) {
    struct queues *queues = xcalloc(1, sizeof(*queues));
    queues->owners = diag_owners_new();
    return queues;
}

static void queues_destroy(void *state) {
    struct queues *queues = state;
    diag_owners_free(queues->owners);
    free(queues);
}

const struct sockets_part sockets_queues_part = {
    .table = &sockets_queues_table, .create = queues_create, .sample = queues_sample, .destroy = queues_destroy};
