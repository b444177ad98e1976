// Unix sockets of this network namespace, and what they are connected to, from the kernel's sock_diag (netlink).
// Kernel document: sock_diag(7). No state: any thread.
#ifndef COLLECTORS_KERNEL_UNIX_DIAG_H
#define COLLECTORS_KERNEL_UNIX_DIAG_H

#include <stddef.h>
#include <stdint.h>

struct unix_diag_socket {
    uint64_t inode;
    uint64_t peer; // inode of the socket that it is connected to; 0: none
    uint8_t type;  // SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET
};

// fn is called for each socket that has an inode. 0 or -errno; -ENOENT: this kernel has no unix_diag.
int unix_diag_dump(void (*fn)(void *context, const struct unix_diag_socket *socket), void *context);
// Calls fn for each message of one reply; for tests. 1: more follow; 0: the end; -errno.
int unix_diag_parse(const void *bytes, size_t size, void (*fn)(void *context, const struct unix_diag_socket *socket),
                    void *context);

#endif
