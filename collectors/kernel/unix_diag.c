#include "collectors/kernel/unix_diag.h"

#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/kernel/sock_diag.h"

struct dump {
    void (*fn)(void *context, const struct unix_diag_socket *socket);
    void *context;
};

static void attribute_take(void *context, const struct nlattr *attribute) {
    struct unix_diag_socket *socket = context;
    if (attribute->nla_type == UNIX_DIAG_PEER && attribute->nla_len >= sizeof(*attribute) + sizeof(uint32_t))
        socket->peer = *(const uint32_t *)(const void *)(attribute + 1);
}

static void message_take(void *context, const struct nlmsghdr *header) {
    const struct dump *dump = context;
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    struct unix_diag_socket socket = {.inode = message->udiag_ino, .type = message->udiag_type};
    if (!socket.inode) // not accepted yet
        return;
    sock_diag_attributes(header, sizeof(*message), attribute_take, &socket);
    dump->fn(dump->context, &socket);
}

int unix_diag_parse(const void *bytes, size_t size, void (*fn)(void *, const struct unix_diag_socket *),
                    void *context) {
    struct dump dump = {fn, context};
    return sock_diag_parse(bytes, size, sizeof(struct unix_diag_msg), message_take, &dump);
}

int unix_diag_dump(void (*fn)(void *, const struct unix_diag_socket *), void *context) {
    const struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } query = {.header = {.nlmsg_len = sizeof(query),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .request = {.sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_PEER}};
    struct dump dump = {fn, context};
    int fd = sock_diag_open();
    if (fd < 0)
        return fd;
    int rc = sock_diag_dump(fd, &query, sizeof(query), sizeof(struct unix_diag_msg), message_take, &dump);
    close(fd);
    return rc;
}
