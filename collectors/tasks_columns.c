// The columns of the task table: the contract's, in its order, then ours. A row is written only where it differs (the
// builder sees to that), so a row of a task that did not move must come out the same in each frame: no ages, no times
// that go on.
#include "collectors/tasks_columns.h"

#include <math.h>
#include <unistd.h>

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
    COLUMNS
};

static const struct column columns[COLUMNS] = {
    [PID] = {"pid", "PID", "process ID", COLUMN_NUMBER, UNIT_ID, 7, true, NULL, NULL},
    [TID] = {"tid", "TID", "thread ID; the PID in a row that stands for a whole process", COLUMN_NUMBER, UNIT_ID, 7,
             true, NULL, NULL},
    [PPID] = {"ppid", "PPID", "process ID of the parent", COLUMN_NUMBER, UNIT_ID, 7, true, NULL, NULL},
    [USER] = {"user", "USER", "effective user, from /etc/passwd; the number when it has no name there", COLUMN_TEXT,
              UNIT_NONE, 9, true, NULL, NULL},
    [COMM] = {"comm", "COMM", "the task's own name (at most 15 bytes, which it may change)", COLUMN_TEXT, UNIT_NONE, 15,
              true, NULL, NULL},
    [COMMAND] = {"command", "COMMAND", "command line with its arguments; kernel threads in brackets", COLUMN_TEXT,
                 UNIT_NONE, 32, true, NULL, NULL},
    [STATE] =
        {"state", "S",
         "R running or runnable, S sleeping, D uninterruptible wait, T stopped, t traced, Z zombie, I idle kernel "
         "thread, X ended in this interval",
         COLUMN_TEXT, UNIT_NONE, 1, true, NULL, NULL},
    [CPU_PCT] = {"cpu_pct", "CPU%", "CPU time in percent of one CPU: 100 is one CPU busy, 400 four", COLUMN_NUMBER,
                 UNIT_PCT, 6, false, NULL, NULL},
    [USER_PCT] = {"user_pct", "USR%", "CPU time in user mode, in percent of one CPU", COLUMN_NUMBER, UNIT_PCT, 6, false,
                  NULL, NULL},
    [SYSTEM_PCT] = {"system_pct", "SYS%", "CPU time in the kernel, in percent of one CPU", COLUMN_NUMBER, UNIT_PCT, 6,
                    false, NULL, NULL},
    [CPU] = {"cpu", "CPU", "the CPU that it ran on last", COLUMN_NUMBER, UNIT_ID, 3, true, NULL, NULL},
    [THREADS] = {"threads", "THR", "number of threads of the process", COLUMN_NUMBER, UNIT_COUNT, 4, false, NULL, NULL},
    [RSS] = {"rss_kib", "RSS", "resident memory, shared pages included", COLUMN_NUMBER, UNIT_KIB, 6, false, NULL, NULL},
    [VSIZE] = {"vsize_kib", "VIRT", "address space", COLUMN_NUMBER, UNIT_KIB, 6, false, NULL, NULL},
    [MINOR_FAULTS] = {"minor_faults_per_s", "MINF/s", "page faults that needed no I/O", COLUMN_NUMBER, UNIT_PER_S, 7,
                      false, NULL, NULL},
    [MAJOR_FAULTS] = {"major_faults_per_s", "MAJF/s", "page faults that had to wait for I/O", COLUMN_NUMBER, UNIT_PER_S,
                      7, false, NULL, NULL},
    [SWITCHES] = {"context_switches_per_s", "CSW/s", "how often it gave up a CPU or lost it", COLUMN_NUMBER, UNIT_PER_S,
                  7, false, NULL, NULL},
    [MIGRATIONS] = {"migrations_per_s", "MIG/s", "how often it was moved to another CPU", COLUMN_NUMBER, UNIT_PER_S, 6,
                    false, NULL, NULL},
    [READ_BYTES] = {"read_bytes_per_s", "READ/s", "bytes that it made the disks read", COLUMN_NUMBER, UNIT_BYTES_PER_S,
                    7, false, NULL, NULL},
    [WRITE_BYTES] = {"write_bytes_per_s", "WRITE/s", "bytes that it dirtied or wrote, to reach a disk", COLUMN_NUMBER,
                     UNIT_BYTES_PER_S, 7, false, NULL, NULL},
    [RUN_QUEUE] = {"run_queue_us", "RUNQ", "time in this interval that it could have run and waited for a CPU",
                   COLUMN_NUMBER, UNIT_US, 7, false, NULL, NULL},
    [CGROUP] = {"cgroup", "CGROUP", "control group (of the unified hierarchy; with v1 of the memory controller)",
                COLUMN_TEXT, UNIT_NONE, 24, true, NULL, NULL},
    [PRIORITY] = {"priority", "PRI", "the kernel's priority: 20 is normal, below 0 is real time", COLUMN_NUMBER,
                  UNIT_ID, 4, true, NULL, NULL},
    [NICE] = {"nice", "NI", "nice value, -20 to 19", COLUMN_NUMBER, UNIT_ID, 3, true, NULL, NULL},
    [STARTED] = {"started_s", "STARTED", "when it started, in seconds since 1970", COLUMN_NUMBER, UNIT_S, 10, false,
                 NULL, NULL},
    [ENDED] = {"ended_s", "ENDED", "when it was found ended, in seconds since 1970", COLUMN_NUMBER, UNIT_S, 10, false,
               NULL, NULL},
    [EXIT] = {"exit_code", "EXIT", "of an ended task: exit status times 256, plus the signal that killed it",
              COLUMN_NUMBER, UNIT_ID, 5, false, NULL, NULL},
};

const struct table_def tasks_table = {
    .name = "tasks",
    .help = "Every process (or thread), and in state X the ones that ended in this interval, however short they lived.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

const struct task_rates task_rates_unknown = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static double rate(uint64_t before, uint64_t now, bool have, double seconds) {
    return have && now >= before && seconds > 0 ? (double)(now - before) / seconds : NAN;
}

// Percent of one CPU; NAN: not known.
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
    // The kernel knows user and system apart only by ticks: their share of this interval, or, when it had none, of all.
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
}

void tasks_row_names(struct table_builder *builder, const struct task *task) {
    set_name(builder, task->slot, COMM, task->comm);
    set_name(builder, task->slot, COMMAND, task->command);
    set_name(builder, task->slot, USER, task->user);
    set_name(builder, task->slot, CGROUP, task->cgroup);
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
