// Parsers of /proc files of tasks. They run for every task that ran, so they scan the bytes once and use neither scanf
// nor locale. They must never trust a length or a name.
#include "collectors/kernel/proc/task_parse.h"

#include <errno.h>
#include <string.h>

struct reader {
    const char *at, *end;
};

static uint64_t reader_number(struct reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
    bool negative = r->at < r->end && *r->at == '-';
    if (negative)
        r->at++;
    uint64_t value = 0;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        value = value * 10 + (uint64_t)(*r->at++ - '0');
    return negative ? -value : value;
}

// Skips n words, each after one space.
static void reader_skip(struct reader *r, int n) {
    while (n-- > 0) {
        while (r->at < r->end && *r->at == ' ')
            r->at++;
        while (r->at < r->end && *r->at != ' ')
            r->at++;
    }
}

int task_stat_parse(const char *bytes, size_t len, struct task_stat *out) {
    const char *open = memchr(bytes, '(', len), *close = memrchr(bytes, ')', len);
    if (!open || !close || close < open || (size_t)(close - bytes) + 4 > len)
        return -EINVAL;
    struct reader r = {bytes, open};
    out->pid = (pid_t)reader_number(&r);
    size_t comm_len = (size_t)(close - open) - 1;
    if (comm_len >= sizeof(out->comm))
        comm_len = sizeof(out->comm) - 1;
    memcpy(out->comm, open + 1, comm_len);
    out->comm[comm_len] = '\0';
    out->comm_len = (uint8_t)comm_len;
    out->state = close[2];
    r = (struct reader){close + 3, bytes + len};
    out->ppid = (pid_t)reader_number(&r);
    reader_skip(&r, 4); // pgrp session tty tpgid
    out->flags = (uint32_t)reader_number(&r);
    out->minflt = reader_number(&r);
    reader_skip(&r, 1);
    out->majflt = reader_number(&r);
    reader_skip(&r, 1);
    out->utime = reader_number(&r);
    out->stime = reader_number(&r);
    out->children = reader_number(&r);
    out->children += reader_number(&r);
    out->priority = (int32_t)reader_number(&r);
    out->nice = (int32_t)reader_number(&r);
    out->threads = (uint32_t)reader_number(&r);
    reader_skip(&r, 1);
    out->start = reader_number(&r);
    out->vsize = reader_number(&r);
    out->rss = reader_number(&r);
    reader_skip(&r, 14); // rsslim … exit_signal
    if (r.at >= r.end)
        return -EINVAL;
    out->cpu = (int32_t)reader_number(&r);
    return 0;
}

// The rest of the line that begins with `key`. Names in these files are escaped or fixed, so no name has a newline.
static bool find_line(const char *bytes, size_t len, const char *key, struct reader *out) {
    size_t key_len = strlen(key);
    const char *at = bytes, *end = bytes + len;
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        if (!eol)
            eol = end;
        if ((size_t)(eol - at) >= key_len && !memcmp(at, key, key_len)) {
            *out = (struct reader){at + key_len, eol};
            return true;
        }
        at = eol + 1;
    }
    return false;
}

static bool find_number(const char *bytes, size_t len, const char *key, uint64_t *out) {
    struct reader r;
    if (!find_line(bytes, len, key, &r))
        return false;
    *out = reader_number(&r);
    return true;
}

int task_status_parse(const char *bytes, size_t len, struct task_status *out) {
    uint64_t tgid, voluntary, forced;
    struct reader r;
    if (!find_number(bytes, len, "Tgid:", &tgid) || !find_line(bytes, len, "Uid:", &r) ||
        !find_number(bytes, len, "voluntary_ctxt_switches:", &voluntary) ||
        !find_number(bytes, len, "nonvoluntary_ctxt_switches:", &forced))
        return -EINVAL;
    reader_number(&r); // real
    out->uid = (uid_t)reader_number(&r);
    out->tgid = (pid_t)tgid;
    out->switches = voluntary + forced;
    return 0;
}

int task_io_parse(const char *bytes, size_t len, struct task_io *out) {
    return find_number(bytes, len, "read_bytes:", &out->read_bytes) &&
                   find_number(bytes, len, "write_bytes:", &out->write_bytes)
               ? 0
               : -EINVAL;
}

int task_schedstat_parse(const char *bytes, size_t len, struct task_schedstat *out) {
    struct reader r = {bytes, bytes + len};
    if (!len || bytes[0] < '0' || bytes[0] > '9')
        return -EINVAL;
    out->cpu_ns = reader_number(&r);
    out->run_delay_ns = reader_number(&r);
    return 0;
}

int task_sched_parse(const char *bytes, size_t len, uint64_t *migrations) {
    struct reader r;
    // The first line is the raw name, which may hold newlines: a forged line can only come before the real one.
    bool found = false;
    while (find_line(bytes, len, "se.nr_migrations", &r)) {
        const char *colon = memchr(r.at, ':', (size_t)(r.end - r.at));
        if (colon) {
            struct reader value = {colon + 1, r.end};
            *migrations = reader_number(&value);
            found = true;
        }
        len -= (size_t)(r.end - bytes);
        bytes = r.end;
    }
    return found ? 0 : -EINVAL;
}

// One of the comma-parted names, whole: "cpu" is not "cpuset".
static bool has_controller(const char *list, size_t len, const char *name) {
    size_t name_len = strlen(name);
    for (const char *at = list, *end = list + len; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t word = (size_t)((comma ? comma : end) - at);
        if (word == name_len && !memcmp(at, name, word))
            return true;
        at += word + 1;
    }
    return false;
}

struct group_path {
    const char *at;
    size_t len; // 0: none, or the root
};

// Whether `path` is `below` or an ancestor of it.
static bool is_above(const struct group_path *path, const struct group_path *below) {
    return path->len <= below->len && !memcmp(path->at, below->at, path->len) &&
           (path->len == below->len || below->at[path->len] == '/');
}

bool task_cgroup_parse(const char *bytes, size_t len, const char **path, size_t *path_len) {
    enum { OTHER, MEMORY, UNIFIED, CPU, KINDS };
    struct group_path found[KINDS] = {{NULL, 0}}, root = {NULL, 0}, best = {NULL, 0};
    for (const char *at = bytes, *end = bytes + len, *eol; at < end; at = eol + 1) {
        eol = memchr(at, '\n', (size_t)(end - at));
        if (!eol)
            eol = end;
        const char *first = memchr(at, ':', (size_t)(eol - at));
        const char *second = first ? memchr(first + 1, ':', (size_t)(eol - first - 1)) : NULL;
        if (!second)
            continue;
        size_t controllers = (size_t)(second - first - 1);
        struct group_path group = {second + 1, (size_t)(eol - second - 1)};
        int kind = !controllers                                       ? UNIFIED
                   : has_controller(first + 1, controllers, "cpu")    ? CPU
                   : has_controller(first + 1, controllers, "memory") ? MEMORY
                                                                      : OTHER;
        if (group.len <= 1)
            root = group;
        else if (!found[kind].len)
            found[kind] = group;
    }
    for (int kind = OTHER; kind <= UNIFIED; kind++)
        if (found[kind].len)
            best = found[kind];
    // Version 1's cpu hierarchy may divide the tasks in another way, and has the limit that stops them.
    if (found[CPU].len && (!best.len || !is_above(&found[CPU], &best)))
        best = found[CPU];
    if (!best.len)
        best = root;
    *path = best.at;
    *path_len = best.len;
    return best.at;
}

size_t task_cmdline_join(char *bytes, size_t len) {
    while (len && (bytes[len - 1] == '\0' || bytes[len - 1] == ' '))
        len--;
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == '\0')
            bytes[i] = ' ';
    return len;
}

int host_stat_parse(const char *bytes, size_t len, struct host_stat *out) {
    struct reader r;
    if (!find_line(bytes, len, "cpu ", &r))
        return -EINVAL;
    out->busy = reader_number(&r);
    out->busy += reader_number(&r);
    out->busy += reader_number(&r);
    if (!find_number(bytes, len, "ctxt ", &out->switches))
        out->switches = 0;
    return find_number(bytes, len, "processes ", &out->forks) ? 0 : -EINVAL;
}

int host_load_parse(const char *bytes, size_t len, struct host_load *out) {
    const char *slash = memchr(bytes, '/', len);
    if (!slash)
        return -EINVAL;
    struct reader r = {slash + 1, bytes + len};
    out->threads = reader_number(&r);
    out->last_pid = (pid_t)reader_number(&r);
    return 0;
}
