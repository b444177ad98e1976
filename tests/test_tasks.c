// The life of tasks in a /proc of the test's own: rates, idleness and waking, ends, reused PIDs, threads, filters.
#include "collectors/tasks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];
static struct collect_options options;
static struct tasks *tasks;
static uint64_t begin_ns, fake_ns, step_ns; // the tests' own clock, and what each look at it takes

static uint64_t fake_clock(void) {
    return fake_ns += step_ns;
}

struct fake {
    int pid, tid; // tid 0: a process
    const char *comm;
    char state;
    int ppid, threads;
    bool bare; // stat and schedstat only: for many
    unsigned long long minflt, utime, stime, children, start, cpu_ns, delay_ns, switches, read_bytes;
};

static void put(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *file, const char *format, ...) {
    char path[160], text[2048];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(path, sizeof(path), "%s/%s", root, file);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, (size_t)len, out), len);
    fclose(out);
}

static void put_task(const struct fake *f) {
    char base[64], file[96];
    snprintf(base, sizeof(base), f->tid ? "%d/task/%d" : "%d", f->pid, f->tid);
    snprintf(file, sizeof(file), "%s/stat", base);
    put(file,
        "%d (%s) %c %d 1 1 0 -1 4194304 %llu 0 0 0 %llu %llu %llu 0 20 0 %d 0 %llu 4096000 50 0 0 0 0 0 0 0 0 0 0 0 0 "
        "17 "
        "1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        f->tid ? f->tid : f->pid, f->comm, f->state, f->ppid, f->minflt, f->utime, f->stime, f->children,
        f->threads ? f->threads : 1, f->start);
    snprintf(file, sizeof(file), "%s/schedstat", base);
    put(file, "%llu %llu 5\n", f->cpu_ns, f->delay_ns);
    if (f->bare)
        return;
    snprintf(file, sizeof(file), "%s/status", base);
    put(file, "Name:\tx\nTgid:\t%d\nUid:\t0\t0\t0\t0\nvoluntary_ctxt_switches:\t%llu\nnonvoluntary_ctxt_switches:\t0\n",
        f->pid, f->switches);
    snprintf(file, sizeof(file), "%s/io", base);
    put(file, "rchar: 0\nread_bytes: %llu\nwrite_bytes: 0\n", f->read_bytes);
    snprintf(file, sizeof(file), "%s/cmdline", base);
    put(file, "/bin/%s%c--flag", f->comm, 0);
    snprintf(file, sizeof(file), "%s/cgroup", base);
    put(file, "0::/slice\n");
}

static void take(const char *what) {
    char command[256];
    snprintf(command, sizeof(command), "rm -rf '%s/%s'", root, what);
    assert_int_equal(system(command), 0);
}

static void put_host(unsigned long long busy, int forks, int threads, int last_pid) {
    put("stat", "cpu  %llu 0 0 1000 0 0 0 0 0 0\nprocesses %d\n", busy, forks);
    put("loadavg", "0 0 0 1/%d %d\n", threads, last_pid);
}

static int setup(void **state) {
    (void)state;
    // Thousands of small files: in memory where that is to be had.
    strcpy(root, access("/dev/shm", W_OK) ? "/tmp/test_tasks.XXXXXX" : "/dev/shm/test_tasks.XXXXXX");
    memset(&options, 0, sizeof(options));
    fake_ns = tasks_clock();
    step_ns = 1000;
    return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    tasks_free(tasks);
    tasks = NULL;
    take("");
    return 0;
}

static void first(void) {
    char reason[256];
    tasks = tasks_new(&options, root, false, reason, sizeof(reason));
    assert_non_null(tasks);
    tasks->clock = fake_clock;
    assert_int_equal(tasks_first(tasks, NULL), 0);
    while (tasks->unsettled.count)
        tasks_drain(tasks);
    begin_ns = fake_ns;
}

static void frame_of(uint64_t ns) {
    uint64_t end = fake_ns = begin_ns + ns;
    assert_int_equal(tasks_frame(tasks, begin_ns, end), 0);
    begin_ns = end;
}

static void frame(void) {
    frame_of(1000000000);
}

// The row of that thread (or process) in that state ('\0': any but ended), or NULL.
static const union cell *row(int tid, char state) {
    static struct table *table;
    table_free(table);
    table = table_builder_seal(tasks->builder);
    size_t cursor = 0;
    const union cell *cells;
    while ((cells = table_next(table, &cursor))) {
        const char *s = text_bytes(cells[table_column(&tasks_table, "state")].text);
        if (cells[1].num == tid && (state ? *s == state : *s != 'X'))
            return cells;
    }
    return NULL;
}

static double num(int tid, const char *column) {
    const union cell *cells = row(tid, 0);
    assert_non_null(cells);
    int at = table_column(&tasks_table, column);
    assert_true(at >= 0);
    return cells[at].num;
}

static size_t rows(void) {
    return table_builder_rows(tasks->builder);
}

static void rates_are_differences(void **state) {
    (void)state;
    struct fake f = {.pid = 10,
                     .comm = "a) b\n",
                     .state = 'S',
                     .ppid = 1,
                     .minflt = 100,
                     .utime = 10,
                     .stime = 10,
                     .start = 5,
                     .cpu_ns = 1000000,
                     .delay_ns = 1000,
                     .switches = 7,
                     .read_bytes = 4096};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    assert_string_equal(text_bytes(row(10, 'S')[table_column(&tasks_table, "comm")].text), "a) b\n");
    assert_string_equal(text_bytes(row(10, 'S')[table_column(&tasks_table, "command")].text), "/bin/a) b\n --flag");
    assert_string_equal(text_bytes(row(10, 'S')[table_column(&tasks_table, "cgroup")].text), "/slice");
    assert_true(isnan(num(10, "cpu_pct")));
    frame();
    assert_true(num(10, "cpu_pct") == 0);
    assert_true(num(10, "context_switches_per_s") == 0);
    f.cpu_ns += 500000, f.minflt += 200, f.switches += 20, f.read_bytes += 8192, f.delay_ns += 3000, f.utime += 3;
    f.stime += 1;
    put_task(&f);
    frame();
    double switches = num(10, "context_switches_per_s");
    assert_true(switches > 0);
    assert_true(fabs(num(10, "minor_faults_per_s") / switches - 10) < 1e-6);
    assert_true(fabs(num(10, "read_bytes_per_s") / switches - 8192 / 20.0) < 1e-6);
    assert_true(fabs(num(10, "cpu_pct") / switches - 0.05 / 20) < 1e-6); // 0.5 ms of one CPU is 0.05 % of a second
    assert_true(fabs(num(10, "user_pct") / num(10, "cpu_pct") - 0.75) < 1e-6);
    assert_true(fabs(num(10, "run_queue_us") - 3) < 1e-6);
    frame();
    assert_true(num(10, "cpu_pct") == 0 && num(10, "minor_faults_per_s") == 0);
}

static void a_counter_that_falls_is_not_a_rate(void **state) {
    (void)state;
    struct fake f = {.pid = 10, .comm = "x", .state = 'S', .start = 5, .cpu_ns = 1000000, .switches = 50, .minflt = 9};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    f.cpu_ns = 500000, f.switches = 5, f.minflt = 3;
    put_task(&f);
    frame();
    assert_true(isnan(num(10, "context_switches_per_s")) && isnan(num(10, "minor_faults_per_s")));
    assert_true(isnan(num(10, "cpu_pct")) || num(10, "cpu_pct") == 0);
}

static void a_reused_pid_is_another_task(void **state) {
    (void)state;
    struct fake f = {.pid = 10, .comm = "old", .state = 'S', .start = 5, .cpu_ns = 9000000, .switches = 50};
    struct fake keep = {.pid = 11, .comm = "keep", .state = 'S', .start = 6};
    put_task(&f);
    put_task(&keep);
    put_host(100, 10, 2, 11);
    first();
    frame();
    struct fake g = {.pid = 10, .comm = "new", .state = 'S', .start = 7, .cpu_ns = 90000000, .switches = 5000};
    put_task(&g);
    put_host(100, 11, 2, 11);
    frame();
    const union cell *old = row(10, 'X');
    assert_non_null(old);
    assert_string_equal(text_bytes(old[table_column(&tasks_table, "comm")].text), "old");
    const union cell *new = row(10, 'S');
    assert_non_null(new);
    assert_string_equal(text_bytes(new[table_column(&tasks_table, "comm")].text), "new");
    assert_true(isnan(num(10, "cpu_pct"))); // it began long before: nothing to compare with
    assert_int_equal(rows(), 3);
    frame();
    assert_null(row(10, 'X'));
    assert_true(num(10, "cpu_pct") == 0);
    assert_int_equal(rows(), 2);
}

static void the_end_is_shown_once(void **state) {
    (void)state;
    for (int pid = 10; pid < 13; pid++) {
        struct fake f = {.pid = pid, .comm = "x", .state = 'S', .start = 5, .threads = 1};
        put_task(&f);
    }
    put_host(100, 10, 3, 12);
    first();
    frame();
    take("11");
    put_host(100, 10, 2, 12); // one thread less and no fork: something ended
    frame();
    assert_non_null(row(11, 'X'));
    assert_null(row(11, 0));
    assert_int_equal(tasks->n_ended, 1);
    assert_int_equal(tasks->n_processes, 2);
    frame();
    assert_int_equal(rows(), 2);
    assert_int_equal(tasks->n_ended, 0);
    struct fake f = {.pid = 13, .comm = "young", .state = 'R', .ppid = 10, .start = 1ull << 40, .cpu_ns = 1000000};
    put_task(&f); // it began within the interval: all that it has used is of the interval
    put_host(100, 11, 3, 13);
    frame();
    assert_true(num(13, "cpu_pct") > 0);
    assert_int_equal(tasks->n_state['R'], 1);
}

static void the_idle_are_left_alone_until_one_wakes(void **state) {
    (void)state;
    struct fake f = {.comm = "idle", .bare = true, .state = 'S', .start = 5, .cpu_ns = 1000000};
    for (f.pid = 100; f.pid < 1400; f.pid++)
        put_task(&f);
    put_host(100, 10, 1300, 1400);
    first();
    for (int i = 0; i < 4; i++)
        frame();
    assert_int_equal(tasks_set_count(tasks->set, TASKS_IDLE), 1300);
    uint64_t reads = tasks->n_reads;
    frame();
    assert_true(tasks->n_reads - reads < 700); // a sixteenth and 500
    // One burns; the host says that somebody did.
    f.pid = 250;
    f.cpu_ns += 500000000, f.utime = 50;
    put_task(&f);
    put_host(150, 10, 1300, 1400);
    frame();
    assert_true(num(250, "cpu_pct") > 0);
    assert_true(tasks->n_scans == 1 || tasks->explained_ns >= 500000000);
    assert_true(tasks->explained_ns == 500000000);
    // What was read accounts for all: nobody else is asked.
    f.cpu_ns += 500000000, f.utime = 100;
    put_task(&f);
    put_host(200, 10, 1300, 1400);
    uint64_t scans = tasks->n_scans;
    frame();
    assert_int_equal(tasks->n_scans, scans);
    assert_true(num(250, "cpu_pct") > 0);
}

static void put_sleepers(struct fake *f, int n) {
    *f = (struct fake){.comm = "idle", .bare = true, .state = 'S', .start = 5, .cpu_ns = 1000000};
    for (f->pid = 100; f->pid < 100 + n; f->pid++)
        put_task(f);
    put_host(100, 10, n, 100 + n);
    first();
    for (int i = 0; i < 4; i++)
        frame();
}

// Little by little, below what the host's figures tell: shown when its turn comes, all of it, and never above 100 %.
static void no_cpu_time_is_lost(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    double shown = 0;
    for (int i = 0; i < 12; i++) {
        if (i < 4) {
            f.pid = 300;
            f.cpu_ns += 400000000;
            put_task(&f); // the host does not say
        }
        frame();
        assert_true(num(300, "cpu_pct") <= 100.0001);
        shown += num(300, "cpu_pct") / 100;
    }
    assert_true(fabs(shown - 1.6) < 0.001);
}

static void a_waking_task_is_shown_whole_whatever_its_turn(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    for (int i = 0, pid = 100; pid < 1400; pid += 200, i++) {
        f.pid = pid;
        f.cpu_ns = 501000000;
        put_task(&f);
        put_host(150 + 50 * (unsigned)i, 10, 1300, 1400);
        frame();
        assert_true(fabs(num(pid, "cpu_pct") - 50) < 0.1);
    }
}

// Who may know who ran, and does not because that is dearer than asking, asks all: a figure too small to be missed by
// the host's is right in its frame.
static void all_are_asked_while_it_is_not_known_who_ran(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    for (int i = 0; i < 8; i++) {
        tasks->watches = i % 2;
        f.pid = 1399 - 150 * i;
        f.cpu_ns = 1000000 + 300000;
        put_task(&f); // the host does not say
        uint64_t reads = tasks->n_reads;
        frame();
        assert_true(tasks->watches ? tasks->n_reads - reads >= 1300 : tasks->n_reads - reads < 700);
        if (tasks->watches)
            assert_true(fabs(num(f.pid, "cpu_pct") - 0.03) < 0.001);
    }
    // Ten times a second that would be the load itself: in turn, and nothing is left out.
    tasks->watches = true;
    f.pid = 777, f.cpu_ns = 1000000 + 300000;
    put_task(&f);
    double shown = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t reads = tasks->n_reads;
        frame_of(100000000);
        assert_true(tasks->n_reads - reads < 700);
        shown += num(f.pid, "cpu_pct") / 100 * 0.1;
    }
    assert_true(fabs(shown - 0.0003) < 0.00001);
}

// Its files are read again now and then, at the very time of the question that found it unmoved.
static void an_unmoved_task_stays_known(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 40);
    step_ns = 0;
    uint64_t reads = 0;
    for (int i = 0; i < 80; i++) {
        uint32_t before = tasks_set_find(tasks->set, 120)->read_frame;
        frame();
        reads += tasks_set_find(tasks->set, 120)->read_frame != before;
        for (f.pid = 100; f.pid < 140; f.pid++)
            assert_true(num(f.pid, "cpu_pct") == 0);
    }
    assert_true(reads >= 1 && reads <= 3);
}

// CPU time that is nobody's: after one look at all, half of them in a frame; one that wakes is right in two.
static void what_nobody_used_is_not_sought_again_and_again(void **state) {
    (void)state;
    struct fake f;
    unsigned busy = 100;
    put_sleepers(&f, 2000);
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    assert_int_equal(tasks->n_scans, 1);
    for (int i = 0; i < 6; i++) {
        uint64_t reads = tasks->n_reads;
        put_host(busy += 80, 10, 2000, 2100);
        frame();
        assert_true(tasks->n_reads - reads <= 1000);
    }
    assert_int_equal(tasks->n_scans, 1);
    f.pid = 1000, f.cpu_ns += 200000000;
    put_task(&f); // in the place of others: the host is no busier
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    double shown = num(1000, "cpu_pct");
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    assert_true(fabs(shown + num(1000, "cpu_pct") - 20) < 0.1);
    f.pid = 1500, f.cpu_ns = 801000000;
    put_task(&f); // on top of them: found at once
    put_host(busy += 160, 10, 2000, 2100);
    frame();
    assert_true(fabs(num(1500, "cpu_pct") - 80) < 0.1);
    // Children that a parent has waited for explain themselves.
    f = (struct fake){.pid = 5000, .comm = "shell", .state = 'S', .start = 6};
    put_task(&f);
    for (int i = 0; i < 3; i++) {
        f.children += 80, f.cpu_ns += 1000000;
        put_task(&f);
        put_host(busy += 80, 11, 2001, 5000);
        uint64_t scans = tasks->n_scans, reads = tasks->n_reads;
        frame();
        assert_int_equal(tasks->n_scans, scans);
        assert_true(i < 2 || tasks->n_reads - reads < 700);
    }
}

static void threads_stand_for_their_process(void **state) {
    (void)state;
    struct fake p = {.pid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5, .utime = 5};
    struct fake a = {.pid = 20, .tid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5};
    struct fake b = {.pid = 20, .tid = 21, .comm = "helper", .state = 'S', .threads = 2, .start = 6, .cpu_ns = 5};
    struct fake single = {.pid = 30, .comm = "single", .state = 'S', .start = 7};
    put_task(&p), put_task(&a), put_task(&b), put_task(&single);
    put_host(100, 10, 3, 30);
    first();
    assert_int_equal(rows(), 2);
    frame();
    options.threads = true;
    frame();
    assert_int_equal(rows(), 3);
    assert_string_equal(text_bytes(row(21, 'S')[table_column(&tasks_table, "comm")].text), "helper");
    assert_true(row(21, 'S')[0].num == 20);
    frame();
    b.cpu_ns += 1000000, p.utime++;
    put_task(&b), put_task(&p);
    frame();
    assert_true(num(21, "cpu_pct") > 0 && num(20, "cpu_pct") == 0);
    take("20/task/21");
    p.threads = 1, p.utime++;
    put_task(&p);
    frame();
    assert_non_null(row(21, 'X'));
    frame();
    assert_int_equal(rows(), 2);
    options.threads = false;
    frame();
    frame();
    assert_int_equal(rows(), 2);
    assert_int_equal(tasks->n_processes, 2);
}

static void a_process_ends_with_its_threads(void **state) {
    (void)state;
    struct fake p = {.pid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5};
    struct fake a = {.pid = 20, .tid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5};
    struct fake b = {.pid = 20, .tid = 21, .comm = "helper", .state = 'S', .threads = 2, .start = 6};
    struct fake single = {.pid = 30, .comm = "single", .state = 'S', .start = 7};
    put_task(&p), put_task(&a), put_task(&b), put_task(&single);
    put_host(100, 10, 3, 30);
    options.threads = true;
    first();
    assert_int_equal(rows(), 3);
    take("20");
    put_host(100, 10, 1, 30);
    frame();
    assert_non_null(row(20, 'X'));
    assert_non_null(row(21, 'X'));
    frame();
    assert_int_equal(rows(), 1);
}

static void only_what_was_asked_for(void **state) {
    (void)state;
    static const pid_t pids[] = {10};
    struct fake f[] = {{.pid = 10, .comm = "a", .state = 'S', .ppid = 1, .start = 5},
                       {.pid = 11, .comm = "b", .state = 'S', .ppid = 10, .start = 5},
                       {.pid = 12, .comm = "c", .state = 'S', .ppid = 11, .start = 5},
                       {.pid = 13, .comm = "d", .state = 'S', .ppid = 1, .start = 5}};
    for (int i = 0; i < 4; i++)
        put_task(&f[i]);
    put_host(100, 10, 4, 13);
    options.pids = pids;
    options.n_pids = 1;
    first();
    frame();
    assert_int_equal(rows(), 1);
    tasks_free(tasks);
    options.children = true;
    first();
    frame();
    assert_int_equal(rows(), 3);
    assert_null(row(13, 0));
    tasks_free(tasks);
    options = (struct collect_options){.has_user = true, .user = geteuid() + 1};
    first();
    frame();
    assert_int_equal(rows(), 0);
    tasks_free(tasks);
    options.user = geteuid();
    first();
    frame();
    assert_int_equal(rows(), 4);
}

static void what_cannot_be_read_is_null(void **state) {
    (void)state;
    struct fake f = {.pid = 10, .comm = "x", .state = 'S', .start = 5, .utime = 10};
    put_task(&f);
    take("10/io"), take("10/schedstat"), take("10/status"), take("10/cmdline"), take("10/cgroup");
    put_host(100, 10, 1, 10);
    first();
    frame();
    f.utime = 20;
    put_task(&f);
    take("10/io"), take("10/schedstat"), take("10/status"), take("10/cmdline"), take("10/cgroup");
    frame();
    assert_true(num(10, "cpu_pct") > 0); // by ticks
    assert_true(isnan(num(10, "read_bytes_per_s")) && isnan(num(10, "context_switches_per_s")));
    assert_true(isnan(num(10, "run_queue_us")));
    assert_null(row(10, 'S')[table_column(&tasks_table, "command")].text);
    assert_null(row(10, 'S')[table_column(&tasks_table, "cgroup")].text);
}

static size_t published;

static void keep_first(struct collector_run *run, struct section *take) {
    (void)run;
    published = table_rows(section_find_table(take, "tasks"));
    section_unref(take);
}

static void the_first_rows_come_early(void **state) {
    (void)state;
    struct fake f = {.comm = "idle", .bare = true, .state = 'S', .start = 5};
    for (f.pid = 100; f.pid < 600; f.pid++)
        put_task(&f);
    put_host(100, 10, 500, 600);
    char reason[256];
    tasks = tasks_new(&options, root, false, reason, sizeof(reason));
    tasks->clock = fake_clock;
    struct collector_run run = {.options = &options, .publish = keep_first};
    published = 0;
    assert_int_equal(tasks_first(tasks, &run), 0);
    assert_int_equal(published, 301); // within the time: so many
    assert_int_equal(rows(), 500);
    tasks_free(tasks);
    tasks = tasks_new(&options, root, false, reason, sizeof(reason));
    tasks->clock = fake_clock;
    step_ns = 5000000; // each look takes the whole of it
    run = (struct collector_run){.options = &options, .publish = keep_first};
    assert_int_equal(tasks_first(tasks, &run), 0);
    assert_int_equal(published, 65);
    assert_int_equal(rows(), 500);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

// One that runs in every frame is moved to another control group: soon told with that one.
static void group_of_a_busy_task(void **state) {
    (void)state;
    int at = table_column(&tasks_table, "cgroup"), frames = 0;
    struct fake f = {.pid = 10, .comm = "busy", .state = 'R', .ppid = 1, .start = 5, .cpu_ns = 1000};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    for (int i = 0; i < 8; i++) { // long enough to be no new program
        f.cpu_ns += 500000000, f.utime += 50;
        put_task(&f);
        frame();
    }
    assert_string_equal(text_bytes(row(10, 'R')[at].text), "/slice");
    do {
        f.cpu_ns += 500000000, f.utime += 50;
        put_task(&f);
        put("10/cgroup", "0::/limited\n");
        frame();
        frames++;
    } while (frames < 40 && strcmp(text_bytes(row(10, 'R')[at].text), "/limited") != 0);
    assert_in_range(frames, 1, 17);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(rates_are_differences),
        TEST(a_counter_that_falls_is_not_a_rate),
        TEST(a_reused_pid_is_another_task),
        TEST(the_end_is_shown_once),
        TEST(the_idle_are_left_alone_until_one_wakes),
        TEST(no_cpu_time_is_lost),
        TEST(a_waking_task_is_shown_whole_whatever_its_turn),
        TEST(all_are_asked_while_it_is_not_known_who_ran),
        TEST(an_unmoved_task_stays_known),
        TEST(what_nobody_used_is_not_sought_again_and_again),
        TEST(threads_stand_for_their_process),
        TEST(a_process_ends_with_its_threads),
        TEST(only_what_was_asked_for),
        TEST(what_cannot_be_read_is_null),
        TEST(the_first_rows_come_early),
        TEST(group_of_a_busy_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
