// Processes with many sockets in CLOSE-WAIT: the peer has closed, the process has not.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define WAITING_MAX 4096 // sockets
#define OWNERS_MAX 32
#define LINKS 4096            // descriptors that are read per sample
#define DUMP_NS 2000000000ull // between dumps, or longer
#define DUMP_SHARE 200        // they take at most 1/200 of the time

enum { PID, COMM, SOCKETS, REMOTE, NETNS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [SOCKETS] = {.name = "sockets",
                 .title = "SOCKETS",
                 .help = "Sockets in CLOSE-WAIT: the peer has closed, the process has not.",
                 .unit = UNIT_COUNT,
                 .width = 7},
    [REMOTE] = TEXT_COLUMN("remote", "REMOTE", 21, .help = "The peer of one of them."),
    [NETNS] = COLUMN_NETNS(.help = SOCKETS_NETNS_HELP),
};

const struct table_def sockets_waiting_table = {
    .name = "close_wait",
    .help = "Processes with sockets in CLOSE-WAIT.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct count {
    int32_t pid;
    uint32_t sockets;
};

struct waiting {
    struct diag_owners *owners;
    uint64_t now_ns, dump_ns;
    uint64_t *inodes; // of the last dump, WAITING_MAX of them; NULL: never needed
    size_t n;
    char remote[64];
    struct count counts[OWNERS_MAX], shown[OWNERS_MAX]; // of the search that goes on; of the last complete one
    size_t n_counts, n_shown;
};

static void waiting_take(void *context, const struct diag_socket *socket) {
    struct waiting *waiting = context;
    if (!socket->inode || waiting->n == WAITING_MAX)
        return;
    waiting->inodes[waiting->n++] = socket->inode;
    snprintf(waiting->remote, sizeof(waiting->remote), "%s", socket->remote);
}

static void waiting_dump(struct waiting *waiting, double established) {
    if (diag_owners_searching(waiting->owners) || waiting->now_ns < waiting->dump_ns)
        return;
    waiting->n = 0;
    // CurrEstab counts both states.
    if (established >= SOCKETS_WAITING_LEAST) {
        uint64_t begin = thread_cpu_ns();
        if (!waiting->inodes)
            waiting->inodes = xcalloc(WAITING_MAX, sizeof(*waiting->inodes));
        diag_dump(&(struct diag_query){.protocol = IPPROTO_TCP, .states = 1u << TCP_CLOSE_WAIT}, waiting_take, waiting);
        waiting->dump_ns = sockets_next_dump(waiting->now_ns, begin, DUMP_SHARE, DUMP_NS);
    }
    if (waiting->n < SOCKETS_WAITING_LEAST) {
        waiting->n_shown = 0;
        return;
    }
    waiting->n_counts = 0;
    diag_owners_want(waiting->owners, waiting->inodes, waiting->n);
}

static void owner_found(void *context, uint64_t inode, int32_t pid) {
    struct waiting *waiting = context;
    size_t i = 0;
    (void)inode;
    while (i < waiting->n_counts && waiting->counts[i].pid != pid)
        i++;
    if (i == OWNERS_MAX)
        return;
    if (i == waiting->n_counts)
        waiting->counts[waiting->n_counts++] = (struct count){.pid = pid};
    waiting->counts[i].sockets++;
}

static size_t waiting_sample(void *state, const struct sockets_place *place, struct table_builder *rows) {
    struct waiting *waiting = state;
    size_t n = 0;
    waiting->now_ns = place->now_ns;
    waiting_dump(waiting, place->rates->established);
    if (diag_owners_searching(waiting->owners) && diag_owners_search(waiting->owners, LINKS, owner_found, waiting)) {
        memcpy(waiting->shown, waiting->counts, sizeof(waiting->shown));
        waiting->n_shown = waiting->n_counts;
    }
    for (size_t i = 0; i < waiting->n_shown; i++) {
        char comm[32];
        if (proc_read_comm(waiting->shown[i].pid, comm, sizeof(comm)) || !comm[0]) // it has ended
            continue;
        uint32_t slot = table_builder_add(rows);
        table_builder_set_num(rows, slot, PID, waiting->shown[i].pid);
        table_builder_set_text(rows, slot, COMM, text_from(comm));
        table_builder_set_num(rows, slot, SOCKETS, waiting->shown[i].sockets);
        table_builder_set_text(rows, slot, REMOTE, text_from(waiting->remote));
        sockets_set_netns(rows, slot, NETNS, place);
        n++;
    }
    return n + diag_owners_searching(waiting->owners);
}

static void *waiting_create(void) {
    struct waiting *waiting = xcalloc(1, sizeof(*waiting));
    waiting->owners = diag_owners_new();
    return waiting;
}

static void waiting_destroy(void *state) {
    struct waiting *waiting = state;
    diag_owners_free(waiting->owners);
    free(waiting->inodes);
    free(waiting);
}

const struct sockets_part sockets_waiting_part = {
    .table = &sockets_waiting_table, .create = waiting_create, .sample = waiting_sample, .destroy = waiting_destroy};
