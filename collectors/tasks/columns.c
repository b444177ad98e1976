// The columns of the task table: the contract's, in its order, then ours. A row that did not change is shared between
// frames, so the row of an idle task must be the same in each frame: no ages, no elapsed times.
#include "collectors/tasks/columns.h"

#include <math.h>
#include <unistd.h>

#include "model/columns.h"

enum {
    PID,
    TID,
    PPID,
    USER,
    COMM,
    COMMAND,
    STATE,
    CPU_PCT,
    USER_PCT,
    SYSTEM_PCT,
    CPU,
    THREADS,
    RSS,
    VSIZE,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    SWITCHES,
    MIGRATIONS,
    READ_BYTES,
    WRITE_BYTES,
    RUN_QUEUE,
    CGROUP,
    PRIORITY,
    NICE,
    STARTED,
    ENDED,
    EXIT,
    NETNS,
    COLUMNS
};

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [TID] = COLUMN_TID(.help = "Thread ID; the PID in a row of a whole process."),
    [PPID] = ID_COLUMN("ppid", "PPID", 7, .help = "Process ID of the parent."),
    [USER] =
        TEXT_COLUMN("user", "USER", 9, .help = "Effective user, from /etc/passwd; the UID if it has no name there."),
    [COMM] = COLUMN_COMM(.help = "Name of the task, at most 15 bytes; the task may change it."),
    [COMMAND] =
        TEXT_COLUMN("command", "CMDLINE", 32, .help = "Command line with arguments; kernel threads in brackets."),
    [STATE] = COLUMN_TASK_STATE(1, .help = "R running or runnable, S sleeping, D uninterruptible, T stopped, t traced, "
                                           "Z zombie, I idle kernel thread, X ended in this interval."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "CPU time in % of one CPU: 400 is four busy CPUs."),
    [USER_PCT] = COLUMN_USER_PCT(.help = "CPU time in user mode, in % of one CPU."),
    [SYSTEM_PCT] = COLUMN_SYSTEM_PCT(.help = "CPU time in the kernel, in % of one CPU."),
    [CPU] = COLUMN_CPU(.help = "CPU that it ran on last."),
    [THREADS] = COLUMN_THREADS(.help = "Threads of the process."),
    [RSS] = COLUMN_RSS_KIB(.help = "Resident memory, shared pages included."),
    [VSIZE] = COLUMN_VSIZE_KIB(.help = "Size of the address space."),
    [MINOR_FAULTS] = COLUMN_MINOR_FAULTS_PER_S(.help = "Page faults per second that needed no I/O."),
    [MAJOR_FAULTS] = COLUMN_MAJOR_FAULTS_PER_S(.help = "Page faults per second that waited for I/O."),
    [SWITCHES] = COLUMN_CONTEXT_SWITCHES_PER_S(.help = "Context switches per second, voluntary and involuntary."),
    [MIGRATIONS] = COLUMN_MIGRATIONS_PER_S(.help = "Migrations to another CPU per second."),
    [READ_BYTES] = COLUMN_READ_BYTES_PER_S(.help = "Bytes per second read from block devices for this task."),
    [WRITE_BYTES] = COLUMN_WRITE_BYTES_PER_S(.help = "Bytes per second dirtied in the page cache or written directly."),
    [RUN_QUEUE] =
        COLUMN_RUN_QUEUE_US(.merge = MERGE_SUM, .help = "Time in this interval spent runnable, waiting for a CPU."),
    [CGROUP] =
        COLUMN_CGROUP(24, .help = "cgroup v2 path; with v1 that of the memory controller, or of the cpu controller "
                                  "where it differs."),
    [PRIORITY] = COLUMN_PRIORITY(.ascending = true, .help = "Kernel priority: 20 is normal, below 0 is real time."),
    [NICE] = ID_COLUMN("nice", "NI", 3, .help = "Nice value, -20 to 19."),
    [STARTED] = NUMBER_COLUMN("started_s", "STARTED", UNIT_S, 10, .help = "Start time, in seconds since 1970."),
    [ENDED] =
        NUMBER_COLUMN("ended_s", "ENDED", UNIT_S, 10, .help = "Time when its end was seen, in seconds since 1970."),
    [EXIT] =
        NUMBER_COLUMN("exit_code", "EXIT", UNIT_ID, 5,
                      .help = "Wait status of an ended task or a zombie: exit status * 256 + signal that killed it."),
    [NETNS] = COLUMN_NETNS(.help = "Network namespace of the process, as in /proc/PID/ns/net."),
};

const struct table_def tasks_table = {
    .name = "tasks",
    .help = "Every process (or thread); those that ended in this interval are in state X, however short-lived.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

const struct task_rates task_rates_unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static double rate(uint64_t before, uint64_t now, bool have, double seconds) {
    return have && now >= before && seconds > 0 ? (double)(now - before) / seconds : NAN;
}

// Percent of one CPU; NAN: unknown.
static double cpu_share(const struct task_counters *before, const struct task_counters *now, struct task_span *span) {
    uint8_t have = before->have & now->have;
    uint64_t used = span->carry_ns;
    static double tick_ns;
    if (tick_ns == 0)
        tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    span->cpu_ns = 0;
    if ((have & HAVE_CPU) && now->cpu_ns >= before->cpu_ns)
        used += now->cpu_ns - before->cpu_ns;
    else if ((have & HAVE_TICKS) && now->utime + now->stime >= before->utime + before->stime)
        used += (uint64_t)((double)(now->utime + now->stime - before->utime - before->stime) * tick_ns);
    else
        return NAN;
    double room = span->seconds > 0 ? span->seconds * span->cpus * 1e9 : 0;
    span->cpu_ns = (double)used > room ? (uint64_t)room : used;
    span->carry_ns = used - span->cpu_ns;
    return span->seconds > 0 ? (double)span->cpu_ns / span->seconds / 1e7 : NAN;
}

struct task_rates task_rates_between(const struct task_counters *before, const struct task_counters *now,
                                     struct task_span *span) {
    struct task_rates r;
    uint8_t have = before->have & now->have;
    double seconds = span->seconds;
    r.cpu_pct = cpu_share(before, now, span);
    // The kernel splits user and system time by ticks only: use their ratio in this interval, or over the task's life.
    double user = (double)now->utime, all = user + (double)now->stime;
    if (have & HAVE_TICKS && now->utime >= before->utime && now->stime >= before->stime &&
        now->utime + now->stime > before->utime + before->stime) {
        user -= (double)before->utime;
        all -= (double)(before->utime + before->stime);
    }
    bool split = all > 0 || r.cpu_pct == 0;
    r.user_pct = split ? (all > 0 ? r.cpu_pct * user / all : 0) : NAN;
    r.system_pct = split ? r.cpu_pct - r.user_pct : NAN;
    r.minor_faults = rate(before->minflt, now->minflt, have & HAVE_FAULTS, seconds);
    r.major_faults = rate(before->majflt, now->majflt, have & HAVE_FAULTS, seconds);
    r.switches = rate(before->switches, now->switches, have & HAVE_SWITCHES, seconds);
    r.migrations = rate(before->migrations, now->migrations, have & HAVE_MIGRATIONS, seconds);
    r.read_bytes = rate(before->read_bytes, now->read_bytes, have & HAVE_IO, seconds);
    r.write_bytes = rate(before->write_bytes, now->write_bytes, have & HAVE_IO, seconds);
    r.run_queue_us = rate(before->run_delay_ns, now->run_delay_ns, have & HAVE_DELAY, 1000.0);
    return r;
}

static const struct text *state_text(char state) {
    static const struct text *states[128];
    unsigned i = (unsigned char)state & 127;
    if (!states[i])
        states[i] = text_new(&state, 1);
    return text_ref(states[i]);
}

static void set_name(struct table_builder *builder, uint32_t slot, uint16_t column, const struct name *name) {
    const struct text *text = name ? name->text : NULL;
    if (table_builder_row(builder, slot)[column].text != text)
        table_builder_set_text(builder, slot, column, text_ref(text));
}

void tasks_row_stat(struct table_builder *builder, const struct task *task, const struct task_stat *stat,
                    uint64_t boot_s) {
    static double page_kib, hz;
    if (page_kib == 0) {
        page_kib = (double)sysconf(_SC_PAGESIZE) / 1024;
        hz = (double)sysconf(_SC_CLK_TCK);
    }
    uint32_t slot = task->slot;
    table_builder_set_num(builder, slot, PID, task->pid);
    table_builder_set_num(builder, slot, TID, task->tid);
    table_builder_set_num(builder, slot, PPID, task->ppid);
    table_builder_set_text(builder, slot, STATE, state_text(task->state));
    table_builder_set_num(builder, slot, CPU, stat->cpu);
    table_builder_set_num(builder, slot, THREADS, stat->threads);
    table_builder_set_num(builder, slot, RSS, (double)stat->rss * page_kib);
    table_builder_set_num(builder, slot, VSIZE, (double)(stat->vsize / 1024));
    table_builder_set_num(builder, slot, PRIORITY, stat->priority);
    table_builder_set_num(builder, slot, NICE, stat->nice);
    table_builder_set_num(builder, slot, STARTED, (double)boot_s + (double)stat->start / hz);
    table_builder_set_num(builder, slot, EXIT, task->end && task->state == 'Z' ? task->end->exit_code : NAN);
}

void tasks_row_names(struct table_builder *builder, const struct task *task) {
    set_name(builder, task->slot, COMM, task->comm);
    set_name(builder, task->slot, COMMAND, task->command);
    set_name(builder, task->slot, USER, task->user);
    set_name(builder, task->slot, CGROUP, task->cgroup);
    set_name(builder, task->slot, NETNS, task->netns);
}

void tasks_row_rates(struct table_builder *builder, const struct task *task, const struct task_rates *rates) {
    const struct {
        uint16_t column;
        double value;
    } cells[] = {
        {CPU_PCT, rates->cpu_pct},           {USER_PCT, rates->user_pct},         {SYSTEM_PCT, rates->system_pct},
        {MINOR_FAULTS, rates->minor_faults}, {MAJOR_FAULTS, rates->major_faults}, {SWITCHES, rates->switches},
        {MIGRATIONS, rates->migrations},     {READ_BYTES, rates->read_bytes},     {WRITE_BYTES, rates->write_bytes},
        {RUN_QUEUE, rates->run_queue_us},
    };
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
        table_builder_set_num(builder, task->slot, cells[i].column, cells[i].value);
}

void tasks_row_ended(struct table_builder *builder, const struct task *task, uint64_t ended_s) {
    uint32_t slot = task->slot;
    table_builder_set_num(builder, slot, PID, task->pid);
    table_builder_set_num(builder, slot, TID, task->tid);
    if (task->ppid)
        table_builder_set_num(builder, slot, PPID, task->ppid);
    table_builder_set_text(builder, slot, STATE, state_text('X'));
    table_builder_set_num(builder, slot, RSS, 0);
    table_builder_set_num(builder, slot, VSIZE, 0);
    table_builder_set_num(builder, slot, ENDED, (double)ended_s);
    if (!task->end)
        return;
    table_builder_set_num(builder, slot, EXIT, task->end->exit_code);
    if (!task->start)
        table_builder_set_num(builder, slot, STARTED, (double)task->end->begin_s);
}
