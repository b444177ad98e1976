#include "collectors/events/flows.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/events/flow_bytes.h"
#include "collectors/kernel/bpf/bpf.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/columns.h"
#include "model/mem.h"

#define CHAINS 8192 // a power of two
#define NONE UINT32_MAX

// include/net/tcp_states.h
enum {
    ESTABLISHED = 1,
    SYN_SENT,
    SYN_RECV,
    FIN_WAIT1,
    FIN_WAIT2,
    TIME_WAIT,
    CLOSE,
    CLOSE_WAIT,
    LAST_ACK,
    LISTEN,
    CLOSING,
    NEW_SYN_RECV
};
static const char *const states[] = {"-",         "ESTABLISHED", "SYN_SENT", "SYN_RECV",   "FIN_WAIT1",
                                     "FIN_WAIT2", "TIME_WAIT",   "CLOSE",    "CLOSE_WAIT", "LAST_ACK",
                                     "LISTEN",    "CLOSING",     "SYN_RECV"};

enum { STATE_EVENT, RESET_EVENT, RETRANSMIT_EVENT, FLOW_EVENTS };
enum {
    F_FLAGS,
    F_SOCKET,
    F_SPORT,
    F_DPORT,
    F_SADDR,
    F_DADDR,
    F_SADDR6,
    F_DADDR6,
    F_FAMILY,
    F_OLD,
    F_NEW,
    F_STATE,
    F_PROTOCOL,
    FIELDS
};
struct event_fields {
    struct format_field fields[FIELDS];
    uint32_t end;
};

enum direction { UNKNOWN, OUT, IN };
enum ended { RUNS, CLOSED_HERE, CLOSED_BY_PEER, RESET_BY_PEER, ABORTED, REFUSED, FAILED, TIMED_OUT };
static const char *const ends[] = {NULL,      "closed",  "closed by peer", "reset by peer",
                                   "aborted", "refused", "failed",         "timed out"};

struct flow {
    uint64_t socket;
    uint32_t next; // of its chain, of the free ones, or of those that ended
    uint8_t state, direction, ended;
    bool from_start, fin, fin_of_peer, got_reset;
    uint16_t sport, dport;
    uint8_t saddr[16], daddr[16]; // IPv4 as ::ffff:a.b.c.d
    int32_t tid;                  // of the process that opened or closed it; 0: unknown
    uint64_t first_ns, last_ns;
    uint32_t retransmits, retransmits_before;
    bool has_bytes;
    uint64_t sent, received;
};
struct flows {
    int8_t kind[CHOICE_MAX]; // by index in the choice; -1: another event
    bool has_states;
    struct flow_bytes *bytes; // NULL: see bytes_error
    int bytes_error;
    struct event_fields events[FLOW_EVENTS];
    struct flow flows[FLOWS_MAX];
    uint32_t chains[CHAINS], free, ended, ended_last;
    uint64_t full; // events of the interval without a place
};

// ---- columns ----

enum {
    C_LOCAL,
    C_LPORT,
    C_REMOTE,
    C_RPORT,
    C_TIME,
    C_DIRECTION,
    C_COMM,
    C_PID,
    C_STATE,
    C_END,
    C_DURATION,
    C_SENT,
    C_RECEIVED,
    C_RETRANSMITS,
    C_RETRANSMITS_TOTAL,
    C_ALL
};
static const struct column columns[C_ALL] = {
    [C_LOCAL] = TEXT_COLUMN("local", "LOCAL", 15, .help = "Local address, IPv4 or IPv6."),
    [C_LPORT] = ID_COLUMN("local_port", "LPORT", 5, .help = "Local port."),
    [C_REMOTE] = TEXT_COLUMN("remote", "REMOTE", 15, .help = "Remote address."),
    [C_RPORT] = ID_COLUMN("remote_port", "RPORT", 5, .help = "Remote port."),
    [C_TIME] =
        COLUMN_TIME_S(.help = "Time of its first event, in seconds since 1970.", .format = column_format_clock_us),
    [C_DIRECTION] = TEXT_COLUMN("direction", "DIR", 3,
                                .help = "out: this machine connected; in: it accepted; -: it began before tracing."),
    [C_COMM] = COLUMN_COMM(.help = "Thread that connected it, or that closed it; -: unknown."),
    [C_PID] = COLUMN_PID(.help = "Process that connected it, or that closed it; -: unknown."),
    [C_STATE] = COLUMN_STATE(11, .help = "State, or the last one before its end."),
    [C_END] =
        TEXT_COLUMN("end", "END", 14,
                    .help = "closed: here first; closed by peer; reset by peer; aborted: reset from here; refused; "
                            "timed out: after retransmissions; failed: by another error; -: it goes on."),
    [C_DURATION] = NUMBER_COLUMN("duration_us", "DURATION", UNIT_US, 8,
                                 .help = "From its first SYN to its end, or until its last event; -: it began before "
                                         "tracing."),
    [C_SENT] = NUMBER_COLUMN("sent_bytes", "SENT", UNIT_BYTES, 7,
                             .help = "Payload sent, without retransmissions; -: it goes on, or this kernel does not "
                                     "report it (BPF and its type information)."),
    [C_RECEIVED] = NUMBER_COLUMN("received_bytes", "RECEIVED", UNIT_BYTES, 8, .help = "Payload received."),
    [C_RETRANSMITS] = NUMBER_COLUMN("retransmits", "RETR", UNIT_COUNT, 5, .merge = MERGE_SUM,
                                    .help = "Segments sent again in the interval; -: tcpretrans is not recorded."),
    [C_RETRANSMITS_TOTAL] = NUMBER_COLUMN("retransmits_total", "RETRALL", UNIT_COUNT, 7,
                                          .help = "Segments sent again since tracing began."),
};
const struct table_def events_connections_table = {
    .name = "connections",
    .help = "TCP connections that ended in the interval (preset tcplife), and those with retransmissions in it (preset "
            "tcpretrans).",
    .columns = columns,
    .n_columns = C_ALL,
    .n_keys = 5,
    .rows = ROWS_REPORTED_ONCE,
};

// ---- opening ----

static void fields_name(struct event_fields *event) {
    static const char *const names[FIELDS] = {
        [F_FLAGS] = "common_flags", [F_SOCKET] = "skaddr", [F_SPORT] = "sport",     [F_DPORT] = "dport",
        [F_SADDR] = "saddr",        [F_DADDR] = "daddr",   [F_SADDR6] = "saddr_v6", [F_DADDR6] = "daddr_v6",
        [F_FAMILY] = "family",      [F_OLD] = "oldstate",  [F_NEW] = "newstate",    [F_STATE] = "state",
        [F_PROTOCOL] = "protocol"};
    for (int i = 0; i < FIELDS; i++)
        event->fields[i] = (struct format_field){.name = names[i], .optional = i >= F_FAMILY};
}

struct flows *flows_open(const struct choice *choice, const struct stream_event *events, const char *dir) {
    static const char *const wanted[FLOW_EVENTS][2] = {
        {"sock", "inet_sock_set_state"}, {"tcp", "tcp_receive_reset"}, {"tcp", "tcp_retransmit_skb"}};
    struct flows *flows = xcalloc(1, sizeof(*flows));
    bool any = false;
    memset(flows->kind, -1, sizeof(flows->kind));
    for (size_t i = 0; i < choice->n; i++)
        for (int kind = 0; kind < FLOW_EVENTS; kind++) {
            struct event_fields *event = &flows->events[kind];
            uint16_t id;
            if (!events[i].present || strcmp(choice->events[i].system, wanted[kind][0]) ||
                strcmp(choice->events[i].name, wanted[kind][1]))
                continue;
            fields_name(event);
            if (format_read(dir, wanted[kind][0], wanted[kind][1], event->fields, FIELDS, &id, NULL))
                continue;
            event->end = format_end(event->fields, FIELDS);
            flows->kind[i] = (int8_t)kind;
            flows->has_states |= kind == STATE_EVENT;
            any |= kind != RESET_EVENT;
        }
    if (!any) {
        free(flows);
        return NULL;
    }
    for (uint32_t i = 0; i < FLOWS_MAX; i++)
        flows->flows[i].next = i + 1 < FLOWS_MAX ? i + 1 : NONE;
    memset(flows->chains, 0xff, sizeof(flows->chains));
    flows->ended = flows->ended_last = NONE;
    if (flows->has_states)
        flows->bytes_error = flow_bytes_open(&flows->bytes);
    return flows;
}

void flows_close(struct flows *flows) {
    if (flows)
        flow_bytes_close(flows->bytes);
    free(flows);
}

// ---- the event path ----

static uint32_t *place_of(struct flows *flows, uint64_t socket) {
    uint32_t *at = &flows->chains[(socket >> 6) * 2654435761u >> 7 & (CHAINS - 1)];
    while (*at != NONE && flows->flows[*at].socket != socket)
        at = &flows->flows[*at].next;
    return at;
}

static void flow_end(struct flows *flows, uint32_t *place) {
    uint32_t index = *place;
    *place = flows->flows[index].next;
    flows->flows[index].next = NONE;
    if (flows->ended == NONE)
        flows->ended = index;
    else
        flows->flows[flows->ended_last].next = index;
    flows->ended_last = index;
}

static struct flow *flow_add(struct flows *flows, uint32_t *place, uint64_t socket, uint64_t ns) {
    uint32_t index = flows->free;
    if (index == NONE) {
        flows->full++;
        return NULL;
    }
    flows->free = flows->flows[index].next;
    flows->flows[index] = (struct flow){.socket = socket, .next = NONE, .first_ns = ns};
    *place = index;
    return &flows->flows[index];
}

static void address_read(uint8_t out[16], const uint8_t *record, const struct format_field *v4,
                         const struct format_field *v6, bool is_v6) {
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (is_v6) {
        memcpy(out, record + v6->offset, 16);
        return;
    }
    memcpy(out, mapped, sizeof(mapped));
    memcpy(out + 12, record + v4->offset, 4);
}

static void addresses_read(const struct event_fields *event, struct flow *flow, const uint8_t *record) {
    const struct format_field *fields = event->fields;
    static const uint8_t zero[4];
    uint16_t dport = (uint16_t)format_u64(record, &fields[F_DPORT]);
    if (!dport) // of a socket that is not connected yet
        return;
    // Before Linux 5.18 some events lack the family. The IPv4 address of an IPv6 socket is 0.
    bool is_v6 = fields[F_FAMILY].size ? format_u64(record, &fields[F_FAMILY]) == AF_INET6
                                       : !memcmp(record + fields[F_DADDR].offset, zero, 4);
    flow->dport = dport;
    flow->sport = (uint16_t)format_u64(record, &fields[F_SPORT]);
    address_read(flow->saddr, record, &fields[F_SADDR], &fields[F_SADDR6], is_v6);
    address_read(flow->daddr, record, &fields[F_DADDR], &fields[F_DADDR6], is_v6);
}

static enum ended how(const struct flow *flow, uint8_t old, bool in_interrupt) {
    if (flow->got_reset)
        return old == SYN_SENT ? REFUSED : RESET_BY_PEER;
    if (flow->fin)
        return CLOSED_HERE;
    if (flow->fin_of_peer)
        return CLOSED_BY_PEER;
    if (!in_interrupt)
        return ABORTED;
    return flow->retransmits ? TIMED_OUT : FAILED;
}

static void on_state(struct flows *flows, const struct event_fields *event, const uint8_t *record, uint64_t ns,
                     int32_t tid) {
    const struct format_field *fields = event->fields;
    uint8_t old = (uint8_t)format_u64(record, &fields[F_OLD]), new = (uint8_t)format_u64(record, &fields[F_NEW]);
    uint64_t socket = format_u64(record, &fields[F_SOCKET]);
    bool in_interrupt = format_u64(record, &fields[F_FLAGS]) & (EVENT_FLAG_HARDIRQ | EVENT_FLAG_SOFTIRQ);
    if (new == LISTEN || (old == LISTEN && new == CLOSE) || (old == CLOSE && new == CLOSE) ||
        (fields[F_PROTOCOL].size && format_u64(record, &fields[F_PROTOCOL]) != IPPROTO_TCP))
        return;
    uint32_t *place = place_of(flows, socket);
    bool begins = new == SYN_SENT || new == SYN_RECV;
    if (*place != NONE && begins) // its end was not recorded
        flow_end(flows, place), place = place_of(flows, socket);
    struct flow *flow = *place == NONE ? flow_add(flows, place, socket, ns) : &flows->flows[*place];
    if (!flow)
        return;
    addresses_read(event, flow, record);
    flow->last_ns = ns;
    if (begins || old == SYN_RECV) {
        flow->from_start |= begins || new == ESTABLISHED;
        flow->direction = new == SYN_SENT ? OUT : IN;
    }
    if ((new == SYN_SENT || new == FIN_WAIT1 || new == LAST_ACK || new == CLOSE) && !in_interrupt && !flow->tid)
        flow->tid = tid;
    flow->fin |= new == FIN_WAIT1;
    flow->fin_of_peer |= new == CLOSE_WAIT && !flow->fin;
    flow->state = new == CLOSE ? old : new;
    if (new != CLOSE)
        return;
    flow->ended = how(flow, old, in_interrupt);
    flow->has_bytes = flows->bytes && flow_bytes_find(flows->bytes, socket, ns, &flow->sent, &flow->received);
    flow_end(flows, place);
}

static void on_retransmit(struct flows *flows, const struct event_fields *event, const uint8_t *record, uint64_t ns) {
    uint64_t socket = format_u64(record, &event->fields[F_SOCKET]);
    uint32_t *place = place_of(flows, socket);
    struct flow *flow = *place == NONE ? flow_add(flows, place, socket, ns) : &flows->flows[*place];
    if (!flow)
        return;
    uint16_t dport = flow->dport, sport = flow->sport;
    addresses_read(event, flow, record);
    if (!flows->has_states && dport && (dport != flow->dport || sport != flow->sport)) {
        // Without its states: the kernel uses the socket's memory again.
        *flow = (struct flow){.socket = socket, .next = flow->next, .first_ns = ns};
        addresses_read(event, flow, record);
    }
    flow->state = (uint8_t)format_u64(record, &event->fields[F_STATE]);
    flow->last_ns = ns;
    flow->retransmits++;
}

void flows_drain(struct flows *flows) {
    if (flows->bytes)
        flow_bytes_drain(flows->bytes);
}

bool flows_takes(const struct flows *flows, size_t index) {
    return flows->kind[index] >= 0;
}

void flows_event(struct flows *flows, size_t index, const uint8_t *record, uint32_t size, uint64_t ns, int32_t tid) {
    int kind = flows->kind[index];
    if (kind < 0 || size < flows->events[kind].end)
        return;
    const struct event_fields *event = &flows->events[kind];
    if (kind == STATE_EVENT) {
        on_state(flows, event, record, ns, tid);
    } else if (kind == RETRANSMIT_EVENT) {
        on_retransmit(flows, event, record, ns);
    } else {
        uint32_t *place = place_of(flows, format_u64(record, &event->fields[F_SOCKET]));
        if (*place != NONE)
            flows->flows[*place].got_reset = true;
    }
}

// ---- rows ----

static const struct text *address_text(const uint8_t address[16]) {
    char text[INET6_ADDRSTRLEN];
    bool is_v4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address);
    return inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? address + 12 : address, text, sizeof(text)) ? text_from(text)
                                                                                                     : NULL;
}

struct sampling {
    struct flows *flows;
    struct event_names *names;
    const struct collect_options *options;
    int64_t wall_ns;
    struct table_builder *rows;
    size_t n, left_out, unknown;
};

static void row_add(struct sampling *sampling, const struct flow *flow) {
    const struct task_identity *identity =
        flow->tid ? event_names_find(sampling->names, sampling->options, flow->tid) : NULL;
    if (thread_filters(sampling->options) && !(identity && identity->wanted)) {
        sampling->unknown += !(identity && identity->found);
        return;
    }
    if (sampling->n++ >= FLOWS_ROWS) {
        sampling->left_out++;
        return;
    }
    struct table_builder *rows = sampling->rows;
    uint32_t slot = table_builder_add(rows);
    uint64_t first = flow->first_ns, last = flow->last_ns;
    table_builder_set_text(rows, slot, C_LOCAL, address_text(flow->saddr));
    table_builder_set_num(rows, slot, C_LPORT, flow->sport);
    table_builder_set_text(rows, slot, C_REMOTE, address_text(flow->daddr));
    table_builder_set_num(rows, slot, C_RPORT, flow->dport);
    table_builder_set_num(rows, slot, C_TIME, (double)((int64_t)first + sampling->wall_ns) / 1e9);
    table_builder_set_text(rows, slot, C_DIRECTION,
                           flow->direction ? text_from(flow->direction == OUT ? "out" : "in") : NULL);
    if (identity) {
        table_builder_set_text(rows, slot, C_COMM, event_names_text(sampling->names, identity, flow->tid));
        table_builder_set_num(rows, slot, C_PID, identity->status.pid);
    } else {
        table_builder_set_num(rows, slot, C_PID, NAN);
    }
    table_builder_set_text(rows, slot, C_STATE,
                           text_from(states[flow->state < sizeof(states) / sizeof(states[0]) ? flow->state : 0]));
    table_builder_set_text(rows, slot, C_END, flow->ended ? text_from(ends[flow->ended]) : NULL);
    table_builder_set_num(rows, slot, C_DURATION,
                          flow->from_start && last >= first ? (double)(last - first) / 1e3 : NAN);
    table_builder_set_num(rows, slot, C_SENT, flow->has_bytes ? (double)flow->sent : NAN);
    table_builder_set_num(rows, slot, C_RECEIVED, flow->has_bytes ? (double)flow->received : NAN);
    bool counts = memchr(sampling->flows->kind, RETRANSMIT_EVENT, sizeof(sampling->flows->kind));
    table_builder_set_num(rows, slot, C_RETRANSMITS,
                          counts ? (double)(flow->retransmits - flow->retransmits_before) : NAN);
    table_builder_set_num(rows, slot, C_RETRANSMITS_TOTAL, counts ? (double)flow->retransmits : NAN);
}

static void count_note(struct section *out, uint64_t n, const char *words) {
    char text[256];
    if (!n)
        return;
    snprintf(text, sizeof(text), "%llu %s", (unsigned long long)n, words);
    section_note(out, SEVERITY_INFO, "end", text, NULL);
}

void flows_sample(struct flows *flows, struct event_names *names, const struct collect_options *options,
                  int64_t wall_ns, struct section *out) {
    struct table_builder *rows = table_builder_new(&events_connections_table);
    struct sampling sampling = {flows, names, options, wall_ns, rows, 0, 0, 0};
    while (flows->ended != NONE) {
        uint32_t index = flows->ended;
        struct flow *flow = &flows->flows[index];
        flows->ended = flow->next;
        row_add(&sampling, flow);
        *flow = (struct flow){.next = flows->free};
        flows->free = index;
    }
    for (uint32_t i = 0; i < FLOWS_MAX; i++)
        if (flows->flows[i].retransmits != flows->flows[i].retransmits_before) {
            row_add(&sampling, &flows->flows[i]);
            flows->flows[i].retransmits_before = flows->flows[i].retransmits;
        }
    section_table(out, table_builder_seal(rows));
    table_builder_free(rows);
    count_note(out, flows->full, "events of connections are in no row: 16,384 connections are open already");
    count_note(out, sampling.left_out, "connections are in no row: the interval had more than 2,000");
    count_note(out, sampling.unknown, "connections are not listed: it is unknown whose they are");
    if (flows->bytes_error) {
        char text[256], reason[160], fix[160];
        bpf_explain(flows->bytes_error, reason, sizeof(reason), fix, sizeof(fix));
        snprintf(text, sizeof(text), "bytes of connections are unknown: %s", reason);
        section_note(out, SEVERITY_INFO, "sent_bytes", text, *fix ? fix : NULL);
    }
    if (thread_filters(options))
        section_note(out, SEVERITY_INFO, "end",
                     "connections are incomplete with --pid and --user: the kernel ends many of them in interrupts",
                     NULL);
    flows->full = 0;
}
