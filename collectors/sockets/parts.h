// Parts of the collector "sockets" in files of their own: each has a table and decides itself when it asks the kernel.
#ifndef COLLECTORS_SOCKETS_PARTS_H
#define COLLECTORS_SOCKETS_PARTS_H

#include "collectors/kernel/proc/syscall.h"
#include "collectors/sockets/diag.h"
#include "model/section.h"

struct sockets_part {
    void *(*create)(void);
    // system: the last section of the collector "system"; NULL: none yet.
    void (*sample)(void *state, struct section *out, const struct section *system, uint64_t now_ns);
    void (*destroy)(void *state);
};
extern const struct sockets_part sockets_unread_part, sockets_lookups_part, sockets_resent_part;
extern const struct table_def sockets_unread_table, sockets_lookups_table, sockets_resent_table;

// The value in the only row of a table; NAN: unknown.
double sockets_counter(const struct section *system, const char *table, const char *column);
// "" if the process has ended.
void sockets_comm(int32_t pid, char *out, size_t size);
// Sets both cells of a process; nothing if the PID is 0 or it has ended.
void sockets_set_process(struct table_builder *rows, uint32_t slot, uint16_t pid_column, uint16_t comm_column,
                         int32_t pid);

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
