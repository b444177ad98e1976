// Parts of the collector "sockets": each answers one question about the sockets of a network namespace, has a table,
// and decides itself when it asks the kernel.
#ifndef COLLECTORS_SOCKETS_PARTS_H
#define COLLECTORS_SOCKETS_PARTS_H

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/syscall.h"
#include "collectors/sockets/diag.h"
#include "model/section.h"

// What a network namespace counts: per second since its last sample, or now; NAN: unknown.
struct sockets_rates {
    double segments_out, retransmits, resets_in, resets_out, active_opens, listen_drops, listen_overflows, zero_windows;
    double datagrams_in, udp_drops, packets; // packets: of IP, received and sent
    double established, sockets;             // connections; all sockets of TCP, TIME-WAIT included
    double socket_kib;                       // memory of TCP, of all network namespaces
};

// The network namespace that the calling thread is in.
struct sockets_place {
    const struct text *netns; // its number; NULL: that of ktop
    const struct sockets_rates *rates;
    uint64_t now_ns;
};

struct sockets_part {
    const struct table_def *table;
    void *(*create)(void); // one for each network namespace
    // Adds rows. How much it has to do: 0 for a network namespace where all is well, which is then sampled less often.
    size_t (*sample)(void *state, const struct sockets_place *place, struct table_builder *rows);
    void (*release)(void *state); // the namespace may have ended: closes what keeps it; NULL: nothing does
    void (*destroy)(void *state);
};
extern const struct sockets_part sockets_queues_part, sockets_waiting_part, sockets_ports_part, sockets_unread_part,
    sockets_lookups_part, sockets_resent_part;

extern const struct table_def sockets_queues_table, sockets_waiting_table, sockets_ports_table, sockets_unread_table,
    sockets_lookups_table, sockets_resent_table;

#define SOCKETS_WAITING_LEAST 100 // sockets in CLOSE-WAIT that are looked at

#define SOCKETS_NETNS_HELP "Network namespace of the socket; none: that of ktop."

// When to dump again: the dumps of a part take at most 1/share of the time, and are `least` or more apart.
// begin_cpu_ns: thread_cpu_ns() before the last one.
uint64_t sockets_next_dump(uint64_t now_ns, uint64_t begin_cpu_ns, uint64_t share, uint64_t least_ns);

// Sets both cells of a process; nothing if the PID is 0 or it has ended.
void sockets_set_process(struct table_builder *rows, uint32_t slot, uint16_t pid_column, uint16_t comm_column,
                         int32_t pid);
void sockets_set_netns(struct table_builder *rows, uint32_t slot, uint16_t column, const struct sockets_place *place);

// counters.c: reads the counters of the thread's network namespace, and keeps no file open, which would keep the
// namespace. Kernel document: Documentation/networking/snmp_counter.rst.
#define SOCKETS_COUNTERS 16
struct sockets_counters {
    uint64_t at_ns, values[SOCKETS_COUNTERS]; // at_ns 0: never read
    double sockets, socket_kib;
};
void sockets_counters_read(struct sockets_counters *before, struct proc_buffer *buffer, uint64_t now_ns,
                           struct sockets_rates *out);

// unread.c: the change of one socket between two dumps, for tests. read_per_s: NAN in the first one.
struct unread_socket {
    uint64_t inode, read, read_ns, closed_ns,
        at_ns; // bytes that were read; when last; when the window was closed; the last dump
    uint32_t queue;
    double read_per_s;
};
void sockets_unread_update(struct unread_socket *unread, const struct diag_socket *socket, uint64_t now_ns);

// lookups.c: whether a thread in that call waits for the answer of a name server at the socket. link: of the
// descriptor in its first argument, as in /proc/PID/fd.
bool sockets_lookup_waits(const struct proc_syscall *call, const char *link, uint64_t inode);
// Whether a thread of that process sleeps as a resolver does; in recvmsg(2) and the like only if at that socket.
bool sockets_owner_waits(int32_t pid, uint64_t inode);

// ---- DNS queries from sockets that are not connected ----

#define DNS_PORT 53

// tap.c: datagrams of DNS of the network namespace that the thread is in when it opens the tap: queries that leave and
// answers that arrive. It keeps the namespace. Needs CAP_NET_RAW.
struct tap;
struct tap *tap_open(int *error); // NULL: -EPERM, or -EBUSY while enough of them are open; all are of one thread
void tap_close(struct tap *tap);
// fn is called for each datagram since the last call: its first bytes, from the IP header on, and when it was captured.
// False: others were dropped.
bool tap_read(struct tap *tap, uint64_t now_ns,
              void (*fn)(void *context, const uint8_t *bytes, size_t size, uint64_t at_ns), void *context);

// A UDP socket that is not connected, at a port that the kernel chose.
struct unconnected_socket {
    uint64_t inode, first_ns;
    uint64_t rest_ns; // no tap is opened for it before
    uint64_t check_ns;
    uint32_t samples; // in which it had nothing to read
    int32_t pid;      // 0: unknown
    uint16_t port;
    bool any_address, seen, searched;
    char local[64]; // "127.0.0.1:4000"
};

// queries.c: a query without an answer. Addresses are of 4 or 16 bytes; the rest is 0.
struct dns_query {
    uint8_t local[16], server[16];
    bool is_v6;
    uint16_t port, id;
    uint64_t first_ns, last_ns; // when it was sent first and last
    uint64_t since_ns;          // since when the socket has had no answer from that server
    uint64_t inode;             // of the socket; 0: not looked for yet
};

#define DNS_ADDRESS_TEXT 64
void dns_query_server(const struct dns_query *query, char out[DNS_ADDRESS_TEXT]); // "10.0.0.9:53"

#define DNS_QUERIES_MAX 1024
struct dns_queries {
    struct dns_query queries[DNS_QUERIES_MAX];
    size_t n;
};
// A datagram from the IP header on: adds a query, or removes the one that it answers, and older ones to that server,
// which were lost.
void dns_queries_take(struct dns_queries *queries, const uint8_t *bytes, size_t size, uint64_t at_ns);
// Finds the socket of each query. Removes old ones, and those without a socket.
void dns_queries_match(struct dns_queries *queries, const struct unconnected_socket *sockets, size_t n,
                       uint64_t now_ns);
// Of that socket: the one that has waited longest; NULL: none.
const struct dns_query *dns_queries_oldest(const struct dns_queries *queries, uint64_t inode);

// unconnected.c: the sockets of a network namespace, and its tap.
struct unconnected;
struct unconnected *unconnected_new(void);
void unconnected_free(struct unconnected *unconnected);    // closes the tap
void unconnected_release(struct unconnected *unconnected); // closes the tap until the next sample
// In the thread's network namespace. Calls fn for each socket with a query that has no answer. How much it has to do.
size_t unconnected_sample(struct unconnected *unconnected, const struct sockets_place *place,
                          void (*fn)(void *context, uint64_t inode, const char *server, uint64_t since_ns),
                          void *context);
// Whether the socket was there in the last dump, and not connected.
bool unconnected_is_open(const struct unconnected *unconnected, uint64_t inode);

#endif
