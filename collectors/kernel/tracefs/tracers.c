// Other tracers; see the header.
#include "collectors/kernel/tracefs/tracers.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "model/mem.h"

#define OWN_INSTANCE "ktop-"
#define OWN_GROUP "ktop_"
#define INSTANCES_MAX 8
#define PROGRAMS_MAX 4096 // looked at

// ---- tracefs ----

static bool trace_read(const char *tracing, const char *name, struct trace_on *out) {
    char path[512], on[8] = "", tracer[64] = "", event[64] = "";
    snprintf(out->instance, sizeof(out->instance), "%s", name);
    const char *between = *name ? "/instances/" : "";
    snprintf(path, sizeof(path), "%s%s%s/tracing_on", tracing, between, name);
    if (proc_read_line(path, on, sizeof(on)) || strcmp(on, "1") != 0)
        return false;
    snprintf(path, sizeof(path), "%s%s%s/current_tracer", tracing, between, name);
    if (proc_read_line(path, tracer, sizeof(tracer)) == 0 && tracer[0] && strcmp(tracer, "nop") != 0) {
        snprintf(out->traces, sizeof(out->traces), "tracer %s", tracer);
        return true;
    }
    snprintf(path, sizeof(path), "%s%s%s/set_event", tracing, between, name);
    if (proc_read_line(path, event, sizeof(event)) || !strchr(event, ':'))
        return false;
    snprintf(out->traces, sizeof(out->traces), "event %s", event);
    return true;
}

size_t tracers_on(const char *tracing, struct trace_on *out, size_t most) {
    char path[512];
    size_t n = most && trace_read(tracing, "", &out[0]);
    snprintf(path, sizeof(path), "%s/instances", tracing);
    DIR *instances = opendir(path);
    for (struct dirent *entry; instances && n < most && (entry = readdir(instances));)
        if (entry->d_name[0] != '.' && strncmp(entry->d_name, OWN_INSTANCE, strlen(OWN_INSTANCE)) != 0 &&
            strlen(entry->d_name) < sizeof(out->instance))
            n += trace_read(tracing, entry->d_name, &out[n]);
    if (instances)
        closedir(instances);
    return n;
}

// Lines of a list of probes, "p:GROUP/EVENT PLACE ARGS". Returns how many are not ktop's; *own: the others.
static size_t probes_count(const char *path, char first[64], size_t *own) {
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t space = 0, n = 0;
    while (file && getline(&line, &space, file) > 0) {
        const char *group = strchr(line, ':');
        if (!group)
            continue;
        if (!strncmp(group + 1, OWN_GROUP, strlen(OWN_GROUP)))
            ++*own;
        else if (!n++)
            snprintf(first, 64, "%.*s", (int)strcspn(group + 1, " \n"), group + 1);
    }
    free(line);
    if (file)
        fclose(file);
    return n;
}

// All kprobes of the kernel, those of tracefs included; -1: debugfs is not mounted.
static long kprobes_count(const char *sys) {
    char path[512], line[512];
    snprintf(path, sizeof(path), "%s/kernel/debug/kprobes/list", sys);
    FILE *file = fopen(path, "re");
    long n = file ? 0 : -1;
    while (file && fgets(line, sizeof(line), file))
        n++;
    if (file)
        fclose(file);
    return n;
}

// ---- BPF ----

static const char *bpf_kind(uint32_t type) {
    switch (type) {
    case BPF_PROG_TYPE_KPROBE:
        return "kprobe or uprobe";
    case BPF_PROG_TYPE_TRACEPOINT:
    case BPF_PROG_TYPE_RAW_TRACEPOINT:
    case BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE:
        return "tracepoint";
    case BPF_PROG_TYPE_TRACING:
        return "function";
    default:
        return NULL;
    }
}

static long bpf_call(int command, union bpf_attr *attr) {
    return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static bool program_info(uint32_t id, struct bpf_prog_info *info) {
    union bpf_attr attr = {.prog_id = id};
    int fd = (int)bpf_call(BPF_PROG_GET_FD_BY_ID, &attr);
    if (fd < 0)
        return false;
    memset(info, 0, sizeof(*info));
    memset(&attr, 0, sizeof(attr));
    attr.info.bpf_fd = (uint32_t)fd;
    attr.info.info_len = sizeof(*info);
    attr.info.info = (uintptr_t)info;
    long error = bpf_call(BPF_OBJ_GET_INFO_BY_FD, &attr);
    close(fd);
    return !error;
}

// Programs that trace; ktop's have names with its prefix.
static size_t programs_count(char first[64]) {
    struct bpf_prog_info info;
    size_t n = 0;
    uint32_t id = 0;
    for (size_t i = 0; i < PROGRAMS_MAX; i++) {
        union bpf_attr attr = {.start_id = id};
        if (bpf_call(BPF_PROG_GET_NEXT_ID, &attr))
            break;
        id = attr.next_id;
        if (!program_info(id, &info) || !bpf_kind(info.type) || !strncmp(info.name, OWN_GROUP, strlen(OWN_GROUP)))
            continue;
        if (!n++)
            snprintf(first, 64, "%.15s (%s)", info.name[0] ? info.name : "one without a name", bpf_kind(info.type));
    }
    return n;
}

// ---- all ----

struct found {
    struct tracer *out;
    size_t n, most;
};

static char *next(struct found *found) {
    return found->n < found->most ? found->out[found->n++].text : NULL;
}

static void livepatches(struct found *found, const char *sys) {
    char path[512], on[8];
    snprintf(path, sizeof(path), "%s/kernel/livepatch", sys);
    DIR *patches = opendir(path);
    for (struct dirent *entry; patches && (entry = readdir(patches));) {
        snprintf(path, sizeof(path), "%s/kernel/livepatch/%.200s/enabled", sys, entry->d_name);
        if (entry->d_name[0] == '.' || proc_read_line(path, on, sizeof(on)) || strcmp(on, "1") != 0)
            continue;
        char *text = next(found);
        if (text)
            snprintf(text, sizeof(found->out->text), "livepatch %.100s", entry->d_name);
    }
    if (patches)
        closedir(patches);
}

static void counted(struct found *found, size_t n, const char *one, const char *many, const char *first) {
    char *text = n ? next(found) : NULL;
    if (text)
        snprintf(text, sizeof(found->out->text), "%zu %s%s%.64s", n, n == 1 ? one : many,
                 !*first  ? ""
                 : n == 1 ? ": "
                          : ", for example ",
                 first);
}

size_t tracers_find(const char *tracing, const char *sys, struct tracer *out, size_t most) {
    struct found found = {out, 0, most};
    struct trace_on on[INSTANCES_MAX];
    char path[512], first[64] = "", second[64] = "";
    size_t own = 0, user_own = 0;
    size_t n = tracers_on(tracing, on, INSTANCES_MAX);
    for (size_t i = 0; i < n; i++) {
        char *text = next(&found);
        if (text)
            snprintf(text, sizeof(out->text), "%.63s in the %s%.48s", on[i].traces,
                     *on[i].instance ? "instance " : "top-level instance", on[i].instance);
    }
    livepatches(&found, sys);
    snprintf(path, sizeof(path), "%s/kprobe_events", tracing);
    size_t kprobes = probes_count(path, first, &own);
    counted(&found, kprobes, "kprobe of tracefs", "kprobes of tracefs", first);
    snprintf(path, sizeof(path), "%s/uprobe_events", tracing);
    counted(&found, probes_count(path, second, &user_own), "uprobe of tracefs", "uprobes of tracefs", second);
    long all = kprobes_count(sys);
    if (all > (long)(kprobes + own))
        counted(&found, (size_t)all - kprobes - own, "kprobe of perf, BPF or a module",
                "kprobes of perf, BPF or modules", "");
    first[0] = '\0';
    size_t programs = programs_count(first);
    counted(&found, programs, "BPF program on functions or tracepoints", "BPF programs on functions or tracepoints",
            first);
    return found.n;
}

void tracers_text(const struct tracer *tracers, size_t n, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "other tracers: ");
    for (size_t i = 0; i < n && used < size; i++) {
        size_t length = strlen(tracers[i].text);
        if (used + length + 8 > size) {
            snprintf(out + used, size - used, "%s...", i ? "; " : "");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "; " : "", tracers[i].text);
    }
}
