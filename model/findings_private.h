// What the rules share: their context (one frame and what was derived from it), and how a rule reports a finding.
#ifndef MODEL_FINDINGS_PRIVATE_H
#define MODEL_FINDINGS_PRIVATE_H

#include <string.h>

#include "model/findings.h"
#include "model/findings_inputs.h"
#include "model/findings_thresholds.h"
#include "model/history.h"

struct rule_ctx;

// The input of a rule, whose level is compared with that of two minutes before the finding began.
enum level_kind {
    LEVEL_NONE, // an event or a state: no quantity
    LEVEL_SERIES,
    LEVEL_ONLY,    // of the only row of a table
    LEVEL_ROW,     // of the row whose first column is the finding's key; of several (threads) the largest
    LEVEL_LARGEST, // of all rows
    LEVEL_HIST,    // a high quantile of the histograms of a device and operation, which are the finding's key: "vda R"
};

struct rule_level {
    enum level_kind kind;
    const char *what;     // in a sentence: "PSI some"
    const char *of;       // the table or histogram set; NULL: `names` are series
    const char *names[2]; // columns or series; of two, the larger value counts
    bool falls;           // low values are the problem
};

struct rule {
    const char *kind;     // "cpu_saturated"
    const char *resource; // of the contract: cpu, memory, disk, network, scheduler, filesystem, kernel, process
    const char *pane;     // where to look next
    const char *profiled; // the same once the functions of its culprit are known; NULL: it is not about CPU time
    bool by_name;         // its culprit is all tasks of that name; the PID is of the heaviest
    bool is_event;        // an event, not a level that may flicker: shown from its first frame on, and for longer
    struct rule_level level;
    void (*check)(struct rule_ctx *ctx);
};
extern const struct rule *const rules[]; // findings_rules.c; ends with NULL

// The task or device that causes it; texts are borrowed from the frame. NAN and NULL: unknown.
struct culprit {
    double pid;
    const struct text *comm, *device;
};
#define NO_CULPRIT ((struct culprit){.pid = __builtin_nan("")})

// The heaviest user of something.
struct heaviest {
    double value; // of the task; NAN: none
    double sum;   // of all tasks of its name
    uint32_t n;   // how many those are
    struct culprit culprit;
    double priority;  // of the task, as in the table `tasks`; NAN: unknown
    bool short_lived; // tasks of its name start and exit all the time: a PID is of no use
    // Of a parent: the name of the child for which the value is highest.
    const struct text *child;
};

#define HOGS_MAX 4

// One pass over the tasks, made only when a rule names a culprit: an idle frame costs no pass.
struct task_summary {
    bool done;
    struct heaviest cpu, rss, faults, io;
    struct heaviest uninterruptible; // value: number of tasks in state D
    struct heaviest zombies, ended;  // culprit: the parent of most of them; value: how many
    // Culprit: the parent whose ended children used most CPU time; value: in % of one CPU; n: how many.
    struct heaviest children;
    struct {
        double cpu_pct, system_pct, priority;
        struct culprit culprit;
    } hogs[HOGS_MAX]; // tasks that use a whole CPU
    uint32_t n_hogs;
};

struct rule_ctx {
    const struct frame *frame, *previous; // previous may be NULL
    const struct rule *rule;
    struct findings *findings;
    double cpus;       // online; NAN: unknown
    double busy_cpus;  // average number of busy CPUs; NAN: unknown
    double interval_s; // of the frame
    bool cpu_saturated;
    bool cpu_limited;      // a reported CPU limit throttles its cgroup most of the time
    double hung[HOGS_MAX]; // PIDs reported for an I/O that does not complete
    uint32_t n_hung;
    struct culprit longest_blocked; // the longest wait in state D
    double longest_blocked_s;       // 0: none
    struct task_summary tasks;
    char formatted[8][32]; // results of ctx_format()
    uint8_t n_formatted;
};

// NAN where no section has it, and for event rules where the section is a repeated one.
double ctx_series(const struct rule_ctx *ctx, const char *name);
double ctx_series_before(const struct rule_ctx *ctx, const char *name); // of the previous frame
// A cell of the row; NAN or NULL for column -1.
double num_at(const union cell *row, int column);
const struct text *text_at(const union cell *row, int column);
// NULL where it is missing or empty, and as for ctx_series().
const struct table *ctx_table(const struct rule_ctx *ctx, const char *name);
// The length of the interval that the table is about: not the frame's if its collector was late.
double ctx_table_s(const struct rule_ctx *ctx, const char *name);
// The row of that PID in `tasks` (may be NULL), or NULL. A linear search.
const union cell *task_row(const struct table *tasks, double pid);
const struct task_summary *ctx_tasks(struct rule_ctx *ctx);
// The value with its unit; valid for the next seven calls.
const char *ctx_format(struct rule_ctx *ctx, enum unit unit, double value);
// "name (pid 12)", or "no single process".
const char *culprit_name(const struct culprit *culprit, char *out, size_t size);
// A key of a finding about a socket: the same address may exist in several network namespaces. NULL: ktop's own.
void socket_key(char *out, size_t size, const char *address, const struct text *netns);
// NULL: ktop's own network namespace.
bool is_same_netns(const struct text *a, const struct text *b);
// ", at real-time priority 50 (SCHED_FIFO or SCHED_RR)", or "" for other priorities.
const char *realtime_words(double priority, char *out, size_t size);
// The process with most I/O on the device (NULL: any device).
struct heaviest ctx_io_heaviest(struct rule_ctx *ctx, const struct text *device);
// The process with the most I/O wait on the device with the most wait, in us per second; sum: of all processes there.
// Kernel threads come last, since they do I/O for others. False: not measured.
bool ctx_io_waiter(struct rule_ctx *ctx, struct heaviest *heaviest);
// The I/O of programs, without that of kernel threads: on a device, or NULL: on all.
struct program_io {
    double wait_us, most_us;         // per second, queue and service time: all, and that of one process
    double writes, writeback_writes; // per second: those of programs and jbd2; the others, for which no task waits
    double write_bytes;              // per second, of `writes`
};
bool ctx_program_io(struct rule_ctx *ctx, const struct text *device, struct program_io *out); // false: unknown
// Kernel threads do I/O for others: the journal, writeback.
bool ctx_is_kernel_thread(const struct rule_ctx *ctx, double pid);
// The process that writes most to the device, no kernel thread.
struct heaviest ctx_writer(const struct rule_ctx *ctx, const struct text *device);

// For how long the rule has called this with the key in every frame up to this one, in seconds.
double ctx_duration_s(struct rule_ctx *ctx, const char *key);

// Memory of the rule that lasts from frame to frame: zeroed at first, freed with the findings, without references. A
// rule asks for the same size each time.
void *ctx_state(struct rule_ctx *ctx, size_t size);

// The finding holds in this frame. `key` distinguishes findings of one rule (a device, a PID; "" for a single one).
void ctx_report(struct rule_ctx *ctx, enum severity severity, const char *key, const struct culprit *culprit,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

// The finding with that key, reported in this frame, also explains the load of this process, which works for its
// culprit.
void ctx_explains(struct rule_ctx *ctx, const char *key, double pid);

// ---- levels ----

// The level of one finding. NAN: unknown.
struct level {
    const char *name; // the one of the rule's `names` that is larger; NULL: none
    const char *suffix;
    enum unit unit;
    double now, before;
};
// findings_levels.c: of the frame.
void level_now(struct level *level, const struct rule_level *of, const struct frame *frame, const char *key);
// Two minutes before the finding began at since_ns. Unknown if the history (may be NULL) does not reach back to there,
// or if the finding held then as well.
void level_before(struct level *level, const struct rule *rule, const struct history *history, uint64_t since_ns,
                  const char *key, const struct text *device);
// "; latency is 12 x its level two minutes before (1.8ms)", or "" if it was at least half of that.
void level_words(const struct level *level, const struct rule_level *of, char *out, size_t size);
// "devices.util_pct", "io_latency_us", "cpu_some_pct". False: no level.
bool level_name(const struct level *level, const struct rule_level *of, char *out, size_t size);

// The most significant quantile of that many I/Os, and its name. One slow I/O among few is no finding, but all of few
// are.
double telling_quantile(uint64_t count, const char **name);

// ---- frames of incidents ----

// findings_keep.c; free it with free().
struct findings_keep;
struct findings_keep *findings_keep_new(void);
// A finding is shown that began then.
void findings_keep_note(struct findings_keep *keep, uint64_t since_ns, uint64_t now_ns);
// Once per frame.
void findings_keep_step(struct findings_keep *keep, struct history *history, uint64_t now_ns);

// ---- threads ----

// The thread of a process with several threads that uses most of a CPU; name: borrowed from the frame.
struct busy_thread_row {
    double tid, cpu, cpu_pct, priority;
    const struct text *name;
};
// findings_ctx.c: realtime: of those at real-time priority. False: none uses half of a CPU.
bool ctx_busy_thread(const struct rule_ctx *ctx, double pid, bool realtime, struct busy_thread_row *out);
// findings_ctx.c: the share of that CPU's time that the hypervisor took, in %; 0: unknown.
double ctx_stolen_pct(const struct rule_ctx *ctx, double cpu);
// A priority of SCHED_FIFO or SCHED_RR; a task of SCHED_DEADLINE has a budget. NAN: no.
bool is_realtime(double priority);

// ---- storms ----

// A process in the table `storms`; texts are borrowed from the frame.
struct storm_row {
    struct culprit culprit;
    const struct text *detail, *error;
    double per_s, all_per_s, waiting; // waiting: threads, NaN: not of this kind
};
// findings_storms.c: the first row of that kind, the one that counts most; failing: of those whose calls fail. False:
// none.
bool ctx_storm(const struct rule_ctx *ctx, const char *what, bool failing, struct storm_row *out);
// The same of the processes in a network namespace, if it causes half of what they do. netns NULL: ktop's own.
bool ctx_storm_of_net(const struct rule_ctx *ctx, const char *what, const struct text *netns, struct storm_row *out);

// ---- the functions of culprits ----

struct hot_function {
    const struct text *name; // borrowed from the tree; NULL: none
    uint64_t samples;        // in the function itself
};
struct hot {
    uint64_t samples;           // of the culprit
    const struct text *process; // the first that has them, borrowed from the tree; NULL: none
    bool several;               // other processes have some as well
    struct hot_function user, kernel;
};
// findings_hot.c: the hottest functions of the culprit in a tree of samples.
void hot_find(const struct tree *tree, const struct culprit *culprit, bool by_name, struct hot *out);
// "71 % of its CPU time is in json_parse (libjson.so) and 20 % in copy_page (kernel)".
void hot_words(const struct hot *hot, char *out, size_t size);

// findings_profile.c: a finding that holds in this frame, and whose rule is about CPU time.
struct profiled {
    const struct rule *rule;
    const struct culprit *culprit;
    bool shown;
};
struct findings_profile;
struct findings_profile *findings_profile_new(void);
void findings_profile_free(struct findings_profile *profile);
void findings_profile_off(struct findings_profile *profile);
// Once per frame, after the rules.
void findings_profile_step(struct findings_profile *profile, const struct frame *frame, const struct profiled *of,
                           size_t n);
uint64_t findings_profile_lease(const struct findings_profile *profile);
// The functions of the culprit as a sentence; false: unknown.
bool findings_profile_words(struct findings_profile *profile, const struct profiled *of, uint64_t now_ns, char *out,
                            size_t size);
bool findings_profile_detail(const struct findings_profile *profile, uint64_t now_ns, char *out, size_t size);
// Whether the collector runs only for a finding, or might: then its state is no finding.
bool ctx_is_leased(const struct rule_ctx *ctx, const char *collector);

// The last `most` bytes of a path: cgroups differ at the end, and a key is cut after 47 bytes.
static inline const char *path_tail(const char *path, size_t most) {
    size_t length = strlen(path);
    return length > most ? path + length - most : path;
}

// False below `warning` or not measured; else the severity of the value.
bool is_above(double value, double warning, double critical, enum severity *severity);

// findings_hung.c: the row of `devices` has I/Os in flight and none completed in the interval.
bool is_disk_stopped(struct rule_ctx *ctx, const struct table_def *def, const union cell *row);

#endif
