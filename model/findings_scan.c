// What rules look through a frame with: values by the contract's names, and who does most of what.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/findings_private.h"
#include "model/mem.h"

#define KTHREADD 2 // parent of the kernel's threads, and of no other
#define BRIEF_S 10 // who may live less than that is gone before anybody has looked it up

// The section that has it; what stood in the frame before already is no news for an event.
static bool is_news(const struct scan *scan, const struct frame *frame, uint16_t i) {
    return !scan->rule || !scan->rule->at_once || !frame->repeated[i];
}

static double series_of(const struct scan *scan, const struct frame *frame, const char *name) {
    for (uint16_t i = 0; i < frame->n_sections; i++)
        for (size_t s = 0, n = section_n_series(frame->sections[i]); s < n; s++) {
            const struct series_def *def;
            double value = section_series_at(frame->sections[i], s, &def);
            if (!strcmp(def->name, name))
                return is_news(scan, frame, i) ? value : NAN;
        }
    return NAN;
}

double scan_series(const struct scan *scan, const char *name) {
    return series_of(scan, scan->frame, name);
}

double scan_series_before(const struct scan *scan, const char *name) {
    return scan->previous ? series_of(scan, scan->previous, name) : NAN;
}

const struct table *scan_table(const struct scan *scan, const char *name) {
    const struct frame *frame = scan->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct table *table = section_find_table(frame->sections[i], name);
        if (table)
            return is_news(scan, frame, i) && table_rows(table) ? table : NULL;
    }
    return NULL;
}

double scan_num(const union cell *row, int column) {
    return column < 0 ? NAN : row[column].num;
}

const struct text *scan_text(const union cell *row, int column) {
    return column < 0 ? NULL : row[column].text;
}

const char *scan_show(struct scan *scan, enum unit unit, double value) {
    char *out = scan->shown[scan->n_shown++ % 8];
    unit_format(unit, value, out, sizeof(scan->shown[0]));
    return out;
}

const char *scan_name(struct scan *scan, const struct culprit *who, char *out, size_t size) {
    (void)scan;
    if (isnan(who->pid) && !who->comm)
        snprintf(out, size, "nobody in particular");
    else if (isnan(who->pid))
        snprintf(out, size, "%s", text_bytes(who->comm));
    else
        snprintf(out, size, "%s (pid %.0f)", who->comm ? text_bytes(who->comm) : "?", who->pid);
    return out;
}

const char *scan_realtime(double priority, char *out, size_t size) {
    // 20 and around it is fair, -1 minus the priority of sched_setscheduler(2) real time, -101 a deadline.
    if (!(priority < 0))
        out[0] = 0;
    else if (priority <= -101)
        snprintf(out, size, ", as a deadline task (SCHED_DEADLINE)");
    else
        snprintf(out, size, ", at real-time priority %.0f (SCHED_FIFO or SCHED_RR)", -1 - priority);
    return out;
}

bool scan_level(double value, double warning, double critical, enum severity *severity) {
    if (isnan(value) || value < warning)
        return false;
    *severity = value >= critical ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    return true;
}

// ---- sums by name or by PID ----

struct group {
    const struct text *name; // by name
    double pid;              // by PID, or of the heaviest of the name
    double sum, most;
    uint32_t n;
    const struct text *comm;
    double priority;   // of the heaviest
    bool fresh, ended; // the heaviest
};

// All of them, as they came: whoever has most may be the last of thousands.
struct groups {
    bool by_name;
    struct group *at;
    size_t n, room;
    uint32_t *slots; // room * 2, open addressing: which of `at`, plus 1
};

static size_t group_hash(const struct groups *groups, const struct text *name, double pid) {
    uint64_t hash = 0;
    if (!groups->by_name)
        return isnan(pid) ? 0 : (size_t)(((uint64_t)pid * 0x9e3779b97f4a7c15ull) >> 32);
    for (size_t i = 0; i < text_length(name); i++)
        hash = (hash ^ (uint8_t)text_bytes(name)[i]) * 0x100000001b3ull;
    return (size_t)(hash ^ (hash >> 32));
}

static bool group_is(const struct groups *groups, const struct group *group, const struct text *name, double pid) {
    if (groups->by_name)
        return !text_compare(group->name, name);
    return group->pid == pid || (isnan(group->pid) && isnan(pid));
}

// The slot that names the group, or the free one for it.
static uint32_t *group_slot(const struct groups *groups, const struct text *name, double pid) {
    size_t mask = groups->room * 2 - 1, i = group_hash(groups, name, pid) & mask;
    while (groups->slots[i] && !group_is(groups, &groups->at[groups->slots[i] - 1], name, pid))
        i = (i + 1) & mask;
    return &groups->slots[i];
}

static void groups_grow(struct groups *groups) {
    groups->room = groups->room ? groups->room * 2 : 64;
    groups->at = xrealloc(groups->at, groups->room * sizeof(*groups->at));
    free(groups->slots);
    groups->slots = xcalloc(groups->room * 2, sizeof(*groups->slots));
    for (size_t i = 0; i < groups->n; i++)
        *group_slot(groups, groups->at[i].name, groups->at[i].pid) = (uint32_t)i + 1;
}

static void groups_clear(struct groups *groups) {
    free(groups->at);
    free(groups->slots);
}

static struct group *groups_add(struct groups *groups, const struct text *comm, double pid, double value) {
    if (groups->n == groups->room)
        groups_grow(groups);
    uint32_t *slot = group_slot(groups, comm, pid);
    if (!*slot) {
        groups->at[groups->n++] = (struct group){.name = comm, .pid = pid, .most = -1, .comm = comm, .priority = NAN};
        *slot = (uint32_t)groups->n;
    }
    struct group *group = &groups->at[*slot - 1];
    group->sum += value;
    group->n++;
    if (value > group->most) {
        group->most = value;
        group->pid = pid;
        group->comm = comm;
    }
    return group;
}

static struct top groups_top(const struct groups *groups) {
    struct top top = {.value = NAN, .who = NOBODY};
    for (size_t i = 0; i < groups->n; i++) {
        const struct group *group = &groups->at[i];
        if (isnan(top.value) || group->sum > top.sum)
            top = (struct top){.value = group->most,
                               .sum = group->sum,
                               .n = group->n,
                               .who = {group->pid, group->comm, NULL},
                               .priority = group->priority,
                               .brief = group->ended || (group->n > 1 && group->fresh)};
    }
    return top;
}

// ---- tasks ----

struct task_columns {
    int pid, ppid, comm, state, cpu, system, rss, faults, read, write, started, ended, priority;
};

static struct task_columns task_columns(const struct table_def *def) {
    return (struct task_columns){
        .pid = table_column(def, "pid"),
        .ppid = table_column(def, "ppid"),
        .comm = table_column(def, "comm"),
        .state = table_column(def, "state"),
        .cpu = table_column(def, "cpu_pct"),
        .system = table_column(def, "system_pct"),
        .rss = table_column(def, "rss_kib"),
        .faults = table_column(def, "major_faults_per_s"),
        .read = table_column(def, "read_bytes_per_s"),
        .write = table_column(def, "write_bytes_per_s"),
        .started = table_column(def, "started_s"),
        .ended = table_column(def, "ended_s"),
        .priority = table_column(def, "priority"),
    };
}

static void top_offer(struct top *top, double value, const struct culprit *who) {
    if (value > 0 && !(value <= top->value)) // a top of NAN loses to anything
        *top = (struct top){.value = value, .sum = value, .n = 1, .who = *who, .priority = NAN};
}

static double add_measured(double a, double b) {
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

const union cell *scan_task(const struct table *tasks, double pid) {
    int column = tasks ? table_column(table_def(tasks), "pid") : -1;
    const union cell *row = NULL;
    for (size_t cursor = 0; column >= 0 && (row = table_next(tasks, &cursor)) && scan_num(row, column) != pid;)
        ;
    return row;
}

// The name of a PID; a second, short walk, made only for the parents of zombies and of storms.
static const struct text *comm_of(const struct table *table, const struct task_columns *at, double pid) {
    const union cell *row = scan_task(table, pid);
    return row ? scan_text(row, at->comm) : NULL;
}

struct task_groups {
    struct groups cpu, zombies, ended;
    bool program_waits; // uninterruptibly
};

static void task_take_cpu(struct task_summary *tasks, struct groups *groups, const struct task_columns *at,
                          const union cell *row, double wall_s) {
    struct culprit who = {scan_num(row, at->pid), scan_text(row, at->comm), NULL};
    double cpu = scan_num(row, at->cpu), priority = scan_num(row, at->priority);
    struct group *group = groups_add(groups, who.comm, who.pid, cpu);
    if (group->pid == who.pid) {
        group->priority = priority;
        group->fresh = wall_s - scan_num(row, at->started) < BRIEF_S;
        group->ended = !isnan(scan_num(row, at->ended));
    }
    // 95 %: a CPU to itself, less what the timer and other tasks take; to a real-time task the kernel gives no more.
    if (cpu >= (priority < 0 ? 90 : 95) && tasks->n_hot < SCAN_HOT) {
        tasks->hot[tasks->n_hot].cpu_pct = cpu;
        tasks->hot[tasks->n_hot].system_pct = scan_num(row, at->system);
        tasks->hot[tasks->n_hot].priority = priority;
        tasks->hot[tasks->n_hot++].who = who;
    }
}

static void task_take(struct task_summary *tasks, struct task_groups *groups, const struct task_columns *at,
                      const union cell *row, double wall_s) {
    struct culprit who = {scan_num(row, at->pid), scan_text(row, at->comm), NULL};
    double ppid = scan_num(row, at->ppid);
    char state = text_bytes(scan_text(row, at->state))[0];
    // Below 1 % it is not who saturates anything.
    if (scan_num(row, at->cpu) >= 1)
        task_take_cpu(tasks, &groups->cpu, at, row, wall_s);
    top_offer(&tasks->rss, scan_num(row, at->rss), &who);
    top_offer(&tasks->faults, scan_num(row, at->faults), &who);
    top_offer(&tasks->io, add_measured(scan_num(row, at->read), scan_num(row, at->write)), &who);
    if (state == 'D') {
        struct top *top = &tasks->uninterruptible;
        bool program = ppid != KTHREADD; // the kernel's threads work for others, or wait in this state for work
        if (isnan(top->value) || (program && !groups->program_waits))
            *top = (struct top){.value = isnan(top->value) ? 0 : top->value, .who = who};
        groups->program_waits |= program;
        top->value++;
    }
    if (state == 'Z')
        groups_add(&groups->zombies, who.comm, ppid, 1);
    if (state == 'X' || !isnan(scan_num(row, at->ended)))
        groups_add(&groups->ended, who.comm, ppid, 1);
}

static struct top top_parent(const struct table *table, const struct task_columns *at, const struct groups *groups) {
    struct top top = groups_top(groups);
    if (!isnan(top.value)) {
        top.value = top.sum;
        top.who.comm = comm_of(table, at, top.who.pid);
    }
    return top;
}

const struct task_summary *scan_tasks(struct scan *scan) {
    struct task_summary *tasks = &scan->tasks;
    if (tasks->done)
        return tasks;
    const struct top none = {.value = NAN, .who = NOBODY};
    *tasks = (struct task_summary){.done = true, none, none, none, none, none, none, none, {{0}}, 0};
    // Also from a late collector: on a struggling machine the names of a moment ago are better than none.
    const struct table *table = frame_table(scan->frame, "tasks");
    if (!table)
        return tasks;
    struct task_columns at = task_columns(table_def(table));
    if (at.pid < 0 || at.comm < 0)
        return tasks;
    struct task_groups groups = {.cpu = {.by_name = true}};
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        task_take(tasks, &groups, &at, row, (double)scan->frame->wall.tv_sec);
    tasks->cpu = groups_top(&groups.cpu);
    tasks->zombies = top_parent(table, &at, &groups.zombies);
    tasks->ended = top_parent(table, &at, &groups.ended);
    groups_clear(&groups.cpu);
    groups_clear(&groups.zombies);
    groups_clear(&groups.ended);
    return tasks;
}

// The disks' own account of who does what, also when it is empty; NULL: not measured. (The table of the same name of
// the system calls lacks ios_per_s.)
static const struct table *io_table(const struct scan *scan) {
    for (uint16_t i = 0; i < scan->frame->n_sections; i++) {
        const struct table *table = section_find_table(scan->frame->sections[i], "by_process");
        if (table && table_column(table_def(table), "ios_per_s") >= 0)
            return table;
    }
    return NULL;
}

static struct top io_top(const struct table *table, const struct text *device, bool writes) {
    struct groups groups = {.n = 0};
    const struct table_def *def = table_def(table);
    int bytes = table_column(def, "bytes_per_s"), ios = table_column(def, "ios_per_s"),
        on = table_column(def, "device"), op = table_column(def, "op");
    int pid = table_column(def, "pid"), comm = table_column(def, "comm");
    size_t cursor = 0;
    for (const union cell *row; pid >= 0 && (row = table_next(table, &cursor));) {
        if (device && text_compare(scan_text(row, on), device))
            continue;
        if (writes && strcmp(text_bytes(scan_text(row, op)), "W") != 0)
            continue;
        // What an I/O costs a disk beside its bytes, roughly: as much as 16 KiB more.
        double load = add_measured(scan_num(row, bytes), scan_num(row, ios) * 16384);
        if (load > 0)
            groups_add(&groups, scan_text(row, comm), scan_num(row, pid), load);
    }
    struct top top = groups_top(&groups);
    groups_clear(&groups);
    return top;
}

struct top scan_io_top(struct scan *scan, const struct text *device) {
    const struct table *table = io_table(scan);
    return table ? io_top(table, device, false) : scan_tasks(scan)->io;
}

// One of the kernel's own threads, who do I/O for others: the journal's, writeback.
static bool is_kernels(const struct scan *scan, double pid) {
    const struct table *table = frame_table(scan->frame, "tasks");
    const union cell *row = scan_task(table, pid);
    return row ? scan_num(row, table_column(table_def(table), "ppid")) == KTHREADD : pid == 0;
}

// By process on that device; device NULL: by device, whose name is the top's.
static struct top io_waits(const struct table *table, const struct text *device, const double *without, size_t n) {
    const struct table_def *def = table_def(table);
    struct groups groups = {.by_name = !device};
    int waits = table_column(def, "total_us_per_s"), on = table_column(def, "device"), of = table_column(def, "pid");
    int comm = table_column(def, "comm");
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        const struct text *where = scan_text(row, on);
        double wait = scan_num(row, waits), pid = scan_num(row, of);
        bool skip = !where || !(wait > 0) || (device && text_compare(where, device));
        for (size_t i = 0; i < n && !skip; i++)
            skip = without[i] == pid;
        if (!skip)
            groups_add(&groups, device ? scan_text(row, comm) : where, pid, wait);
    }
    struct top top = groups_top(&groups);
    groups_clear(&groups);
    return top;
}

bool scan_io_waiter(struct scan *scan, struct top *top) {
    const struct table *table = io_table(scan);
    double kernels[8] = {0};
    size_t n = 0;
    *top = (struct top){.value = NAN, .who = NOBODY};
    if (!table || table_column(table_def(table), "total_us_per_s") < 0)
        return false;
    const struct top most = io_waits(table, NULL, NULL, 0);
    if (isnan(most.value))
        return true;
    const struct text *device = most.who.comm;
    const struct top first = io_waits(table, device, kernels, 0);
    struct top next = first;
    for (; n < sizeof(kernels) / sizeof(kernels[0]) && is_kernels(scan, next.who.pid); n++) {
        kernels[n] = next.who.pid;
        next = io_waits(table, device, kernels, n + 1);
    }
    *top = isnan(next.value) ? first : next;
    top->sum = most.sum;
    top->who.device = device;
    return true;
}

struct top scan_writer(const struct scan *scan, const struct text *device) {
    const struct table *table = io_table(scan);
    return table ? io_top(table, device, true) : (struct top){.value = NAN, .who = NOBODY};
}
