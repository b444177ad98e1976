// The tasks collector: a table of every process or thread, whose cost depends on the tasks that ran, not on their
// number.
//
// Tasks that did not run are not read. Switch records (switch_records.c) name the threads that ran, while the machine
// switches so rarely that the records cost less than they save (switch_budget.c). Without them, a task that did not
// move in two queries is idle, and idle tasks are queried in turn. A wake-up is detected by conservation: the CPU time
// of the host (/proc/stat) minus that of the tasks that were read and of those that ended. If time remains, all idle
// tasks are queried within the same frame, so that no busy task is missing from it.
//
// A query is taskstats over netlink in batches where that is allowed (0.9 us a task, against 3.2 us for opening,
// reading and closing stat): it gives CPU time to the nanosecond, context switches and run-queue delay of the whole
// process. Only a task whose account moved has its stat and io read. Without taskstats, schedstat has the same for
// single-threaded processes, and for the others these columns stay null.
//
// It must never read what costs without need (maps, smaps), keep a descriptor per task, or join the counters of two
// tasks that had the same PID one after the other: PID and start time together are a task.
#include "collectors/tasks/tasks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/mem.h"

#define DRAIN_MS 100
#define DRAIN_CALM_MS 350           // while the switch records are on: a ring that fills up wakes the collector before
#define SETTLE_FIRST_NS 40000000ull // names of some 3,000 tasks before the first whole section
#define SETTLE_DRAIN_NS 15000000ull
#define MISSING_NAMED 8 // processes, in a note
#define PAINT_ROWS 300  // the first rows are published at this number, or from the minimum on after PAINT_NS
#define PAINT_ROWS_MIN 64
#define PAINT_NS 5000000ull

enum { TOTAL, THREADS_TOTAL, RUNNING, UNINTERRUPTIBLE, ZOMBIES, ENDED_PER_S, SERIES };

static const struct series_def series[SERIES] = {
    [TOTAL] = {"tasks_total", "tasks", "processes", UNIT_COUNT},
    [THREADS_TOTAL] = {"threads_total", "threads", "threads of all processes, the main ones included", UNIT_COUNT},
    [RUNNING] = {"tasks_running", "running", "processes in state R when sampled", UNIT_COUNT},
    [UNINTERRUPTIBLE] = {"tasks_uninterruptible", "blocked", "processes in an uninterruptible wait (state D)",
                         UNIT_COUNT},
    [ZOMBIES] = {"tasks_zombie", "zombies", "ended processes that their parent has not waited for", UNIT_COUNT},
    [ENDED_PER_S] = {"tasks_ended_per_s", "ended/s", "processes that ended", UNIT_PER_S},
};

uint64_t tasks_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static uint64_t clock_of(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

struct tasks *tasks_new(const struct collect_options *options, const char *proc_path, bool kernel, char *reason,
                        size_t reason_size) {
    struct tasks *tasks = xcalloc(1, sizeof(*tasks));
    tasks->options = options;
    int rc = proc_open(&tasks->proc, proc_path);
    if (rc) {
        snprintf(reason, reason_size, "%s cannot be read: %s", proc_path, strerror(-rc));
        free(tasks);
        errno = -rc;
        return NULL;
    }
    tasks->names = names_new();
    names_users_refresh(tasks->names, "/etc/passwd");
    tasks->set = tasks_set_new(tasks->names);
    tasks->builder = table_builder_new(&tasks_table);
    tasks->cpus = (double)sysconf(_SC_NPROCESSORS_CONF);
    tasks->tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    tasks->boot_s = (clock_of(CLOCK_REALTIME) - clock_of(CLOCK_BOOTTIME)) / 1000000000ull;
    tasks->clock = tasks_clock;
    tasks->now_ns = tasks->clock();
    tasks->threads_wanted = options->threads;
    tasks->link_reason = "not requested";
    if (!kernel)
        return tasks;
    tasks->wants_switches = true;
    if (!taskstats_open(&tasks->link, &tasks->link_reason, &tasks->link_fix)) {
        tasks->gets_exits = !taskstats_listen(tasks->link);
        if (!tasks->gets_exits) {
            tasks->link_reason = "the kernel does not report exits";
            tasks->link_fix = "run ktop as root outside of containers";
        }
    }
    return tasks;
}

void tasks_free(struct tasks *tasks) {
    if (!tasks)
        return;
    taskstats_close(tasks->link);
    switch_records_close(tasks->switch_records);
    tasks_set_free(tasks->set);
    names_free(tasks->names);
    table_builder_free(tasks->builder);
    proc_close(&tasks->proc);
    free(tasks->unsettled.pids);
    free(tasks->fresh.pids);
    free(tasks->exited.pids);
    free(tasks->work);
    free(tasks);
}

static void host_read(struct tasks *tasks) {
    struct host_stat host = {0};
    tasks->frame_ticks = tasks->forks = 0;
    tasks->switches = -1;
    ssize_t got = proc_read(&tasks->proc, "stat");
    // On a very large machine the line of forks is past the buffer. Then there is no conservation, and idle tasks are
    // queried in turn.
    bool ok = got > 0 && !host_stat_parse(tasks->proc.buffer, (size_t)got, &host);
    if (ok && tasks->has_host) {
        tasks->frame_ticks = host.busy > tasks->host.busy ? host.busy - tasks->host.busy : 0;
        tasks->forks = host.forks - tasks->host.forks;
        if (tasks->host.switches && host.switches > tasks->host.switches)
            tasks->switches = (double)(host.switches - tasks->host.switches);
    }
    tasks->host = host;
    tasks->has_host = ok;
}

// The PIDs of --pid that do not exist: without a note, an empty list would look like idle processes.
static void note_missing(struct tasks *tasks, struct section *section) {
    char text[160] = "", path[24];
    size_t used = 0, n = 0;
    for (size_t i = 0; i < tasks->options->n_pids; i++) {
        pid_t pid = tasks->options->pids[i];
        snprintf(path, sizeof(path), "%d/stat", pid);
        if (tasks_set_find(tasks->set, pid) || proc_read(&tasks->proc, path) >= 0)
            continue;
        if (++n <= MISSING_NAMED)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", n > 1 ? ", " : "", pid);
    }
    if (n > MISSING_NAMED)
        snprintf(text + used, sizeof(text) - used, " and %zu more", n - MISSING_NAMED);
    char whole[256];
    snprintf(whole, sizeof(whole), "no process has the PID %s given by --pid", text);
    if (n)
        section_note(section, SEVERITY_WARNING, "pid", whole, "restart ktop with the PID of its successor");
}

static void section_fill(struct tasks *tasks, struct section *section, double seconds) {
    const uint64_t *n = tasks->n_state;
    section_table(section, table_builder_seal(tasks->builder));
    section_series(section, &series[TOTAL], (double)tasks->n_processes);
    section_series(section, &series[THREADS_TOTAL], (double)tasks->n_threads);
    section_series(section, &series[RUNNING], (double)n['R']);
    section_series(section, &series[UNINTERRUPTIBLE], (double)n['D']);
    section_series(section, &series[ZOMBIES], (double)n['Z']);
    section_series(section, &series[ENDED_PER_S], seconds > 0 ? (double)tasks->n_ended / seconds : NAN);
    section_events(section, tasks->seen, tasks->lost);
    note_missing(tasks, section);
    section_set_state(section, tasks->gets_exits ? SECTION_OK : SECTION_DEGRADED);
    if (!tasks->gets_exits) {
        char text[320];
        snprintf(text, sizeof(text), "tasks that begin and end within a frame are missing: %s", tasks->link_reason);
        section_note(section, SEVERITY_INFO, "state", text, tasks->link_fix);
    }
    if (!tasks->link) {
        section_note(section, SEVERITY_INFO, "context_switches_per_s",
                     "context switches of a process with several threads need the kernel's task accounting (taskstats)",
                     tasks->link_fix);
        section_note(section, SEVERITY_INFO, "run_queue_us",
                     "run-queue time of a process with several threads needs the kernel's task accounting (taskstats)",
                     tasks->link_fix);
    }
    section_note(section, SEVERITY_INFO, "migrations_per_s",
                 "migrations are counted per thread: not available for a process with several threads",
                 "press H, or use --threads");
    if (geteuid() != 0)
        section_note(section, SEVERITY_INFO, "read_bytes_per_s", "the I/O of other users' tasks is not readable",
                     "run as root, or give ktop CAP_SYS_PTRACE");
    if (tasks->lost)
        section_note(section, SEVERITY_WARNING, "state",
                     "the kernel dropped exit messages: some short-lived tasks are missing", NULL);
    if (tasks->n_ended_hidden)
        section_note(section, SEVERITY_WARNING, "state", "more tasks ended than fit in the table", NULL);
}

// Rows change between processes and threads (key H).
static void threads_toggle(struct tasks *tasks) {
    bool threads = tasks->threads_wanted;
    if (threads == tasks->threads)
        return;
    tasks->threads = threads;
    if (!threads)
        task_threads_drop(tasks, NULL);
    size_t n = 0;
    struct task **work = tasks_work(tasks, tasks->n_processes + 1);
    for (int list = TASKS_ACTIVE; list <= TASKS_IDLE; list++)
        for (size_t i = 0; i < tasks_set_count(tasks->set, list) && n < tasks->n_processes; i++) {
            struct task *task = tasks_set_at(tasks->set, list, i);
            if (!task->process && task->threads > 1)
                work[n++] = task;
        }
    for (size_t i = 0; i < n; i++) {
        if (threads && work[i]->list != TASKS_ENDED)
            task_threads_list(tasks, work[i]);
        else if (work[i]->list != TASKS_ENDED)
            task_update(tasks, work[i], NULL);
    }
}

static void fresh_look(struct tasks *tasks, struct collector_run *run) {
    uint64_t paint = tasks->now_ns + PAINT_NS;
    for (size_t i = 0; i < tasks->fresh.count; i++) {
        task_found(tasks, tasks->fresh.pids[i]);
        if (!run || !run->publish || (i != PAINT_ROWS && (i < PAINT_ROWS_MIN || i % 16 || tasks->clock() < paint)))
            continue;
        struct section *section = section_new("tasks", run->begin_ns, run->end_ns);
        section_fill(tasks, section, 0);
        run->publish(run, section);
        run = NULL;
    }
    tasks->fresh.count = 0;
}

int tasks_first(struct tasks *tasks, struct collector_run *run) {
    tasks->begin_ns = tasks->now_ns = tasks->clock();
    tasks->begin_boot_ns = clock_of(CLOCK_BOOTTIME);
    tasks->now_wall_s = (uint64_t)time(NULL);
    host_read(tasks);
    tasks->all_new = true;
    tasks->threads = tasks->threads_wanted;
    tasks_find_new(tasks, 0, true);
    fresh_look(tasks, run);
    tasks->all_new = false;
    // The first of its kind on a machine takes the kernel tens of milliseconds (it waits for all CPUs), so the first
    // rows are published before it. Switches until then are not recorded: the first frame queries all tasks.
    if (tasks->wants_switches)
        tasks_switches_start(tasks);
    tasks_settle(tasks, tasks->clock() + SETTLE_FIRST_NS);
    return tasks->n_processes || tasks->options->n_pids ? 0 : -ENOENT;
}

void tasks_drain(struct tasks *tasks) {
    tasks_switches_read(tasks);
    tasks_exits_read(tasks);
    if (tasks->unsettled.count)
        tasks_settle(tasks, tasks->clock() + SETTLE_DRAIN_NS);
}

int tasks_frame(struct tasks *tasks, uint64_t begin_ns, uint64_t end_ns) {
    uint64_t boot_ns = clock_of(CLOCK_BOOTTIME);
    tasks_forget_ended(tasks);
    tasks->frame++;
    tasks->begin_ns = begin_ns;
    tasks->now_ns = end_ns;
    tasks->begin_boot_ns = boot_ns - (tasks->clock() - begin_ns);
    tasks->now_wall_s = (uint64_t)time(NULL);
    tasks->explained_ns = 0;
    tasks->inherited_ticks = 0;
    if (tasks->frame % 16 == 0)
        names_users_refresh(tasks->names, "/etc/passwd");
    host_read(tasks);
    tasks_switches_read(tasks);
    tasks_exits_read(tasks);
    tasks_find_new(tasks, tasks->forks, false);
    tasks_exits_resolve(tasks);
    threads_toggle(tasks);
    fresh_look(tasks, NULL);
    tasks_poll_all(tasks);
    fresh_look(tasks, NULL); // PIDs that were found to be reused
    return tasks->n_processes || tasks->options->n_pids ? 0 : -ENOENT;
}

static int collector_open(struct collector_run *run) {
    struct tasks *tasks = tasks_new(run->options, "/proc", true, run->reason, sizeof(run->reason));
    if (!tasks) {
        snprintf(run->fix, sizeof(run->fix), "mount -t proc proc /proc");
        return -errno;
    }
    run->state = tasks;
    run->drain_ms = DRAIN_MS;
    return 0;
}

static void drain_plan(struct collector_run *run) {
    const struct tasks *tasks = run->state;
    bool calm = tasks->switch_records && tasks->budget.on && !tasks->unsettled.count;
    run->drain_ms = calm ? DRAIN_CALM_MS : DRAIN_MS;
    run->poll_fd = tasks->switch_records ? switch_records_fd(tasks->switch_records) : -1;
}

static void collector_drain(struct collector_run *run) {
    tasks_drain(run->state);
    drain_plan(run);
}

static int collector_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct tasks *tasks = run->state;
    tasks->threads_wanted = request->on;
    snprintf(answer->sentence, sizeof(answer->sentence), "%s", request->on ? "threads" : "processes");
    return 0;
}

static int collector_sample(struct collector_run *run, struct section *out) {
    struct tasks *tasks = run->state;
    int rc = run->first ? tasks_first(tasks, run) : tasks_frame(tasks, run->begin_ns, run->end_ns);
    if (rc) {
        snprintf(run->reason, sizeof(run->reason), "no tasks: /proc lists no process");
        snprintf(run->fix, sizeof(run->fix), "mount -t proc proc /proc");
        return rc;
    }
    section_fill(tasks, out, run->first ? 0 : (double)(run->end_ns - run->begin_ns) / 1e9);
    tasks->seen = tasks->lost = 0;
    drain_plan(run);
    return 0;
}

static void collector_close(struct collector_run *run) {
    tasks_free(run->state);
    run->state = NULL;
}

static void collector_check(struct check_report *report) {
    struct check check = {.capability = "process table"};
    struct stat st;
    check.works = !stat("/proc/self/stat", &st);
    bool hidden = check.works && stat("/proc/1", &st);
    snprintf(check.detail, sizeof(check.detail), "%s",
             !check.works ? "/proc is not mounted"
             : hidden     ? "/proc hides other users' processes (hidepid)"
                          : "every process can be read");
    snprintf(check.fix, sizeof(check.fix), "%s",
             !check.works ? "mount -t proc proc /proc"
             : hidden     ? "run as root, or in the group of the gid= mount option of /proc"
                          : "");
    report->add(report, &check);
    check = (struct check){.capability = "exits and exact CPU time (taskstats)"};
    struct taskstats_link *link;
    const char *reason, *fix;
    int rc = taskstats_open(&link, &reason, &fix);
    if (!rc && (rc = taskstats_listen(link))) {
        reason = "the kernel does not report exits";
        fix = "run ktop as root outside of containers";
    }
    taskstats_close(link);
    check.works = !rc;
    snprintf(check.detail, sizeof(check.detail), "%s", rc ? reason : "exits are reported with the task's full account");
    snprintf(check.fix, sizeof(check.fix), "%s", rc ? fix : "");
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&tasks_table, NULL};

const struct collector collector_tasks = {
    .name = "tasks",
    .help = "processes or threads: /proc/PID/stat and io of those that ran, taskstats for the rest",
    .always = true,
    .series = series,
    .n_series = SERIES,
    .tables = tables,
    .open = collector_open,
    .drain = collector_drain,
    .requests = 1u << REQUEST_THREADS,
    .request = collector_request,
    .sample = collector_sample,
    .close = collector_close,
    .check = collector_check,
};
