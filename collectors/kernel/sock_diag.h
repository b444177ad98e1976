// Dumps of sock_diag (netlink): sending the request, and reading the messages of the replies and their attributes.
// Kernel documents: sock_diag(7), netlink(7). No state: any thread.
#ifndef COLLECTORS_KERNEL_SOCK_DIAG_H
#define COLLECTORS_KERNEL_SOCK_DIAG_H

#include <linux/netlink.h>
#include <stddef.h>

// A socket for dumps of the calling thread's network namespace, with a time-out of 1 s for each reply. -errno.
int sock_diag_open(void);
// Sends the request and calls fn for each message of the replies that has at least message_bytes of its structure. 0 or
// -errno.
int sock_diag_dump(int fd, const void *request, size_t size, size_t message_bytes,
                   void (*fn)(void *context, const struct nlmsghdr *header), void *context);
// The messages of one reply; for tests. 1: more replies follow; 0: the end; -errno.
int sock_diag_parse(const void *bytes, size_t size, size_t message_bytes,
                    void (*fn)(void *context, const struct nlmsghdr *header), void *context);
// The attributes that follow the structure.
void sock_diag_attributes(const struct nlmsghdr *header, size_t message_bytes,
                          void (*fn)(void *context, const struct nlattr *attribute), void *context);

#endif
