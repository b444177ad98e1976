// Opening the events of -e on each CPU, and reading them: one system call per group and CPU and frame.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/counters/user_events.h"
#include "collectors/kernel/perf/perf.h"
#include "model/mem.h"

#define READ_FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define BUSY_S 0.5 // CPU time after which a hardware event at 0 does not count

// ---- opening ----

static int counter_open(const struct perf_parsed_event *event, int cpu, int leader) {
    return perf_parsed_open(event, READ_FORMAT, -1, cpu, leader);
}

static void counters_shut(struct user_counter *counters, size_t n) {
    for (size_t i = n; i-- > 0;) { // members before their leader
        if (counters[i].fd >= 0)
            close(counters[i].fd);
        counters[i].fd = -1;
    }
}

// Whether an event refused as a member opens alone: then the kernel refuses the group, not the event.
static bool opens_alone(const struct perf_parsed_event *event, int cpu) {
    int fd = counter_open(event, cpu, -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

// False: a member opens only outside the group.
static bool set_open(const struct user_events *events, struct user_counter *counters, size_t n, int cpu) {
    int leader = -1;
    bool together = true;
    for (size_t i = 0; i < n; i++) {
        const struct perf_parsed_event *event = &events->spec->events[counters[i].event];
        int fd = counter_open(event, cpu, leader);
        counters[i].fd = fd < 0 ? -1 : fd;
        counters[i].error = fd < 0 ? fd : 0;
        counters[i].led = fd < 0 && leader >= 0 && opens_alone(event, cpu);
        together &= !counters[i].led;
        leader = leader < 0 && fd >= 0 ? fd : leader;
    }
    return together;
}

static void set_add(struct user_cpu *cpu, size_t first, size_t n) {
    cpu->sets[cpu->n_sets++] = (struct user_set){.first = first, .n = n};
}

// The counters from `first` on form one group of the spec.
static void group_open(struct user_events *events, int number, size_t first, size_t n) {
    struct user_cpu *cpu = &events->cpus[number];
    struct user_counter *counters = cpu->counters + first;
    if (set_open(events, counters, n, number) || !events->spec->events[counters->event].weak) {
        set_add(cpu, first, n);
        return;
    }
    counters_shut(counters, n); // a weak group: open each alone
    for (size_t i = 0; i < n; i++) {
        set_open(events, counters + i, 1, number);
        set_add(cpu, first + i, 1);
    }
}

static void cpu_close(void *context, int number) {
    struct user_events *events = context;
    struct user_cpu *cpu = &events->cpus[number];
    counters_shut(cpu->counters, cpu->n_counters);
    cpu->n_counters = cpu->n_sets = 0;
    cpu->online = false;
}

static int cpu_open(void *context, int number) {
    struct user_events *events = context;
    const struct perf_event_list *spec = events->spec;
    struct user_cpu *cpu = &events->cpus[number];
    if (!cpu->counters) {
        cpu->counters = xcalloc(spec->n + 1, sizeof *cpu->counters);
        cpu->sets = xcalloc(spec->n + 1, sizeof *cpu->sets);
    }
    for (size_t i = 0; i < spec->n; i++)
        if (perf_parsed_on_cpu(&spec->events[i], number))
            cpu->counters[cpu->n_counters++] =
                (struct user_counter){.event = i, .fd = -1, .value = NAN, .per_s = NAN, .counted_pct = NAN};
    for (size_t i = 0, n; i < cpu->n_counters; i += n) {
        unsigned group = spec->events[cpu->counters[i].event].group;
        for (n = 1; i + n < cpu->n_counters && spec->events[cpu->counters[i + n].event].group == group;)
            n++;
        group_open(events, number, i, n);
    }
    cpu->busy_user_s = cpu->busy_system_s = 0;
    cpu->user_s = cpu->system_s = NAN;
    cpu->online = true;
    return 0;
}

void user_events_open(struct user_events *events, const struct perf_event_list *spec) {
    static const struct perf_cpus_ops ops = {cpu_open, cpu_close};
    *events = (struct user_events){.spec = spec};
    perf_cpus_init(&events->set, &ops, events);
    events->n_cpus = events->set.n;
    events->cpus = xcalloc((size_t)events->n_cpus, sizeof *events->cpus);
    events->words = xcalloc(3 + spec->n, sizeof *events->words);
    perf_cpus_follow(&events->set);
}

void user_events_close(struct user_events *events) {
    perf_cpus_close(&events->set);
    for (int cpu = 0; cpu < events->n_cpus; cpu++) {
        free(events->cpus[cpu].counters);
        free(events->cpus[cpu].sets);
    }
    free(events->cpus);
    free(events->words);
    *events = (struct user_events){0};
}

// ---- reading ----

// A count over part of the time is scaled: value * enabled / running. A decreasing counter is not measured.
static void counter_take(struct user_counter *counter, uint64_t now, double scale, double share, double seconds) {
    uint64_t counted = now - counter->before;
    counter->value = counter->per_s = NAN;
    if (now >= counter->before && share > 0) {
        counter->total += counted;
        counter->value = (double)counted / share * scale;
        counter->per_s = counter->value / seconds;
    }
    counter->counted_pct = 100 * share;
}

static void set_forget(struct user_cpu *cpu, const struct user_set *set) {
    for (size_t i = set->first; i < set->first + set->n; i++)
        cpu->counters[i].value = cpu->counters[i].per_s = cpu->counters[i].counted_pct = NAN;
}

bool user_set_read(struct user_cpu *cpu, struct user_set *set, const uint64_t *words, size_t n_words,
                   const struct perf_event_list *spec) {
    size_t open = 0, at = 3;
    set_forget(cpu, set);
    for (size_t i = set->first; i < set->first + set->n; i++)
        open += cpu->counters[i].fd >= 0;
    if (n_words < 3 + open || words[0] != open)
        return false;
    uint64_t enabled = words[1] - set->enabled, running = words[2] - set->running;
    bool measured = set->has_before && words[1] > set->enabled && words[2] >= set->running;
    double share = !measured ? 0 : running >= enabled ? 1 : (double)running / (double)enabled;
    for (size_t i = set->first; i < set->first + set->n; i++) {
        struct user_counter *counter = &cpu->counters[i];
        if (counter->fd < 0)
            continue;
        if (measured)
            counter_take(counter, words[at], spec->events[counter->event].scale, share, (double)enabled / 1e9);
        counter->before = words[at++];
    }
    set->all_enabled += measured ? enabled : 0;
    set->all_running += measured ? running : 0;
    set->has_before = true;
    set->enabled = words[1];
    set->running = words[2];
    return true;
}

static bool is_hardware(const struct perf_parsed_event *event) {
    uint32_t type = event->attr.type;
    return type != PERF_TYPE_SOFTWARE && type != PERF_TYPE_TRACEPOINT && type != PERF_TYPE_BREAKPOINT && !event->target;
}

// False: its CPU went offline, or offline and online: the open counters no longer count.
static bool set_read(struct user_events *events, int number, struct user_set *set, bool *stands) {
    struct user_cpu *cpu = &events->cpus[number];
    size_t leader = set->first;
    while (leader < set->first + set->n && cpu->counters[leader].fd < 0)
        leader++;
    if (leader == set->first + set->n)
        return true;
    ssize_t size = read(cpu->counters[leader].fd, events->words, (3 + events->spec->n) * sizeof *events->words);
    uint64_t enabled = set->enabled;
    bool had_before = set->has_before, good = size >= (ssize_t)(3 * sizeof *events->words);
    good = good && user_set_read(cpu, set, events->words, (size_t)size / sizeof *events->words, events->spec);
    if (!good) // EOF: a pinned group in error state, or an offline CPU
        set_forget(cpu, set);
    for (size_t i = leader; i < set->first + set->n; i++)
        *stands |= cpu->counters[i].fd >= 0 && !cpu->counters[i].total &&
                   is_hardware(&events->spec->events[cpu->counters[i].event]);
    return !good || !had_before || set->enabled > enabled;
}

// CPU busy time from /proc/stat; read only while a hardware event is at 0.
static void busy_look(struct user_events *events) {
    FILE *in = fopen("/proc/stat", "re");
    char line[512];
    double tick = (double)sysconf(_SC_CLK_TCK);
    while (in && fgets(line, sizeof line, in)) {
        unsigned long long user, nice, system, idle, iowait, irq, softirq;
        int number;
        if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu", &number, &user, &nice, &system, &idle, &iowait,
                   &irq, &softirq) != 8 ||
            number < 0 || number >= events->n_cpus)
            continue;
        struct user_cpu *cpu = &events->cpus[number];
        double in_user = (double)(user + nice) / tick, in_system = (double)(system + irq + softirq) / tick;
        if (in_user >= cpu->user_s) // false for NAN
            cpu->busy_user_s += in_user - cpu->user_s;
        if (in_system >= cpu->system_s)
            cpu->busy_system_s += in_system - cpu->system_s;
        cpu->user_s = in_user;
        cpu->system_s = in_system;
    }
    if (in)
        fclose(in);
}

void user_events_read(struct user_events *events) {
    bool stands = false;
    perf_cpus_follow(&events->set);
    for (int number = 0; number < events->n_cpus; number++) {
        struct user_cpu *cpu = &events->cpus[number];
        bool alive = true;
        for (size_t i = 0; cpu->online && i < cpu->n_sets; i++)
            alive &= set_read(events, number, &cpu->sets[i], &stands);
        if (cpu->online && !alive)
            perf_cpus_reopen(&events->set, number);
    }
    if (stands)
        busy_look(events);
}

// ---- states ----

const char *user_state_name(enum user_state state) {
    static const char *const names[] = {"starts", "counts", "shared", "no turn", "stays 0", "refused"};
    return names[state];
}

enum user_state user_counter_state(const struct user_events *events, const struct user_cpu *cpu,
                                   const struct user_set *set, const struct user_counter *counter) {
    const struct perf_parsed_event *event = &events->spec->events[counter->event];
    double busy =
        (event->attr.exclude_user ? 0 : cpu->busy_user_s) + (event->attr.exclude_kernel ? 0 : cpu->busy_system_s);
    if (counter->fd < 0)
        return USER_REFUSED;
    if (set->all_enabled && !set->all_running)
        return USER_NO_TURN;
    if (isnan(counter->counted_pct))
        return set->all_enabled ? USER_NO_TURN : USER_WAITS;
    if (counter->counted_pct == 0)
        return USER_NO_TURN;
    if (is_hardware(event) && !counter->total && busy > BUSY_S)
        return USER_STAYS_0;
    return counter->counted_pct < 99.95 ? USER_SHARED : USER_COUNTS;
}
