// Runs each collector in its own thread, tick by tick. The only place that creates collector threads. It never waits
// for a collector. A collector that fails or hangs leaves an empty section with a reason; it never ends ktop.
#include "collectors/runner.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/priority.h"
#include "collectors/schema.h"
#include "model/mem.h"
#include "model/thread.h"

#define NS_PER_S 1000000000ull
#define RETRY_NS (10 * NS_PER_S)       // interval between tries to open a source
#define OPENING_LONG_NS (2 * NS_PER_S) // an open that takes longer gets a note
#define LEASE_SLACK_NS 250000000ull
#define SLACK_NS 1000ul // timer slack of these threads; the default is 50 us

struct worker {
    const struct collector *collector;
    struct runner *runner;
    struct collector_run run;
    pthread_t thread;
    int slot, wake_fd;
    bool started, opened, poll_broken;
    atomic_bool wanted;
    atomic_ullong lease_ns; // it runs until then although no pane needs it (live.h); 0: no lease
    atomic_bool ended;      // the thread's last store (release); pairs with the acquire in threads_join
    uint64_t cpu_ns;        // the thread's CPU time at the last section
    uint64_t sampled_ns;    // end of the last section
    uint64_t opened_at_ns;  // last try
    struct priority_budget priority;
    struct request_box requests;
    bool is_input;                // another collector reads its sections
    const struct section *newest; // if is_input; under `lock`
    pthread_mutex_t lock; // guards `opening_ns`, `newest`, and the sections put into the live model before any data
    uint64_t opening_ns;  // start of an open that has not delivered yet; 0: none
};

struct runner {
    struct live *live;
    int ended_fd; // eventfd: a thread has ended
    struct answer_box answers;
    atomic_ullong version; // of the last request
    atomic_bool stop;
    int hung;
    size_t n;
    struct worker workers[];
};

static void event_raise(int fd) {
    uint64_t one = 1;
    ssize_t ignored = write(fd, &one, sizeof one); // fails only if the counter is full: then it is raised already
    (void)ignored;
}

static void event_clear(int fd) {
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);
    (void)ignored;
}

// Ends of intervals that are so close need no section each.
static uint64_t slack_ns(const struct worker *worker) {
    uint64_t quarter = live_delay(worker->runner->live) / 4;
    return quarter < LEASE_SLACK_NS ? quarter : LEASE_SLACK_NS;
}

static bool is_needed(const struct worker *worker) {
    return atomic_load(&worker->wanted) || atomic_load(&worker->lease_ns);
}

// When it must end; 0: a pane needs it.
static uint64_t lease_end(const struct worker *worker) {
    return atomic_load(&worker->wanted) ? 0 : atomic_load(&worker->lease_ns);
}

static bool stopping(const struct worker *worker) {
    return atomic_load(&worker->runner->stop);
}

static void opening_set(struct worker *worker, uint64_t since_ns) {
    pthread_mutex_lock(&worker->lock);
    worker->opening_ns = since_ns;
    pthread_mutex_unlock(&worker->lock);
}

// Keeps the section for the collectors that read it.
static void newest_set(struct worker *worker, const struct section *newest) {
    if (!worker->is_input)
        return;
    pthread_mutex_lock(&worker->lock);
    const struct section *old = worker->newest;
    worker->newest = section_ref(newest);
    pthread_mutex_unlock(&worker->lock);
    section_unref(old);
}

static struct worker *worker_find(struct runner *runner, const char *name) {
    for (size_t i = 0; name && i < runner->n; i++)
        if (!strcmp(runner->workers[i].collector->name, name))
            return &runner->workers[i];
    return NULL;
}

// A reference to the newest section of that collector, or NULL.
static const struct section *input_get(struct runner *runner, const char *name) {
    struct worker *source = worker_find(runner, name);
    if (!source)
        return NULL;
    pthread_mutex_lock(&source->lock);
    const struct section *input = source->newest ? section_ref(source->newest) : NULL;
    pthread_mutex_unlock(&source->lock);
    return input;
}

// A hung thread that resumes after runner_stop gave up on it must not touch the live model: it may be freed.
static void hand_over(struct worker *worker, struct section *take, bool whole) {
    opening_set(worker, 0);
    section_cost(take, thread_cpu_ns() - worker->cpu_ns);
    const struct section *newest = section_ref(take);
    if (stopping(worker))
        section_unref(take);
    else if (whole)
        live_put(worker->runner->live, worker->slot, take);
    else
        live_put_early(worker->runner->live, worker->slot, take);
    newest_set(worker, newest); // not before: live_put may still add to it
    section_unref(newest);
}

static void publish(struct collector_run *run, struct section *take) {
    struct worker *worker = (struct worker *)((char *)run - offsetof(struct worker, run));
    hand_over(worker, take, false);
    // The first rows are out. The terminal that draws them is a SCHED_OTHER process: it must not wait for this thread.
    if (run->first) {
        priority_drop();
        worker->priority = (struct priority_budget){0};
    }
}

static void put_blank(struct worker *worker, enum section_state state) {
    uint64_t now = now_ns();
    struct section *section = section_new(worker->collector->name, worker->sampled_ns ? worker->sampled_ns : now, now);
    section_set_state(section, state);
    if (state == SECTION_UNAVAILABLE)
        section_note(section, SEVERITY_WARNING, NULL, worker->run.reason, worker->run.fix[0] ? worker->run.fix : NULL);
    section_complete(section, worker->collector);
    hand_over(worker, section, true);
    worker->cpu_ns = thread_cpu_ns();
    worker->sampled_ns = now;
}

static void worker_close(struct worker *worker) {
    worker->collector->close(&worker->run);
    worker->opened = false;
}

static void worker_fail(struct worker *worker, int error, const char *what) {
    struct collector_run *run = &worker->run;
    if (!run->reason[0])
        snprintf(run->reason, sizeof run->reason, "%s %s: %s", worker->collector->name, what, strerror(-error));
    worker_close(worker); // may read the state that open left
    put_blank(worker, SECTION_UNAVAILABLE);
}

static void worker_sample(struct worker *worker) {
    struct collector_run *run = &worker->run;
    uint64_t now = now_ns();
    run->end_ns = now;
    run->begin_ns = run->first ? now : worker->sampled_ns;
    struct section *section = section_new(worker->collector->name, run->begin_ns, run->end_ns);
    for (size_t i = 0; i < COLLECTOR_INPUTS; i++)
        run->inputs[i] = input_get(worker->runner, worker->collector->inputs[i]);
    int error = worker->collector->sample(run, section);
    for (size_t i = 0; i < COLLECTOR_INPUTS; i++) {
        section_unref(run->inputs[i]);
        run->inputs[i] = NULL;
    }
    if (error) {
        section_unref(section);
        worker_fail(worker, error, "stopped");
        return;
    }
    if (section_state(section) == SECTION_STARTING)
        section_set_state(section, SECTION_OK);
    section_complete(section, worker->collector);
    hand_over(worker, section, true);
    atomic_store(&run->waits_for, NULL);
    uint64_t cpu_ns = thread_cpu_ns();
    // Opening costs as well: with a lease that counts in the first interval, so that the whole cost is shown.
    bool opening = run->first && lease_end(worker);
    worker->priority.pct = run->priority_pct;
    priority_budget(&worker->priority, cpu_ns - worker->cpu_ns, run->first ? 0 : now - worker->sampled_ns);
    if (!opening)
        worker->cpu_ns = cpu_ns;
    worker->sampled_ns = now;
    run->first = false;
}

static int request_pass(void *context, const struct request *request, struct answer *answer) {
    struct worker *worker = context;
    return worker->collector->request(&worker->run, request, answer);
}

// Pending requests are applied if the collector is open, else kept until it is.
static void worker_requests(struct worker *worker) {
    char reason[300];
    const char *name = worker->collector->name;
    if (worker->opened) {
        requests_apply(&worker->requests, false, request_pass, worker);
    } else if (worker->opened_at_ns) {
        snprintf(reason, sizeof reason, "%s is unavailable, the request is kept: %s", name, worker->run.reason);
        requests_keep(&worker->requests, reason);
    } else if (!atomic_load(&worker->wanted)) {
        snprintf(reason, sizeof reason, "%s is not running; the request is kept until it starts", name);
        requests_keep(&worker->requests, reason);
    }
}

static void worker_open(struct worker *worker) {
    struct collector_run *run = &worker->run;
    run->reason[0] = run->fix[0] = '\0';
    run->poll_fd = -1;
    run->drain_ms = 0;
    run->first = true;
    worker->opened_at_ns = now_ns();
    atomic_store(&run->waits_for, NULL);
    opening_set(worker, worker->opened_at_ns);
    int error = worker->collector->open(run);
    if (error) {
        worker_fail(worker, error, "cannot be opened");
        return;
    }
    worker->opened = true;
    worker->poll_broken = false;
    requests_apply(&worker->requests, true, request_pass, worker);
    atomic_store(&run->waits_for, "its first reading");
    worker_sample(worker);
}

// Drains until `until` (0: for ever) or until wake_fd is raised. True when woken.
static bool worker_wait(struct worker *worker, uint64_t until) {
    struct collector_run *run = &worker->run;
    uint64_t drained = now_ns();
    for (;;) {
        bool drains = worker->opened && worker->collector->drain;
        uint64_t now = now_ns(), wake = until ? until : UINT64_MAX;
        if (now >= wake)
            return false;
        if (drains && run->drain_ms && drained + run->drain_ms * 1000000ull < wake)
            wake = drained + run->drain_ms * 1000000ull;
        struct pollfd fds[2] = {{.fd = worker->wake_fd, .events = POLLIN},
                                {.fd = drains && !worker->poll_broken ? run->poll_fd : -1, .events = POLLIN}};
        uint64_t left = wake > now ? wake - now : 0;
        struct timespec timeout = {.tv_sec = (time_t)(left / NS_PER_S), .tv_nsec = (long)(left % NS_PER_S)};
        int n = ppoll(fds, 2, wake == UINT64_MAX ? NULL : &timeout, NULL);
        if (n > 0 && fds[0].revents) {
            event_clear(worker->wake_fd);
            return true;
        }
        // A persistent error would make this loop spin: from now on only the timer drains.
        if (n > 0 && (fds[1].revents & ~POLLIN))
            worker->poll_broken = true;
        now = now_ns();
        bool due = run->drain_ms && now >= drained + run->drain_ms * 1000000ull;
        if (drains && ((n > 0 && fds[1].revents) || due)) {
            worker->collector->drain(run);
            drained = now;
        }
    }
}

static void worker_tick(struct worker *worker) {
    if (worker->opened)
        worker_sample(worker);
    else if (now_ns() >= worker->opened_at_ns + RETRY_NS)
        worker_open(worker);
    else
        put_blank(worker, SECTION_UNAVAILABLE);
}

static void worker_resume(struct worker *worker) {
    if (stopping(worker))
        return;
    live_pause(worker->runner->live, worker->slot, false);
    worker->sampled_ns = 0;
}

static void worker_pause(struct worker *worker) {
    if (worker->opened)
        worker_close(worker);
    worker->opened_at_ns = 0;
    put_blank(worker, SECTION_STARTING); // stale data must not look current
    live_pause(worker->runner->live, worker->slot, true);
    while (!stopping(worker) && !is_needed(worker)) {
        worker_requests(worker);
        worker_wait(worker, 0);
    }
    worker_resume(worker);
}

// The lease has ended, but its last section stays until the model returns the lease.
static void worker_rest(struct worker *worker, uint64_t lease_ns) {
    if (worker->opened && worker->sampled_ns + slack_ns(worker) < lease_ns)
        worker_sample(worker);
    if (worker->opened)
        worker_close(worker);
    worker->opened_at_ns = 0;
    live_pause(worker->runner->live, worker->slot, true);
    while (!stopping(worker) && lease_end(worker) == lease_ns) {
        worker_requests(worker);
        worker_wait(worker, 0);
    }
    if (is_needed(worker))
        worker_resume(worker);
}

static bool is_lease_over(const struct worker *worker, uint64_t lease_ns) {
    return now_ns() >= lease_ns || (worker->opened && worker->sampled_ns + slack_ns(worker) >= lease_ns);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    char name[16]; // TASK_COMM_LEN: 15 bytes and NUL; longer names are truncated (ktop-filesystem)
    snprintf(name, sizeof name, "ktop-%s", worker->collector->name);
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    priority_budget(&worker->priority, 0, 0);
    while (!stopping(worker)) {
        if (!is_needed(worker)) {
            worker_pause(worker);
            continue;
        }
        uint64_t lease_ns = lease_end(worker);
        if (lease_ns && is_lease_over(worker, lease_ns)) {
            worker_rest(worker, lease_ns);
            continue;
        }
        if (!worker->opened_at_ns) {
            worker_open(worker);
            continue;
        }
        worker_requests(worker);
        uint64_t tick = live_next_tick(worker->runner->live, now_ns());
        worker->run.due_ns = lease_ns && lease_ns < tick ? lease_ns : tick;
        if (!worker_wait(worker, worker->run.due_ns) && worker->run.due_ns == tick)
            worker_tick(worker);
    }
    if (worker->opened)
        worker_close(worker);
    atomic_store_explicit(&worker->ended, true, memory_order_release); // pairs with threads_join
    event_raise(worker->runner->ended_fd);
    return NULL;
}

// ---- public functions and live hooks ----

static void frames_began(void *runner) {
    (void)runner;
    // The screen waits for this thread, and collectors use much CPU at the start. Evaluating findings and health costs
    // less per frame than any collector.
    priority_ask(PRIORITY_SCREEN);
}

static void grid_moved(void *runner) {
    runner_wake(runner);
}

// A collector's open may block in the kernel for seconds, as while another process removes trace buffers or kworkers do
// not run. The blocked thread cannot report it. The section's end is the start of the open: it is shown as stale.
static void report_opening(struct worker *worker, uint64_t since_ns) {
    uint64_t age_ns = now_ns() - since_ns;
    const char *what = atomic_load(&worker->run.waits_for);
    if (age_ns < OPENING_LONG_NS)
        return;
    char text[160], fix[160];
    struct section *section = section_new(worker->collector->name, since_ns, since_ns);
    snprintf(text, sizeof text, "%s has delivered nothing for %.0f s: it waits for %s", worker->collector->name,
             (double)age_ns / 1e9, what ? what : "its source to open");
    snprintf(fix, sizeof fix,
             "none: it starts once the kernel call returns; to see where it waits: cat /proc/%d/task/*/stack",
             getpid());
    section_note(section, SEVERITY_WARNING, NULL, text, fix);
    section_complete(section, worker->collector);
    live_put_early(worker->runner->live, worker->slot, section);
}

static void frame_cutting(void *arg) {
    struct runner *runner = arg;
    for (size_t i = 0; i < runner->n; i++) {
        struct worker *worker = &runner->workers[i];
        // Locked until the section is put: hand_over clears opening_ns under this lock before it puts data, so this
        // section cannot replace data. Lock order: the locks taken inside are never held while taking this one.
        pthread_mutex_lock(&worker->lock);
        if (worker->opening_ns)
            report_opening(worker, worker->opening_ns);
        pthread_mutex_unlock(&worker->lock);
        const char *what = atomic_load(&worker->run.waits_for);
        requests_late(&worker->requests, now_ns(), what ? what : "the kernel");
    }
}

void runner_lease(struct runner *runner, const char *collector, uint64_t until_ns) {
    struct worker *worker = worker_find(runner, collector);
    if (!worker)
        return;
    atomic_store(&worker->lease_ns, until_ns);
    event_raise(worker->wake_fd);
}

static void lease_change(void *runner, const char *collector, uint64_t until_ns) {
    runner_lease(runner, collector, until_ns);
}

static const struct live_hooks hooks = {
    .began = frames_began, .grid_moved = grid_moved, .cutting = frame_cutting, .lease = lease_change};

struct runner *runner_new(struct live *live, const struct collect_options *options) {
    size_t n = 0;
    while (collectors[n])
        n++;
    struct runner *runner = xcalloc(1, sizeof *runner + n * sizeof *runner->workers);
    runner->live = live;
    runner->n = n;
    live_hook(live, &hooks, runner);
    runner->ended_fd = eventfd(0, EFD_CLOEXEC);
    answers_open(&runner->answers);
    for (size_t i = 0; i < n; i++) {
        struct worker *worker = &runner->workers[i];
        worker->collector = collectors[i];
        worker->runner = runner;
        worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        pthread_mutex_init(&worker->lock, NULL);
        requests_open(&worker->requests, collectors[i]->name, &runner->answers);
        worker->run.options = options;
        worker->run.publish = publish;
        atomic_init(&worker->wanted, collectors[i]->always);
        worker->slot = live_add(live, collectors[i]->name);
        // Every table exists from the first frame on, even if the collector never delivers.
        struct section *blank = section_new(collectors[i]->name, now_ns(), now_ns());
        section_complete(blank, collectors[i]);
        live_put(live, worker->slot, blank);
        if (!collectors[i]->always)
            live_pause(live, worker->slot, true);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < COLLECTOR_INPUTS; k++) {
            struct worker *source = worker_find(runner, collectors[i]->inputs[k]);
            if (source)
                source->is_input = true;
        }
    return runner;
}

const char *runner_start_fix(int error) {
    return error == -EMFILE || error == -ENFILE ? "raise the limit of open files (ulimit -n)"
                                                : "raise the limit of processes (ulimit -u) or of memory (ulimit -v)";
}

int runner_start(struct runner *runner) {
    if (runner->ended_fd < 0 || runner->answers.fd < 0)
        return -EMFILE;
    int error = 0;
    for (size_t i = 0; i < runner->n; i++) // frames wait only for the wanted collectors
        live_pause(runner->live, runner->workers[i].slot, !atomic_load(&runner->workers[i].wanted));
    for (size_t i = 0; i < runner->n && !error; i++) {
        struct worker *worker = &runner->workers[i];
        error = worker->wake_fd < 0 ? EMFILE : thread_start(&worker->thread, worker_main, worker);
        worker->started = !error;
    }
    return -error;
}

bool runner_want(struct runner *runner, const char *const *names) {
    bool starts = false;
    for (size_t i = 0; i < runner->n; i++) {
        struct worker *worker = &runner->workers[i];
        const char *own = worker->collector->name;
        size_t length = strlen(own);
        bool wanted = worker->collector->always && !worker->run.options->wanted_only, detail = false;
        for (const char *const *name = names; name && *name; name++) {
            bool same = !strncmp(*name, own, length);
            wanted |= same && !(*name)[length];
            detail |= same && !strcmp(*name + length, RUNNER_DETAIL);
        }
        atomic_store(&worker->run.detail, detail);
        if (atomic_exchange(&worker->wanted, wanted) != wanted) {
            event_raise(worker->wake_fd);
            starts |= wanted;
        }
    }
    return starts;
}

uint64_t runner_request(struct runner *runner, const char *collector, const struct request *request) {
    struct request sent = *request;
    bool accepted = false;
    sent.version = atomic_fetch_add(&runner->version, 1) + 1;
    sent.to_all = !collector;
    for (size_t i = 0; i < runner->n; i++) {
        struct worker *worker = &runner->workers[i];
        if (!(worker->collector->requests & 1u << request->kind) ||
            (collector && strcmp(collector, worker->collector->name)))
            continue;
        requests_put(&worker->requests, &sent);
        event_raise(worker->wake_fd);
        accepted = true;
    }
    return accepted ? sent.version : 0;
}

int runner_answer_fd(const struct runner *runner) {
    return runner->answers.fd;
}

bool runner_answer(struct runner *runner, struct answer *out) {
    return answers_take(&runner->answers, out);
}

void runner_wake(struct runner *runner) {
    for (size_t i = 0; i < runner->n; i++)
        event_raise(runner->workers[i].wake_fd);
}

// The number of threads that have not ended.
static int threads_join(struct runner *runner) {
    int running = 0;
    for (size_t i = 0; i < runner->n; i++) {
        struct worker *worker = &runner->workers[i];
        if (worker->started && atomic_load_explicit(&worker->ended, memory_order_acquire)) {
            pthread_join(worker->thread, NULL);
            worker->started = false;
        }
        running += worker->started;
    }
    return running;
}

int runner_stop(struct runner *runner, uint32_t timeout_ms) {
    uint64_t until = now_ns() + timeout_ms * 1000000ull, now;
    atomic_store(&runner->stop, true);
    runner_wake(runner);
    while ((runner->hung = threads_join(runner)) && (now = now_ns()) < until) {
        struct pollfd fd = {.fd = runner->ended_fd, .events = POLLIN};
        if (poll(&fd, 1, (int)((until - now + 999999) / 1000000)) > 0)
            event_clear(runner->ended_fd);
    }
    return runner->hung;
}

void runner_free(struct runner *runner) {
    if (!runner || runner->hung) // a hung thread may still use it
        return;
    for (size_t i = 0; i < runner->n; i++) {
        if (runner->workers[i].wake_fd >= 0)
            close(runner->workers[i].wake_fd);
        section_unref(runner->workers[i].newest);
        pthread_mutex_destroy(&runner->workers[i].lock);
        requests_close(&runner->workers[i].requests);
    }
    answers_close(&runner->answers);
    if (runner->ended_fd >= 0)
        close(runner->ended_fd);
    free(runner);
}
