// Making the tracefs instance, and switching its events on: once, and for the doctor again.
#include "collectors/block/source.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/tracefs.h"

// Small machines get room for a burst at once; many CPUs share what they need little of each.
static struct ring_pipe_config pipe_config(const char *instance, const char *clock, uint32_t fixed) {
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t ram_kib = (uint64_t)sysconf(_SC_PHYS_PAGES) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
    uint32_t start = cpus <= 8 && ram_kib > 2 << 20 ? 4096 : cpus <= 16 ? 2048 : cpus <= 64 ? 1024 : 512;
    uint64_t most = ram_kib / 32 / cpus;
    if (fixed)
        return (struct ring_pipe_config){
            .instance = instance, .clock = clock, .buffer_kib = fixed, .max_kib = fixed, .subbuf_kib = 4};
    return (struct ring_pipe_config){
        .instance = instance,
        .clock = clock,
        .buffer_kib = start,
        .max_kib = most > 16384   ? 16384
                   : most < start ? start
                                  : (uint32_t)most,
        .subbuf_kib = cpus <= 16 ? 64 : 16,
    };
}

static int read_formats(struct block_source *source, const char **step, char *detail, size_t size) {
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        const char *missing = NULL;
        int error = block_format_read(&source->formats.kinds[kind], (enum block_kind)kind, source->instance, &missing);
        if (!error || !block_event_needed((enum block_kind)kind))
            continue;
        *step = "reading the format of the event";
        snprintf(detail, size, "%s%s%s", block_event_names[kind], missing ? " has no field " : "",
                 missing ? missing : "");
        return error;
    }
    block_formats_index(&source->formats);
    return 0;
}

int block_source_switch(const struct block_source *source, int kind, bool on) {
    char file[128];
    snprintf(file, sizeof(file), "events/%s/%s/enable", block_event_systems[kind], block_event_names[kind]);
    return instance_write(source->instance, file, on ? "1" : "0");
}

// Who only forks pays nothing for it.
static int threads_only(const struct block_source *source) {
    char filter[64];
    snprintf(filter, sizeof(filter), "clone_flags & %u", (unsigned)CLONE_THREAD);
    return instance_write(source->instance, "events/task/task_newtask/filter", filter);
}

static int enable_events(struct block_source *source, const char **step, char *detail, size_t size) {
    *step = "switching on the event";
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        if (!source->formats.kinds[kind].present)
            continue;
        int error = kind == BLOCK_THREAD ? threads_only(source) : 0;
        if (!error)
            error = block_source_switch(source, kind, true);
        if (!error)
            continue;
        source->formats.kinds[kind].present = false;
        if (block_event_needed((enum block_kind)kind)) {
            snprintf(detail, size, "%s", block_event_names[kind]);
            return error;
        }
    }
    return 0;
}

int block_source_open(struct block_source *source, const char *name, const struct test_options *test, const char **step,
                      char *detail, size_t size) {
    *step = "making a tracefs instance";
    int error = instance_create(name, source->instance, sizeof(source->instance));
    if (error)
        return error;
    source->created = true;
    source->clock = test->clock_mono ? TRACE_CLOCK_MONO : trace_clock_choose();
    const struct ring_pipe_config config = pipe_config(source->instance, source->clock.name, test->buffer_kib);
    error = read_formats(source, step, detail, size);
    if (!error)
        error = ring_pipe_open(&config, &source->pipe, step);
    if (!error)
        error = enable_events(source, step, detail, size);
    if (!error)
        error = instance_write(source->instance, "tracing_on", "1");
    trace_clock_read(&source->clock, 0);
    return error;
}

void block_source_close(struct block_source *source) {
    ring_pipe_free(source->pipe); // open pipes keep the instance busy
    if (source->created)
        instance_remove(source->instance);
    source->pipe = NULL;
    source->created = false;
}

void block_source_explain(int error, const char *step, const char *detail, char *reason, size_t reason_size, char *fix,
                          size_t fix_size) {
    const struct tracefs_failure failure = {.events = "block events",
                                            .error = error,
                                            .step = step,
                                            .detail = detail,
                                            .built_with = "CONFIG_BLOCK and CONFIG_EVENT_TRACING"};
    tracefs_explain_events(&failure, reason, reason_size, fix, fix_size);
}
