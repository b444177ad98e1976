#include "collectors/kernel/unix_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/mem.h"

#define REPLY_BYTES 65536

static void message_take(const struct nlmsghdr *header, void (*fn)(void *, const struct unix_diag_socket *),
                         void *context) {
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
    struct unix_diag_socket socket = {.inode = message->udiag_ino, .type = message->udiag_type};
    for (const char *at = (const char *)(message + 1); left >= sizeof(struct nlattr);) {
        const struct nlattr *attribute = (const void *)at;
        size_t length = attribute->nla_len, step = NLA_ALIGN(length);
        if (length < sizeof(*attribute) || length > left)
            break;
        if (attribute->nla_type == UNIX_DIAG_PEER && length >= sizeof(*attribute) + sizeof(uint32_t))
            socket.peer = *(const uint32_t *)(const void *)(attribute + 1);
        if (step >= left)
            break;
        at += step;
        left -= step;
    }
    fn(context, &socket);
}

int unix_diag_parse(const void *bytes, size_t size, void (*fn)(void *, const struct unix_diag_socket *),
                    void *context) {
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
        if (header->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
            header->nlmsg_len >= NLMSG_LENGTH(sizeof(struct unix_diag_msg)))
            message_take(header, fn, context);
        size_t step = NLMSG_ALIGN(header->nlmsg_len);
        if (step >= left)
            break;
        left -= step;
        header = (const void *)((const char *)header + step);
    }
    return 1;
}

int unix_diag_dump(void (*fn)(void *, const struct unix_diag_socket *), void *context) {
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } query = {.header = {.nlmsg_len = sizeof(query),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .request = {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_PEER}};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return -errno;
    struct timeval limit = {.tv_sec = 1};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    char *reply = xmalloc(REPLY_BYTES);
    int more = send(fd, &query, sizeof(query), 0) < 0 ? -errno : 1;
    while (more > 0) {
        ssize_t got = recv(fd, reply, REPLY_BYTES, 0);
        if (got < 0 && errno == EINTR)
            continue;
        more = got > 0 ? unix_diag_parse(reply, (size_t)got, fn, context) : got < 0 ? -errno : -EPROTO;
    }
    free(reply);
    close(fd);
    return more;
}
