#include "collectors/kernel/tracefs/stream_capture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/tracefs.h"

static void waits_for(const struct stream_config *config, const char *what) {
    if (config->waits_for)
        atomic_store(config->waits_for, what);
}

static uint32_t at_most(uint64_t a, uint64_t b) {
    return (uint32_t)(a < b ? a : b);
}

// Small machines start with buffers for a high rate; with many CPUs each buffer starts small.
static struct ring_pipe_config pipe_config(const struct capture *capture, const char *clock,
                                           const struct capture_size *size) {
    const struct stream_config *config = capture->config;
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t ram_kib = (uint64_t)sysconf(_SC_PHYS_PAGES) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
    uint64_t start = at_most(65536, ram_kib / 64) / cpus;
    uint32_t small = cpus <= 16 ? 1024 : 512, large = config->high_rate ? 16384 : 4096;
    struct ring_pipe_config out = {
        .instance = capture->dir, .clock = clock, .subbuf_kib = cpus <= 16 ? 64 : 16, .cpu_kib = size->cpu_kib};
    if (config->buffer_kib) {
        out.buffer_kib = config->buffer_kib;
        out.max_kib = config->max_kib;
        out.subbuf_kib = config->buffer_kib >= 1024 ? out.subbuf_kib : 4;
        return out;
    }
    out.buffer_kib = start < small ? small : at_most(start, large);
    out.max_kib = at_most(ram_kib / 32 / cpus, 16384);
    if (out.max_kib < out.buffer_kib)
        out.max_kib = out.buffer_kib;
    return out;
}

static int read_formats(struct capture *capture, struct capture_step *failed) {
    for (size_t i = 0; i < capture->config->n_events; i++) {
        struct stream_event *event = &capture->config->events[i];
        const char *missing = NULL;
        int error = format_read(event->always ? tracing_dir(NULL, NULL) : capture->dir, event->system, event->name,
                                event->fields, event->n_fields, &event->id, &missing);
        event->present = !error;
        if (!error || event->optional)
            continue;
        failed->step = "reading the format of the event";
        snprintf(failed->detail, sizeof(failed->detail), "%s:%s%s%s", event->system, event->name,
                 missing ? " has no field " : "", missing ? missing : "");
        return error;
    }
    return 0;
}

int capture_open(struct capture *capture, const struct stream_config *config, const char *clock,
                 const struct capture_size *size, struct capture_step *failed) {
    char name[64];
    *capture = (struct capture){.config = config, .second = size->second};
    failed->step = "making a tracefs instance";
    waits_for(config, "its tracefs instance");
    snprintf(name, sizeof(name), "%s%s", config->name, size->second ? "-2" : "");
    int error = instance_create(name, capture->dir, sizeof(capture->dir));
    if (error) {
        capture->dir[0] = '\0';
        return error;
    }
    for (const char *const *option = config->options; option && *option; option++) {
        char file[96];
        snprintf(file, sizeof(file), "options/%s", *option);
        instance_write(capture->dir, file, "1"); // the collector sees in the same file whether it has effect
    }
    instance_write(capture->dir, "syscall_user_buf_size", "0"); // Linux 6.19 and later would copy what programs write
    if (config->cpus) {
        failed->step = "setting the CPUs (tracing_cpumask)";
        error = instance_cpus_set(capture->dir, config->cpus);
        if (error)
            return error;
    }
    const struct ring_pipe_config pipe = pipe_config(capture, clock, size);
    error = size->next ? 0 : read_formats(capture, failed);
    waits_for(config, "its trace buffers");
    if (!error)
        error = ring_pipe_open(&pipe, &capture->pipe, &failed->step);
    waits_for(config, "the filters of its events");
    if (!error)
        error = stream_self_new(config, capture->dir, !size->next, &capture->self, &failed->step);
    if (error)
        return error;
    const struct ring_source source = ring_pipe_source(capture->pipe);
    capture->ring = ring_new(&source);
    return 0;
}

void capture_close(struct capture *capture) {
    ring_free(capture->ring);
    ring_pipe_free(capture->pipe); // open pipes keep the instance busy
    stream_self_free(capture->self);
    if (capture->dir[0])
        instance_remove(capture->dir);
    *capture = (struct capture){0};
}

int capture_record(const struct capture *capture, bool on) {
    return instance_write(capture->dir, "tracing_on", on ? "1" : "0");
}

int capture_switch(struct capture *capture, uint32_t events, bool on, struct capture_step *failed) {
    int result = 0;
    bool stopped = !on && !capture_record(capture, false);
    for (size_t i = 0; i < capture->config->n_events; i++) {
        const struct stream_event *event = &capture->config->events[i];
        uint32_t bit = 1u << i, want = event->present ? events & bit : 0;
        char file[160];
        if (want == (capture->enabled & bit))
            continue;
        if (event->always) {
            capture->enabled ^= bit;
            continue;
        }
        snprintf(file, sizeof(file), "events/%s/%s/enable", event->system, event->name);
        int error = instance_write(capture->dir, file, want ? "1" : "0");
        if (!error)
            capture->enabled ^= bit;
        if (!error || event->optional || result)
            continue;
        snprintf(failed->detail, sizeof(failed->detail), "%s:%s", event->system, event->name);
        result = error;
    }
    if (on && !result) {
        snprintf(failed->detail, sizeof(failed->detail), "tracing_on");
        result = capture_record(capture, true);
    }
    return stopped ? 0 : result;
}

uint64_t capture_marks(const struct capture *capture) {
    const struct ring_stats *stats = ring_stats(capture->ring);
    return stats->missed + stats->missed_unknown + stats->damaged;
}

uint64_t capture_lost(struct capture *capture) {
    struct ring_pipe_stats pipe;
    ring_pipe_refresh(capture->pipe);
    ring_pipe_stats(capture->pipe, &pipe);
    // The kernel's counters and the sub-buffers' marks count the same events.
    uint64_t marked = capture_marks(capture), counted = pipe.overrun + pipe.dropped;
    return marked > counted ? marked : counted;
}
