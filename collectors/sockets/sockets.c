// The collector "sockets": to which process the sockets belong that drop, are not read, send again, wait to be closed,
// or wait for a name server, in the network namespaces of all processes. The kernel is asked only while counters of a
// namespace show such a case. The thread enters the others in turns, and keeps no descriptor of them.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/sockets/namespaces.h"
#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define QUIET_MAX 16 // namespaces without a case that are sampled per frame, in turns

static const struct sockets_part *const parts[] = {&sockets_queues_part, &sockets_waiting_part, &sockets_ports_part,
                                                   &sockets_unread_part, &sockets_lookups_part, &sockets_resent_part};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

enum {
    NETNS,
    PID,
    COMM,
    ESTABLISHED,
    SEGMENTS_OUT,
    RETRANSMITS,
    RESETS_IN,
    RESETS_OUT,
    ACTIVE_OPENS,
    LISTEN_DROPS,
    LISTEN_OVERFLOWS,
    DATAGRAMS_IN,
    UDP_DROPS,
    COLUMNS
};
#define PER_S(name_, title_, ...) NUMBER_COLUMN(name_, title_, UNIT_PER_S, 8, __VA_ARGS__)

static const struct column columns[COLUMNS] = {
    [NETNS] = COLUMN_NETNS(.help = "Network namespace, as in /proc/PID/ns/net."),
    [PID] = COLUMN_PID(.help = "A process in it: the one with the lowest PID."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [ESTABLISHED] = NUMBER_COLUMN("established", "ESTAB", UNIT_COUNT, 8, .help = "Established connections of TCP."),
    [SEGMENTS_OUT] =
        PER_S("segments_out_per_s", "SEGOUT/s", .help = "TCP segments sent per second, retransmits left out."),
    [RETRANSMITS] = PER_S("retransmits_per_s", "RETR/s", .help = "TCP segments retransmitted per second."),
    [RESETS_IN] = PER_S("resets_in_per_s", "RSTIN/s", .help = "Established connections reset per second."),
    [RESETS_OUT] = PER_S("resets_out_per_s", "RSTOUT/s", .help = "Resets sent per second."),
    [ACTIVE_OPENS] = PER_S("active_opens_per_s", "ACTIVE/s", .help = "Outgoing TCP connections opened per second."),
    [LISTEN_DROPS] =
        PER_S("listen_drops_per_s", "LDROP/s", .help = "Connection attempts dropped per second by listening sockets."),
    [LISTEN_OVERFLOWS] = PER_S("listen_overflows_per_s", "LOVER/s",
                               .help = "Connection attempts per second that found the accept queue full."),
    [DATAGRAMS_IN] = PER_S("udp_in_per_s", "UDPIN/s", .help = "UDP datagrams delivered per second."),
    [UDP_DROPS] = PER_S("receive_buffer_errors_per_s", "RCVBUF/s",
                        .help = "UDP datagrams dropped per second for a full receive buffer."),
};

static const struct table_def namespaces_table = {
    .name = "network_namespaces",
    .help = "Network namespaces other than that of ktop: TCP and UDP of containers.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct place {
    uint64_t inode;           // 0: ktop's own
    const struct text *netns; // a reference; NULL: ktop's own
    int32_t pid;
    struct sockets_counters counters;
    struct sockets_rates rates;
    void *states[PARTS];
    size_t busy;    // what the parts had to do in the last sample
    uint64_t frame; // of the last sample
};

struct sockets {
    struct namespaces namespaces;
    struct table_builder *rows[PARTS], *namespace_rows;
    struct proc_buffer buffer;
    struct place *places[NAMESPACES_MAX + 1]; // the first is ktop's own
    size_t n, turn;                           // turn: the first quiet one of the next sample
    uint64_t frame;
};

uint64_t sockets_next_dump(uint64_t now_ns, uint64_t begin_cpu_ns, uint64_t share, uint64_t least_ns) {
    uint64_t rest = (thread_cpu_ns() - begin_cpu_ns) * share;
    return now_ns + (rest > least_ns ? rest : least_ns);
}

void sockets_set_process(struct table_builder *rows, uint32_t slot, uint16_t pid_column, uint16_t comm_column,
                         int32_t pid) {
    char comm[32];
    if (!pid || proc_read_comm(pid, comm, sizeof(comm)) || !comm[0])
        return;
    table_builder_set_num(rows, slot, pid_column, pid);
    table_builder_set_text(rows, slot, comm_column, text_from(comm));
}

void sockets_set_netns(struct table_builder *rows, uint32_t slot, uint16_t column, const struct sockets_place *place) {
    if (place->netns)
        table_builder_set_text(rows, slot, column, text_ref(place->netns));
}

// ---- places ----

static struct place *place_new(uint64_t inode, const struct text *netns) {
    struct place *place = xcalloc(1, sizeof(*place));
    place->inode = inode;
    place->netns = netns ? text_ref(netns) : NULL;
    for (size_t i = 0; i < PARTS; i++)
        place->states[i] = parts[i]->create();
    return place;
}

static void place_free(struct place *place) {
    for (size_t i = 0; i < PARTS; i++)
        parts[i]->destroy(place->states[i]);
    text_unref(place->netns);
    free(place);
}

static void place_list(struct sockets *sockets, const struct namespace_found *found) {
    size_t i = 1;
    while (i < sockets->n && sockets->places[i]->inode != found->inode)
        i++;
    if (i > NAMESPACES_MAX)
        return;
    if (i == sockets->n)
        sockets->places[sockets->n++] = place_new(found->inode, found->number);
    sockets->places[i]->pid = found->pid;
}

// Those without processes are dropped first, so that there is room for all that were found.
static void places_find(struct sockets *sockets, const struct table *tasks) {
    struct namespaces *all = &sockets->namespaces;
    size_t n = 1;
    namespaces_find(all, tasks);
    for (size_t i = 1; i < sockets->n; i++) {
        struct place *place = sockets->places[i];
        bool found = false;
        for (size_t k = 0; k < all->n; k++)
            found |= all->found[k].inode == place->inode;
        if (found)
            sockets->places[n++] = place;
        else
            place_free(place);
    }
    sockets->n = n;
    for (size_t i = 0; i < all->n; i++)
        place_list(sockets, &all->found[i]);
}

// In the thread's network namespace.
static void place_sample(struct sockets *sockets, struct place *place) {
    uint64_t now = now_ns();
    sockets_counters_read(&place->counters, &sockets->buffer, now, &place->rates);
    const struct sockets_place is = {place->netns, &place->rates, now};
    // In an idle container nothing happens that could be a case; but sockets may wait to be closed.
    if (place->netns && place->rates.packets == 0 && !place->busy &&
        !(place->rates.established >= SOCKETS_WAITING_LEAST))
        return;
    place->busy = 0;
    for (size_t i = 0; i < PARTS; i++)
        place->busy += parts[i]->sample(place->states[i], &is, sockets->rows[i]);
}

// An error: the thread cannot come back, so that the collector must end.
static int other_sample(struct sockets *sockets, struct place *place) {
    struct namespaces *all = &sockets->namespaces;
    place->frame = sockets->frame;
    int error = namespaces_enter(all, place->inode, place->pid);
    if (!error) {
        place_sample(sockets, place);
        return namespaces_leave(all);
    }
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->release)
            parts[i]->release(place->states[i]);
    if (error == -EPERM)
        namespaces_close(all); // none can be entered
    return 0;
}

// All that have a case, and some of the others.
static int others_sample(struct sockets *sockets) {
    size_t others = sockets->n - 1, done = 0, i = 0;
    int error = 0;
    sockets->frame++;
    for (size_t k = 1; k <= others && !error; k++)
        if (sockets->places[k]->busy)
            error = other_sample(sockets, sockets->places[k]);
    for (; i < others && done < QUIET_MAX && !error; i++) {
        struct place *place = sockets->places[1 + (sockets->turn + i) % others];
        if (place->frame == sockets->frame)
            continue;
        error = other_sample(sockets, place);
        done++;
    }
    sockets->turn += i;
    return error;
}

static void namespace_row(struct sockets *sockets, const struct place *place) {
    const struct sockets_rates *rates = &place->rates;
    const double values[COLUMNS] = {
        [ESTABLISHED] = rates->established,   [SEGMENTS_OUT] = rates->segments_out,
        [RETRANSMITS] = rates->retransmits,   [RESETS_IN] = rates->resets_in,
        [RESETS_OUT] = rates->resets_out,     [LISTEN_DROPS] = rates->listen_drops,
        [DATAGRAMS_IN] = rates->datagrams_in, [LISTEN_OVERFLOWS] = rates->listen_overflows,
        [UDP_DROPS] = rates->udp_drops,       [ACTIVE_OPENS] = rates->active_opens,
    };
    uint32_t slot = table_builder_add(sockets->namespace_rows);
    table_builder_set_text(sockets->namespace_rows, slot, NETNS, text_ref(place->netns));
    sockets_set_process(sockets->namespace_rows, slot, PID, COMM, place->pid);
    for (uint16_t i = ESTABLISHED; i < COLUMNS; i++)
        table_builder_set_num(sockets->namespace_rows, slot, i, values[i]);
}

// ---- the collector ----

static int sockets_open(struct collector_run *run) {
    struct sockets *sockets = xcalloc(1, sizeof(*sockets));
    run->state = sockets;
    for (size_t i = 0; i < PARTS; i++)
        sockets->rows[i] = table_builder_new(parts[i]->table);
    sockets->namespace_rows = table_builder_new(&namespaces_table);
    namespaces_open(&sockets->namespaces);
    sockets->places[sockets->n++] = place_new(0, NULL);
    return 0;
}

static int sockets_sample(struct collector_run *run, struct section *out) {
    struct sockets *sockets = run->state;
    for (size_t i = 0; i < PARTS; i++)
        table_builder_clear(sockets->rows[i]);
    table_builder_clear(sockets->namespace_rows);
    places_find(sockets, run->inputs[0] ? section_find_table(run->inputs[0], "tasks") : NULL);
    place_sample(sockets, sockets->places[0]);
    int error = others_sample(sockets);
    if (error)
        return error;
    for (size_t i = 1; i < sockets->n; i++)
        if (sockets->places[i]->counters.at_ns)
            namespace_row(sockets, sockets->places[i]);
    for (size_t i = 0; i < PARTS; i++)
        section_table(out, table_builder_seal(sockets->rows[i]));
    section_table(out, table_builder_seal(sockets->namespace_rows));
    if (sockets->namespaces.more)
        section_note(out, SEVERITY_INFO, "netns", "too many network namespaces: some are not looked at", NULL);
    section_set_state(out, SECTION_OK);
    return 0;
}

static void sockets_close(struct collector_run *run) {
    struct sockets *sockets = run->state;
    run->state = NULL;
    if (!sockets)
        return;
    for (size_t i = 0; i < sockets->n; i++)
        place_free(sockets->places[i]);
    for (size_t i = 0; i < PARTS; i++)
        table_builder_free(sockets->rows[i]);
    table_builder_free(sockets->namespace_rows);
    proc_buffer_free(&sockets->buffer);
    namespaces_close(&sockets->namespaces);
    free(sockets);
}

static const struct table_def *const tables[] = {
    &sockets_queues_table,  &sockets_waiting_table, &sockets_ports_table, &sockets_unread_table,
    &sockets_lookups_table, &sockets_resent_table,  &namespaces_table,    NULL};

const struct collector collector_sockets = {
    .name = "sockets",
    .help = "which process has the socket that drops, is not read, waits to be closed, or waits for a name server, in "
            "all network namespaces: sock_diag, /proc/PID/fd, and a packet socket for DNS, only while counters or "
            "sockets show such a case.",
    .inputs = {"tasks"},
    .always = true,
    .tables = tables,
    .open = sockets_open,
    .sample = sockets_sample,
    .close = sockets_close,
};
