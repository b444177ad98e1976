// The columns of the task table: the contract's, in its order, then ours. A row is written only where it differs (the
// builder sees to that), so a row of a task that did not move must come out the same in each frame: no ages, no times
// that go on.
#include "collectors/tasks/columns.h"

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
    [PID] = {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7, .ascending = true, .help = "process ID"},
    [TID] = {.name = "tid",
             .title = "TID",
             .unit = UNIT_ID,
             .width = 7,
             .ascending = true,
             .help = "thread ID; the PID in a row that stands for a whole process"},
    [PPID] = {.name = "ppid",
              .title = "PPID",
              .unit = UNIT_ID,
              .width = 7,
              .ascending = true,
              .help = "process ID of the parent"},
    [USER] = {.name = "user",
              .title = "USER",
              .type = COLUMN_TEXT,
              .width = 9,
              .ascending = true,
              .help = "effective user, from /etc/passwd; the number when it has no name there"},
    [COMM] = {.name = "comm",
              .title = "COMM",
              .type = COLUMN_TEXT,
              .width = 15,
              .ascending = true,
              .help = "the task's own name (at most 15 bytes, which it may change)"},
    [COMMAND] = {.name = "command",
                 .title = "COMMAND",
                 .type = COLUMN_TEXT,
                 .width = 32,
                 .ascending = true,
                 .help = "command line with its arguments; kernel threads in brackets"},
    [STATE] =
        {.name = "state",
         .title = "S",
         .type = COLUMN_TEXT,
         .width = 1,
         .ascending = true,
         .help =
             "R running or runnable, S sleeping, D uninterruptible wait, T stopped, t traced, Z zombie, I idle kernel "
             "thread, X ended in this interval"},
    [CPU_PCT] = {.name = "cpu_pct",
                 .title = "CPU%",
                 .unit = UNIT_PCT,
                 .width = 6,
                 .help = "CPU time in percent of one CPU: 100 is one CPU busy, 400 four"},
    [USER_PCT] = {.name = "user_pct",
                  .title = "USR%",
                  .unit = UNIT_PCT,
                  .width = 6,
                  .help = "CPU time in user mode, in percent of one CPU"},
    [SYSTEM_PCT] = {.name = "system_pct",
                    .title = "SYS%",
                    .unit = UNIT_PCT,
                    .width = 6,
                    .help = "CPU time in the kernel, in percent of one CPU"},
    [CPU] = {.name = "cpu",
             .title = "CPU",
             .unit = UNIT_ID,
             .width = 3,
             .ascending = true,
             .help = "the CPU that it ran on last"},
    [THREADS] =
        {.name = "threads", .title = "THR", .unit = UNIT_COUNT, .width = 4, .help = "number of threads of the process"},
    [RSS] = {.name = "rss_kib",
             .title = "RSS",
             .unit = UNIT_KIB,
             .width = 6,
             .help = "resident memory, shared pages included"},
    [VSIZE] = {.name = "vsize_kib", .title = "VIRT", .unit = UNIT_KIB, .width = 6, .help = "address space"},
    [MINOR_FAULTS] = {.name = "minor_faults_per_s",
                      .title = "MINF/s",
                      .unit = UNIT_PER_S,
                      .width = 7,
                      .help = "page faults that needed no I/O"},
    [MAJOR_FAULTS] = {.name = "major_faults_per_s",
                      .title = "MAJF/s",
                      .unit = UNIT_PER_S,
                      .width = 7,
                      .help = "page faults that had to wait for I/O"},
    [SWITCHES] = {.name = "context_switches_per_s",
                  .title = "CSW/s",
                  .unit = UNIT_PER_S,
                  .width = 7,
                  .help = "how often it gave up a CPU or lost it"},
    [MIGRATIONS] = {.name = "migrations_per_s",
                    .title = "MIG/s",
                    .unit = UNIT_PER_S,
                    .width = 6,
                    .help = "how often it was moved to another CPU"},
    [READ_BYTES] = {.name = "read_bytes_per_s",
                    .title = "READ/s",
                    .unit = UNIT_BYTES_PER_S,
                    .width = 7,
                    .help = "bytes that it made the disks read"},
    [WRITE_BYTES] = {.name = "write_bytes_per_s",
                     .title = "WRITE/s",
                     .unit = UNIT_BYTES_PER_S,
                     .width = 7,
                     .help = "bytes that it dirtied or wrote, to reach a disk"},
    [RUN_QUEUE] = {.name = "run_queue_us",
                   .title = "RUNQ",
                   .unit = UNIT_US,
                   .width = 7,
                   .help = "time in this interval that it could have run and waited for a CPU"},
    [CGROUP] = {.name = "cgroup",
                .title = "CGROUP",
                .type = COLUMN_TEXT,
                .width = 24,
                .ascending = true,
                .help = "control group (of the unified hierarchy; with v1 of the memory controller, or the cpu "
                        "controller's where that is another)"},
    [PRIORITY] = {.name = "priority",
                  .title = "PRI",
                  .unit = UNIT_ID,
                  .width = 4,
                  .ascending = true,
                  .help = "the kernel's priority: 20 is normal, below 0 is real time"},
    [NICE] = {.name = "nice",
              .title = "NI",
              .unit = UNIT_ID,
              .width = 3,
              .ascending = true,
              .help = "nice value, -20 to 19"},
    [STARTED] = {.name = "started_s",
                 .title = "STARTED",
                 .unit = UNIT_S,
                 .width = 10,
                 .help = "when it started, in seconds since 1970"},
    [ENDED] = {.name = "ended_s",
               .title = "ENDED",
               .unit = UNIT_S,
               .width = 10,
               .help = "when it was found ended, in seconds since 1970"},
    [EXIT] = {.name = "exit_code",
              .title = "EXIT",
              .unit = UNIT_ID,
              .width = 5,
              .help =
                  "Wait status of an ended task or a zombie: exit status times 256 plus the signal that killed it."},
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
    table_builder_set_num(builder, slot, EXIT, task->end && task->state == 'Z' ? task->end->exit_code : NAN);
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
