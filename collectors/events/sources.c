#include "collectors/events/sources.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collectors/event_names.h"
#include "collectors/events/calls.h"
#include "collectors/events/exec_args.h"
#include "collectors/events/lives.h"
#include "collectors/events/table.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/task_identity.h"
#include "model/mem.h"

#define NO_EVENT 0xff
#define CHILD_PIDNS_FIX "run ktop in the first PID namespace (containers: --pid=host)"

struct sources {
    int poll_fd; // epoll of all; -1: none
    source_call_fn *on_call;
    void *context;
    const struct collect_options *options;
    struct event_names *names;

    struct exec_args *exec_args; // NULL: no exec is recorded, or bpf(2) is not available
    int exec_error;
    size_t exec_event;
    uint64_t exec_lost;    // at the last frame
    uint64_t exec_unknown; // rows of the frame without arguments
    struct lives *lives;   // NULL without exec_args

    struct calls *calls; // NULL: no call is recorded, or bpf(2) is not available
    int calls_error;
    uint8_t event_of[64];            // by call: index in the choice; NO_EVENT: not chosen
    uint64_t unresolved, unreadable; // rows of the frame
};

// ---- opening ----

// The program reports IDs of the first PID namespace.
static void exec_args_start(struct sources *sources, const struct choice *choice, const struct stream_event *events) {
    sources->exec_event = NO_EVENT;
    for (size_t i = 0; i < choice->n; i++) {
        if (strcmp(choice->events[i].system, "sched") || strcmp(choice->events[i].name, "sched_process_exec") ||
            !events[i].present)
            continue;
        sources->exec_event = i;
        lives_close(sources->lives);
        // Before the first exec is recorded: each one's exit is reported.
        sources->lives = lives_open(sources->names, sources->options);
        sources->exec_error = ktop_in_child_pidns() ? -EOPNOTSUPP : exec_args_open(&sources->exec_args);
    }
    if (!sources->exec_args) {
        lives_close(sources->lives);
        sources->lives = NULL;
    }
}

static void calls_start(struct sources *sources, const struct choice *choice, const struct collect_options *options) {
    bool wanted[64] = {false}, any = false, elsewhere = ktop_in_child_pidns();
    memset(sources->event_of, NO_EVENT, sizeof(sources->event_of));
    for (size_t i = 0; i < choice->n; i++) {
        int call = strcmp(choice->events[i].system, CALL_SYSTEM) ? -1 : call_find(choice->events[i].name);
        if (call < 0)
            continue;
        any = wanted[call] = true;
        sources->event_of[call] = (uint8_t)i;
    }
    if (any)
        sources->calls_error = calls_open(wanted, elsewhere ? NULL : "/proc",
                                          options && options->show_self ? 0 : (uint32_t)getpid(), &sources->calls);
}

static void watch(struct sources *sources, int fd) {
    struct epoll_event event = {.events = EPOLLIN};
    if (fd < 0)
        return;
    if (sources->poll_fd < 0)
        sources->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(sources->poll_fd, EPOLL_CTL_ADD, fd, &event);
}

struct sources *sources_open(const struct choice *choice, const struct stream_event *events, struct event_names *names,
                             const struct collect_options *options, source_call_fn *on_call, void *context) {
    struct sources *sources = xcalloc(1, sizeof(*sources));
    sources->poll_fd = -1;
    sources->on_call = on_call;
    sources->context = context;
    sources->options = options;
    sources->names = names;
    exec_args_start(sources, choice, events);
    calls_start(sources, choice, options);
    watch(sources, sources->exec_args ? exec_args_fd(sources->exec_args) : -1);
    watch(sources, sources->calls ? calls_fd(sources->calls) : -1);
    return sources;
}

void sources_close(struct sources *sources) {
    if (!sources)
        return;
    if (sources->poll_fd >= 0)
        close(sources->poll_fd);
    exec_args_close(sources->exec_args);
    lives_close(sources->lives);
    calls_close(sources->calls);
    free(sources);
}

// ---- an interval ----

int sources_fd(const struct sources *sources) {
    return sources->poll_fd;
}

static bool call_passes(struct sources *sources, const struct call_record *record) {
    const struct thread_status status = bpf_task_status(&record->task, record->comm);
    const int32_t tid = (int32_t)record->task.tid;
    bool has_parent = status.parent || !sources->options->children;
    return event_names_passes(sources->names, sources->options, tid,
                              has_parent ? event_names_find_as(sources->names, sources->options, tid, &status)
                                         : event_names_find(sources->names, sources->options, tid),
                              false);
}

static void on_kept(void *context, const struct call_kept *kept, uint32_t size) {
    struct sources *sources = context;
    const struct call_record *record = &kept->record;
    struct source_call call = {record->ns, record->cpu, sources->event_of[record->call], (const uint8_t *)kept, size};
    if (thread_filters(sources->options) && !call_passes(sources, record))
        return;
    sources->on_call(sources->context, &call);
}

static void on_exec(void *context, const struct exec *exec) {
    struct sources *sources = context;
    if (event_names_learn(sources->names, sources->options, exec->status.pid, &exec->status)->wanted)
        lives_exec(sources->lives, exec);
}

void sources_drain(struct sources *sources) {
    if (sources->exec_args) {
        lives_exits(sources->lives);
        exec_args_drain(sources->exec_args, on_exec, sources);
        lives_settle(sources->lives);
    }
    if (sources->calls)
        calls_drain(sources->calls, on_kept, sources);
}

bool sources_names(const struct sources *sources, size_t event) {
    return sources->exec_args && event == sources->exec_event;
}

bool sources_has_call(const struct sources *sources, size_t event) {
    return sources->calls && memchr(sources->event_of, (int)event, sizeof(sources->event_of));
}

void sources_call_row(struct sources *sources, struct table_builder *rows, uint32_t slot, const uint8_t *bytes) {
    const struct call_kept *kept = (const struct call_kept *)(uintptr_t)bytes;
    struct call_row row;
    calls_row(sources->calls, kept, &row);
    sources->unresolved += row.unresolved;
    sources->unreadable += row.unreadable;
    table_builder_set_text(rows, slot, EVENTS_E_COMM,
                           text_new(kept->record.comm, strnlen(kept->record.comm, sizeof(kept->record.comm))));
    table_builder_set_num(rows, slot, EVENTS_E_PID, kept->record.task.pid);
    table_builder_set_num(rows, slot, EVENTS_E_TID, kept->record.task.tid);
    table_builder_set_num(rows, slot, EVENTS_E_PPID, kept->record.task.ppid ? kept->record.task.ppid : NAN);
    table_builder_set_text(rows, slot, EVENTS_E_FIELDS, row.fields);
    table_builder_set_text(rows, slot, EVENTS_E_PATH, row.path);
    table_builder_set_text(rows, slot, EVENTS_E_FLAGS, row.flags);
    table_builder_set_text(rows, slot, EVENTS_E_RESULT, row.result);
}

void sources_row(struct sources *sources, struct table_builder *rows, uint32_t slot, size_t event, int32_t tid,
                 uint64_t ns) {
    if (!sources->exec_args || event != sources->exec_event)
        return;
    const struct text *args = exec_args_find(sources->exec_args, tid, ns);
    sources->exec_unknown += !args;
    table_builder_set_text(rows, slot, EVENTS_E_ARGS, text_ref(args));
}

static void count_note(struct section *out, const char *column, uint64_t n, const char *format) {
    char text[256];
    if (!n)
        return;
    snprintf(text, sizeof(text), "%llu %s", (unsigned long long)n, format);
    section_note(out, SEVERITY_INFO, column, text, NULL);
}

static void exec_note(struct sources *sources, struct section *out) {
    char text[256], reason[160], fix[256];
    if (sources->exec_error == -EOPNOTSUPP) {
        section_note(out, SEVERITY_INFO, "args",
                     "arguments of programs are unknown: this PID namespace has its own PIDs", CHILD_PIDNS_FIX);
    } else if (sources->exec_error) {
        bpf_explain(sources->exec_error, reason, sizeof(reason), fix, sizeof(fix));
        snprintf(text, sizeof(text), "arguments of programs are unknown: %s", reason);
        section_note(out, SEVERITY_INFO, "args", text, *fix ? fix : NULL);
    }
    if (!sources->exec_args)
        return;
    uint64_t lost = exec_args_lost(sources->exec_args);
    count_note(out, "args", sources->exec_unknown, "programs have no arguments: their records were lost");
    count_note(out, NULL, lost - sources->exec_lost,
               "programs are not in the table of programs: the ring buffer was full");
    sources->exec_lost = lost;
    sources->exec_unknown = 0;
}

static uint64_t calls_note(struct sources *sources, struct section *out) {
    char text[512], reason[160], fix[160];
    if (sources->calls_error) {
        bpf_explain(sources->calls_error, reason, sizeof(reason), fix, sizeof(fix));
        snprintf(text, sizeof(text), "system calls with their arguments are not recorded: %s", reason);
        section_note(out, SEVERITY_WARNING, NULL, text, *fix ? fix : NULL);
    }
    if (!sources->calls)
        return 0;
    section_note(out, SEVERITY_INFO, "path",
                 "system calls are recorded at their end by a BPF program; io_uring and 32-bit programs are not", NULL);
    uint64_t lost = calls_lost(sources->calls);
    count_note(out, NULL, lost, "system calls are missing: the ring buffer was full");
    count_note(out, "path", sources->unreadable, "paths are unreadable: the program changed its memory meanwhile");
    count_note(out, "path", sources->unresolved,
               "relative paths are shown as ?/PATH: the directory changed or the process exited before it was read");
    sources->unreadable = sources->unresolved = 0;
    return lost;
}

uint64_t sources_sample(struct sources *sources, int64_t wall_ns, struct section *out) {
    if (sources->lives)
        lives_sample(sources->lives, wall_ns, out);
    exec_note(sources, out);
    return calls_note(sources, out);
}

void sources_check(struct check_report *report) {
    struct check check = {.capability = "paths of system calls"};
    const bool wanted[64] = {true};
    struct calls *calls;
    int error = calls_open(wanted, NULL, 0, &calls);
    check.works = !error;
    if (error)
        bpf_explain(error, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    else
        snprintf(check.detail, sizeof(check.detail), "by a BPF program at sys_exit");
    calls_close(error ? NULL : calls);
    report->add(report, &check);
}
