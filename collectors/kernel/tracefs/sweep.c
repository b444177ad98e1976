// Removes the instances and probes that dead ktops left in the kernel. Never touches those of a live ktop or another
// tool: an unknown owner counts as alive.
#include "collectors/kernel/tracefs/sweep.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/graph_state.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

#define LIST_MAX (4u << 20) // bytes of a list of probes

// ---- identity ----

static ssize_t file_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, size - 1);
    int error = errno;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n < 0 ? -error : n;
}

// The state and start time of a task, from its stat line; comm may hold any byte, so parse after the last parenthesis.
static int stat_read(const char *proc, const char *task, char *state, unsigned long long *start) {
    char path[320], text[1024];
    snprintf(path, sizeof path, "%s/%s/stat", proc, task);
    ssize_t n = file_read(path, text, sizeof text);
    if (n < 0)
        return (int)n;
    const char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1,
                       " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", // 3 .. 22
                       state, start) != 2)
        return -EIO;
    return 0;
}

static int ns_read(const char *proc, const char *task, unsigned long *ns) {
    char path[320], text[64];
    snprintf(path, sizeof path, "%s/%s/ns/pid", proc, task);
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return sscanf(text, "pid:[%lu]", ns) == 1 ? 0 : -EIO;
}

// A task's PIDs in each namespace from that of this /proc inwards: their number, and the innermost PID.
static int nspid_read(const char *proc, const char *task, pid_t *innermost) {
    char path[320], text[4096];
    snprintf(path, sizeof path, "%s/%s/status", proc, task);
    if (file_read(path, text, sizeof text) < 0)
        return -1;
    const char *at = strstr(text, "\nNSpid:");
    if (!at)
        return 0;
    at += strlen("\nNSpid:");
    int count = 0;
    for (;;) {
        char *end;
        at += strspn(at, " \t");
        if (!isdigit((unsigned char)*at))
            return count;
        *innermost = (pid_t)strtol(at, &end, 10);
        at = end;
        count++;
    }
}

// /proc may belong to an outer namespace (unshare -p without a new /proc): names then hold its PIDs.
bool ktop_id_read(const char *proc, struct ktop_id *id) {
    char path[320], text[64], state;
    snprintf(path, sizeof path, "%s/self", proc);
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    id->pid = (pid_t)strtol(text, NULL, 10);
    if (stat_read(proc, text, &state, &id->start))
        return false;
    pid_t innermost;
    int depth = nspid_read(proc, text, &innermost);
    int error = ns_read(proc, depth > 1 ? "1" : text, &id->pid_ns);
    if (error == -ENOENT && depth == 0) { // a kernel without PID namespaces
        id->pid_ns = PID_NS_FIRST;
        error = 0;
    }
    return error == 0;
}

static struct ktop_id self;
static pthread_once_t self_once = PTHREAD_ONCE_INIT;

static void self_read(void) {
    if (!ktop_id_read("/proc", &self)) // unknown: only its own guard treats it as dead, see ktop_life
        self = (struct ktop_id){.pid = getpid(), .start = 0, .pid_ns = 0};
}

const struct ktop_id *ktop_id_self(void) {
    pthread_once(&self_once, self_read);
    return &self;
}

// ---- names ----

void ktop_instance_name(const struct ktop_id *id, const char *what, char *name, size_t size) {
    int n = snprintf(name, size, "ktop-%d-%llu-%s", id->pid, id->start, what);
    if (id->pid_ns != PID_NS_FIRST && n > 0 && (size_t)n < size)
        snprintf(name + n, size - (size_t)n, ".%lu", id->pid_ns);
}

void ktop_group_name(const struct ktop_id *id, const char *what, char *name, size_t size) {
    int n = snprintf(name, size, "ktop_%d_%llu_%s", id->pid, id->start, what);
    if (id->pid_ns != PID_NS_FIRST && n > 0 && (size_t)n < size)
        snprintf(name + n, size - (size_t)n, "_n%lu", id->pid_ns);
}

// Digits only: a user's "ktop-2-copy" or "ktop--1-x-y" must never match.
static bool digits(const char **at, char end, unsigned long long *value) {
    if (!isdigit((unsigned char)**at))
        return false;
    char *stop;
    errno = 0;
    *value = strtoull(*at, &stop, 10);
    if (errno || *stop != end)
        return false;
    *at = end ? stop + 1 : stop;
    return true;
}

static bool parse(const char *name, char separator, const char *ns_mark, struct ktop_id *id) {
    unsigned long long pid, start, ns;
    if (strncmp(name, "ktop", 4) != 0 || name[4] != separator)
        return false;
    const char *at = name + 5;
    if (!digits(&at, separator, &pid) || !digits(&at, separator, &start) || !*at || pid == 0 || pid > 0x7fffffff)
        return false;
    *id = (struct ktop_id){.pid = (pid_t)pid, .start = start, .pid_ns = PID_NS_FIRST};
    for (const char *mark = at; (mark = strstr(mark, ns_mark)); mark++) {
        const char *number = mark + strlen(ns_mark);
        if (digits(&number, '\0', &ns))
            id->pid_ns = ns;
    }
    return true;
}

bool ktop_instance_parse(const char *name, struct ktop_id *id) {
    return parse(name, '-', ".", id);
}

bool ktop_group_parse(const char *name, struct ktop_id *id) {
    return parse(name, '_', "_n", id);
}

// ---- life ----

// With hidepid, other users' processes are hidden, not gone.
static bool sees_all(const char *proc) {
    char state;
    unsigned long long start;
    return stat_read(proc, "1", &state, &start) == 0;
}

// In the first namespace: whether a task of that namespace with that inner PID exists. PIDs are world-readable; the
// namespace only with ptrace permission.
static enum ktop_life life_inside(const char *proc, const struct ktop_id *id) {
    DIR *dir = sees_all(proc) ? opendir(proc) : NULL;
    if (!dir)
        return KTOP_UNKNOWN;
    enum ktop_life life = KTOP_GONE;
    struct dirent *entry;
    while (life != KTOP_ALIVE && (entry = readdir(dir))) {
        unsigned long ns = 0;
        pid_t innermost = 0;
        if (!isdigit((unsigned char)entry->d_name[0]) || nspid_read(proc, entry->d_name, &innermost) < 2 ||
            innermost != id->pid)
            continue;
        int error = ns_read(proc, entry->d_name, &ns);
        if (error == -ENOENT || error == -ESRCH) // just ended, or a zombie
            continue;
        if (error)
            life = KTOP_UNKNOWN;
        else if (ns == id->pid_ns)
            life = KTOP_ALIVE;
    }
    closedir(dir);
    return life;
}

enum ktop_life ktop_life(const char *proc, const struct ktop_id *id) {
    struct ktop_id me;
    if (id->pid_ns == 0 || !ktop_id_read(proc, &me))
        return KTOP_UNKNOWN;
    if (me.pid_ns != id->pid_ns)
        return me.pid_ns == PID_NS_FIRST ? life_inside(proc, id) : KTOP_UNKNOWN;
    char task[16], state;
    unsigned long long start;
    snprintf(task, sizeof task, "%d", id->pid);
    int error = stat_read(proc, task, &state, &start);
    if (error == -ENOENT || error == -ESRCH)
        return sees_all(proc) ? KTOP_GONE : KTOP_UNKNOWN;
    if (error)
        return KTOP_UNKNOWN;
    return start == id->start && !strchr("ZXx", state) ? KTOP_ALIVE : KTOP_GONE;
}

// ---- removal ----

struct pass {
    const char *where;
    const struct ktop_id *of;
    void (*report)(const char *line);
    int removed, left;
};

static bool condemned(const struct pass *pass, const struct ktop_id *id) {
    if (pass->of)
        return id->pid == pass->of->pid && id->pid_ns == pass->of->pid_ns &&
               (!pass->of->start || id->start == pass->of->start);
    const struct ktop_id *me = ktop_id_self();
    if (id->pid == me->pid && id->pid_ns == me->pid_ns && id->start == me->start)
        return false;
    return ktop_life("/proc", id) == KTOP_GONE;
}

static void report(struct pass *pass, const char *kind, const char *name, pid_t pid, int error) {
    char line[512];
    if (error == -ENOENT) // another sweep removed it
        return;
    if (error)
        pass->left++;
    else
        pass->removed++;
    if (!pass->report)
        return;
    if (error)
        snprintf(line, sizeof line, "could not remove %s %s of process %d: %s", kind, name, pid, strerror(-error));
    else
        snprintf(line, sizeof line, "removed %s %s (process %d is gone)", kind, name, pid);
    pass->report(line);
}

static int sweep_instances(struct pass *pass) {
    char path[768];
    snprintf(path, sizeof path, "%s/instances", pass->where);
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    struct dirent *entry;
    struct ktop_id id;
    while ((entry = readdir(dir))) {
        if (!ktop_instance_parse(entry->d_name, &id) || !condemned(pass, &id))
            continue;
        snprintf(path, sizeof path, "%s/instances/%s", pass->where, entry->d_name);
        int error = graph_state_is_mark(entry->d_name) ? graph_state_restore(pass->where, entry->d_name) : 0;
        if (error) { // the instance marks what is to be restored
            report(pass, "the function graph tracer's state of instance", entry->d_name, id.pid, error);
            continue;
        }
        error = rmdir(path) ? -errno : 0;
        if (error == -EBUSY) { // its owner's last descriptors are being closed: disable it until then
            instance_write(path, "events/enable", "0");
            instance_write(path, "tracing_on", "0");
            error = rmdir(path) ? -errno : 0;
        }
        report(pass, "instance", entry->d_name, id.pid, error);
    }
    closedir(dir);
    return 0;
}

// Disables the event at the top level, only if it is enabled there: any write, even of the same value, makes the kernel
// expand the top-level buffer, which is minimal until its first use.
static void event_off(const char *where, const char *group, const char *event) {
    char file[300], path[768], text[8] = "";
    snprintf(file, sizeof file, "events/%s/%s/enable", group, event);
    snprintf(path, sizeof path, "%s/%s", where, file);
    if (file_read(path, text, sizeof text) > 0 && text[0] != '0')
        instance_write(where, file, "0");
}

static int probe_remove(const char *where, const char *file, const char *group, const char *event) {
    char line[512];
    event_off(where, group, event);
    snprintf(line, sizeof line, "-:%s/%s\n", group, event);
    return tracing_append(where, file, line);
}

// The whole list, to be freed: while it is read in pieces, each probe that is removed would hide another one. NULL: it
// cannot be read, with errno.
static char *list_read(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0, space = 0;
    char *text = NULL;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && used < LIST_MAX) {
        if (space - used < 4096)
            text = xrealloc(text, space += 65536);
        n = read(fd, text + used, space - used - 1);
        used += n > 0 ? (size_t)n : 0;
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (n < 0) {
        free(text);
        errno = error;
        return NULL;
    }
    text[used] = '\0';
    return text;
}

// Lines are "p:GROUP/EVENT PLACE ARGS", with r or r<max> for returns, e, f, t, s for the other kinds. An event with
// several places has a line for each, and goes with the first.
static int sweep_probes(struct pass *pass, const char *file) {
    char path[768];
    snprintf(path, sizeof path, "%s/%s", pass->where, file);
    char *list = list_read(path);
    if (!list)
        return -errno;
    for (char *rest = list, *line; (line = strsep(&rest, "\n"));) {
        char group[128], event[128], name[260];
        struct ktop_id id;
        if (sscanf(line, "%*[a-z0-9]:%127[^/]/%127[^ \n]", group, event) != 2)
            continue;
        if (!ktop_group_parse(group, &id) || !condemned(pass, &id))
            continue;
        snprintf(name, sizeof name, "%s/%s", group, event);
        report(pass, "probe", name, id.pid, probe_remove(pass->where, file, group, event));
    }
    free(list);
    return 0;
}

int sweep_pass(const char *where, const struct ktop_id *of, void (*report)(const char *line), int *left) {
    struct pass pass = {.where = where, .of = of, .report = report};
    int error = sweep_instances(&pass); // first: an instance may hold a probe
    if (error)
        return error;
    if (sweep_probes(&pass, "dynamic_events") == -ENOENT) { // before 5.0
        sweep_probes(&pass, "kprobe_events");
        sweep_probes(&pass, "uprobe_events");
    }
    if (left)
        *left = pass.left;
    return pass.removed;
}

int ktop_sweep(pid_t of_pid, void (*report)(const char *line)) {
    const char *where = tracing_dir(NULL, NULL);
    if (!where)
        return -ENODEV;
    struct ktop_id of = {.pid = of_pid, .pid_ns = ktop_id_self()->pid_ns};
    if (of_pid == getpid()) // the IDs differ if /proc is of an outer PID namespace
        of = *ktop_id_self();
    return sweep_pass(where, of_pid ? &of : NULL, report, NULL);
}
