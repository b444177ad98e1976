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
    double segments_out, retransmits, resets_in, resets_out, listen_drops, listen_overflows, zero_windows;
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

#endif
