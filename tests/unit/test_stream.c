// A stream on this machine's kernel: opening, filters, counting, sampling and scaling, and that nothing remains in the
// kernel. Skips without tracefs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/stream_collector.h"
#include "model/live.h"

#define CALL SYS_sched_get_priority_min // a call that other programs rarely make

enum { TID, NR, FIELDS };

struct watch {
    struct format_field fields[FIELDS];
    struct stream_event event;
    char filter[32]; // the machine may have high rates of its own
    struct stream *stream;
    struct stream_failure failure;
    uint64_t mine, gaps, last; // mine: calls of this process's threads
};

static void on_event(void *ctx, const struct ring_event *event) {
    struct watch *watch = ctx;
    assert_true(event->ts >= watch->last);
    watch->last = event->ts;
    char path[64];
    if (format_u64(event->data, &watch->fields[NR]) != CALL)
        return;
    snprintf(path, sizeof(path), "/proc/self/task/%d", (int)format_u64(event->data, &watch->fields[TID]));
    static int32_t known; // few threads: one look each
    int32_t tid = (int32_t)format_u64(event->data, &watch->fields[TID]);
    if (tid == known || !access(path, F_OK)) {
        known = tid;
        watch->mine++;
    }
}

static void on_gap(void *ctx, uint64_t until_ns) {
    struct watch *watch = ctx;
    (void)until_ns;
    watch->gaps++;
}

// No self filter: the decoder of these tests counts ktop's threads.
static void on_self(void *ctx, pid_t tid) {
    (void)ctx;
    (void)tid;
}

struct options {
    bool show_self, mono;
    uint32_t budget_pct;
};

static int watch_open(struct watch *watch, const char *event, struct options options) {
    *watch = (struct watch){.fields = {{.name = "common_pid"}, {.name = "id"}}};
    snprintf(watch->filter, sizeof(watch->filter), "id == %d", CALL);
    watch->event = (struct stream_event){
        .system = "raw_syscalls", .name = event, .filter = watch->filter, .fields = watch->fields, .n_fields = FIELDS};
    const struct stream_config config = {.name = "test",
                                         .what = "test events",
                                         .events = &watch->event,
                                         .n_events = 1,
                                         .budget_pct = options.budget_pct ? options.budget_pct : 25,
                                         .mono = options.mono,
                                         .on_event = on_event,
                                         .on_gap = on_gap,
                                         .on_self = options.show_self ? NULL : on_self,
                                         .high_rate = true,
                                         .ctx = watch};
    return stream_open(&config, &watch->failure, &watch->stream);
}

static int instances(void) {
    char path[600], mine[64];
    int n = 0;
    snprintf(path, sizeof(path), "%s/instances", tracing_dir(NULL, NULL));
    snprintf(mine, sizeof(mine), "ktop-%d-", getpid());
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += !strncmp(entry->d_name, mine, strlen(mine));
    if (dir)
        closedir(dir);
    return n;
}

static void need_tracefs(void) {
    struct watch watch;
    if (geteuid() != 0 || !tracing_dir(NULL, NULL))
        skip();
    assert_int_equal(instances(), 0); // of a test that failed
    if (watch_open(&watch, "sys_enter", (struct options){0}))
        skip();
    stream_close(watch.stream);
}

// Until what happened before is settled, and this process's calls are there (a while, where the machine is crowded).
static void drain(struct watch *watch, uint64_t mine) {
    uint64_t began = now_ns();
    for (int i = 0; i < 4 || (watch->mine < mine && now_ns() - began < 10000000000ull); i++) {
        usleep(5000);
        stream_drain(watch->stream);
    }
}

static void refused(void **state) {
    (void)state;
    struct watch watch;
    need_tracefs();
    assert_int_equal(watch_open(&watch, "no_such_event", (struct options){0}), -ENOENT);
    assert_null(watch.stream);
    assert_non_null(
        strstr(watch.failure.reason, "no test events: this kernel does not have raw_syscalls:no_such_event"));
    assert_true(watch.failure.fix[0]);
    assert_int_equal(instances(), 0);
}

static void counted(void **state) {
    (void)state;
    need_tracefs();
    for (int mono = 0; mono < 2; mono++) {
        struct watch watch;
        struct stream_frame frame;
        assert_int_equal(watch_open(&watch, "sys_enter", (struct options){.show_self = true, .mono = mono}), 0);
        assert_int_equal(instances(), 1);
        drain(&watch, 0);
        stream_frame(watch.stream, &frame);
        uint64_t begin = now_ns(), mine = watch.mine;
        for (int i = 0; i < 5000; i++)
            syscall(CALL, 0);
        uint64_t end = now_ns();
        drain(&watch, mine + 5000);
        stream_frame(watch.stream, &frame);
        assert_int_equal(watch.mine - mine, 5000);
        assert_int_equal(frame.lost, 0);
        assert_int_equal(frame.ratio, 1);
        assert_true(frame.scale == 1);
        assert_true(frame.events >= 5000);
        assert_false(frame.sees_self);
        // The clocks: the last call of the loop was between the two.
        uint64_t last = trace_clock_mono(stream_clock(watch.stream), watch.last);
        assert_true(last > begin - 1000 && (last < end + 1000 || watch.mine > mine + 5000));
        stream_close(watch.stream);
        assert_int_equal(instances(), 0);
    }
}

static void left_out(void **state) {
    (void)state;
    struct watch watch;
    struct stream_frame frame;
    need_tracefs();
    assert_int_equal(watch_open(&watch, "sys_enter", (struct options){0}), 0);
    for (int i = 0; i < 5000; i++)
        syscall(CALL, 0);
    drain(&watch, 0);
    stream_frame(watch.stream, &frame);
    if (!frame.sees_self)
        assert_int_equal(watch.mine, 0);
    stream_close(watch.stream);
}

static atomic_bool stop;
static atomic_ullong made;

static void *caller(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (int i = 0; i < 64; i++)
            syscall(CALL, 0);
        atomic_fetch_add(&made, 64);
    }
    return NULL;
}

// Above 1 % of a CPU it samples, and the scaled counts are close to the true ones.
static void sampled(void **state) {
    (void)state;
    const struct options options = {.show_self = true, .budget_pct = 1};
    struct watch watch;
    struct stream_frame frame;
    pthread_t thread;
    double scaled = 0, truth = 0, whole_ns = 0, length_ns = 0;
    need_tracefs();
    assert_int_equal(watch_open(&watch, "sys_enter", options), 0);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, caller, NULL), 0);
    uint64_t began = now_ns(), most = 1, frames = 0;
    uint64_t mine = 0, calls = 0, at = began;
    while (frames < 6 && now_ns() - began < 20000000000ull) {
        for (uint64_t begin = now_ns(); now_ns() < begin + 500000000;) {
            usleep(stream_next_ms(watch.stream, 10) * 1000);
            stream_drain(watch.stream);
        }
        stream_drain(watch.stream);
        stream_frame(watch.stream, &frame);
        uint64_t now_made = atomic_load(&made);
        // A frame that was sampled from its beginning; on a crowded machine one may pass without a slice.
        if (most > 1 && frame.ratio > 1 && frame.on_ns) {
            scaled += (double)(watch.mine - mine) * frame.scale;
            truth += (double)(now_made - calls);
            frames++;
            assert_true(frame.scale > 1);
            whole_ns += frame.scale * (double)frame.on_ns;
            length_ns += (double)(now_ns() - at);
        }
        at = now_ns();
        most = frame.ratio > most ? frame.ratio : most;
        mine = watch.mine;
        calls = now_made;
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    stream_close(watch.stream);
    assert_int_equal(instances(), 0);
    assert_true(most > 1);
    assert_true(watch.gaps > 0);
    assert_int_equal(frames, 6);
    assert_true(whole_ns > length_ns * 0.8 && whole_ns < length_ns * 1.25);
    // Where two threads share a crowded machine, a slice begins when the caller has just lost its CPU: the wide bounds.
    if (scaled < truth * 0.1 || scaled > truth * 10)
        fail_msg("%.0f calls scaled, %.0f made", scaled, truth);
}

// The content of a file of this process's instance.
static void instance_file(const char *file, char *out, size_t size) {
    char path[600], mine[64];
    snprintf(path, sizeof(path), "%s/instances", tracing_dir(NULL, NULL));
    snprintf(mine, sizeof(mine), "ktop-%d-", getpid());
    DIR *dir = opendir(path);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir)) && strncmp(entry->d_name, mine, strlen(mine)) != 0)
        ;
    assert_non_null(entry);
    snprintf(path, sizeof(path), "%s/instances/%.100s/%s", tracing_dir(NULL, NULL), entry->d_name, file);
    closedir(dir);
    out[0] = '\0';
    assert_true(format_file(path, out, size) >= 0);
}

static bool recording(void) {
    char text[16];
    instance_file("tracing_on", text, sizeof(text));
    return text[0] == '1';
}

static void drain_for(struct watch *watch, uint64_t ns) {
    for (uint64_t began = now_ns(); now_ns() - began < ns;) {
        usleep(1000);
        stream_drain(watch->stream);
    }
}

// Within a slice and between two, no file can be opened any more: recording stays as it was, is accounted and reported
// so, and resumes when the cause ends.
static void switched_in_vain(void **state) {
    (void)state;
    const struct options options = {.show_self = true, .budget_pct = 1};
    struct watch watch;
    struct stream_frame frame;
    struct rlimit files, none;
    pthread_t thread;
    need_tracefs();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = (struct rlimit){0, files.rlim_max};
    assert_int_equal(watch_open(&watch, "sys_enter", options), 0);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, caller, NULL), 0);
    uint64_t began = now_ns();
    do {
        drain_for(&watch, 50000000);
        stream_frame(watch.stream, &frame);
    } while (frame.ratio == 1 && now_ns() - began < 20000000000ull);
    assert_true(frame.ratio > 1);
    assert_int_equal(frame.refused, 0);
    for (int on = 0; on < 2; on++) {
        while (recording() != on) {
            stream_drain(watch.stream);
            usleep(200);
        }
        stream_frame(watch.stream, &frame);
        uint64_t before = watch.mine, made_before = atomic_load(&made);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        drain_for(&watch, 300000000);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
        assert_int_equal(recording(), on);
        stream_frame(watch.stream, &frame);
        assert_true(frame.refused > 0);
        assert_int_equal(frame.refused_error, EMFILE);
        if (on) {
            assert_true(frame.scale == 1); // all of it is recorded
            assert_true(watch.mine > before);
        } else {
            assert_true(isnan(frame.scale));
            assert_int_equal(watch.mine, before);
            assert_true(atomic_load(&made) > made_before);
        }
        struct section *section = section_new("test", 0, 1);
        stream_collector_notes(watch.stream, &frame, "", NULL, section);
        bool said = false;
        for (size_t i = 0; i < section_notes(section); i++)
            said |= strstr(section_note_at(section, i)->text, on ? "100 % of the interval" : " 0 % of the interval") !=
                    NULL;
        assert_true(said);
        section_unref(section);
        drain_for(&watch, 300000000);
        stream_frame(watch.stream, &frame);
        drain_for(&watch, 300000000);
        stream_frame(watch.stream, &frame);
        assert_int_equal(frame.refused, 0);
        assert_true(frame.on_ns > 0);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    stream_close(watch.stream);
    assert_int_equal(instances(), 0);
}

// ---- high event rates ----

struct flood {
    struct format_field field;
    char filter[32]; // only rare calls
    struct stream_event event;
    struct stream *stream;
    struct stream_failure failure;
    uint64_t own;
    pid_t told[64];
    size_t n_told;
};

static bool told(const struct flood *flood, pid_t tid) {
    for (size_t i = 0; i < flood->n_told; i++)
        if (flood->told[i] == tid)
            return true;
    return false;
}

static void flood_own(void *ctx, pid_t tid) {
    struct flood *flood = ctx;
    if (!told(flood, tid) && flood->n_told < 64)
        flood->told[flood->n_told++] = tid;
}

// Like a decoder: returns the number of other tasks' events.
static uint64_t flood_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct flood *flood = ctx;
    uint64_t n = 0;
    (void)cpu;
    do {
        int32_t tid;
        memcpy(&tid, page->data + flood->field.offset, sizeof(tid));
        bool own = tid == getpid() || told(flood, tid);
        flood->own += own;
        n += !own;
    } while (ring_page_next(page) && page->ts < limit);
    return n;
}

// Whether the kernel filters this thread out.
static bool filtered(void) {
    char text[8192], word[32];
    instance_file("events/raw_syscalls/sys_enter/filter", text, sizeof(text));
    snprintf(word, sizeof(word), "common_pid != %d", getpid());
    bool there = strstr(text, word);
    assert_non_null(strstr(text, "id ==")); // the stream's own
    if (!there)
        assert_null(strstr(text, "common_pid")); // all threads or none
    return there;
}

// Drains until the kernel filters this thread out, or no longer does.
static bool drain_until(struct flood *flood, bool want) {
    uint64_t began = now_ns();
    struct stream_frame frame;
    while (now_ns() - began < 30000000000ull) {
        for (int i = 0; i < 5; i++) {
            syscall(SYS_getsid, 0);
            usleep(10000);
            stream_drain(flood->stream);
        }
        stream_frame(flood->stream, &frame);
        assert_false(frame.sees_self);
        if (filtered() == want)
            return true;
    }
    return false;
}

static pid_t flood_start(void) {
    pid_t parent = getpid(), child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        for (int i = 0; i < 1000; i++)
            syscall(SYS_getsid, 0);
    _exit(0);
}

// The kernel filters this process out, but not at a high rate; then the decoder gets the TID of every thread.
static void high_rate(void **state) {
    (void)state;
    struct flood flood = {.field = {.name = "common_pid"}};
    struct stream_frame frame;
    need_tracefs();
    snprintf(flood.filter, sizeof(flood.filter), "id == %d", SYS_getsid);
    flood.event = (struct stream_event){
        .system = "raw_syscalls", .name = "sys_enter", .fields = &flood.field, .n_fields = 1, .filter = flood.filter};
    const struct stream_config config = {.name = "test",
                                         .what = "test events",
                                         .events = &flood.event,
                                         .n_events = 1,
                                         .budget_pct = 100,
                                         .high_rate = true,
                                         .on_run = flood_run,
                                         .slack_ns = STREAM_THREAD_SLACK_NS,
                                         .on_self = flood_own,
                                         .ctx = &flood};
    setpriority(PRIO_PROCESS, 0, -20); // a collector has priority as well: late reads lose events, and then it samples
    pid_t child = flood_start();
    assert_int_equal(stream_open(&config, &flood.failure, &flood.stream), 0);
    stream_frame(flood.stream, &frame);
    if (frame.sees_self) { // in a PID namespace
        kill(child, SIGKILL);
        stream_close(flood.stream);
        setpriority(PRIO_PROCESS, 0, 0);
        skip();
    }
    assert_true(filtered());
    assert_true(told(&flood, getpid()));
    size_t before = flood.n_told;
    assert_true(drain_until(&flood, false));
    assert_true(flood.n_told > before); // of the thread that did it
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(told(&flood, child));
    flood.own = 0;
    assert_true(drain_until(&flood, true));
    assert_true(flood.own > 0);
    setpriority(PRIO_PROCESS, 0, 0);
    stream_close(flood.stream);
    assert_int_equal(instances(), 0);
}

// ---- growing ----

struct numbered {
    struct format_field fields[FIELDS];
    struct stream_event event;
    char filter[64];
    uint64_t seen[2], wrong; // seen: the last sequence number of each caller
};

#define MARK 0x6b746f70ull // of the first argument: these calls are the test's

static void on_numbered(void *ctx, const struct ring_event *event) {
    struct numbered *numbered = ctx;
    uint64_t args[3];
    memcpy(args, event->data + numbered->fields[NR].offset, sizeof(args));
    if (args[0] != MARK)
        return;
    numbered->wrong += args[2] != ++numbered->seen[args[1]];
}

static atomic_bool pause_calls;

static void *numbered_caller(void *arg) {
    uint64_t *n = arg;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (int i = 0; i < 100 && !atomic_load(&pause_calls); i++)
            syscall(CALL, MARK, 1, ++*n);
        usleep(500);
    }
    return NULL;
}

static int buffer_kib(void) {
    char file[64], text[32];
    snprintf(file, sizeof(file), "per_cpu/cpu%d/buffer_size_kb", sched_getcpu());
    instance_file(file, text, sizeof(text));
    return atoi(text);
}

// Fills more than half of a buffer of that size, then reads until it is four times as large. False: it did not grow.
static bool grow(struct stream *stream, int kib, uint64_t *calls) {
    int now = 0;
    atomic_store(&pause_calls, true);
    for (int i = 0; i < kib * 10; i++) // of 68 bytes
        syscall(CALL, MARK, 0, ++*calls);
    atomic_store(&pause_calls, false);
    for (uint64_t began = now_ns(); now < 4 * kib && now_ns() - began < 10000000000ull;) {
        usleep(6000);
        stream_drain(stream);
        if (instances() == 1)
            now = buffer_kib();
    }
    return now >= 4 * kib;
}

// Returns the events that were lost: then the machine was too busy to read them.
static uint64_t grow_twice(void) {
    struct numbered numbered = {.fields = {{.name = "common_pid"}, {.name = "args"}}};
    struct stream_failure failure;
    struct stream_frame frame;
    struct stream *stream;
    pthread_t thread;
    uint64_t calls[2] = {0};
    snprintf(numbered.filter, sizeof(numbered.filter), "id == %d", CALL);
    numbered.event = (struct stream_event){.system = "raw_syscalls",
                                           .name = "sys_enter",
                                           .filter = numbered.filter,
                                           .fields = numbered.fields,
                                           .n_fields = FIELDS};
    const struct stream_config config = {.name = "test",
                                         .what = "test events",
                                         .events = &numbered.event,
                                         .n_events = 1,
                                         .buffer_kib = 1024,
                                         .max_kib = 16384,
                                         .with_self = true,
                                         .on_event = on_numbered,
                                         .ctx = &numbered};
    assert_int_equal(stream_open(&config, &failure, &stream), 0);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, numbered_caller, &calls[1]), 0);
    assert_true(grow(stream, 1024, &calls[0]));
    assert_true(grow(stream, 4096, &calls[0]));
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    usleep(10000);
    stream_drain(stream);
    stream_frame(stream, &frame);
    stream_close(stream);
    assert_int_equal(instances(), 0);
    if (!frame.lost) {
        assert_int_equal(numbered.wrong, 0);
        assert_int_equal(numbered.seen[0], calls[0]);
        assert_int_equal(numbered.seen[1], calls[1]);
    }
    return frame.lost;
}

// Every call is recorded exactly once while larger buffers replace the first.
static void buffers_grow(void **state) {
    (void)state;
    cpu_set_t cpus, one;
    need_tracefs();
    assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one); // one buffer gets all of the calls
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    bool whole = false;
    for (int i = 0; i < 5 && !whole; i++)
        whole = !grow_twice();
    sched_setaffinity(0, sizeof(cpus), &cpus);
    if (!whole)
        skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused),          cmocka_unit_test(counted),
                                       cmocka_unit_test(left_out),         cmocka_unit_test(sampled),
                                       cmocka_unit_test(switched_in_vain), cmocka_unit_test(high_rate),
                                       cmocka_unit_test(buffers_grow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
