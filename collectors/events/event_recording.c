#include "collectors/events/event_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/stream_collector.h"
#include "model/clock.h"
#include "model/mem.h"

#define LOSSES_NAMED 8 // CPUs

// ---- the event path ----

// Of an event in a thread of ktop. An interrupt is not its doing, and a switch to another task is that task's event
// too.
static bool is_own_doing(const struct event_recording *recording, uint8_t index, const struct ring_event *event) {
    const struct format_field *next = &recording->fields[index][1];
    int32_t next_tid;
    if (event->data[EVENT_FLAGS_OFFSET] & (EVENT_FLAG_HARDIRQ | EVENT_FLAG_SOFTIRQ))
        return false;
    if (!next->size || event->size < next->offset + 4u)
        return true;
    memcpy(&next_tid, event->data + next->offset, 4);
    return !next_tid || own_threads_has(&recording->own, next_tid);
}

static void on_event(void *ctx, const struct ring_event *event) {
    struct event_recording *recording = ctx;
    uint16_t id;
    int32_t tid;
    if (event->size < 8)
        return;
    memcpy(&id, event->data, 2);
    uint8_t index = recording->by_id[id];
    if (index == RECORDING_NO_EVENT) {
        if (recording->stacks && event_stacks_record(recording->stacks, event))
            recording->dropped++; // not an event
        return;
    }
    memcpy(&tid, event->data + recording->fields[index][0].offset, 4);
    if (own_threads_has(&recording->own, tid) && is_own_doing(recording, index, event)) {
        recording->dropped++;
        return;
    }
    recording->counters[index].count++;
    if (recording->flows && flows_takes(recording->flows, index))
        flows_event(recording->flows, index, event->data, event->size,
                    trace_clock_mono(stream_clock(recording->stream), event->ts), tid);
    if (__builtin_expect(!recording->seen[tid & (RECORDING_IDS - 1)], 0) && index != recording->named &&
        recording->n_pending < RECORDING_PENDING) {
        recording->seen[tid & (RECORDING_IDS - 1)] = 1;
        recording->pending[recording->n_pending++] = tid;
    }
    kept_put(recording->kept, event->ts, event->cpu, index, event->data, event->size);
    if (recording->stacks)
        event_stacks_event(recording->stacks, event, tid, recording->kept);
    if (recording->groups) {
        const struct group_record record = {event->data, event->size, event->cpu, tid, event->ts};
        kept_last(recording->kept)->latency_ns =
            event_groups_event(recording->groups, index, &record, stream_clock(recording->stream));
    }
}

static void on_gap(void *ctx, uint64_t until_ns) {
    struct event_recording *recording = ctx;
    if (recording->groups)
        event_groups_gap(recording->groups, until_ns);
}

static void on_self(void *ctx, pid_t tid) {
    struct event_recording *recording = ctx;
    own_threads_add(&recording->own, tid);
}

// A system call; at a rate of its own, which sampling does not change.
static void on_call(void *ctx, const struct source_call *call) {
    struct event_recording *recording = ctx;
    recording->counters[call->event].count++;
    recording->calls++;
    kept_put(recording->kept, call->ns, call->cpu, call->event, call->bytes, call->size);
}

// ---- opening ----

void event_recording_free(struct event_recording *recording) {
    if (!recording)
        return;
    stream_close(recording->stream);
    sources_close(recording->sources);
    flows_close(recording->flows);
    for (size_t i = 0; i < recording->choice.n; i++) {
        event_format_unref(recording->counters[i].format);
        text_unref(recording->counters[i].name);
        text_unref(recording->counters[i].filter);
    }
    kept_free(recording->kept);
    event_stacks_free(recording->stacks);
    free(recording->cpu_lost);
    event_groups_free(recording->groups);
    choice_free(&recording->choice);
    free(recording);
}

static void events_fill(struct event_recording *recording) {
    for (size_t i = 0; i < recording->choice.n; i++) {
        const struct choice_event *event = &recording->choice.events[i];
        const bool is_switch = !strcmp(event->system, "sched") && !strcmp(event->name, "sched_switch");
        recording->fields[i][0] = (struct format_field){.name = "common_pid"};
        recording->fields[i][1] = (struct format_field){.name = "next_pid"};
        recording->events[i] = (struct stream_event){
            .system = event->system,
            .name = event->name,
            .filter = event->filter,
            .optional = event->by_glob || event->is_call,
            .with_self = is_switch,
            .always = event->is_marker,
            .fields = recording->fields[i],
            .n_fields = is_switch ? 2 : 1,
        };
    }
}

static void formats_read(struct event_recording *recording, const char *dir) {
    char path[512], *text = xmalloc(FORMAT_BYTES_MAX);
    for (size_t i = 0; i < recording->choice.n; i++) {
        const struct choice_event *event = &recording->choice.events[i];
        struct event_counter *counter = &recording->counters[i];
        counter->name = text_printf("%s:%s", event->system, event->name);
        counter->filter = event->filter ? text_from(event->filter) : NULL;
        if (!recording->events[i].present)
            continue;
        recording->by_id[recording->events[i].id] = (uint8_t)i;
        snprintf(path, sizeof(path), "%s/events/%s/%s/format", dir, event->system, event->name);
        long length = format_file(path, text, FORMAT_BYTES_MAX);
        counter->format = length > 0 ? event_format_new(text, (size_t)length, event->system) : NULL;
    }
    free(text);
}

void event_recording_losses(struct event_recording *recording, char *out, size_t size) {
    uint32_t n = recording->stream ? stream_cpus(recording->stream) : 0, named = 0;
    size_t used = 0;
    out[0] = '\0';
    if (!recording->cpu_lost)
        recording->cpu_lost = xcalloc(n + 1, sizeof(*recording->cpu_lost));
    for (uint32_t cpu = 0; cpu < n; cpu++) {
        uint64_t lost = stream_cpu_lost(recording->stream, cpu), before = recording->cpu_lost[cpu];
        recording->cpu_lost[cpu] = lost;
        lost -= lost >= before ? before : 0;
        if (!lost || named > LOSSES_NAMED)
            continue;
        int more = named++ == LOSSES_NAMED ? snprintf(out + used, size - used, ", ...")
                                           : snprintf(out + used, size - used, "%s%llu on CPU %u", used ? ", " : "",
                                                      (unsigned long long)lost, cpu);
        used += more < 0 ? 0 : (size_t)more < size - used ? (size_t)more : size - used - 1;
    }
}

static void extras_open(struct event_recording *recording) {
    const char *instance = recording->stream ? stream_instance(recording->stream) : NULL;
    char path[512], option[8];
    if (!instance)
        return;
    if (recording->choice.stacks)
        recording->stacks = event_stacks_open(instance, tracing_dir(NULL, NULL), stream_cpus(recording->stream));
    snprintf(path, sizeof(path), "%s/options/" MARKER_OPTION, instance);
    for (size_t i = 0; i < recording->choice.n; i++)
        if (recording->choice.events[i].is_marker)
            recording->no_marker = format_file(path, option, sizeof(option)) < 1 || option[0] != '1';
}

static struct stream_config config_of(struct event_recording *recording, const char *name) {
    const struct collect_options *options = recording->options;
    const char **option = recording->options_set;
    if (recording->choice.stacks)
        *option++ = STACKS_OPTION;
    for (size_t i = 0; i < recording->choice.n; i++)
        if (recording->choice.events[i].is_marker)
            *option++ = MARKER_OPTION;
    return (struct stream_config){
        .name = name,
        .what = "trace events",
        .events = recording->events,
        .n_events = recording->choice.n,
        .budget_pct = STREAM_BUDGET_PCT,
        .high_rate = true,
        .mono = options && options->trace.mono,
        .cpus = options ? options->trace.cpus : NULL,
        .buffer_kib = options ? options->trace.buffer_kib : 0,
        .max_kib = options ? options->trace.buffer_kib : 0,
        .options = recording->options_set,
        .on_event = on_event,
        .on_self = on_self,
        .on_gap = on_gap,
        .ctx = recording,
    };
}

int event_recording_open(struct collector_run *run, struct choice *choice, struct event_groups *groups,
                         struct event_names *names, bool second, struct event_recording **out) {
    struct event_recording *recording = xcalloc(1, sizeof(*recording));
    recording->choice = *choice;
    *choice = (struct choice){.n = 0};
    recording->groups = groups;
    memset(recording->by_id, RECORDING_NO_EVENT, sizeof(recording->by_id));
    recording->names = names;
    recording->options = run->options;
    recording->kept = kept_new();
    events_fill(recording);
    run->drain_ms = STREAM_BUSY_MS;
    const struct stream_config config = config_of(recording, second ? "events-b" : "events");
    int error = 0;
    for (size_t i = 0; i < recording->choice.n && !recording->stream && !error; i++)
        if (!recording->choice.events[i].is_call)
            error = stream_collector_open(&config, true, run, &recording->stream);
    if (error) {
        event_recording_free(recording);
        return error;
    }
    formats_read(recording, tracing_dir(NULL, NULL));
    extras_open(recording);
    recording->flows = flows_open(&recording->choice, recording->events, tracing_dir(NULL, NULL));
    recording->sources = sources_open(&recording->choice, recording->events, names, run->options, on_call, recording);
    recording->named = RECORDING_NO_EVENT;
    recording->most_ms = SOURCES_DRAIN_MS;
    for (size_t i = 0; i < recording->choice.n; i++)
        if (sources_names(recording->sources, i))
            recording->named = (uint8_t)i;
        else if (recording->events[i].present)
            recording->most_ms = STREAM_BUSY_MS;
    *out = recording;
    return 0;
}

// ---- an interval ----

// Tasks are looked up within some 100 us, while they still run; the stream keeps its pace.
static bool drains_sources(struct event_recording *recording, struct collector_run *run) {
    uint64_t now = now_ns();
    sources_drain(recording->sources);
    run->poll_fd = sources_fd(recording->sources);
    run->drain_ms = recording->most_ms;
    if (now - recording->drained_ns < recording->most_ms * 1000000ull)
        return true;
    recording->drained_ns = now;
    return false;
}

void event_recording_drain(struct event_recording *recording, struct collector_run *run, bool all) {
    bool wakes = sources_fd(recording->sources) >= 0;
    if (wakes && drains_sources(recording, run) && !all)
        return;
    if (recording->flows)
        flows_drain(recording->flows);
    if (recording->stream)
        stream_collector_drain(recording->stream, run, recording->most_ms);
    else
        run->drain_ms = recording->most_ms;
    for (size_t i = 0; i < recording->n_pending; i++)
        event_names_find(recording->names, recording->options, recording->pending[i]);
    recording->n_pending = 0;
    if (wakes) {
        run->poll_fd = sources_fd(recording->sources);
        run->drain_ms = run->drain_ms < SOURCES_DRAIN_MS ? run->drain_ms : SOURCES_DRAIN_MS;
    }
}
