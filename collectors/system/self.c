// ktop's own cost: CPU time and memory of the process, CPU time of each of its threads. Times come from the
// CPU clocks (nanoseconds), not from the ticks of /proc.
#include "collectors/system/system.h"

#include <dirent.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/columns.h"
#include "model/mem.h"

#define THREADS_MAX 256
#define TRIM_NS 20000000000ull // between two times that free memory is returned to the system; it takes some ms
#define THREAD_YOUNG 3         // samples in which a new thread may still get its name

enum { P_PID, P_CPU, P_RSS, P_THREADS, P_VSIZE, P_COLUMNS };
static const struct column process_columns[P_COLUMNS] = {
    [P_PID] = COLUMN_PID(.help = "Process ID of ktop."),
    [P_CPU] = COLUMN_CPU_PCT(.help = "CPU time of all threads of ktop, in % of one CPU."),
    [P_RSS] = COLUMN_RSS_KIB(.help = "Resident memory of ktop."),
    [P_THREADS] = COLUMN_THREADS(.help = "Threads of ktop."),
    [P_VSIZE] = COLUMN_VSIZE_KIB(.help = "Size of ktop's address space."),
};
const struct table_def system_process_table = {
    .name = "process",
    .help = "What ktop itself costs: one row",
    .columns = process_columns,
    .n_columns = P_COLUMNS,
    .n_keys = 1,
};

enum { T_TID, T_NAME, T_CPU, T_COLUMNS };
static const struct column thread_columns[T_COLUMNS] = {
    [T_TID] = COLUMN_TID(.help = HELP_TID),
    [T_NAME] =
        TEXT_COLUMN("thread", "THREAD", 16, .help = "Thread name: ktop-COLLECTOR, ktop-frames, or ktop (the screen)."),
    [T_CPU] = COLUMN_CPU_PCT(.help = "CPU time of this thread, in % of one CPU."),
};
const struct table_def system_threads_table = {
    .name = "threads",
    .help = "What each thread of ktop costs",
    .columns = thread_columns,
    .n_columns = T_COLUMNS,
    .n_keys = 1,
};

struct thread {
    pid_t tid;
    bool seen;
    uint8_t age; // samples
    uint32_t slot;
    char name[32];
    uint64_t cpu_ns, last_ns;
};

struct self {
    struct proc_file statm;
    struct table_builder *process, *threads;
    uint32_t row;
    uint64_t cpu_ns, last_ns, trimmed_ns;
    DIR *tasks;
    struct thread known[THREADS_MAX];
    size_t n;
};

static void *self_create(void) {
    struct self *self = xcalloc(1, sizeof *self);
    self->statm = PROC_FILE("/proc/self/statm");
    self->process = table_builder_new(&system_process_table);
    self->row = table_builder_add(self->process);
    self->threads = table_builder_new(&system_threads_table);
    self->tasks = opendir("/proc/self/task");
    return self;
}

static void self_destroy(void *state) {
    struct self *self = state;
    proc_file_close(&self->statm);
    table_builder_free(self->process);
    table_builder_free(self->threads);
    if (self->tasks)
        closedir(self->tasks);
    free(self);
}

static bool clock_read(clockid_t clock, uint64_t *ns) {
    struct timespec spent;
    if (clock_gettime(clock, &spent) < 0)
        return false;
    *ns = (uint64_t)spent.tv_sec * 1000000000 + (uint64_t)spent.tv_nsec;
    return true;
}

// The CPU clock ID of another thread of this process, as pthread_getcpuclockid builds it: the complement of the TID, 4
// (CPUCLOCK_PERTHREAD), 2 (CPUCLOCK_SCHED).
static clockid_t thread_clock(pid_t tid) {
    return (clockid_t)((~(unsigned)tid << 3) | 4 | 2);
}

static double cpu_share(uint64_t *before_ns, uint64_t *last_ns, uint64_t cpu_ns, uint64_t now) {
    double seconds = system_elapsed(last_ns, now);
    double share = counter_rate(*before_ns, cpu_ns, seconds) / 1e9 * 100;
    *before_ns = cpu_ns;
    return share;
}

static void process_sample(struct self *self, struct system_sample *sample) {
    uint64_t cpu_ns, pages[2];
    struct table_builder *process = self->process;
    table_builder_set_num(process, self->row, P_PID, (double)getpid());
    if (clock_read(CLOCK_PROCESS_CPUTIME_ID, &cpu_ns))
        table_builder_set_num(process, self->row, P_CPU,
                              cpu_share(&self->cpu_ns, &self->last_ns, cpu_ns, sample->now()));
    bool read = proc_file_read(&self->statm, sample->buffer) == 0;
    const char *at = sample->buffer->bytes;
    double kib = (double)sysconf(_SC_PAGESIZE) / 1024;
    read = read && proc_numbers(&at, pages, 2) == 2;
    table_builder_set_num(process, self->row, P_VSIZE, read ? (double)pages[0] * kib : NAN);
    table_builder_set_num(process, self->row, P_RSS, read ? (double)pages[1] * kib : NAN);
}

static void thread_name(struct self *self, struct thread *thread) {
    char path[64], name[sizeof thread->name];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)thread->tid);
    if (proc_read_line(path, name, sizeof name) < 0 || !strcmp(name, thread->name))
        return;
    memcpy(thread->name, name, sizeof name);
    table_builder_set_text(self->threads, thread->slot, T_NAME, text_from(name));
}

static void thread_sample(struct self *self, pid_t tid, struct system_sample *sample) {
    struct thread *thread = NULL;
    for (size_t i = 0; i < self->n && !thread; i++)
        if (self->known[i].tid == tid)
            thread = &self->known[i];
    if (!thread) {
        if (self->n == THREADS_MAX)
            return;
        thread = &self->known[self->n++];
        *thread = (struct thread){.tid = tid, .slot = table_builder_add(self->threads)};
        table_builder_set_num(self->threads, thread->slot, T_TID, (double)tid);
    }
    uint64_t cpu_ns;
    if (!clock_read(thread_clock(tid), &cpu_ns))
        return;
    double share = cpu_share(&thread->cpu_ns, &thread->last_ns, cpu_ns, sample->now());
    thread->seen = true;
    if (thread->age < THREAD_YOUNG) {
        thread->age++;
        thread_name(self, thread);
    }
    table_builder_set_num(self->threads, thread->slot, T_CPU, share);
}

static void threads_sample(struct self *self, struct system_sample *sample) {
    for (size_t i = 0; i < self->n; i++)
        self->known[i].seen = false;
    if (self->tasks) {
        rewinddir(self->tasks);
        for (const struct dirent *entry; (entry = readdir(self->tasks));) {
            const char *at = entry->d_name;
            uint64_t tid;
            if (proc_number(&at, &tid) && tid <= INT32_MAX)
                thread_sample(self, (pid_t)tid, sample);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < self->n; i++) {
        if (!self->known[i].seen)
            table_builder_remove(self->threads, self->known[i].slot);
        else
            self->known[kept++] = self->known[i];
    }
    self->n = kept;
    table_builder_set_num(self->process, self->row, P_THREADS, kept ? (double)kept : NAN);
}

// Sections and names of many sizes are freed by other threads than made them: malloc keeps the pages, of which ktop
// would hold more than it uses.
static void memory_return(struct self *self, uint64_t now) {
    if (now - self->trimmed_ns < TRIM_NS)
        return;
    if (self->trimmed_ns)
        malloc_trim(0);
    self->trimmed_ns = now;
}

static void self_sample(void *state, struct system_sample *sample) {
    struct self *self = state;
    memory_return(self, sample->now());
    process_sample(self, sample);
    if (sample->all)
        threads_sample(self, sample);
    section_table(sample->out, table_builder_seal(self->process));
    section_table(sample->out, table_builder_seal(self->threads));
}

const struct system_part system_self_part = {
    .name = "self",
    .create = self_create,
    .sample = self_sample,
    .destroy = self_destroy,
};
