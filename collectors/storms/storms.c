// The collector "storms": which process causes a high rate of interrupts, packets, system calls, signals, waits for
// locks of the kernel, forks, direct compactions or reclaims, connections or resets, or whose calls fail for a full
// disk. Counters of other collectors say that there may be a storm; only then a BPF program counts the events by
// process, for WINDOW_MS every few seconds. It costs about 0.1 us per event, and nothing in between.
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/storms/storms.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define WINDOW_MS 150
#define REST_NS 3500000000ull // between windows
#define KEYS_MAX 2048
#define WAITS_MAX 16384             // threads that wait at once
#define HOLD_NS 2500000000ull       // rates near the threshold
#define TIME_WAIT_NS 60000000000ull // for that long a connection keeps its local port, TCP_TIMEWAIT_LEN
#define ROWS_MAX 4                  // of each kind
#define IPI_LEAST 3000
#define TIMER_LEAST 3000 // of one CPU; its tick is at most 1,000
#define SOFTIRQ_PCT 25   // of one CPU
#define SYSTEM_PCT 10    // of one CPU
#define FLUSHES_LEAST 20
#define FORKS_LEAST 200
#define COMPACTIONS_LEAST 10
#define STALLED_PCT 4 // PSI memory some
#define CONNECTS_LEAST 20
#define RESETS_LEAST 50
#define FULL_KIB 1024        // left: some file systems keep a little
#define SIZE_LEAST_KIB 16384 // a tmpfs for a single file is always full
#define TLB_REMOTE_SEND_IPI 4

const struct storm_source storm_sources[STORMS] = {
    [STORM_TLB] = {.name = "tlb_shootdowns",
                   .tracepoint = "tlb_flush",
                   .has_value = true,
                   .value = TLB_REMOTE_SEND_IPI},
    // To one CPU, and to several at once (Linux 6.4).
    [STORM_IPI] = {.name = "function_calls", .tracepoint = "ipi_send_cpu", .also = "ipi_send_cpumask"},
    [STORM_TIMER] = {.name = "timers", .tracepoint = "hrtimer_start"},
    [STORM_PACKET] = {.name = "packets", .tracepoint = "net_dev_queue"},
    [STORM_CALL] = {.name = "calls", .tracepoint = "sys_exit", .detail = DETAIL_RESULT},
    [STORM_SIGNAL] = {.name = "signals", .tracepoint = "signal_generate", .detail = DETAIL_SIGNAL},
    [STORM_LOCK] = {.name = "kernel_locks", .tracepoint = "contention_end", .detail = DETAIL_LOCK}, // Linux 5.19
    [STORM_SYNC] = {.name = "syncs", .tracepoint = "sys_exit", .detail = DETAIL_SYNC},
    [STORM_FORK] = {.name = "forks", .tracepoint = "sched_process_fork"},
    // Once for each allocation that enters direct compaction; kcompactd does not get there.
    [STORM_COMPACTION] = {.name = "compactions",
                          .tracepoint = "mm_compaction_try_to_compact_pages",
                          .detail = DETAIL_ORDER},
    [STORM_RECLAIM] = {.name = "reclaims", .tracepoint = "mm_vmscan_direct_reclaim_begin"},
    [STORM_LIMIT_RECLAIM] = {.name = "limit_reclaims", .tracepoint = "mm_vmscan_memcg_reclaim_begin"},
    // The new state of a TCP socket; also if no local port is left.
    [STORM_CONNECT] = {.name = "connects",
                       .tracepoint = "inet_sock_set_state",
                       .has_value = true,
                       .argument = 2,
                       .value = TCP_SYN_SENT},
    // Without a packet that causes it: a process closes its socket.
    [STORM_RESET] = {.name = "resets", .tracepoint = "tcp_send_reset", .has_value = true, .argument = 1, .value = 0},
    [STORM_NO_SPACE] = {.name = "no_space", .tracepoint = "sys_exit", .detail = DETAIL_NO_SPACE},
};

enum { WHAT, PID, COMM, DETAIL, ERROR, RATE, ALL, WAITING, COLUMNS };

static const struct column columns[COLUMNS] = {
    [WHAT] = TEXT_COLUMN(
        "what", "WHAT", 14,
        .help = "tlb_shootdowns, function_calls (interrupts between CPUs), timers, packets (sent), "
                "calls (system calls), signals, kernel_locks (waits for one), syncs (fsync), forks (processes and "
                "threads created), compactions (direct ones), reclaims (direct ones), limit_reclaims (of its "
                "cgroup), connects (TCP connections begun), resets (TCP connections that the process resets) or "
                "no_space (calls that fail with ENOSPC)."),
    [PID] = COLUMN_PID(.help = "The process that causes them."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [DETAIL] = TEXT_COLUMN("detail", "DETAIL", 12,
                           .help = "The system call, the signal, the type of lock, or the order of the allocation."),
    [ERROR] = TEXT_COLUMN("error", "ERROR", 12, .help = "The error of those calls; none: they succeed."),
    [RATE] = COLUMN_PER_S(.help = "Events of the process per second, with that detail."),
    [ALL] = NUMBER_COLUMN("all_per_s", "ALL/s", UNIT_PER_S, 8, .help = "Events of all processes per second."),
    [WAITING] = NUMBER_COLUMN("waiting", "WAITING", UNIT_COUNT, 7,
                              .help = "Threads of the process that wait for locks of that type, on average."),
};

static const struct table_def storms_table = {
    .name = "storms",
    .help = "Processes that cause most events of a kind, while counters show a high rate of them.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 4,
    .rows = ROWS_OF_INTERVAL,
};

struct counted {
    struct storm_key key;
    double per_s, waiting; // waiting: seconds per second
};

struct storm {
    int map, program, link;               // -1: none
    int waits, wait_program;              // the begin of waits for locks; -1: none
    int second_link;                      // of that program, or to the second tracepoint; -1: none
    bool missing;                         // the kernel does not have the tracepoint, or does not allow it
    uint64_t begin_ns, due_ns, likely_ns; // of the window; of the next one; when the counters last pointed to a storm
    struct counted top[ROWS_MAX];
    size_t n;
    double all_per_s;
};

struct storms {
    struct table_builder *builder;
    struct bpf_code code;
    struct storm storms[STORMS];
};

// ---- when ----

static double series_of(const struct section *system, const char *name) {
    for (size_t i = 0; system && i < section_n_series(system); i++) {
        const struct series_def *def;
        double value = section_series_at(system, i, &def);
        if (!strcmp(def->name, name))
            return value;
    }
    return NAN;
}

// The sum over all CPUs, or the largest one, of the rows with that name in the first column; name NULL: of all rows.
static double rows_value(const struct section *section, const char *table, const char *name, const char *column,
                         bool sum) {
    const struct table *rows = section ? section_find_table(section, table) : NULL;
    int at = rows ? table_column(table_def(rows), column) : -1;
    double value = 0;
    size_t cursor = 0;
    for (const union cell *row; at >= 0 && (row = table_next(rows, &cursor));) {
        if ((name && strcmp(text_bytes(row[0].text), name) != 0) || isnan(row[at].num))
            continue;
        value = sum ? value + row[at].num : fmax(value, row[at].num);
    }
    return value;
}

// In one network namespace.
static double tcp_value(const struct section *system, const struct section *sockets, const char *column) {
    return fmax(rows_value(system, "tcp", NULL, column, false),
                rows_value(sockets, "network_namespaces", NULL, column, false));
}

static bool any_is_full(const struct section *filesystems) {
    const struct table *rows = filesystems ? section_find_table(filesystems, "filesystems") : NULL;
    const struct table_def *def = rows ? table_def(rows) : NULL;
    int size = def ? table_column(def, "size_kib") : -1, available = def ? table_column(def, "available_kib") : -1,
        inodes = def ? table_column(def, "inodes") : -1, left = def ? table_column(def, "inodes_free") : -1;
    size_t cursor = 0;
    for (const union cell *row; rows && (row = table_next(rows, &cursor));)
        if (row[size].num >= SIZE_LEAST_KIB &&
            (row[available].num < FULL_KIB || (row[inodes].num > 0 && row[left].num < 1)))
            return true;
    return false;
}

bool storm_is_likely(enum storm_kind kind, const struct section *const *inputs) {
    const struct section *system = inputs[STORM_OF_SYSTEM], *sockets = inputs[STORM_OF_SOCKETS];
    switch (kind) {
    case STORM_TLB:
        return rows_value(system, "interrupts", "TLB", "per_s", true) >= IPI_LEAST;
    case STORM_IPI:
        return rows_value(system, "interrupts", "CAL", "per_s", true) >= IPI_LEAST;
    case STORM_TIMER:
        return rows_value(system, "interrupts", "LOC", "per_s", false) >= TIMER_LEAST;
    case STORM_PACKET:
        return rows_value(system, "cpus", NULL, "softirq_pct", false) >= SOFTIRQ_PCT;
    case STORM_FORK:
        return series_of(system, "forks_per_s") >= FORKS_LEAST;
    case STORM_SYNC:
        return rows_value(system, "devices", NULL, "flushes_per_s", false) >= FLUSHES_LEAST;
    case STORM_COMPACTION:
        return rows_value(system, "memory", NULL, "compaction_stalls_per_s", true) >= COMPACTIONS_LEAST;
    case STORM_RECLAIM:
    case STORM_LIMIT_RECLAIM:
        return series_of(system, "memory_some_pct") >= STALLED_PCT;
    case STORM_CONNECT:
        return tcp_value(system, sockets, "active_opens_per_s") >= CONNECTS_LEAST;
    case STORM_RESET:
        return tcp_value(system, sockets, "resets_out_per_s") >= RESETS_LEAST;
    case STORM_NO_SPACE:
        return any_is_full(inputs[STORM_OF_FILESYSTEMS]);
    default:
        return series_of(system, "cpu_system_pct") * series_of(system, "cpus_online") >= SYSTEM_PCT;
    }
}

// ---- a window ----

static void storm_stop(struct storm *storm) {
    int *const fds[] = {&storm->link,  &storm->second_link,  &storm->program,
                        &storm->waits, &storm->wait_program, &storm->map};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

// Traces the begin of waits for locks. False: not on this kernel.
static bool waits_start(struct storms *storms, struct storm *storm) {
    storm->waits = bpf_map(BPF_MAP_TYPE_HASH, sizeof(struct storm_wait_key), sizeof(struct storm_wait), WAITS_MAX);
    if (storm->waits < 0)
        return false;
    storm_wait_program(&storms->code, storm->waits);
    storm->wait_program = bpf_load(&storms->code, BPF_PROG_TYPE_RAW_TRACEPOINT, "ktop_storm");
    if (storm->wait_program >= 0)
        storm->second_link = bpf_attach_raw(storm->wait_program, STORM_WAIT_BEGINS);
    return storm->second_link >= 0;
}

static void storm_start(struct storms *storms, enum storm_kind kind) {
    const struct storm_source *source = &storm_sources[kind];
    struct storm *storm = &storms->storms[kind];
    if (source->detail != DETAIL_LOCK || waits_start(storms, storm))
        storm->map = bpf_map(BPF_MAP_TYPE_HASH, sizeof(struct storm_key), sizeof(struct storm_count), KEYS_MAX);
    if (storm->map >= 0) {
        storm_program(&storms->code, source, storm->map, storm->waits);
        storm->program = bpf_load(&storms->code, BPF_PROG_TYPE_RAW_TRACEPOINT, "ktop_storm");
    }
    if (storm->program >= 0)
        storm->link = bpf_attach_raw(storm->program, source->tracepoint);
    if (storm->link >= 0 && source->also)
        storm->second_link = bpf_attach_raw(storm->program, source->also);
    storm->begin_ns = now_ns();
    storm->missing = storm->link < 0;
    if (storm->missing)
        storm_stop(storm);
}

// By the time that they wait, where it is measured, else by the number of events.
static bool is_more(const struct counted *a, const struct counted *b) {
    return a->waiting > b->waiting || (!(b->waiting > a->waiting) && a->per_s > b->per_s);
}

static void count_take(struct storm *storm, const struct counted *counted) {
    size_t at = storm->n < ROWS_MAX ? storm->n++ : ROWS_MAX - 1;
    storm->all_per_s += counted->per_s;
    if (at == ROWS_MAX - 1 && storm->top[at].key.pid && !is_more(counted, &storm->top[at]))
        return;
    for (; at && is_more(counted, &storm->top[at - 1]); at--)
        storm->top[at] = storm->top[at - 1];
    storm->top[at] = *counted;
}

// Waits that have not ended yet count up to now.
static void waits_read(const struct storm *storm, uint64_t now) {
    struct storm_wait wait;
    struct storm_wait_key of;
    for (bool more = !bpf_next_key(storm->waits, NULL, &of); more; more = !bpf_next_key(storm->waits, &of, &of)) {
        if (bpf_lookup(storm->waits, &of, &wait) || wait.begin_ns >= now)
            continue;
        struct storm_key key = {(uint32_t)(of.thread >> 32), (uint32_t)wait.flags};
        struct storm_count count = {0, 0};
        (void)bpf_lookup(storm->map, &key, &count);
        count.events++;
        count.ns += now - wait.begin_ns;
        (void)bpf_update(storm->map, &key, &count);
    }
}

static void storm_read(struct storm *storm) {
    bool waits = storm->waits >= 0;
    uint64_t now = now_ns();
    double seconds = (double)(now - storm->begin_ns) / 1e9;
    struct storm_count count;
    struct counted counted;
    close(storm->link);
    storm->link = -1;
    if (storm->second_link >= 0) { // else the list of waits changes while it is read
        close(storm->second_link);
        storm->second_link = -1;
    }
    memset(storm->top, 0, sizeof(storm->top));
    storm->n = 0;
    storm->all_per_s = 0;
    if (waits)
        waits_read(storm, now);
    for (bool more = !bpf_next_key(storm->map, NULL, &counted.key); more;
         more = !bpf_next_key(storm->map, &counted.key, &counted.key)) {
        if (bpf_lookup(storm->map, &counted.key, &count) || counted.key.pid == (uint32_t)getpid())
            continue;
        counted.per_s = (double)count.events / seconds;
        counted.waiting = waits ? (double)count.ns / 1e9 / seconds : NAN;
        count_take(storm, &counted);
    }
    storm_stop(storm);
}

// ---- the collector ----

static int storms_open(struct collector_run *run) {
    struct storms *storms = xcalloc(1, sizeof(*storms));
    run->state = storms;
    storms->builder = table_builder_new(&storms_table);
    for (size_t i = 0; i < STORMS; i++)
        storms->storms[i].map = storms->storms[i].program = storms->storms[i].link = storms->storms[i].waits =
            storms->storms[i].wait_program = storms->storms[i].second_link = -1;
    return 0;
}

static const struct text *signal_text(uint32_t number) {
    const char *name = sigabbrev_np((int)number);
    if (name)
        return text_printf("SIG%s", name);
    return (int)number >= SIGRTMIN ? text_printf("SIGRTMIN+%d", (int)number - SIGRTMIN)
                                   : text_printf("signal %u", number);
}

// Flags of contention_begin, include/trace/events/lock.h.
static const char *lock_name(uint32_t flags) {
    return flags & 1    ? "spinlock"
           : flags & 32 ? "mutex"
           : flags & 2  ? "rwsem, to read"
           : flags & 4  ? "rwsem, to write"
                        : "lock";
}

static void detail_set(struct storms *storms, uint32_t slot, const struct storm_source *source, uint32_t detail) {
    char name[32];
    if (source->detail == DETAIL_SIGNAL)
        table_builder_set_text(storms->builder, slot, DETAIL, signal_text(detail));
    if (source->detail == DETAIL_LOCK)
        table_builder_set_text(storms->builder, slot, DETAIL, text_from(lock_name(detail)));
    if (source->detail == DETAIL_ORDER)
        table_builder_set_text(storms->builder, slot, DETAIL, text_printf("order %u", detail));
    if (!storm_is_of_calls(source))
        return;
    syscalls_name(SYSCALLS_ABI_NATIVE, detail >> 16, name, sizeof(name));
    table_builder_set_text(storms->builder, slot, DETAIL, text_from(name));
    uint32_t error = detail & 0xffff;
    if (!error)
        return;
    syscalls_error_name(syscalls_is_restart(-(int64_t)error) ? EINTR : error, name, sizeof(name));
    table_builder_set_text(storms->builder, slot, ERROR, text_from(name));
}

static void rows_add(struct storms *storms, enum storm_kind kind) {
    const struct storm *storm = &storms->storms[kind];
    for (size_t i = 0; i < storm->n; i++) {
        char comm[32];
        if (proc_read_comm((int32_t)storm->top[i].key.pid, comm, sizeof(comm)))
            continue;
        uint32_t slot = table_builder_add(storms->builder);
        table_builder_set_text(storms->builder, slot, WHAT, text_from(storm_sources[kind].name));
        table_builder_set_num(storms->builder, slot, PID, storm->top[i].key.pid);
        table_builder_set_text(storms->builder, slot, COMM, text_from(comm));
        table_builder_set_num(storms->builder, slot, RATE, storm->top[i].per_s);
        table_builder_set_num(storms->builder, slot, ALL, storm->all_per_s);
        table_builder_set_num(storms->builder, slot, WAITING, storm->top[i].waiting);
        detail_set(storms, slot, &storm_sources[kind], storm->top[i].key.detail);
    }
}

static int storms_sample(struct collector_run *run, struct section *out) {
    struct storms *storms = run->state;
    uint64_t now = now_ns();
    table_builder_clear(storms->builder);
    run->drain_ms = 0;
    for (size_t i = 0; i < STORMS; i++) {
        struct storm *storm = &storms->storms[i];
        bool likely = !run->first && storm_is_likely(i, run->inputs);
        if (storm->link >= 0) // the interval is shorter than the window
            storm_read(storm);
        if (likely)
            storm->likely_ns = now;
        else if (now >= storm->likely_ns + (i == STORM_CONNECT ? TIME_WAIT_NS : HOLD_NS))
            storm->n = 0;
        if (likely && !storm->missing && now >= storm->due_ns) {
            storm_start(storms, i);
            storm->due_ns = now + REST_NS;
        }
        if (storm->link >= 0)
            run->drain_ms = WINDOW_MS;
        rows_add(storms, i);
    }
    section_table(out, table_builder_seal(storms->builder));
    section_set_state(out, SECTION_OK);
    return 0;
}

static void storms_drain(struct collector_run *run) {
    struct storms *storms = run->state;
    run->drain_ms = 0;
    for (size_t i = 0; i < STORMS; i++)
        if (storms->storms[i].link >= 0)
            storm_read(&storms->storms[i]);
}

static void storms_close(struct collector_run *run) {
    struct storms *storms = run->state;
    run->state = NULL;
    for (size_t i = 0; storms && i < STORMS; i++)
        storm_stop(&storms->storms[i]);
    if (storms)
        table_builder_free(storms->builder);
    free(storms);
}

static const struct table_def *const tables[] = {&storms_table, NULL};

const struct collector collector_storms = {
    .name = "storms",
    .help = "which process causes a high rate of interrupts, packets, system calls, signals, waits for kernel locks, "
            "forks, direct compactions or reclaims, connections or resets, or whose calls fail for a full disk: BPF, "
            "for 0.15 s every 3.5 s, only while counters show a high rate.",
    .inputs = {"system", "sockets", "filesystems"},
    .always = true,
    .tables = tables,
    .open = storms_open,
    .drain = storms_drain,
    .sample = storms_sample,
    .close = storms_close,
};
