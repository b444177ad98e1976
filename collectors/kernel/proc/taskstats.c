// taskstats over generic netlink, by hand: the protocol is three message kinds, and a library for it would be larger
// than this file. Two sockets, so that a reply never queues behind exit messages. It must never block: every receive
// uses MSG_DONTWAIT, since the kernel replies before send returns.
#include "collectors/kernel/proc/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/mem.h"

// Fields that older headers lack, by their place in the structure, which only ever grows at its end.
#define AT_BTIME64 344 // version 10
#define AT_TGID 368    // version 12
#define FLAG_FORKED 0x01
#define FLAG_GROUP 0x20           // AGROUP, version 12
#define ENDINGS_BUFFER (16 << 20) // a message takes about 1.3 KiB of it: 12,000 endings between two drains

struct taskstats_link {
    int ask_fd, listen_fd;
    uint16_t family;
    uint32_t sequence;
    char cpus[512];
    char *buffer;
};
#define BUFFER_SIZE 65536

static uint64_t get64(const uint8_t *bytes, size_t at) {
    uint64_t value;
    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

static uint32_t get32(const uint8_t *bytes, size_t at) {
    uint32_t value;
    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

#define GET64(bytes, field) get64(bytes, offsetof(struct taskstats, field))
#define GET32(bytes, field) get32(bytes, offsetof(struct taskstats, field))

int taskstats_parse(const void *data, size_t size, struct task_account *out) {
    const uint8_t *bytes = data;
    memset(out, 0, sizeof(*out));
    uint16_t version;
    if (size < offsetof(struct taskstats, nivcsw) + 8)
        return -EINVAL;
    memcpy(&version, bytes, sizeof(version));
    if (version < 5) // the context switches came with 5
        return -EINVAL;
    uint8_t flag = bytes[offsetof(struct taskstats, ac_flag)];
    out->exit_code = GET32(bytes, ac_exitcode);
    out->nice = (int8_t)bytes[offsetof(struct taskstats, ac_nice)];
    out->runs = GET64(bytes, cpu_count);
    out->run_delay_ns = GET64(bytes, cpu_delay_total);
    out->cpu_ns = GET64(bytes, cpu_run_virtual_total);
    memcpy(out->comm, bytes + offsetof(struct taskstats, ac_comm), TS_COMM_LEN);
    out->uid = GET32(bytes, ac_uid);
    out->pid = (pid_t)GET32(bytes, ac_pid);
    out->ppid = (pid_t)GET32(bytes, ac_ppid);
    out->begin_s = GET32(bytes, ac_btime);
    out->elapsed_us = GET64(bytes, ac_etime);
    out->utime_us = GET64(bytes, ac_utime);
    out->stime_us = GET64(bytes, ac_stime);
    out->minflt = GET64(bytes, ac_minflt);
    out->majflt = GET64(bytes, ac_majflt);
    out->rss_max_kib = GET64(bytes, hiwater_rss);
    out->read_bytes = GET64(bytes, read_bytes);
    out->write_bytes = GET64(bytes, write_bytes);
    out->switches = GET64(bytes, nvcsw) + GET64(bytes, nivcsw);
    out->forked = flag & FLAG_FORKED;
    if (version >= 10 && size >= AT_BTIME64 + 8)
        out->begin_s = get64(bytes, AT_BTIME64);
    if (version >= 12 && size >= AT_TGID + 4) {
        out->has_tgid = true;
        out->tgid = (pid_t)get32(bytes, AT_TGID);
        out->last = flag & FLAG_GROUP;
    }
    return 0;
}

static const struct nlattr *attribute_next(const struct nlattr *at, size_t *left) {
    size_t step = NLA_ALIGN(at->nla_len);
    *left = step < *left ? *left - step : 0;
    return (const struct nlattr *)((const char *)at + step);
}

static bool attribute_ok(const struct nlattr *at, size_t left) {
    return left >= sizeof(*at) && at->nla_len >= sizeof(*at) && at->nla_len <= left;
}

// The content of an AGGR_PID or AGGR_TGID: the ID, then the structure (padding may be in between).
static int aggregate_parse(const struct nlattr *outer, bool group, struct task_account *out) {
    const struct nlattr *at = (const struct nlattr *)((const char *)outer + NLA_HDRLEN);
    size_t left = outer->nla_len - NLA_HDRLEN;
    uint32_t id = 0;
    int rc = -EINVAL;
    for (; attribute_ok(at, left); at = attribute_next(at, &left)) {
        const char *data = (const char *)at + NLA_HDRLEN;
        size_t len = at->nla_len - NLA_HDRLEN;
        int type = at->nla_type & NLA_TYPE_MASK;
        if ((type == TASKSTATS_TYPE_PID || type == TASKSTATS_TYPE_TGID) && len >= sizeof(id))
            memcpy(&id, data, sizeof(id));
        else if (type == TASKSTATS_TYPE_STATS)
            rc = taskstats_parse(data, len, out);
    }
    if (rc)
        return rc;
    out->group = group;
    out->has_all = !group;
    out->pid = (pid_t)id;
    if (group)
        out->tgid = (pid_t)id;
    return 0;
}

int taskstats_message(const void *bytes, size_t size, taskstats_fn *fn, void *context) {
    const struct nlattr *at = bytes;
    size_t left = size;
    int n = 0;
    for (; attribute_ok(at, left); at = attribute_next(at, &left)) {
        int type = at->nla_type & NLA_TYPE_MASK;
        struct task_account account;
        if (type != TASKSTATS_TYPE_AGGR_PID && type != TASKSTATS_TYPE_AGGR_TGID)
            continue;
        if (aggregate_parse(at, type == TASKSTATS_TYPE_AGGR_TGID, &account))
            continue;
        fn(context, &account);
        n++;
    }
    return n;
}

struct request {
    struct nlmsghdr nl;
    struct genlmsghdr genl;
    struct nlattr attribute;
    char data[512];
};

static size_t request_make(struct request *r, struct taskstats_link *link, uint16_t type, uint8_t command,
                           uint16_t attribute, const void *data, size_t len) {
    memset(r, 0, offsetof(struct request, data));
    r->attribute.nla_type = attribute;
    r->attribute.nla_len = (uint16_t)(NLA_HDRLEN + len);
    memcpy(r->data, data, len);
    size_t size = NLMSG_ALIGN(offsetof(struct request, data) + len);
    r->nl = (struct nlmsghdr){
        .nlmsg_len = (uint32_t)size, .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++link->sequence};
    r->genl = (struct genlmsghdr){.cmd = command, .version = 1};
    return size;
}

static int socket_open(void) {
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
    if (fd < 0)
        return -errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

// One request that is answered by an acknowledgement or one message; returns the payload's length, or -errno.
static ssize_t request_do(struct taskstats_link *link, int fd, struct request *r, size_t size) {
    if (send(fd, r, size, 0) < 0)
        return -errno;
    for (;;) {
        ssize_t got = recv(fd, link->buffer, BUFFER_SIZE, MSG_DONTWAIT);
        if (got < 0)
            return -errno;
        struct nlmsghdr *nl = (struct nlmsghdr *)link->buffer;
        if (!NLMSG_OK(nl, (size_t)got))
            return -EBADMSG;
        if (nl->nlmsg_seq != r->nl.nlmsg_seq)
            continue;
        if (nl->nlmsg_type == NLMSG_ERROR)
            return ((struct nlmsgerr *)NLMSG_DATA(nl))->error;
        return (ssize_t)NLMSG_PAYLOAD(nl, 0);
    }
}

static int family_find(struct taskstats_link *link) {
    struct request r;
    size_t size = request_make(&r, link, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
                               sizeof(TASKSTATS_GENL_NAME));
    ssize_t len = request_do(link, link->ask_fd, &r, size);
    if (len < 0)
        return (int)len;
    if ((size_t)len <= GENL_HDRLEN)
        return -EBADMSG;
    size_t left = (size_t)len - GENL_HDRLEN;
    const struct nlattr *at = (const struct nlattr *)(link->buffer + NLMSG_HDRLEN + GENL_HDRLEN);
    for (; attribute_ok(at, left); at = attribute_next(at, &left))
        if (at->nla_type == CTRL_ATTR_FAMILY_ID) {
            memcpy(&link->family, (const char *)at + NLA_HDRLEN, sizeof(link->family));
            return 0;
        }
    return -ENOENT;
}

struct probe {
    bool answered;
};

static void probe_answer(void *context, size_t i, const struct task_account *account) {
    (void)i;
    ((struct probe *)context)->answered = account;
}

int taskstats_open(struct taskstats_link **out, const char **reason, const char **fix) {
    struct taskstats_link *link = xcalloc(1, sizeof(*link));
    link->listen_fd = -1;
    link->buffer = xmalloc(BUFFER_SIZE);
    *reason = "the kernel's task accounting (taskstats) is not there";
    *fix = "a kernel with CONFIG_TASKSTATS=y";
    link->ask_fd = socket_open();
    int rc = link->ask_fd < 0 ? link->ask_fd : family_find(link);
    if (rc)
        goto out;
    // Permission is checked at the first query, not at open.
    struct taskstats_question self = {getpid(), true};
    struct probe probe = {false};
    rc = taskstats_ask(link, &self, 1, probe_answer, &probe);
    if (rc == -EPERM) {
        *reason = "the kernel's task accounting (taskstats) is for the administrator";
        *fix = "run as root, or give ktop CAP_NET_ADMIN";
    } else if (!rc && !probe.answered) {
        *reason = "the kernel's task accounting (taskstats) does not answer in this PID namespace";
        *fix = "run ktop outside of the container";
        rc = -ESRCH;
    }
out:
    if (rc) {
        taskstats_close(link);
        link = NULL;
    }
    *out = link;
    return rc;
}

void taskstats_close(struct taskstats_link *link) {
    if (!link)
        return;
    if (link->listen_fd >= 0) {
        struct request r;
        size_t size = request_make(&r, link, link->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK,
                                   link->cpus, strlen(link->cpus) + 1);
        if (send(link->listen_fd, &r, size, 0) < 0) {
            // The kernel drops a listener whose socket is closed at its next message.
        }
        close(link->listen_fd);
    }
    if (link->ask_fd >= 0)
        close(link->ask_fd);
    free(link->buffer);
    free(link);
}

int taskstats_listen(struct taskstats_link *link) {
    FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
    if (!file)
        return -errno;
    bool read = fgets(link->cpus, sizeof(link->cpus), file);
    fclose(file);
    if (!read)
        return -EIO;
    link->cpus[strcspn(link->cpus, "\n")] = '\0';
    int fd = socket_open();
    if (fd < 0)
        return fd;
    int size = ENDINGS_BUFFER;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    struct request r;
    size_t len = request_make(&r, link, link->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                              link->cpus, strlen(link->cpus) + 1);
    r.nl.nlmsg_flags |= NLM_F_ACK;
    ssize_t rc = request_do(link, fd, &r, len);
    if (rc < 0) {
        close(fd);
        return (int)rc;
    }
    link->listen_fd = fd;
    return 0;
}

int taskstats_listen_fd(const struct taskstats_link *link) {
    return link->listen_fd;
}

int taskstats_endings(struct taskstats_link *link, taskstats_fn *fn, void *context) {
    int overruns = 0;
    if (link->listen_fd < 0)
        return 0;
    for (;;) {
        ssize_t got = recv(link->listen_fd, link->buffer, BUFFER_SIZE, MSG_DONTWAIT);
        if (got < 0) {
            if (errno == ENOBUFS) {
                overruns++;
                continue;
            }
            if (errno == EINTR)
                continue;
            return errno == EAGAIN ? overruns : -errno;
        }
        size_t left = (size_t)got;
        for (struct nlmsghdr *nl = (struct nlmsghdr *)link->buffer; NLMSG_OK(nl, left); nl = NLMSG_NEXT(nl, left))
            if (nl->nlmsg_type == link->family && NLMSG_PAYLOAD(nl, 0) > GENL_HDRLEN)
                taskstats_message((char *)NLMSG_DATA(nl) + GENL_HDRLEN, NLMSG_PAYLOAD(nl, 0) - GENL_HDRLEN, fn,
                                  context);
    }
}

static void answer_keep(void *context, const struct task_account *account) {
    *(struct task_account *)context = *account;
}

// Sequence numbers match answers to queries. -EPERM when all are refused.
static int answers_read(struct taskstats_link *link, uint32_t first, size_t n, taskstats_answer_fn *fn, void *context) {
    size_t answered = 0;
    int rc = 0;
    while (answered < n) {
        ssize_t got = recv(link->ask_fd, link->buffer, BUFFER_SIZE, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rc ? rc : -errno;
        size_t left = (size_t)got;
        for (struct nlmsghdr *nl = (struct nlmsghdr *)link->buffer; NLMSG_OK(nl, left); nl = NLMSG_NEXT(nl, left)) {
            size_t i = nl->nlmsg_seq - first;
            if (i >= n)
                continue;
            answered++;
            struct task_account account;
            bool found = false;
            if (nl->nlmsg_type == NLMSG_ERROR) {
                int error = ((struct nlmsgerr *)NLMSG_DATA(nl))->error;
                if (error == -EPERM)
                    rc = -EPERM;
            } else if (nl->nlmsg_type == link->family && NLMSG_PAYLOAD(nl, 0) > GENL_HDRLEN) {
                found = taskstats_message((char *)NLMSG_DATA(nl) + GENL_HDRLEN, NLMSG_PAYLOAD(nl, 0) - GENL_HDRLEN,
                                          answer_keep, &account) > 0;
            }
            fn(context, i, found ? &account : NULL);
        }
    }
    return rc;
}

int taskstats_ask(struct taskstats_link *link, const struct taskstats_question *questions, size_t n,
                  taskstats_answer_fn *fn, void *context) {
    char batch[TASKSTATS_BATCH * 32] = {0};
    size_t used = 0;
    uint32_t first = link->sequence + 1;
    if (!n || n > TASKSTATS_BATCH)
        return n ? -EINVAL : 0;
    for (size_t i = 0; i < n; i++) {
        struct request r;
        uint32_t pid = (uint32_t)questions[i].pid;
        size_t size =
            request_make(&r, link, link->family, TASKSTATS_CMD_GET,
                         questions[i].group ? TASKSTATS_CMD_ATTR_TGID : TASKSTATS_CMD_ATTR_PID, &pid, sizeof(pid));
        memcpy(batch + used, &r, size);
        used += size;
    }
    if (send(link->ask_fd, batch, used, 0) < 0)
        return -errno;
    return answers_read(link, first, n, fn, context);
}
