// Tracing that another program left on: a tracer or events are enabled in tracefs, and no process has its files open.
// Reads three small files of each instance every 5 s, and the descriptors of processes only while tracing is on. ktop's
// own instances are left out. Kernel document: Documentation/trace/ftrace.rst.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/kernel/tracefs/tracers.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define READ_NS 4500000000ull
#define SEARCH_NS 30000000000ull
#define PROCESSES_MAX 256    // searched per sample
#define DESCRIPTORS_MAX 4096 // of a process
#define INSTANCES_MAX 16

enum { INSTANCE, TRACES, COLUMNS };

static const struct column columns[COLUMNS] = {
    [INSTANCE] = TEXT_COLUMN("instance", "INSTANCE", 16, .help = "Instance of tracefs; top: the one that all share."),
    [TRACES] = TEXT_COLUMN("traces", "TRACES", 32, .help = "The tracer, or the first event that is enabled."),
};

const struct table_def suspects_tracing_table = {
    .name = "tracing_left",
    .help = "Tracing that is on although no process has its files open.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct tracing {
    struct table_builder *builder;
    struct suspects_trace on[INSTANCES_MAX];
    size_t n;
    uint64_t read_ns, search_ns; // of the last reading; of the last complete search
    size_t next, at;             // process that the search goes on with; while going through the table
    int pid;                     // column
};

size_t suspects_tracing_on(const char *tracing, struct suspects_trace *out, size_t most) {
    struct trace_on on[INSTANCES_MAX];
    size_t n = tracers_on(tracing, on, most < INSTANCES_MAX ? most : INSTANCES_MAX);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct suspects_trace){.on = on[i]};
    return n;
}

// tracefs may be mounted anywhere: an instance is found by its name, the top-level one by its usual places and files.
bool suspects_tracing_is_file(const char *link, const char *instance) {
    char part[96];
    if (*instance) {
        snprintf(part, sizeof(part), "/instances/%s/", instance);
        return strstr(link, part);
    }
    if (strstr(link, "/instances/"))
        return false;
    const char *name = strrchr(link, '/');
    return !strncmp(link, "/sys/kernel/tracing/", 20) || !strncmp(link, "/sys/kernel/debug/tracing/", 26) ||
           (name && (!strcmp(name, "/trace_pipe") || !strcmp(name, "/trace_pipe_raw")));
}

static void process_search(void *context, const union cell *row) {
    struct tracing *tracing = context;
    int pid = (int)row[tracing->pid].num;
    size_t index = tracing->at++;
    if (index < tracing->next || index >= tracing->next + PROCESSES_MAX || pid == getpid())
        return;
    char path[64], link[512];
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    struct dirent *entry;
    for (size_t n = 0; files && n < DESCRIPTORS_MAX && (entry = readdir(files)); n++) {
        ssize_t length = readlinkat(dirfd(files), entry->d_name, link, sizeof(link) - 1);
        if (length <= 0 || link[0] != '/')
            continue;
        link[length] = '\0';
        for (size_t i = 0; i < tracing->n; i++)
            tracing->on[i].used |= suspects_tracing_is_file(link, tracing->on[i].on.instance);
    }
    if (files)
        closedir(files);
}

// Keeps what the last search found about instances that are still on.
static void tracing_read(struct tracing *tracing, const char *where) {
    struct suspects_trace now[INSTANCES_MAX] = {0};
    size_t n = suspects_tracing_on(where, now, INSTANCES_MAX), same = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < tracing->n; k++)
            if (!strcmp(now[i].on.instance, tracing->on[k].on.instance)) {
                now[i].used = tracing->on[k].used;
                now[i].searched = tracing->on[k].searched;
                same++;
            }
    memcpy(tracing->on, now, sizeof(now));
    tracing->n = n;
    if (same < n) { // search at once
        tracing->search_ns = 0;
        tracing->next = 0;
    }
}

static void tracing_search(struct tracing *tracing, struct suspects_sample *sample) {
    if (!tracing->next)
        for (size_t i = 0; i < tracing->n; i++)
            tracing->on[i].used = false;
    tracing->at = 0;
    tracing->pid = sample->at.pid;
    suspects_each(sample, process_search, tracing);
    tracing->next += PROCESSES_MAX;
    if (tracing->next < tracing->at)
        return;
    tracing->next = 0;
    tracing->search_ns = sample->now_ns;
    for (size_t i = 0; i < tracing->n; i++)
        tracing->on[i].searched = true;
}

static void tracing_sample(void *state, struct suspects_sample *sample) {
    struct tracing *tracing = state;
    const char *where = tracing_dir(NULL, NULL); // main has called it: nothing is mounted here
    if (where && (!tracing->read_ns || sample->now_ns - tracing->read_ns >= READ_NS)) {
        tracing->read_ns = sample->now_ns;
        tracing_read(tracing, where);
    }
    if (tracing->n && sample->tasks &&
        (tracing->next || !tracing->search_ns || sample->now_ns - tracing->search_ns >= SEARCH_NS))
        tracing_search(tracing, sample);
    table_builder_clear(tracing->builder);
    for (size_t i = 0; i < tracing->n; i++) {
        if (!tracing->on[i].searched || tracing->on[i].used)
            continue;
        uint32_t slot = table_builder_add(tracing->builder);
        const char *name = tracing->on[i].on.instance;
        table_builder_set_text(tracing->builder, slot, INSTANCE, text_from(*name ? name : "top"));
        table_builder_set_text(tracing->builder, slot, TRACES, text_from(tracing->on[i].on.traces));
    }
    section_table(sample->out, table_builder_seal(tracing->builder));
}

static void *tracing_create(void) {
    struct tracing *tracing = xcalloc(1, sizeof(*tracing));
    tracing->builder = table_builder_new(&suspects_tracing_table);
    return tracing;
}

static void tracing_destroy(void *state) {
    struct tracing *tracing = state;
    table_builder_free(tracing->builder);
    free(tracing);
}

const struct suspects_part suspects_tracing_part = {
    .create = tracing_create, .sample = tracing_sample, .destroy = tracing_destroy};
