// Recording of probes; see the header.
#include "collectors/probes/recording.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/probes/print_format.h"
#include "collectors/probes/profile.h"
#include "collectors/probes/rate.h"
#include "model/mem.h"

#define PROFILE_MAX (256u << 10)

// ---- the event path ----

static void match(struct recording *recording, const struct probe_event *info, const struct ring_event *event,
                  int32_t tid) {
    uint64_t stack;
    if (!info->stack || event->size < info->stack + sizeof(stack))
        return;
    memcpy(&stack, event->data + info->stack, sizeof(stack));
    if (info->entry)
        pairs_enter(recording->pairs, info->pair, tid, stack);
    else
        pairs_leave(recording->pairs, info->pair, tid, stack);
}

static void on_event(void *ctx, const struct ring_event *event) {
    struct recording *recording = ctx;
    uint16_t id;
    int32_t tid;
    if (event->size < 8)
        return;
    memcpy(&id, event->data, 2);
    uint8_t index = recording->by_id[id];
    if (index == NO_EVENT) {
        if (recording->stacks)
            event_stacks_record(recording->stacks, event);
        return;
    }
    memcpy(&tid, event->data + recording->fields[index][0].offset, 4);
    if (own_threads_has(&recording->own, tid) &&
        !(event->data[EVENT_FLAGS_OFFSET] & (EVENT_FLAG_HARDIRQ | EVENT_FLAG_SOFTIRQ))) {
        if (recording->stacks)
            event_stacks_event(recording->stacks, event, tid, NULL);
        return;
    }
    const struct probe_event *info = &recording->infos[index];
    struct probe_counter *counter = &recording->counters[info->probe];
    if (info->pair != NOT_PAIRED)
        match(recording, info, event, tid);
    if (info->entry) {
        counter->entries++;
        if (recording->stacks)
            event_stacks_event(recording->stacks, event, tid, NULL);
        return;
    }
    counter->hits++;
    if (__builtin_expect(!recording->seen[tid & (IDS - 1)], 0) && recording->n_pending < PENDING_MAX) {
        recording->seen[tid & (IDS - 1)] = 1;
        recording->pending[recording->n_pending++] = tid;
    }
    struct kept *kept = recording->kept[info->probe];
    kept_put(kept, event->ts, event->cpu, info->probe, event->data, event->size);
    if (recording->stacks)
        event_stacks_event(recording->stacks, event, tid, kept);
    if (recording->set.groups) {
        const struct group_record record = {event->data, event->size, event->cpu, tid, event->ts};
        kept_last(kept)->latency_ns =
            event_groups_event(recording->set.groups, info->probe, &record, stream_clock(recording->stream));
    }
}

static void on_self(void *ctx, pid_t tid) {
    struct recording *recording = ctx;
    own_threads_add(&recording->own, tid);
}

static void on_gap(void *ctx, uint64_t until_ns) {
    struct recording *recording = ctx;
    if (recording->pairs)
        pairs_gap(recording->pairs);
    if (recording->set.groups)
        event_groups_gap(recording->set.groups, until_ns);
}

// ---- opening ----

bool recording_in_file(const struct recording *recording, size_t probe) {
    enum probe_kind kind = recording->set.probes[probe]->spec.kind;
    return kind == PROBE_USER || kind == PROBE_USDT;
}

static uint8_t event_add(struct recording *recording, size_t probe, const char *name, bool entry, bool with_stack) {
    size_t i = recording->n_events++;
    const struct probe *of = recording->set.probes[probe];
    recording->fields[i][0] = (struct format_field){.name = "common_pid"};
    const bool with_caller = !with_stack && probe_has_caller(of);
    recording->fields[i][1] = (struct format_field){.name = with_stack ? PROBE_STACK : PROBE_CALLER};
    recording->events[i] = (struct stream_event){
        .system = of->group,
        .name = name,
        .filter = entry || !*of->spec.filter ? NULL : of->spec.filter,
        .fields = recording->fields[i],
        .n_fields = with_stack || with_caller ? 2 : 1,
    };
    recording->infos[i] = (struct probe_event){.probe = (uint8_t)probe, .entry = entry, .pair = NOT_PAIRED};
    return (uint8_t)i;
}

static void events_fill(struct recording *recording) {
    uint32_t pairs = 0;
    for (size_t i = 0; i < recording->set.n; i++) {
        const struct probe *probe = recording->set.probes[i];
        struct probe_counter *counter = &recording->counters[i];
        bool paired = probe->entry[0] != '\0';
        counter->pair = paired ? pairs++ : NOT_PAIRED;
        bool recorded = !recording->set.refused[i][0];
        counter->event = recorded ? event_add(recording, i, probe->event, false, paired) : NO_EVENT;
        counter->entry = recorded && paired ? event_add(recording, i, probe->entry, true, true) : NO_EVENT;
        recording->kept[i] = kept_new();
        counter->name = text_from(probe->event);
        counter->kind = text_from(probe_kind_name(&probe->spec));
        counter->where = text_from(probe->where);
        counter->spec = text_from(probe->spec.text);
        if (recorded)
            recording->infos[counter->event].pair = counter->pair;
        if (recorded && paired)
            recording->infos[counter->entry].pair = counter->pair;
    }
    if (pairs)
        recording->pairs = pairs_new();
}

static void formats_read(struct recording *recording, const char *dir) {
    char path[512], *text = xmalloc(FORMAT_BYTES_MAX);
    for (size_t i = 0; i < recording->n_events; i++) {
        const struct stream_event *event = &recording->events[i];
        struct probe_event *info = &recording->infos[i];
        recording->by_id[event->id] = (uint8_t)i;
        if (event->n_fields > 1)
            *(strcmp(recording->fields[i][1].name, PROBE_STACK) ? &info->caller : &info->stack) =
                (uint16_t)recording->fields[i][1].offset;
        if (info->entry)
            continue;
        snprintf(path, sizeof(path), "%s/events/%s/%s/format", dir, event->system, event->name);
        long length = format_file(path, text, FORMAT_BYTES_MAX);
        if (length > 0)
            recording->counters[info->probe].format =
                event_format_new(text, print_format_clean(text, (size_t)length), event->system);
    }
    free(text);
}

// kprobe_profile, to be freed; "" where there is none.
static char *profile_read(void) {
    char path[512], *text = xmalloc(PROFILE_MAX);
    const char *where = tracing_dir(NULL, NULL);
    snprintf(path, sizeof(path), "%s/kprobe_profile", where ? where : "");
    if (!where || format_file(path, text, PROFILE_MAX) < 0)
        text[0] = '\0';
    return text;
}

static bool kernel_missed(const struct recording *recording, size_t i, const char *profile, uint64_t *missed) {
    const struct probe *probe = recording->set.probes[i];
    *missed = 0;
    return probe->spec.kind == PROBE_KERNEL && probe_profile_find(profile, probe->event, missed);
}

// The check of the rate, and hits before recording began, are in the kernel's counts.
static void kernel_begin(struct recording *recording) {
    char *profile = profile_read();
    for (size_t i = 0; i < recording->set.n; i++)
        kernel_missed(recording, i, profile, &recording->counters[i].kernel_first);
    free(profile);
}

int recording_open(struct probe_set *take_set, const char *instance, struct collector_run *run,
                   struct recording **out) {
    struct recording *recording = xcalloc(1, sizeof(*recording));
    recording->set = *take_set;
    *take_set = (struct probe_set){.n = 0};
    memset(recording->by_id, NO_EVENT, sizeof(recording->by_id));
    recording->only_pids = run->options && run->options->n_pids;
    events_fill(recording);
    const char **option = recording->options_set;
    bool in_kernel = false;
    for (size_t i = 0; i < recording->set.n; i++)
        in_kernel |= !recording_in_file(recording, i);
    if (recording->set.stacks && in_kernel) // of a file's probe it has only the way to the breakpoint
        *option++ = STACKS_OPTION;
    if (recording->set.stacks)
        *option++ = USER_STACKS_OPTION;
    const struct stream_config config = {
        .name = instance,
        .what = "probe hits",
        .events = recording->events,
        .n_events = recording->n_events,
        .budget_pct = STREAM_BUDGET_PCT,
        .high_rate = true,
        .cpus = run->options ? run->options->trace.cpus : NULL,
        .options = recording->options_set,
        .on_event = on_event,
        .on_self = on_self,
        .on_gap = on_gap,
        .ctx = recording,
    };
    int error = stream_collector_open(&config, true, run, &recording->stream);
    if (error) {
        recording_free(recording);
        return error;
    }
    formats_read(recording, tracing_dir(NULL, NULL));
    if (recording->set.stacks)
        recording->stacks = event_stacks_open(stream_instance(recording->stream), tracing_dir(NULL, NULL),
                                              stream_cpus(recording->stream));
    kernel_begin(recording);
    *out = recording;
    return 0;
}

void recording_free(struct recording *recording) {
    if (!recording)
        return;
    stream_close(recording->stream); // first: its instance holds the probes
    for (size_t i = 0; i < recording->set.n; i++) {
        struct probe_counter *counter = &recording->counters[i];
        kept_free(recording->kept[i]);
        event_format_unref(counter->format);
        text_unref(counter->name);
        text_unref(counter->kind);
        text_unref(counter->where);
        text_unref(counter->spec);
    }
    probe_set_free(&recording->set);
    event_stacks_free(recording->stacks);
    pairs_free(recording->pairs);
    free(recording);
}

// ---- an interval ----

void recording_missed(struct recording *recording, struct probe_missed out[PROBES_MAX]) {
    char *text = profile_read();
    for (size_t i = 0; i < recording->set.n; i++) {
        struct probe_counter *counter = &recording->counters[i];
        uint64_t now;
        bool known = kernel_missed(recording, i, text, &now);
        now = now > counter->kernel_first ? now - counter->kernel_first : 0;
        bool paired = counter->pair != NOT_PAIRED;
        uint64_t lost = paired ? pairs_lost(recording->pairs, counter->pair) : 0, matched = lost;
        out[i] = (struct probe_missed){
            .missed = NAN, .kernel = known ? (double)now : NAN, .missed_total = NAN, .in_flight = NAN};
        // The kernel's count has the calls of all processes.
        if (known && !recording->only_pids && now > lost)
            lost = now;
        if (paired) {
            uint64_t open = pairs_in_flight(recording->pairs, counter->pair), more = lost - matched;
            out[i].in_flight = open > more ? (double)(open - more) : 0;
        }
        if (paired || (known && !recording->only_pids))
            out[i].missed = lost > counter->lost_before ? (double)(lost - counter->lost_before) : 0;
        if (lost > counter->lost_before)
            counter->lost_before = lost;
        out[i].missed_total = isnan(out[i].missed) ? NAN : (double)lost;
    }
    free(text);
}

// Max-min fairness: the smallest ones first.
void recording_shares(const uint64_t *counts, size_t n, uint64_t most, uint64_t *shares) {
    size_t open = n;
    bool given[PROBES_MAX] = {false};
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++)
            if (!given[i] && counts[i] <= most / open) {
                shares[i] = counts[i];
                most -= counts[i];
                open--;
                given[i] = more = true;
            }
    }
    for (size_t i = 0; i < n; i++)
        if (!given[i])
            shares[i] = most / open;
}

void recording_walk(const struct recording *recording, struct recording_walk *walk) {
    uint64_t counts[PROBES_MAX] = {0}, shares[PROBES_MAX];
    size_t n = recording->set.n;
    *walk = (struct recording_walk){.left_out = 0};
    for (size_t i = 0; i < n; i++)
        counts[i] = recording->kept[i]->n;
    recording_shares(counts, n, KEPT_RECORDS, shares);
    for (size_t i = 0; i < n; i++) {
        walk->cursors[i] = counts[i] - shares[i];
        walk->left_out += counts[i];
        walk->next[i] = kept_next(recording->kept[i], &walk->cursors[i]);
    }
}

const struct kept_record *recording_next(const struct recording *recording, struct recording_walk *walk) {
    size_t first = PROBES_MAX;
    for (size_t i = 0; i < recording->set.n; i++)
        if (walk->next[i] && (first == PROBES_MAX || walk->next[i]->ts < walk->next[first]->ts))
            first = i;
    if (first == PROBES_MAX)
        return NULL;
    const struct kept_record *record = walk->next[first];
    walk->next[first] = kept_next(recording->kept[first], &walk->cursors[first]);
    walk->left_out--;
    return record;
}

static void stop(struct recording *recording, size_t i, const char *why, double per_s) {
    struct probe_counter *counter = &recording->counters[i];
    snprintf(counter->stopped, sizeof(counter->stopped), "%.0f hits/s, %s", per_s, why);
    stream_event_switch(recording->stream, counter->event, false);
    if (counter->entry != NO_EVENT)
        stream_event_switch(recording->stream, counter->entry, false);
}

void recording_bound(struct recording *recording, double seconds, double scale, bool over_budget) {
    double most = 0;
    size_t busiest = PROBES_MAX;
    for (size_t i = 0; i < recording->set.n && seconds > 0; i++) {
        struct probe_counter *counter = &recording->counters[i];
        const struct probe_spec *spec = &recording->set.probes[i]->spec;
        double per_s = (double)counter->hits * scale / seconds;
        if (counter->stopped[0] || spec->forced || isnan(per_s))
            continue;
        if (per_s > most) {
            most = per_s;
            busiest = i;
        }
        if (rate_limit_passed(&counter->high, per_s, probe_rate_most(spec)))
            stop(recording, i, "above its limit", per_s);
    }
    if (over_budget && busiest < PROBES_MAX && !recording->counters[busiest].stopped[0])
        stop(recording, busiest, "and reading took more CPU than --budget allows", most);
}
