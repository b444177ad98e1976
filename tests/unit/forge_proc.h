// Shared by the tests of tasks: a forged /proc, a forged clock, and the resulting rows.
#ifndef TESTS_UNIT_FORGE_PROC_H
#define TESTS_UNIT_FORGE_PROC_H

#include "collectors/tasks/tasks.h"

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
static uint64_t begin_ns, fake_ns, step_ns; // the forged clock, and its step per read

static inline uint64_t fake_clock(void) {
    return fake_ns += step_ns;
}

struct fake {
    int pid, tid; // tid 0: a process
    const char *comm;
    char state;
    int ppid, threads;
    bool bare;    // stat and schedstat only: for many
    bool exiting; // PF_EXITING
    unsigned long long minflt, utime, stime, children, start, cpu_ns, delay_ns, switches, read_bytes;
};

static inline void put(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void put(const char *file, const char *format, ...) {
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

static inline void put_task(const struct fake *f) {
    char base[64], file[96];
    snprintf(base, sizeof(base), f->tid ? "%d/task/%d" : "%d", f->pid, f->tid);
    snprintf(file, sizeof(file), "%s/stat", base);
    put(file,
        "%d (%s) %c %d 1 1 0 -1 %d %llu 0 0 0 %llu %llu %llu 0 20 0 %d 0 %llu 4096000 50 0 0 0 0 0 0 0 0 0 0 0 0 "
        "17 "
        "1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        f->tid ? f->tid : f->pid, f->comm, f->state, f->ppid, f->exiting ? 4194308 : 4194304, f->minflt, f->utime,
        f->stime, f->children, f->threads ? f->threads : 1, f->start);
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

static inline void take(const char *what) {
    char command[256];
    snprintf(command, sizeof(command), "rm -rf '%s/%s'", root, what);
    assert_int_equal(system(command), 0);
}

static inline void put_host(unsigned long long busy, int forks, int threads, int last_pid) {
    put("stat", "cpu  %llu 0 0 1000 0 0 0 0 0 0\nprocesses %d\n", busy, forks);
    put("loadavg", "0 0 0 1/%d %d\n", threads, last_pid);
}

static inline int setup(void **state) {
    (void)state;
    // Thousands of small files: on tmpfs where available.
    strcpy(root, access("/dev/shm", W_OK) ? "/tmp/test_tasks.XXXXXX" : "/dev/shm/test_tasks.XXXXXX");
    memset(&options, 0, sizeof(options));
    fake_ns = tasks_clock();
    step_ns = 1000;
    return mkdtemp(root) ? 0 : -1;
}

static inline int teardown(void **state) {
    (void)state;
    tasks_free(tasks);
    tasks = NULL;
    take("");
    return 0;
}

static inline void first(void) {
    char reason[256];
    tasks = tasks_new(&options, root, false, reason, sizeof(reason));
    assert_non_null(tasks);
    tasks->clock = fake_clock;
    assert_int_equal(tasks_first(tasks, NULL), 0);
    while (tasks->unsettled.count)
        tasks_drain(tasks);
    begin_ns = fake_ns;
}

static inline void frame_of(uint64_t ns) {
    uint64_t end = fake_ns = begin_ns + ns;
    assert_int_equal(tasks_frame(tasks, begin_ns, end), 0);
    begin_ns = end;
}

static inline void frame(void) {
    frame_of(1000000000);
}

// The row of that thread (or process) in that state ('\0': any but ended), or NULL.
static inline const union cell *row(int tid, char state) {
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

static inline double num(int tid, const char *column) {
    const union cell *cells = row(tid, 0);
    assert_non_null(cells);
    int at = table_column(&tasks_table, column);
    assert_true(at >= 0);
    return cells[at].num;
}

static inline size_t rows(void) {
    return table_builder_rows(tasks->builder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
