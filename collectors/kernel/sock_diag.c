#include "collectors/kernel/sock_diag.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/mem.h"

#define REPLY_BYTES 65536

int sock_diag_parse(const void *bytes, size_t size, size_t message_bytes,
                    void (*fn)(void *context, const struct nlmsghdr *header), void *context) {
    size_t left = size;
    for (const struct nlmsghdr *header = bytes; left >= sizeof(*header);) {
        if (header->nlmsg_len < sizeof(*header) || header->nlmsg_len > left)
            return -EBADMSG;
        if (header->nlmsg_type == NLMSG_DONE)
            return 0;
        if (header->nlmsg_type == NLMSG_ERROR) {
            const struct nlmsgerr *error = NLMSG_DATA(header);
            return header->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && error->error < 0 ? error->error : -EPROTO;
        }
        if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY && header->nlmsg_len >= NLMSG_LENGTH(message_bytes))
            fn(context, header);
        size_t step = NLMSG_ALIGN(header->nlmsg_len);
        if (step >= left)
            break;
        left -= step;
        header = (const void *)((const char *)header + step);
    }
    return 1;
}

// struct rtattr and struct nlattr are the same.
void sock_diag_attributes(const struct nlmsghdr *header, size_t message_bytes,
                          void (*fn)(void *context, const struct nlattr *attribute), void *context) {
    size_t left = header->nlmsg_len - NLMSG_LENGTH(message_bytes);
    for (const char *at = (const char *)NLMSG_DATA(header) + message_bytes; left >= sizeof(struct nlattr);) {
        const struct nlattr *attribute = (const void *)at;
        size_t step = NLA_ALIGN(attribute->nla_len);
        if (attribute->nla_len < sizeof(*attribute) || attribute->nla_len > left)
            return;
        fn(context, attribute);
        if (step >= left)
            return;
        at += step;
        left -= step;
    }
}

int sock_diag_open(void) {
    const struct timeval limit = {.tv_sec = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

int sock_diag_dump(int fd, const void *request, size_t size, size_t message_bytes,
                   void (*fn)(void *context, const struct nlmsghdr *header), void *context) {
    if (send(fd, request, size, 0) < 0)
        return -errno;
    char *reply = xmalloc(REPLY_BYTES);
    int more = 1;
    while (more > 0) {
        ssize_t got = recv(fd, reply, REPLY_BYTES, 0);
        if (got < 0 && errno == EINTR)
            continue;
        more = got > 0 ? sock_diag_parse(reply, (size_t)got, message_bytes, fn, context) : got < 0 ? -errno : -EPROTO;
    }
    free(reply);
    return more;
}
