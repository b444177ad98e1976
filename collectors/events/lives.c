#include "collectors/events/lives.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/taskstats.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define CHAINS 4096 // a power of two
#define NONE UINT32_MAX
#define SWEEP_NS 2000000000ull

struct life {
    int32_t pid, ppid; // ppid 0: unknown
    uint32_t next;     // of its chain, of the free ones, or of those that ended
    uint32_t execs;
    uint64_t began_ns; // of the last exec
    const struct text *comm, *parent, *args, *cwd;
    bool ended, has_status, gone; // gone: it did not exist at the last sweep
    uint32_t exit_code;
    uint64_t elapsed_us, cpu_ns, rss_kib;
};
struct lives {
    struct event_names *names;
    const struct collect_options *options;
    struct taskstats_link *link; // NULL: see reason
    const char *reason, *fix;
    struct life lives[LIVES_MAX];
    uint32_t chains[CHAINS], free, ended, ended_last;
    struct task_account *exits; // read, not applied yet
    size_t n_exits, exits_allocated;
    uint64_t missed_execs; // of the interval
};

// ---- columns ----

enum { L_PID, L_TIME, L_PPID, L_PARENT, L_COMM, L_STATUS, L_LIFETIME, L_CPU, L_RSS, L_EXECS, L_CWD, L_ARGS, L_ALL };

static const struct column columns[L_ALL] = {
    [L_PID] = COLUMN_PID(.help = HELP_PID),
    [L_TIME] = COLUMN_TIME_S(.help = "Time of its last exec, in seconds since 1970.", .format = column_format_clock_us),
    [L_PPID] = ID_COLUMN("ppid", "PPID", 7, .help = "Process ID of the parent at the last exec."),
    [L_PARENT] = TEXT_COLUMN("parent", "PARENT", 12, .help = "Name of the parent."),
    [L_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [L_STATUS] = TEXT_COLUMN("status", "STATUS", 8,
                             .help = "running; or the exit status, or the signal that ended it; -: unknown."),
    [L_LIFETIME] =
        NUMBER_COLUMN("lifetime_us", "LIFETIME", UNIT_US, 8, .help = "From its fork to its end; -: it still runs."),
    [L_CPU] = NUMBER_COLUMN(
        "cpu_us", "CPU", UNIT_US, 8,
        .help =
            "CPU time of all its threads; up to one scheduler tick before each exit is missing; -: less than that."),
    [L_RSS] = NUMBER_COLUMN("rss_max_kib", "RSSMAX", UNIT_KIB, 7, .help = "Largest resident memory in its life."),
    [L_EXECS] = NUMBER_COLUMN("execs", "EXECS", UNIT_COUNT, 5, .help = "Programs that it ran, one after the other."),
    [L_CWD] = TEXT_COLUMN("cwd", "DIRECTORY", 20, .help = "Working directory at its last exec; -: unknown."),
    [L_ARGS] = COLUMN_ARGS(.help = "Arguments of its last exec; \" ...\": cut; -: unknown."),
};
const struct table_def events_programs_table = {
    .name = "programs",
    .help = "Processes that called exec while exec is recorded: those that ended in the interval, and the newest of "
            "those that run.",
    .columns = columns,
    .n_columns = L_ALL,
    .n_keys = 2,
    .rows = ROWS_REPORTED_ONCE,
};

// ---- the lives ----

struct lives *lives_open(struct event_names *names, const struct collect_options *options) {
    struct lives *lives = xcalloc(1, sizeof(*lives));
    lives->names = names;
    lives->options = options;
    for (uint32_t i = 0; i < LIVES_MAX; i++)
        lives->lives[i].next = i + 1 < LIVES_MAX ? i + 1 : NONE;
    for (uint32_t i = 0; i < CHAINS; i++)
        lives->chains[i] = NONE;
    lives->ended = lives->ended_last = NONE;
    if (taskstats_open(&lives->link, &lives->reason, &lives->fix))
        return lives;
    int error = taskstats_listen(lives->link);
    if (error) {
        lives->reason = "the kernel refuses to report exits";
        lives->fix = "run ktop as root";
        taskstats_close(lives->link);
        lives->link = NULL;
    }
    return lives;
}

static void life_clear(struct life *life) {
    text_unref(life->comm);
    text_unref(life->parent);
    text_unref(life->args);
    text_unref(life->cwd);
    *life = (struct life){.pid = 0};
}

void lives_close(struct lives *lives) {
    if (!lives)
        return;
    if (lives->link)
        taskstats_close(lives->link);
    for (uint32_t i = 0; i < LIVES_MAX; i++)
        life_clear(&lives->lives[i]);
    free(lives->exits);
    free(lives);
}

int lives_fd(const struct lives *lives) {
    return lives->link ? taskstats_listen_fd(lives->link) : -1;
}

static uint32_t *chain_of(struct lives *lives, int32_t pid) {
    return &lives->chains[(uint32_t)pid & (CHAINS - 1)];
}

// The place that has its index, or the end of the chain.
static uint32_t *place_of(struct lives *lives, int32_t pid) {
    uint32_t *at = chain_of(lives, pid);
    while (*at != NONE && lives->lives[*at].pid != pid)
        at = &lives->lives[*at].next;
    return at;
}

static void life_end(struct lives *lives, uint32_t *place) {
    uint32_t index = *place;
    struct life *life = &lives->lives[index];
    *place = life->next;
    life->next = NONE;
    life->ended = true;
    if (lives->ended == NONE)
        lives->ended = index;
    else
        lives->lives[lives->ended_last].next = index;
    lives->ended_last = index;
}

// ---- exec ----

static void parent_find(struct lives *lives, struct life *life) {
    if (life->ppid)
        life->parent =
            event_names_text(lives->names, event_names_find(lives->names, lives->options, life->ppid), life->ppid);
}

void lives_exec(struct lives *lives, const struct exec *exec) {
    uint32_t *place = place_of(lives, exec->status.pid);
    if (*place == NONE) {
        uint32_t index = lives->free;
        if (index == NONE) {
            lives->missed_execs++;
            return;
        }
        lives->free = lives->lives[index].next;
        life_clear(&lives->lives[index]);
        lives->lives[index].next = NONE;
        *place = index;
    }
    struct life *life = &lives->lives[*place];
    uint32_t next = life->next, execs = life->execs;
    life_clear(life);
    *life = (struct life){
        .pid = exec->status.pid,
        .ppid = exec->status.parent,
        .next = next,
        .execs = execs + 1,
        .began_ns = exec->ns,
        .comm = text_from(exec->status.name),
        .parent = *exec->parent ? text_from(exec->parent) : NULL,
        .args = text_ref(exec->args),
        .cwd = text_ref(exec->cwd),
    };
}

// ---- exits ----

static void exit_keep(void *context, const struct task_account *account) {
    struct lives *lives = context;
    if (lives->n_exits == lives->exits_allocated) {
        lives->exits_allocated = lives->exits_allocated ? 2 * lives->exits_allocated : 256;
        lives->exits = xrealloc(lives->exits, lives->exits_allocated * sizeof(*lives->exits));
    }
    if (!account->group)
        lives->exits[lives->n_exits++] = *account;
}

void lives_exits(struct lives *lives) {
    if (lives->link)
        taskstats_endings(lives->link, exit_keep, lives);
}

// Of one thread; the last one ends the process.
static void exit_apply(struct lives *lives, const struct task_account *account) {
    int32_t pid = account->has_tgid ? account->tgid : account->pid;
    uint32_t *place = place_of(lives, pid);
    if (*place == NONE)
        return;
    struct life *life = &lives->lives[*place];
    life->cpu_ns += account->cpu_ns;
    life->rss_kib = account->rss_max_kib > life->rss_kib ? account->rss_max_kib : life->rss_kib;
    if (account->pid == pid) {
        life->exit_code = account->exit_code;
        life->elapsed_us = account->elapsed_us;
        life->has_status = true;
        if (!life->ppid) {
            life->ppid = account->ppid;
            parent_find(lives, life);
        }
        text_unref(life->comm);
        life->comm = text_from(account->comm);
    }
    if (account->last || !account->has_tgid)
        life_end(lives, place);
}

void lives_settle(struct lives *lives) {
    for (size_t i = 0; i < lives->n_exits; i++)
        exit_apply(lives, &lives->exits[i]);
    lives->n_exits = 0;
}

// Processes that did not exist in two intervals ended, with unknown status: the reports of their exits were lost.
// Returns how many.
static uint64_t lives_sweep(struct lives *lives) {
    uint64_t n = 0, before_ns = now_ns() - SWEEP_NS;
    bool gone;
    for (uint32_t i = 0; i < CHAINS; i++)
        for (uint32_t *at = &lives->chains[i]; *at != NONE;) {
            struct life *life = &lives->lives[*at];
            gone = life->began_ns < before_ns && kill(life->pid, 0) && errno == ESRCH;
            if (gone && life->gone) {
                life_end(lives, at);
                n++;
            } else {
                at = &life->next;
            }
            life->gone = gone;
        }
    return n;
}

// ---- rows ----

const struct text *life_status_text(uint32_t code) {
    int number = (int)(code & 0x7f);
    const char *name = number ? sigabbrev_np(number) : NULL;
    if (!number)
        return text_printf("%u", code >> 8 & 0xff);
    return name ? text_printf("SIG%s%s", name, code & 0x80 ? ", core dumped" : "")
                : text_printf("signal %d%s", number, code & 0x80 ? ", core dumped" : "");
}

static void row_add(struct table_builder *rows, const struct life *life, int64_t wall_ns) {
    uint32_t slot = table_builder_add(rows);
    bool known = life->ended && life->has_status;
    table_builder_set_num(rows, slot, L_PID, life->pid);
    table_builder_set_num(rows, slot, L_TIME, (double)((int64_t)life->began_ns + wall_ns) / 1e9);
    table_builder_set_num(rows, slot, L_PPID, life->ppid ? life->ppid : NAN);
    table_builder_set_text(rows, slot, L_PARENT, text_ref(life->parent));
    table_builder_set_text(rows, slot, L_COMM, text_ref(life->comm));
    table_builder_set_text(rows, slot, L_STATUS,
                           known          ? life_status_text(life->exit_code)
                           : !life->ended ? text_from("running")
                                          : NULL);
    table_builder_set_num(rows, slot, L_LIFETIME, known ? (double)life->elapsed_us : NAN);
    table_builder_set_num(rows, slot, L_CPU, known && life->cpu_ns ? (double)life->cpu_ns / 1e3 : NAN);
    table_builder_set_num(rows, slot, L_RSS, known && life->rss_kib ? (double)life->rss_kib : NAN);
    table_builder_set_num(rows, slot, L_EXECS, life->execs);
    table_builder_set_text(rows, slot, L_CWD, text_ref(life->cwd));
    table_builder_set_text(rows, slot, L_ARGS, text_ref(life->args));
}

static int newest_first(const void *a, const void *b) {
    uint64_t x = (*(const struct life *const *)a)->began_ns, y = (*(const struct life *const *)b)->began_ns;
    return (x < y) - (x > y);
}

static size_t running_rows(struct lives *lives, struct table_builder *rows, size_t room, int64_t wall_ns) {
    const struct life **running = xmalloc(LIVES_MAX * sizeof(*running));
    size_t n = 0;
    for (uint32_t i = 0; i < LIVES_MAX; i++)
        if (lives->lives[i].pid && !lives->lives[i].ended)
            running[n++] = &lives->lives[i];
    qsort(running, n, sizeof(*running), newest_first);
    for (size_t i = 0; i < n && i < room; i++)
        row_add(rows, running[i], wall_ns);
    free(running);
    return n < room ? 0 : n - room;
}

static void note(struct section *out, uint64_t n, const char *text) {
    char sentence[256];
    if (!n)
        return;
    snprintf(sentence, sizeof(sentence), "%llu %s", (unsigned long long)n, text);
    section_note(out, SEVERITY_INFO, "status", sentence, NULL);
}

void lives_sample(struct lives *lives, int64_t wall_ns, struct section *out) {
    struct table_builder *rows = table_builder_new(&events_programs_table);
    char text[256];
    size_t n = 0, left_out = 0;
    uint64_t unreported = lives->link ? lives_sweep(lives) : 0;
    while (lives->ended != NONE) {
        uint32_t index = lives->ended;
        struct life *life = &lives->lives[index];
        lives->ended = life->next;
        if (n < LIVES_ROWS)
            row_add(rows, life, wall_ns);
        left_out += n++ >= LIVES_ROWS;
        life_clear(life);
        life->next = lives->free;
        lives->free = index;
    }
    running_rows(lives, rows, n < LIVES_ROWS ? LIVES_ROWS - n : 0, wall_ns);
    section_table(out, table_builder_seal(rows));
    table_builder_free(rows);
    if (!lives->link) {
        snprintf(text, sizeof(text), "ends of programs are unknown: %s", lives->reason);
        section_note(out, SEVERITY_INFO, "status", text, lives->fix);
    }
    note(out, lives->missed_execs, "programs are in no row: 16,384 run already");
    note(out, left_out, "programs that ended are in no row: the interval had more than 2,000");
    note(out, unreported, "programs ended with unknown status: the kernel's report of their exit is missing");
    lives->missed_execs = 0;
}
