// Sockets of this network namespace, from the kernel's sock_diag (netlink), and the processes that have them open.
// Kernel document: sock_diag(7). One thread owns a link.
#ifndef COLLECTORS_SOCKETS_DIAG_H
#define COLLECTORS_SOCKETS_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag_socket {
    uint64_t inode;        // 0: no process has it
    uint32_t queue, limit; // a listener: accept queue and its limit; others: bytes to read and to send
    uint32_t drops;        // of UDP: datagrams that were dropped since it was opened
    uint8_t state;         // TCP_LISTEN, ...
    uint16_t local_port;
    char local[64], remote[64]; // "127.0.0.1:80", "[::1]:80"
    // Of diag_query.info; UINT32_MAX: this kernel does not report it.
    bool has_info;
    uint64_t received;            // bytes since it was opened, read or not
    uint32_t retransmits;         // segments since it was opened
    uint32_t window, peer_window; // that it advertises, and that its peer does
};

struct diag_query {
    int protocol;         // IPPROTO_TCP, IPPROTO_UDP
    uint32_t states;      // 1 << TCP_LISTEN | ...; a connected socket of UDP is in TCP_ESTABLISHED
    bool info;            // tcp_info as well
    uint16_t remote_port; // 0: any; else the kernel leaves out the others
    uint16_t local_port;  // the same; not both
    bool chosen_port;     // only those whose local port the kernel chose; no other filter then
};
// fn is called for each such socket, IPv4 and IPv6. 0 or -errno.
int diag_dump(const struct diag_query *query, void (*fn)(void *context, const struct diag_socket *socket),
              void *context);
// Calls fn for each message of one reply; for tests. 1: more follow; 0: the end; -errno.
int diag_parse(const void *bytes, size_t size, void (*fn)(void *context, const struct diag_socket *socket),
               void *context);

// Which processes have some sockets open: a search of all descriptors of the machine, a piece at a time.
struct diag_owners;
struct diag_owners *diag_owners_new(void);
void diag_owners_free(struct diag_owners *owners);
// The inodes to search for, of which the last search found nothing; restarts the search. Copied.
void diag_owners_want(struct diag_owners *owners, const uint64_t *inodes, size_t n);
bool diag_owners_searching(const struct diag_owners *owners); // it is not complete yet
// Reads at most `links` descriptors. True: the search is complete, or none was begun.
// fn is called for each of the inodes that was found, with its process.
int diag_owners_search(struct diag_owners *owners, size_t links, void (*fn)(void *context, uint64_t inode, int32_t pid),
                       void *context);

#endif
