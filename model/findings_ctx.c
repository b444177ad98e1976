// The context of rules: values of a frame by the contract's names, and the heaviest users of each resource.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/findings_private.h"
#include "model/mem.h"

#define KTHREADD 2       // parent of all kernel threads, and of no other task
#define SHORT_LIVED_S 10 // a task of this age is gone before a user can look it up
#define TOGETHER_S 2     // the table has whole seconds

// False for an event rule if the section was in the previous frame too.
static bool is_news(const struct rule_ctx *ctx, const struct frame *frame, uint16_t i) {
    return !ctx->rule || !ctx->rule->is_event || !frame->repeated[i];
}

static double series_of(const struct rule_ctx *ctx, const struct frame *frame, const char *name) {
    for (uint16_t i = 0; i < frame->n_sections; i++)
        for (size_t s = 0, n = section_n_series(frame->sections[i]); s < n; s++) {
            const struct series_def *def;
            double value = section_series_at(frame->sections[i], s, &def);
            if (!strcmp(def->name, name))
                return is_news(ctx, frame, i) ? value : NAN;
        }
    return NAN;
}

double ctx_series(const struct rule_ctx *ctx, const char *name) {
    return series_of(ctx, ctx->frame, name);
}

double ctx_series_before(const struct rule_ctx *ctx, const char *name) {
    return ctx->previous ? series_of(ctx, ctx->previous, name) : NAN;
}

const struct table *ctx_table(const struct rule_ctx *ctx, const char *name) {
    const struct frame *frame = ctx->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct table *table = section_find_table(frame->sections[i], name);
        if (table)
            return is_news(ctx, frame, i) && table_rows(table) ? table : NULL;
    }
    return NULL;
}

double ctx_table_s(const struct rule_ctx *ctx, const char *name) {
    for (uint16_t i = 0; i < ctx->frame->n_sections; i++)
        if (section_find_table(ctx->frame->sections[i], name) && section_ns(ctx->frame->sections[i]))
            return (double)section_ns(ctx->frame->sections[i]) / 1e9;
    return ctx->interval_s;
}

double num_at(const union cell *row, int column) {
    return column < 0 ? NAN : row[column].num;
}

const struct text *text_at(const union cell *row, int column) {
    return column < 0 ? NULL : row[column].text;
}

const char *ctx_format(struct rule_ctx *ctx, enum unit unit, double value) {
    char *out = ctx->formatted[ctx->n_formatted++ % 8];
    unit_format(unit, value, out, sizeof(ctx->formatted[0]));
    return out;
}

const char *culprit_name(const struct culprit *culprit, char *out, size_t size) {
    if (isnan(culprit->pid))
        snprintf(out, size, "%s", culprit->comm ? text_bytes(culprit->comm) : "no single process");
    else
        snprintf(out, size, "%s (pid %.0f)", culprit->comm ? text_bytes(culprit->comm) : "?", culprit->pid);
    return out;
}

bool is_same_netns(const struct text *a, const struct text *b) {
    return a && b ? !text_compare(a, b) : a == b;
}

void socket_key(char *out, size_t size, const char *address, const struct text *netns) {
    snprintf(out, size, "%s%s%s", netns ? text_bytes(netns) : "", netns ? " " : "", address);
}

bool is_realtime(double priority) {
    return priority < -1 && priority > -101;
}

const char *realtime_words(double priority, char *out, size_t size) {
    // As in /proc/PID/stat: 0 to 39 fair, -2 to -100 real time (-1 minus sched_priority), -101 deadline.
    if (!(priority < 0))
        out[0] = 0;
    else if (priority <= -101)
        snprintf(out, size, ", as a SCHED_DEADLINE task");
    else
        snprintf(out, size, ", at real-time priority %.0f (SCHED_FIFO or SCHED_RR)", -1 - priority);
    return out;
}

bool is_above(double value, double warning, double critical, enum severity *severity) {
    if (isnan(value) || value < warning)
        return false;
    *severity = value >= critical ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    return true;
}

// ---- sums by name or by PID ----

struct sum {
    const struct text *name; // by name
    double pid;              // by PID; by name: of the heaviest task
    double sum, most;
    uint32_t n;
    const struct text *comm;
    double priority;        // of the heaviest task
    bool fresh, ended;      // the heaviest task
    bool some_ended;        // in this interval
    double first_s, last_s; // starts of its tasks
};

struct sums {
    bool by_name;
    struct sum *at;
    size_t n, room;
    uint32_t *slots; // room * 2, open addressing: index into `at` + 1
};

static size_t sum_hash(const struct sums *sums, const struct text *name, double pid) {
    uint64_t hash = 0;
    if (!sums->by_name)
        return isnan(pid) ? 0 : (size_t)(((uint64_t)pid * 0x9e3779b97f4a7c15ull) >> 32);
    for (size_t i = 0; i < text_length(name); i++)
        hash = (hash ^ (uint8_t)text_bytes(name)[i]) * 0x100000001b3ull;
    return (size_t)(hash ^ (hash >> 32));
}

static bool sum_is(const struct sums *sums, const struct sum *sum, const struct text *name, double pid) {
    if (sums->by_name)
        return !text_compare(sum->name, name);
    return sum->pid == pid || (isnan(sum->pid) && isnan(pid));
}

// The slot of the sum, or the free slot for it.
static uint32_t *sum_slot(const struct sums *sums, const struct text *name, double pid) {
    size_t mask = sums->room * 2 - 1, i = sum_hash(sums, name, pid) & mask;
    while (sums->slots[i] && !sum_is(sums, &sums->at[sums->slots[i] - 1], name, pid))
        i = (i + 1) & mask;
    return &sums->slots[i];
}

static void sums_grow(struct sums *sums) {
    sums->room = sums->room ? sums->room * 2 : 64;
    sums->at = xrealloc(sums->at, sums->room * sizeof(*sums->at));
    free(sums->slots);
    sums->slots = xcalloc(sums->room * 2, sizeof(*sums->slots));
    for (size_t i = 0; i < sums->n; i++)
        *sum_slot(sums, sums->at[i].name, sums->at[i].pid) = (uint32_t)i + 1;
}

static void sums_clear(struct sums *sums) {
    free(sums->at);
    free(sums->slots);
}

static struct sum *sums_add(struct sums *sums, const struct text *comm, double pid, double value) {
    if (sums->n == sums->room)
        sums_grow(sums);
    uint32_t *slot = sum_slot(sums, comm, pid);
    if (!*slot) {
        sums->at[sums->n++] =
            (struct sum){.name = comm, .pid = pid, .most = -1, .comm = comm, .priority = NAN, .first_s = INFINITY};
        *slot = (uint32_t)sums->n;
    }
    struct sum *sum = &sums->at[*slot - 1];
    sum->sum += value;
    sum->n++;
    if (value > sum->most) {
        sum->most = value;
        sum->pid = pid;
        sum->comm = comm;
    }
    return sum;
}

// Tasks of a job that exit while others start, unlike workers that were started together.
static bool in_turns(const struct sum *sum) {
    return sum->some_ended || sum->last_s - sum->first_s > TOGETHER_S;
}

static struct heaviest sums_heaviest(const struct sums *sums) {
    struct heaviest top = {.value = NAN, .culprit = NO_CULPRIT};
    for (size_t i = 0; i < sums->n; i++) {
        const struct sum *sum = &sums->at[i];
        if (isnan(top.value) || sum->sum > top.sum)
            top = (struct heaviest){.value = sum->most,
                                    .sum = sum->sum,
                                    .n = sum->n,
                                    .culprit = {sum->pid, sum->comm, NULL},
                                    .priority = sum->priority,
                                    .short_lived = sum->ended || (sum->n > 1 && sum->fresh && in_turns(sum))};
    }
    return top;
}

// ---- tasks ----

struct task_columns {
    int pid, ppid, comm, state, cpu, on_cpu, system, rss, faults, read, write, started, ended, priority;
};

static struct task_columns task_columns(const struct table_def *def) {
    return (struct task_columns){
        .pid = COL(def, tasks, pid),
        .ppid = COL(def, tasks, ppid),
        .on_cpu = COL(def, tasks, cpu),
        .comm = COL(def, tasks, comm),
        .state = COL(def, tasks, state),
        .cpu = COL(def, tasks, cpu_pct),
        .system = COL(def, tasks, system_pct),
        .rss = COL(def, tasks, rss_kib),
        .faults = COL(def, tasks, major_faults_per_s),
        .read = COL(def, tasks, read_bytes_per_s),
        .write = COL(def, tasks, write_bytes_per_s),
        .started = COL(def, tasks, started_s),
        .ended = COL(def, tasks, ended_s),
        .priority = COL(def, tasks, priority),
    };
}

static void heaviest_update(struct heaviest *top, double value, const struct culprit *culprit) {
    if (value > 0 && !(value <= top->value)) // true for a top of NAN
        *top = (struct heaviest){.value = value, .sum = value, .n = 1, .culprit = *culprit, .priority = NAN};
}

static double add_measured(double a, double b) {
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

const union cell *task_row(const struct table *tasks, double pid) {
    int column = tasks ? COL(table_def(tasks), tasks, pid) : -1;
    const union cell *row = NULL;
    for (size_t cursor = 0; column >= 0 && (row = table_next(tasks, &cursor)) && num_at(row, column) != pid;)
        ;
    return row;
}

// A linear search, made only for the parents of zombies and of fork storms.
static const struct text *comm_of(const struct table *table, const struct task_columns *at, double pid) {
    const union cell *row = task_row(table, pid);
    return row ? text_at(row, at->comm) : NULL;
}

struct task_sums {
    struct sums cpu, zombies, ended, children;
    bool program_blocked; // a task in state D that is no kernel thread
};

double ctx_stolen_pct(const struct rule_ctx *ctx, double cpu) {
    const struct table *table = ctx_table(ctx, IN(tables, cpus));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        if (num_at(row, COL(def, cpus, cpu)) == cpu)
            return fmax(0, num_at(row, COL(def, cpus, steal_pct)));
    return 0;
}

static void cpu_task_add(struct rule_ctx *ctx, struct sums *sums, const struct task_columns *at,
                         const union cell *row) {
    struct task_summary *tasks = &ctx->tasks;
    struct culprit culprit = {num_at(row, at->pid), text_at(row, at->comm), NULL};
    double cpu = num_at(row, at->cpu), priority = num_at(row, at->priority);
    struct sum *sum = sums_add(sums, culprit.comm, culprit.pid, cpu);
    double started = num_at(row, at->started);
    bool ended = !isnan(num_at(row, at->ended));
    sum->some_ended |= ended;
    sum->first_s = fmin(sum->first_s, started);
    sum->last_s = fmax(sum->last_s, started);
    if (sum->pid == culprit.pid) {
        sum->priority = priority;
        sum->fresh = (double)ctx->frame->wall.tv_sec - started < SHORT_LIVED_S;
        sum->ended = ended;
    }
    // A whole CPU, less interrupts and short wake-ups of others. Real-time throttling limits a real-time task to 95 %.
    // What the hypervisor took, it took from the task.
    double least = priority < 0 ? LIMIT(realtime_hog, cpu_pct) : LIMIT(runaway_task, cpu_pct);
    if (cpu >= least / 2 && cpu + ctx_stolen_pct(ctx, num_at(row, at->on_cpu)) >= least && tasks->n_hogs < HOGS_MAX) {
        tasks->hogs[tasks->n_hogs].cpu_pct = cpu;
        tasks->hogs[tasks->n_hogs].system_pct = num_at(row, at->system);
        tasks->hogs[tasks->n_hogs].priority = priority;
        tasks->hogs[tasks->n_hogs++].culprit = culprit;
    }
}

static void task_add(struct rule_ctx *ctx, struct task_sums *sums, const struct task_columns *at,
                     const union cell *row) {
    struct task_summary *tasks = &ctx->tasks;
    struct culprit culprit = {num_at(row, at->pid), text_at(row, at->comm), NULL};
    double ppid = num_at(row, at->ppid);
    char state = text_bytes(text_at(row, at->state))[0];
    // Below 1 % a task saturates nothing.
    if (num_at(row, at->cpu) >= 1)
        cpu_task_add(ctx, &sums->cpu, at, row);
    heaviest_update(&tasks->rss, num_at(row, at->rss), &culprit);
    heaviest_update(&tasks->faults, num_at(row, at->faults), &culprit);
    heaviest_update(&tasks->io, add_measured(num_at(row, at->read), num_at(row, at->write)), &culprit);
    if (state == 'D') {
        struct heaviest *top = &tasks->uninterruptible;
        bool program = ppid != KTHREADD; // kernel threads work for others, or are idle in this state
        if (isnan(top->value) || (program && !sums->program_blocked))
            *top = (struct heaviest){.value = isnan(top->value) ? 0 : top->value, .culprit = culprit};
        sums->program_blocked |= program;
        top->value++;
    }
    if (state == 'Z')
        sums_add(&sums->zombies, culprit.comm, ppid, 1);
    if (state == 'X' || !isnan(num_at(row, at->ended))) {
        sums_add(&sums->ended, culprit.comm, ppid, 1);
        if (num_at(row, at->cpu) > 0 && ppid > 1)
            sums_add(&sums->children, culprit.comm, ppid, num_at(row, at->cpu));
    }
}

static struct heaviest heaviest_parent(const struct table *table, const struct task_columns *at,
                                       const struct sums *sums) {
    struct heaviest top = sums_heaviest(sums);
    if (!isnan(top.value)) {
        top.value = top.sum;
        top.child = top.culprit.comm;
        top.culprit.comm = comm_of(table, at, top.culprit.pid);
    }
    return top;
}

const struct task_summary *ctx_tasks(struct rule_ctx *ctx) {
    struct task_summary *tasks = &ctx->tasks;
    if (tasks->done)
        return tasks;
    const struct heaviest none = {.value = NAN, .culprit = NO_CULPRIT};
    *tasks = (struct task_summary){.done = true,
                                   .cpu = none,
                                   .rss = none,
                                   .faults = none,
                                   .io = none,
                                   .uninterruptible = none,
                                   .zombies = none,
                                   .ended = none,
                                   .children = none};
    // Stale data as well: on an overloaded machine names of the last frame are better than none.
    const struct table *table = frame_table(ctx->frame, IN(tables, tasks));
    if (!table)
        return tasks;
    struct task_columns at = task_columns(table_def(table));
    if (at.pid < 0 || at.comm < 0)
        return tasks;
    struct task_sums sums = {.cpu = {.by_name = true}};
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        task_add(ctx, &sums, &at, row);
    tasks->cpu = sums_heaviest(&sums.cpu);
    tasks->zombies = heaviest_parent(table, &at, &sums.zombies);
    tasks->ended = heaviest_parent(table, &at, &sums.ended);
    tasks->children = heaviest_parent(table, &at, &sums.children);
    sums_clear(&sums.children);
    sums_clear(&sums.cpu);
    sums_clear(&sums.zombies);
    sums_clear(&sums.ended);
    return tasks;
}

// The I/O of each process, as the block layer sees it; NULL: not measured. Another collector may have a table of this
// name, without ios_per_s.
static const struct table *io_table(const struct rule_ctx *ctx) {
    for (uint16_t i = 0; i < ctx->frame->n_sections; i++) {
        const struct table *table = section_find_table(ctx->frame->sections[i], IN(tables, by_process));
        if (table && COL(table_def(table), by_process, ios_per_s) >= 0)
            return table;
    }
    return NULL;
}

// Kernel threads do I/O for others: the journal, writeback.
bool ctx_is_kernel_thread(const struct rule_ctx *ctx, double pid) {
    const struct table *table = frame_table(ctx->frame, IN(tables, tasks));
    const union cell *row = task_row(table, pid);
    return row ? num_at(row, COL(table_def(table), tasks, ppid)) == KTHREADD : pid == 0;
}

static struct heaviest io_top(const struct rule_ctx *ctx, const struct table *table, const struct text *device,
                              bool writes) {
    struct sums sums = {.n = 0};
    const struct table_def *def = table_def(table);
    int bytes = COL(def, by_process, bytes_per_s), ios = COL(def, by_process, ios_per_s),
        on = COL(def, by_process, device), op = COL(def, by_process, op);
    int pid = COL(def, by_process, pid), comm = COL(def, by_process, comm);
    size_t cursor = 0;
    for (const union cell *row; pid >= 0 && (row = table_next(table, &cursor));) {
        if (device && text_compare(text_at(row, on), device))
            continue;
        if (writes && (strcmp(text_bytes(text_at(row, op)), "W") != 0 || ctx_is_kernel_thread(ctx, num_at(row, pid))))
            continue;
        // The fixed cost of an I/O is about that of transferring 16 KiB.
        double load = add_measured(num_at(row, bytes), num_at(row, ios) * 16384);
        if (load > 0)
            sums_add(&sums, text_at(row, comm), num_at(row, pid), load);
    }
    struct heaviest top = sums_heaviest(&sums);
    sums_clear(&sums);
    return top;
}

struct heaviest ctx_io_heaviest(struct rule_ctx *ctx, const struct text *device) {
    const struct table *table = io_table(ctx);
    return table ? io_top(ctx, table, device, false) : ctx_tasks(ctx)->io;
}

// By process on that device, without n PIDs; device NULL: by device, whose name is the result's comm.
static struct heaviest io_waits(const struct table *table, const struct text *device, const double *without, size_t n) {
    const struct table_def *def = table_def(table);
    struct sums sums = {.by_name = !device};
    int waits = COL(def, by_process, total_us_per_s), on = COL(def, by_process, device), of = COL(def, by_process, pid);
    int comm = COL(def, by_process, comm);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        const struct text *where = text_at(row, on);
        double wait = num_at(row, waits), pid = num_at(row, of);
        bool skip = !where || !(wait > 0) || (device && text_compare(where, device));
        for (size_t i = 0; i < n && !skip; i++)
            skip = without[i] == pid;
        if (!skip)
            sums_add(&sums, device ? text_at(row, comm) : where, pid, wait);
    }
    struct heaviest top = sums_heaviest(&sums);
    sums_clear(&sums);
    return top;
}

bool ctx_io_waiter(struct rule_ctx *ctx, struct heaviest *top) {
    const struct table *table = io_table(ctx);
    double kernels[8] = {0};
    size_t n = 0;
    *top = (struct heaviest){.value = NAN, .culprit = NO_CULPRIT};
    if (!table || COL(table_def(table), by_process, total_us_per_s) < 0)
        return false;
    const struct heaviest most = io_waits(table, NULL, NULL, 0);
    if (isnan(most.value))
        return true;
    const struct text *device = most.culprit.comm;
    const struct heaviest first = io_waits(table, device, kernels, 0);
    struct heaviest next = first;
    for (; n < sizeof(kernels) / sizeof(kernels[0]) && ctx_is_kernel_thread(ctx, next.culprit.pid); n++) {
        kernels[n] = next.culprit.pid;
        next = io_waits(table, device, kernels, n + 1);
    }
    *top = isnan(next.value) ? first : next;
    top->sum = most.sum;
    top->culprit.device = device;
    return true;
}

bool ctx_program_io(struct rule_ctx *ctx, const struct text *device, struct program_io *out) {
    const struct table *table = io_table(ctx);
    const struct table_def *def = table ? table_def(table) : NULL;
    struct sums sums = {.by_name = false};
    size_t cursor = 0;
    *out = (struct program_io){0};
    if (!table || COL(def, by_process, total_us_per_s) < 0)
        return false;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        const struct text *where = text_at(row, COL(def, by_process, device)),
                          *comm = text_at(row, COL(def, by_process, comm)),
                          *op = text_at(row, COL(def, by_process, op));
        double pid = num_at(row, COL(def, by_process, pid)), ios = num_at(row, COL(def, by_process, ios_per_s)),
               wait = num_at(row, COL(def, by_process, total_us_per_s));
        if (!where || (device && text_compare(where, device)))
            continue;
        bool writeback = comm && !strncmp(text_bytes(comm), "kworker", 7);
        if (op && text_bytes(op)[0] == 'W' && ios > 0) {
            *(writeback ? &out->writeback_writes : &out->writes) += ios;
            out->write_bytes += writeback ? 0 : num_at(row, COL(def, by_process, bytes_per_s));
        }
        if (!(wait > 0) || ctx_is_kernel_thread(ctx, pid))
            continue;
        out->wait_us += wait;
        sums_add(&sums, comm, pid, wait);
    }
    struct heaviest top = sums_heaviest(&sums);
    out->most_us = isnan(top.value) ? 0 : top.sum;
    sums_clear(&sums);
    return true;
}

struct heaviest ctx_writer(const struct rule_ctx *ctx, const struct text *device) {
    const struct table *table = io_table(ctx);
    return table ? io_top(ctx, table, device, true) : (struct heaviest){.value = NAN, .culprit = NO_CULPRIT};
}

bool ctx_busy_thread(const struct rule_ctx *ctx, double pid, bool realtime, struct busy_thread_row *out) {
    const struct table *table = ctx_table(ctx, IN(tables, busy_threads));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    *out = (struct busy_thread_row){.cpu_pct = 0};
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        double pct = num_at(row, COL(def, busy_threads, cpu_pct)),
               priority = num_at(row, COL(def, busy_threads, priority));
        if (num_at(row, COL(def, busy_threads, pid)) != pid || !(pct > out->cpu_pct) ||
            (realtime && !is_realtime(priority)))
            continue;
        *out =
            (struct busy_thread_row){num_at(row, COL(def, busy_threads, tid)), num_at(row, COL(def, busy_threads, cpu)),
                                     pct, priority, text_at(row, COL(def, busy_threads, comm))};
    }
    return out->cpu_pct > 0;
}
