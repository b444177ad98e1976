// Rows, histograms and who is stuck, from a state machine fed by hand and a /proc of the test's own.
#include "tests/forge_sched.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/sched_fill.h"
#include "collectors/sched_seed.h"
#include "model/live.h"

static struct sched_who *who;
static struct table_builder *rows, *limit_rows;
static const struct cgroups_limited *groups;
static struct section *section;
static char proc[64];
static uint64_t frame_begin;

static void put_file(const char *file, const char *text) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void folder(const char *name) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int begin(void **state) {
    set_up(state);
    snprintf(proc, sizeof(proc), "/tmp/ktop-fill-XXXXXX");
    assert_non_null(mkdtemp(proc));
    who = sched_who_new(proc, NULL, NULL);
    rows = table_builder_new(&sched_tasks_table);
    limit_rows = table_builder_new(&sched_cgroups_table);
    groups = NULL;
    section = NULL;
    frame_begin = 0;
    return 0;
}

static int end(void **state) {
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", proc);
    section_unref(section);
    table_builder_free(rows);
    table_builder_free(limit_rows);
    cgroups_limited_unref(groups);
    sched_who_free(who);
    tear_down(state);
    return system(command);
}

// The frame up to that time, in us.
static void frame(uint64_t us) {
    sched_who_throttled(who, machine, groups);
    sched_machine_flush(machine, us * US);
    const struct sched_fill fill = {.machine = machine,
                                    .who = who,
                                    .groups = groups,
                                    .rows = rows,
                                    .limit_rows = limit_rows,
                                    .end = us * US,
                                    .seconds = (double)(us - frame_begin) / 1e6};
    section_unref(section);
    section = section_new("sched", frame_begin * US, us * US);
    sched_fill_tasks(&fill, section);
    sched_fill_cpus(&fill, section);
    sched_fill_stuck(&fill, section);
    sched_fill_cgroups(&fill, section);
    sched_fill_unseen(&fill, section);
    sched_fill_hists(&fill, section);
    double values[SCHED_S_ALL];
    sched_fill_series(&fill, values);
    sched_machine_next(machine, us * US);
    frame_begin = us;
}

static const union cell *row_of(const char *table, int32_t tid) {
    const struct table *t = section_find_table(section, table);
    size_t cursor = 0;
    int column = table_column(table_def(t), "tid");
    for (const union cell *row; (row = table_next(t, &cursor));)
        if (row[column].num == tid)
            return row;
    return NULL;
}

static size_t count_rows(const char *table) {
    return table_rows(section_find_table(section, table));
}

static void rows_of_tasks(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, SCHED_STATE_S, 8);
    wakes(400000, 8, 7, 0);
    switches(500000, 0, 8, 0x100, 7);
    frame(1000000);
    const union cell *row = row_of("sched_tasks", 7);
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_T_COMM].text), "t7");
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "running");
    assert_string_equal(text_bytes(row[SCHED_T_WAKER].text), "t8 (8)");
    assert_true(row[SCHED_T_SWITCHES].num == 1);
    assert_true(row[SCHED_T_WAKEUPS].num == 1);
    assert_true(row[SCHED_T_QUEUE_AVG].num == 100000);
    assert_true(row[SCHED_T_QUEUE_MAX].num == 100000);
    assert_true(row[SCHED_T_SLEEP].num == 300000);
    assert_true(row[SCHED_T_OFF_CPU].num == 400000);
    assert_true(row[SCHED_T_ON_CPU].num == 600000);
    assert_true(row[SCHED_T_PRIORITY].num == 120);
    row = row_of("sched_tasks", 8);
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "waiting");
    assert_true(row[SCHED_T_PREEMPTED].num == 500000);
    assert_true(row[SCHED_T_QUEUE_MAX].num == 500000); // still going on
    assert_null(row[SCHED_T_WAKER].text);
    row = row_of("sched_stuck", 8); // half a second in the queue
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "cpu");
    assert_non_null(strstr(text_bytes(row[SCHED_W_WAITS_FOR].text), "t7 (7) has CPU 0, 2 want it"));
    const struct table *cpus = section_find_table(section, "sched_cpus");
    assert_int_equal(table_rows(cpus), 1);
    size_t cursor = 0;
    row = table_next(cpus, &cursor);
    assert_true(fabs(row[SCHED_C_LENGTH].num - 1.6) < 1e-9);
    assert_true(row[SCHED_C_LENGTH_MAX].num == 2);
    assert_true(row[SCHED_C_BUSY].num == 100);
    assert_true(row[SCHED_C_TID].num == 7);
    assert_int_equal(hist_set_count(section_find_hists(section, "run_queue_latency")), 1);
    assert_int_equal(hist_set_count(section_find_hists(section, "off_cpu")), 1);
    assert_int_equal(hist_set_count(section_find_hists(section, "run_queue_by_process")), 1);
}

static const union cell *row_of_cpu(double cpu) {
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(section_find_table(section, "sched_cpus"), &cursor));)
        if (row[SCHED_C_CPU].num == cpu)
            return row;
    fail();
    return NULL;
}

static bool says(const char *part) {
    for (size_t i = 0; i < section_notes(section); i++)
        if (strstr(section_note_at(section, i)->text, part))
            return true;
    return false;
}

// A new list of control groups, and how often each was throttled in 10 periods.
static void limit(size_t n, const char *const *paths, const uint64_t *throttled) {
    struct cgroups_limited *list = cgroups_limited_new(n, 0);
    for (size_t i = 0; i < n; i++)
        cgroups_limited_add(list, &(const struct cgroup){
                                      .path = (char *)paths[i],
                                      .limits.cpu_pct = 20,
                                      .stops = {.seconds = 1, .periods = 10, .throttled = throttled[i]},
                                  });
    cgroups_limited_unref(groups);
    groups = list;
}

static void is_in(int32_t tid, const char *cgroup) {
    sched_who_of(who, machine, sched_slot(machine, tid))->cgroup = text_from(cgroup);
}

#define IS(value, expected) assert_true(fabs((value) - (expected)) < 1e-6)

// Some kernels leave out switches out of the idle task and of PID 1's threads. Nobody is stuck or busy by guesswork.
static void unseen_by_the_idle_task(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, SCHED_STATE_S, 0);
    wakes(400000, 9, 7, 0); // and runs, which is not recorded
    frame(1000000);
    const union cell *row = row_of("sched_tasks", 7), *cpu = row_of_cpu(0);
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "R"); // it runs or it waits
    assert_true(isnan(row[SCHED_T_QUEUE_MAX].num));
    IS(row[SCHED_T_QUEUE].num, 0);
    IS(row[SCHED_T_ON_CPU].num, 100000);
    IS(row[SCHED_T_SLEEP].num, 300000);
    assert_int_equal(count_rows("sched_stuck"), 0);
    IS(cpu[SCHED_C_UNKNOWN].num, 60);
    assert_true(says("what CPU 0 did is not known for 60 % of the time"));
    assert_false(says("left out"));            // that many it must have been shows only later
    assert_true(isnan(cpu[SCHED_C_BUSY].num)); // most of it is not known
    assert_true(isnan(cpu[SCHED_C_LENGTH].num));
    // It leaves: of the time before nothing is known, of the time after all.
    switches(1200000, 0, 7, SCHED_STATE_S, 0);
    frame(2000000);
    row = row_of("sched_tasks", 7);
    cpu = row_of_cpu(0);
    IS(cpu[SCHED_C_UNKNOWN].num, 20);
    assert_true(says("of the time: the kernel left out 1 switch on all CPUs"));
    IS(cpu[SCHED_C_BUSY].num, 0);
    IS(cpu[SCHED_C_LENGTH].num, 0.2); // it waited, or it ran
    IS(row[SCHED_T_SLEEP].num, 800000);
    IS(row[SCHED_T_ON_CPU].num, 0);
    assert_int_equal(machine->counts.unseen, 0); // of the next interval
    // An interval in which all is seen.
    wakes(2500000, 9, 7, 0);
    switches(2500010, 0, 0, 0, 7);
    switches(2750010, 0, 7, SCHED_STATE_S, 0);
    frame(3000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, 25);
    assert_false(says("is not known"));
}

// The tasks of a control group that is throttled do wait for idle CPUs; that says nothing of the others.
static void throttled_by_its_group(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(10, 0, 7, SCHED_STATE_S, 0);
    switches(0, 1, 0, 0, 8);
    switches(10, 1, 8, SCHED_STATE_S, 0);
    is_in(7, "/pods/a/one");
    is_in(8, "/pods/b");
    frame(1000000);
    limit(2, (const char *const[]){"/pods/a", "/pods/b"}, (const uint64_t[]){9, 0});
    wakes(1100000, 9, 7, 0);
    wakes(1100000, 9, 8, 1);
    frame(2000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "waiting");
    IS(row_of("sched_tasks", 7)[SCHED_T_QUEUE_MAX].num, 900000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, 0);
    assert_int_equal(count_rows("sched_stuck"), 1);
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_KIND].text), "throttled");
    assert_string_equal(text_bytes(row_of("sched_tasks", 8)[SCHED_T_STATE].text), "R");
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 90);
    limit(2, (const char *const[]){"/pods/a", "/pods/b"}, (const uint64_t[]){0, 0}); // no longer
    frame(3000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "R");
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 100);
}

// Rows of control groups are those of the newest list; frames share the rows that stay the same.
static void limits(void **state) {
    (void)state;
    enum { GROUPS = 300, GONE = 5 };
    static char names[GROUPS][16];
    const char *paths[GROUPS];
    uint64_t throttled[GROUPS] = {0};
    for (int i = 0; i < GROUPS; i++) {
        snprintf(names[i], sizeof(names[i]), "/%03d", i);
        paths[i] = names[i];
    }
    limit(GROUPS, paths, throttled);
    frame(1000000);
    struct section *before = section;
    section = NULL; // kept for what follows
    throttled[0] = 4;
    limit(GROUPS, paths, throttled);
    frame(2000000);
    const struct table *old = section_find_table(before, "sched_cgroups"),
                       *new = section_find_table(section, "sched_cgroups");
    size_t shared = 0, cursors[2] = {0};
    for (const union cell *row; (row = table_next(old, &cursors[0]));)
        shared += row == table_next(new, &cursors[1]);
    assert_int_equal(shared, GROUPS - TABLE_CHUNK_ROWS);
    cursors[0] = cursors[1] = 0;
    IS(table_next(old, &cursors[0])[SCHED_G_THROTTLED_PCT].num, 0);
    IS(table_next(new, &cursors[1])[SCHED_G_THROTTLED_PCT].num, 40);
    section_unref(before);
    limit(GROUPS - GONE, paths + GONE, throttled + GONE); // the first ones were removed
    for (int i = 0; i < 2; i++) {
        frame((uint64_t)(3 + i) * 1000000);
        size_t cursor = 0, n = 0;
        for (const union cell *row; (row = table_next(section_find_table(section, "sched_cgroups"), &cursor)); n++) {
            assert_string_equal(text_bytes(row[SCHED_G_CGROUP].text), names[n + (i ? 0 : GONE)]);
            IS(row[SCHED_G_THROTTLED].num, i && !n ? 4 : 0);
        }
        assert_int_equal(n, i ? GROUPS : GROUPS - GONE);
        limit(GROUPS, paths, throttled);
    }
}

static void unseen_by_the_first_process(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(0, 1, 0, 0, 8);
    switches(200000, 1, 8, SCHED_STATE_S, 0);
    // It went to sleep on CPU 0, which is not recorded, and comes on the other: CPU 0 is not busy with it.
    wakes(600000, 8, 7, 1);
    switches(600010, 1, 0, 0, 7);
    frame(1000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 100);
    assert_true(isnan(row_of_cpu(0)[SCHED_C_BUSY].num));
    assert_true(isnan(row_of_cpu(0)[SCHED_C_TID].num)); // who runs there is not known
    IS(row_of_cpu(1)[SCHED_C_BUSY].num, 59.999);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of("sched_tasks", 7)[SCHED_T_ON_CPU].num, 399990);
    frame(2000000);
    assert_true(isnan(row_of_cpu(0)[SCHED_C_BUSY].num));
    // The next who leaves ends that.
    switches(2200000, 0, 9, SCHED_STATE_S, 0);
    frame(3000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 20);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, 0);
    // What /proc says of who seems to run: it sleeps. That somebody waits there says no more of the CPU.
    sched_machine_doubt(machine, sched_slot(machine, 7), 'S', 3500000 * US);
    wakes(3900000, 0, 10, 1);
    frame(4000000);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 100);
    assert_true(isnan(row_of_cpu(1)[SCHED_C_BUSY].num));
    assert_true(isnan(row_of_cpu(1)[SCHED_C_LENGTH].num));
    assert_int_equal(count_rows("sched_stuck"), 0);
    switches(4250000, 1, 8, SCHED_STATE_S, 9);
    frame(5000000);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 25);
    IS(row_of_cpu(1)[SCHED_C_BUSY].num, 100); // all of the time that is known
}

static atomic_int proc_says; // of thread 7; the other one runs

static void say(const char *where, const struct sched_ask *ask, struct sched_told *told) {
    (void)where;
    char state = ask->tid == 7 ? (char)atomic_load(&proc_says) : 'R';
    *told = (struct sched_told){.ask = *ask, .state = state, .gone = !state, .read_ns = now_ns() - 100000000};
}

// A CPU that is busy, and a thread that waits for it, or so it seems: it ran, which was not recorded. It is stuck when
// it was asked, or when nobody answers for long; and it is asked anew in each wait.
static void who_waits_is_asked(void **state) {
    (void)state;
    sched_who_free(who);
    struct sched_look *questions = sched_look_new(proc, say);
    who = sched_who_new(proc, NULL, questions);
    switches(0, 0, 0, 0, 8);
    for (uint64_t us = 100000; us < 3000000; us += 1000000) {
        wakes(us, 8, 7, 0);
        frame(us + 250000);
        assert_int_equal(count_rows("sched_stuck"), 0);
        atomic_store(&proc_says, 'S');
        int lost = 0;
        for (int i = 0; i < 2000 && !lost; i++) {
            sched_who_look(who, machine, (us + 260000) * US);
            lost = task(7)->state == SCHED_UNKNOWN;
            usleep(1000);
        }
        assert_true(lost);
    }
    wakes(4000000, 8, 7, 0);
    atomic_store(&proc_says, 'R');
    frame(4200000);
    assert_int_equal(count_rows("sched_stuck"), 0);
    for (int i = 0; i < 2000 && sched_who_of(who, machine, sched_slot(machine, 7))->runnable_ns < 4000000 * US; i++) {
        sched_who_look(who, machine, 4210000 * US);
        usleep(1000);
    }
    frame(4300000);
    assert_int_equal(count_rows("sched_stuck"), 1);
    assert_non_null(row_of("sched_stuck", 7));
    switches(4400000, 0, 8, 0, 7);
    switches(4400010, 0, 7, 0, 8); // another wait
    frame(4700000);
    assert_int_equal(count_rows("sched_stuck"), 0);
    frame(5000000); // nobody answers
    assert_int_equal(count_rows("sched_stuck"), 1);
    folder("1"); // this /proc hides nobody
    put_file("1/stat", "1 (init) S 0");
    // It has ended, which was not recorded either.
    atomic_store(&proc_says, 0);
    for (int i = 0; i < 2000 && sched_slot(machine, 7); i++) {
        sched_who_look(who, machine, 5510000 * US);
        usleep(1000);
    }
    frame(6000000);
    assert_null(row_of("sched_tasks", 7));
    assert_int_equal(count_rows("sched_stuck"), 0);
    IS(row_of_cpu(0)[SCHED_C_LENGTH].num, 1);
    sched_who_free(who);
    sched_look_free(questions);
    who = sched_who_new(proc, NULL, NULL);
}

// Ended tasks are in the frame of their end, and in no later one; sleepers in each.
static void coming_and_going(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(1000, 0, 7, 0x10, 8);
    switches(2000, 0, 8, SCHED_STATE_S, 0);
    frame(1000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "X");
    assert_int_equal(count_rows("sched_tasks"), 2);
    for (uint64_t i = 2; i < 6; i++) {
        frame(i * 1000000);
        assert_null(row_of("sched_tasks", 7));
        const union cell *row = row_of("sched_tasks", 8);
        assert_true(row[SCHED_T_OFF_CPU].num == 1e6);
        assert_true(row[SCHED_T_SWITCHES].num == 0);
        assert_true(isnan(row[SCHED_T_QUEUE_AVG].num));
        assert_int_equal(count_rows("sched_tasks"), 1);
    }
    other(SCHED_WAKEUP_NEW, 6000000, 8, 7, 0); // the number again, in the slot of another
    frame(7000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "R"); // for an idle CPU nobody waits
    assert_int_equal(count_rows("sched_tasks"), 2);
    sched_machine_lost(machine, 7500000 * US);
    frame(8000000);
    assert_int_equal(count_rows("sched_tasks"), 0);
    wakes(8100000, 7, 8, 0);
    frame(9000000);
    assert_int_equal(count_rows("sched_tasks"), 1);
}

static void realtime_hogs(void **state) {
    (void)state;
    switches(0, 1, 0, 0, 7);
    struct sched_event event = {.ts = 1000 * US,
                                .cpu = 1,
                                .kind = SCHED_SWITCH,
                                .tid = 7,
                                .prio = 120,
                                .next = 9,
                                .next_prio = 89,
                                .next_comm = "hog\0____________"};
    sched_machine_event(machine, &event);
    frame(1000000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "realtime");
    assert_string_equal(text_bytes(row[SCHED_W_WAITS_FOR].text), "hog (9) has CPU 1, real-time priority 10");
    assert_true(row[SCHED_W_SINCE].num == 999000);
    assert_null(row_of("sched_stuck", 9));
    event = (struct sched_event){.ts = 1990000 * US,
                                 .cpu = 1,
                                 .kind = SCHED_SWITCH,
                                 .tid = 9,
                                 .prio = 89,
                                 .state = SCHED_STATE_S,
                                 .next = 8,
                                 .next_prio = 120};
    sched_machine_event(machine, &event); // somebody else has it when the interval ends
    frame(2000000);
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_KIND].text), "realtime");
    frame(3000000); // it is long gone
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_KIND].text), "cpu");
}

// Who ran most in the interval has the CPU, not who runs at its end: that is ktop, which looks.
static void ktop_is_no_cause(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, 0x100, 8);  // 7 waits from here on
    switches(700000, 0, 8, 0x100, 30); // ktop: more than 8 had
    sched_who_tell(who, machine, sched_slot(machine, 30), getpid());
    frame(1900000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_string_equal(text_bytes(row[SCHED_W_WAITS_FOR].text), "t8 (8) has CPU 0, 3 want it");
    row = row_of("sched_stuck", 8); // it ran most itself
    assert_string_equal(text_bytes(row[SCHED_W_WAITS_FOR].text), "t7 (7) has CPU 0, 3 want it");
    assert_null(row_of("sched_tasks", 30));
    frame(2900000); // only ktop ran
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_WAITS_FOR].text), "CPU 0");
}

static void ktop_shows_itself(void **state) {
    (void)state;
    const struct collect_options options = {.show_self = true};
    sched_who_free(who);
    who = sched_who_new(proc, &options, NULL);
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, 0x100, 8);
    switches(700000, 0, 8, 0x100, 30);
    sched_who_tell(who, machine, sched_slot(machine, 30), getpid());
    frame(1900000);
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_WAITS_FOR].text), "t30 (30) has CPU 0, 3 want it");
}

static void in_d(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(950000, 0, 7, SCHED_STATE_D, 0);
    frame(1000000);
    assert_null(row_of("sched_stuck", 7)); // not for long
    frame(2000000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "uninterruptible");
    assert_true(row[SCHED_W_SINCE].num == 1050000);
    assert_true(row[SCHED_W_AT_LEAST].num == 0); // its begin was seen
    assert_null(row[SCHED_W_BLOCKED_IN].text);
}

static uint64_t at_500(void *ctx) {
    (void)ctx;
    return 500000 * US;
}

static void threads_of_proc(void **state) {
    (void)state;
    folder("20");
    folder("20/task");
    folder("20/task/20");
    folder("20/task/21");
    folder("30");
    folder("self");
    // Field 20 is the number of threads, field 39 the CPU.
    put_file("20/stat", "20 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 2 18 19 20 21 22 23 24 25 26 27 28 "
                        "29 30 31 32 33 34 35 1 37");
    put_file("20/task/21/stat",
             "21 (second) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 2 18 19 20 21 22 23 24 25 26 27 28 29 "
             "30 31 32 33 34 35 0 37");
    put_file("30/stat", "cut off");
    struct sched_seed *seed = sched_seed_new(proc);
    int steps = 0;
    while (sched_seed_step(seed, machine, who, 1, at_500, NULL))
        assert_true(++steps < 50);
    sched_seed_free(seed);
    frame(1000000);
    const union cell *row = row_of("sched_tasks", 20);
    assert_string_equal(text_bytes(row[SCHED_T_COMM].text), "a ) b");
    assert_true(row[SCHED_T_CPU].num == 1);
    assert_true(row[SCHED_T_SLEEP].num == 500000); // known for half the interval
    row = row_of("sched_tasks", 21);
    assert_true(row[SCHED_T_PID].num == 20);
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "D");
    assert_int_equal(count_rows("sched_tasks"), 2);
    row = row_of("sched_stuck", 21);
    assert_string_equal(text_bytes(row[SCHED_W_STATE].text), "D");
    assert_true(row[SCHED_W_SINCE].num == 500000 && row[SCHED_W_AT_LEAST].num == 1); // since when, nobody saw
    assert_null(sched_seed_new("/nonexistent"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_tasks, begin, end),
        cmocka_unit_test_setup_teardown(coming_and_going, begin, end),
        cmocka_unit_test_setup_teardown(unseen_by_the_idle_task, begin, end),
        cmocka_unit_test_setup_teardown(unseen_by_the_first_process, begin, end),
        cmocka_unit_test_setup_teardown(throttled_by_its_group, begin, end),
        cmocka_unit_test_setup_teardown(limits, begin, end),
        cmocka_unit_test_setup_teardown(who_waits_is_asked, begin, end),
        cmocka_unit_test_setup_teardown(realtime_hogs, begin, end),
        cmocka_unit_test_setup_teardown(ktop_is_no_cause, begin, end),
        cmocka_unit_test_setup_teardown(ktop_shows_itself, begin, end),
        cmocka_unit_test_setup_teardown(in_d, begin, end),
        cmocka_unit_test_setup_teardown(threads_of_proc, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
