#include "collectors/sockets/diag.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/sock_diag.h"
#include "model/mem.h"

// struct tcp_info grows at its end. This member (Linux 6.2) is not in all headers.
#define RECEIVE_WINDOW (offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t))

static void address_text(int family, const uint32_t words[4], uint16_t port, char *out, size_t size) {
    char text[INET6_ADDRSTRLEN] = "?";
    inet_ntop(family, words, text, sizeof(text));
    snprintf(out, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, ntohs(port));
}

// A member of tcp_info that an older kernel may lack.
static bool info_read(const struct nlattr *attribute, size_t offset, void *out, size_t size) {
    if (attribute->nla_len < sizeof(*attribute) + offset + size)
        return false;
    memcpy(out, (const char *)(attribute + 1) + offset, size);
    return true;
}

static void info_take(const struct nlattr *attribute, struct diag_socket *socket) {
#define INFO_READ(offset, member) info_read(attribute, offset, &socket->member, sizeof(socket->member))
    socket->has_info = INFO_READ(offsetof(struct tcp_info, tcpi_bytes_received), received);
    INFO_READ(offsetof(struct tcp_info, tcpi_total_retrans), retransmits);
    if (!INFO_READ(RECEIVE_WINDOW, window))
        socket->window = UINT32_MAX;
    if (!INFO_READ(offsetof(struct tcp_info, tcpi_snd_wnd), peer_window))
        socket->peer_window = UINT32_MAX;
#undef INFO_READ
}

static void attribute_take(void *context, const struct nlattr *attribute) {
    struct diag_socket *socket = context;
    const uint32_t *values = (const void *)(attribute + 1);
    if (attribute->nla_type == INET_DIAG_SKMEMINFO &&
        attribute->nla_len >= sizeof(*attribute) + (SK_MEMINFO_DROPS + 1) * sizeof(uint32_t))
        socket->drops = values[SK_MEMINFO_DROPS];
    if (attribute->nla_type == INET_DIAG_INFO)
        info_take(attribute, socket);
}

struct dump {
    void (*fn)(void *context, const struct diag_socket *socket);
    void *context;
};

static void message_take(void *context, const struct nlmsghdr *header) {
    const struct dump *dump = context;
    const struct inet_diag_msg *message = NLMSG_DATA(header);
    struct diag_socket socket = {.inode = message->idiag_inode,
                                 .queue = message->idiag_rqueue,
                                 .limit = message->idiag_wqueue,
                                 .window = UINT32_MAX,
                                 .peer_window = UINT32_MAX,
                                 .state = message->idiag_state,
                                 .local_port = ntohs(message->id.idiag_sport)};
    address_text(message->idiag_family, message->id.idiag_src, message->id.idiag_sport, socket.local,
                 sizeof(socket.local));
    address_text(message->idiag_family, message->id.idiag_dst, message->id.idiag_dport, socket.remote,
                 sizeof(socket.remote));
    sock_diag_attributes(header, sizeof(*message), attribute_take, &socket);
    dump->fn(dump->context, &socket);
}

int diag_parse(const void *bytes, size_t size, void (*fn)(void *, const struct diag_socket *), void *context) {
    struct dump dump = {fn, context};
    return sock_diag_parse(bytes, size, sizeof(struct inet_diag_msg), message_take, &dump);
}

#define FILTER_OPS 4 // port >= N and <= N: the kernel has no operation for equality before 4.16

// A jump beyond the end by 4 refuses the socket. Returns the number of operations; 0: no filter.
static size_t filter_make(struct inet_diag_bc_op ops[FILTER_OPS], const struct diag_query *of) {
    if (of->chosen_port) {
        ops[0] = (struct inet_diag_bc_op){INET_DIAG_BC_AUTO, sizeof(ops[0]), sizeof(ops[0]) + 4};
        return 1;
    }
    if (!of->remote_port && !of->local_port)
        return 0;
    const uint8_t codes[2] = {of->remote_port ? INET_DIAG_BC_D_GE : INET_DIAG_BC_S_GE,
                              of->remote_port ? INET_DIAG_BC_D_LE : INET_DIAG_BC_S_LE};
    const uint16_t port = of->remote_port ? of->remote_port : of->local_port;
    for (size_t i = 0; i < 2; i++) {
        size_t left = (FILTER_OPS - i * 2) * sizeof(ops[0]);
        ops[i * 2] = (struct inet_diag_bc_op){codes[i], 2 * sizeof(ops[0]), (uint16_t)(left + 4)};
        ops[i * 2 + 1] = (struct inet_diag_bc_op){.no = port};
    }
    return FILTER_OPS;
}

static int family_dump(int fd, int family, const struct diag_query *of, struct dump *dump) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
        struct nlattr attribute;
        struct inet_diag_bc_op ops[FILTER_OPS];
    } query = {.header = {.nlmsg_len = sizeof(query),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .request = {.sdiag_family = (uint8_t)family,
                           .sdiag_protocol = (uint8_t)of->protocol,
                           .idiag_states = of->states},
               .attribute = {.nla_type = INET_DIAG_REQ_BYTECODE}};
    if (of->protocol == IPPROTO_UDP)
        query.request.idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1);
    else if (of->info)
        query.request.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    size_t filter = filter_make(query.ops, of) * sizeof(query.ops[0]);
    query.attribute.nla_len = (uint16_t)(sizeof(query.attribute) + filter);
    query.header.nlmsg_len = NLMSG_LENGTH(sizeof(query.request)) + (filter ? query.attribute.nla_len : 0u);
    return sock_diag_dump(fd, &query, query.header.nlmsg_len, sizeof(struct inet_diag_msg), message_take, dump);
}

int diag_dump(const struct diag_query *query, void (*fn)(void *, const struct diag_socket *), void *context) {
    struct dump dump = {fn, context};
    int fd = sock_diag_open();
    if (fd < 0)
        return fd;
    int rc = family_dump(fd, AF_INET, query, &dump);
    if (!rc)
        rc = family_dump(fd, AF_INET6, query, &dump);
    close(fd);
    return rc == -ENOENT ? 0 : rc; // without IPv6
}

// ---- owners ----

struct diag_owners {
    uint64_t *inodes; // sorted
    size_t n;
    DIR *processes; // NULL: no search goes on
};

struct diag_owners *diag_owners_new(void) {
    return xcalloc(1, sizeof(struct diag_owners));
}

void diag_owners_free(struct diag_owners *owners) {
    if (!owners)
        return;
    if (owners->processes)
        closedir(owners->processes);
    free(owners->inodes);
    free(owners);
}

static int compare_inodes(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void diag_owners_want(struct diag_owners *owners, const uint64_t *inodes, size_t n) {
    owners->inodes = xrealloc(owners->inodes, (n ? n : 1) * sizeof(*inodes));
    memcpy(owners->inodes, inodes, n * sizeof(*inodes));
    qsort(owners->inodes, n, sizeof(*inodes), compare_inodes);
    owners->n = n;
    if (owners->processes)
        closedir(owners->processes);
    owners->processes = n ? opendir("/proc") : NULL;
}

static size_t process_search(const struct diag_owners *owners, int32_t pid, void (*fn)(void *, uint64_t, int32_t),
                             void *context) {
    char path[64], link[64];
    size_t links = 0;
    int32_t fd;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    while (folder && (fd = proc_next_id(folder)) >= 0) {
        unsigned long long number;
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
        ssize_t n = readlink(path, link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = '\0';
        links++;
        if (sscanf(link, "socket:[%llu]", &number) != 1)
            continue;
        uint64_t inode = number;
        if (bsearch(&inode, owners->inodes, owners->n, sizeof(inode), compare_inodes))
            fn(context, inode, pid);
    }
    if (folder)
        closedir(folder);
    return links;
}

bool diag_owners_searching(const struct diag_owners *owners) {
    return owners->processes != NULL;
}

int diag_owners_search(struct diag_owners *owners, size_t links, void (*fn)(void *, uint64_t, int32_t), void *context) {
    size_t done = 0;
    int32_t pid = 0;
    while (owners->processes && done < links && (pid = proc_next_id(owners->processes)) >= 0)
        done += process_search(owners, pid, fn, context) + 1;
    if (owners->processes && pid < 0) {
        closedir(owners->processes);
        owners->processes = NULL;
    }
    return !owners->processes;
}
