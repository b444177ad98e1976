// What rules look through a frame with: values by the contract's names, and who does most of what.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define NAMES_MAX 64 // different names or PIDs that are told apart in one pass; more are left out

// The section that has it; what stood in the frame before already is no news for an event.
static bool is_news(const struct scan *scan, uint16_t i) {
    return !scan->rule || !scan->rule->at_once || !scan->frame->repeated[i];
}

double scan_series(const struct scan *scan, const char *name) {
    const struct frame *frame = scan->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++)
        for (size_t s = 0, n = section_n_series(frame->sections[i]); s < n; s++) {
            const struct series_def *def;
            double value = section_series_at(frame->sections[i], s, &def);
            if (!strcmp(def->name, name))
                return is_news(scan, i) ? value : NAN;
        }
    return NAN;
}

const struct table *scan_table(const struct scan *scan, const char *name) {
    const struct frame *frame = scan->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct table *table = section_find_table(frame->sections[i], name);
        if (table)
            return is_news(scan, i) && table_rows(table) ? table : NULL;
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

bool scan_level(double value, double warning, double critical, enum severity *severity) {
    if (isnan(value) || value < warning)
        return false;
    *severity = value >= critical ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    return true;
}

// ---- sums by name or by PID, for a bounded number of either ----

struct group {
    const struct text *name; // by name
    double pid;              // by PID, or of the heaviest of the name
    double sum, most;
    uint32_t n;
    const struct text *comm;
};

struct groups {
    struct group at[NAMES_MAX];
    size_t n;
};

static void groups_add(struct groups *groups, bool by_name, const struct text *comm, double pid, double value) {
    size_t i = 0;
    while (i < groups->n && (by_name ? text_compare(groups->at[i].name, comm) != 0 : groups->at[i].pid != pid))
        i++;
    if (i == NAMES_MAX)
        return;
    struct group *group = &groups->at[i];
    if (i == groups->n) {
        groups->n++;
        *group = (struct group){.name = comm, .pid = pid, .most = -1, .comm = comm};
    }
    group->sum += value;
    group->n++;
    if (value > group->most) {
        group->most = value;
        group->pid = pid;
        group->comm = comm;
    }
}

static struct top groups_top(const struct groups *groups) {
    struct top top = {.value = NAN, .who = NOBODY};
    for (size_t i = 0; i < groups->n; i++) {
        const struct group *group = &groups->at[i];
        if (isnan(top.value) || group->sum > top.sum)
            top = (struct top){group->most, group->sum, group->n, {group->pid, group->comm, NULL}};
    }
    return top;
}

// ---- tasks ----

struct task_columns {
    int pid, ppid, comm, state, cpu, system, rss, faults, read, write, ended;
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
        .ended = table_column(def, "ended_s"),
    };
}

static void top_offer(struct top *top, double value, const struct culprit *who) {
    if (value > 0 && !(value <= top->value)) // a top of NAN loses to anything
        *top = (struct top){value, value, 1, *who};
}

static double add_measured(double a, double b) {
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

// The name of a PID; a second, short walk, made only for the parents of zombies and of storms.
static const struct text *comm_of(const struct table *table, const struct task_columns *at, double pid) {
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        if (scan_num(row, at->pid) == pid)
            return scan_text(row, at->comm);
    return NULL;
}

struct task_groups {
    struct groups cpu, zombies, ended;
};

static void task_take(struct task_summary *tasks, struct task_groups *groups, const struct task_columns *at,
                      const union cell *row) {
    struct culprit who = {scan_num(row, at->pid), scan_text(row, at->comm), NULL};
    double cpu = scan_num(row, at->cpu), ppid = scan_num(row, at->ppid);
    char state = text_bytes(scan_text(row, at->state))[0];
    // Below 1 % it is not who saturates anything, and the groups are few.
    if (cpu >= 1)
        groups_add(&groups->cpu, true, who.comm, who.pid, cpu);
    // 95 %: a CPU to itself, less what the timer and other tasks take.
    if (cpu >= 95 && tasks->n_hot < SCAN_HOT) {
        tasks->hot[tasks->n_hot].cpu_pct = cpu;
        tasks->hot[tasks->n_hot].system_pct = scan_num(row, at->system);
        tasks->hot[tasks->n_hot++].who = who;
    }
    top_offer(&tasks->rss, scan_num(row, at->rss), &who);
    top_offer(&tasks->faults, scan_num(row, at->faults), &who);
    top_offer(&tasks->io, add_measured(scan_num(row, at->read), scan_num(row, at->write)), &who);
    if (state == 'D') {
        if (isnan(tasks->uninterruptible.value))
            tasks->uninterruptible = (struct top){.value = 0, .who = who};
        tasks->uninterruptible.value++;
    }
    if (state == 'Z')
        groups_add(&groups->zombies, false, who.comm, ppid, 1);
    if (state == 'X' || !isnan(scan_num(row, at->ended)))
        groups_add(&groups->ended, false, who.comm, ppid, 1);
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
    struct task_groups groups = {0};
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        task_take(tasks, &groups, &at, row);
    tasks->cpu = groups_top(&groups.cpu);
    tasks->zombies = top_parent(table, &at, &groups.zombies);
    tasks->ended = top_parent(table, &at, &groups.ended);
    return tasks;
}

struct top scan_io_top(struct scan *scan, const struct text *device) {
    struct groups groups = {.n = 0};
    const struct table *table = scan_table(scan, "by_process");
    const struct table_def *def = table ? table_def(table) : NULL;
    int bytes = def ? table_column(def, "bytes_per_s") : -1, ios = def ? table_column(def, "ios_per_s") : -1;
    int pid = def ? table_column(def, "pid") : -1, comm = def ? table_column(def, "comm") : -1;
    int on = def ? table_column(def, "device") : -1;
    size_t cursor = 0;
    // syscalls' table of the same name lacks ios_per_s
    for (const union cell *row; ios >= 0 && pid >= 0 && (row = table_next(table, &cursor));) {
        if (device && text_compare(scan_text(row, on), device))
            continue;
        // What an I/O costs a disk beside its bytes, roughly: as much as 16 KiB more.
        double load = add_measured(scan_num(row, bytes), scan_num(row, ios) * 16384);
        if (load > 0)
            groups_add(&groups, false, scan_text(row, comm), scan_num(row, pid), load);
    }
    struct top top = groups_top(&groups);
    return isnan(top.value) ? scan_tasks(scan)->io : top;
}
