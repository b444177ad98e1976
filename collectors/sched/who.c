// Persons are looked up once; what they wait for is asked again for each long wait, and now and then for short ones.
#include "collectors/sched/who.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/task_identity.h"
#include "model/live.h"
#include "model/mem.h"

#define DEEP_NS 50000000ull   // a wait so long is asked what for
#define QUEUED_NS 20000000ull // a runnable one so old: of which control group is it?
#define AGAIN_NS 500000000ull // short waits of one thread are not looked at more often
#define ASKS 24               // in one round
#define COMING_NS 50000000ull // an event that was recorded has been read after so long

enum urgency { URGENT_NOT, URGENT_SHORT, URGENT_LONG, URGENT_RUNS, URGENT_QUEUED, URGENT_DISK, URGENCIES };

struct sched_who {
    const char *proc; // NULL: the events' numbers are not its
    const struct collect_options *options;
    struct sched_look *look;
    struct sched_person *persons;
    uint32_t capacity;
    uint32_t resolved;           // births up to this one were looked at
    uint32_t cursors[URGENCIES]; // the task that was asked about last
    struct sched_told *told;
};

struct sched_who *sched_who_new(const char *proc, const struct collect_options *options, struct sched_look *look) {
    struct sched_who *who = xcalloc(1, sizeof(*who));
    who->proc = proc;
    who->options = options;
    who->look = look;
    who->told = xcalloc(SCHED_ASKS_MAX, sizeof(*who->told));
    return who;
}

static void forget_wait(struct sched_person *person) {
    text_unref(person->waits_for);
    text_unref(person->stack);
    person->waits_for = person->stack = NULL;
    person->why = SCHED_WHY_NONE;
    person->hangs = false;
}

static void forget(struct sched_person *person) {
    forget_wait(person);
    text_unref(person->where);
    text_unref(person->syscall);
    text_unref(person->cgroup);
    text_unref(person->comm);
    *person = (struct sched_person){.syscall_nr = INT64_MIN};
}

void sched_who_free(struct sched_who *who) {
    if (!who)
        return;
    for (uint32_t i = 0; i < who->capacity; i++)
        forget(&who->persons[i]);
    free(who->persons);
    free(who->told);
    free(who);
}

bool sched_who_filters(const struct sched_who *who) {
    return thread_filters(who->options);
}

struct sched_person *sched_who_of(struct sched_who *who, const struct sched_machine *machine, uint32_t slot) {
    if (who->capacity < machine->capacity) {
        who->persons = xrealloc(who->persons, machine->capacity * sizeof(*who->persons));
        memset(&who->persons[who->capacity], 0, (machine->capacity - who->capacity) * sizeof(*who->persons));
        who->capacity = machine->capacity;
    }
    struct sched_person *person = &who->persons[slot];
    const struct sched_task *task = &machine->tasks[slot];
    if (person->birth != task->birth) {
        uint32_t row = person->row;
        forget(person);
        person->birth = task->birth;
        person->pid = task->tid;
        person->wanted = !sched_who_filters(who);
        person->row = row; // the caller's: it takes it away or gives it to the new one
    }
    return person;
}

uint32_t sched_who_drop(struct sched_who *who, uint32_t slot) {
    if (slot >= who->capacity)
        return 0;
    uint32_t row = who->persons[slot].row;
    forget(&who->persons[slot]);
    return row;
}

// ---- processes ----

static bool is_own(const struct sched_who *who, int32_t pid) {
    return self_process(pid) && !(who->options && who->options->show_self);
}

static void look_up(const struct sched_who *who, struct sched_person *person, int32_t tid) {
    const struct task_identity identity = task_identify(who->proc, who->options, tid);
    person->known = true;
    person->pid = identity.status.pid;
    person->wanted = identity.wanted;
}

void sched_who_resolve(struct sched_who *who, struct sched_machine *machine, uint32_t most) {
    if (who->resolved == machine->births)
        return;
    uint32_t done = 0;
    for (uint32_t i = 1; i < machine->n && done < most; i++) {
        const struct sched_task *task = &machine->tasks[i];
        if (!task->tid || task->state == SCHED_ENDED)
            continue;
        struct sched_person *person = sched_who_of(who, machine, i);
        if (person->known)
            continue;
        look_up(who, person, task->tid);
        machine->tasks[i].hidden = sched_who_filters(who) && !person->wanted;
        done++;
    }
    if (done < most)
        who->resolved = machine->births;
}

void sched_who_tell(struct sched_who *who, struct sched_machine *machine, uint32_t slot, int32_t pid) {
    struct sched_person *person = sched_who_of(who, machine, slot);
    if (person->known)
        return;
    if (sched_who_filters(who)) {
        look_up(who, person, pid);
        machine->tasks[slot].hidden = !person->wanted;
        return;
    }
    person->known = true;
    person->pid = pid;
    person->wanted = !is_own(who, pid);
}

// ---- what they wait for ----

static void text_set(const struct text **at, const char *string) {
    if (*at && !strcmp(text_bytes(*at), string))
        return;
    text_unref(*at);
    *at = string[0] ? text_from(string) : NULL;
}

// The answer is of a wait that should still go on, and says that it does not.
static bool contradicts(const struct sched_task *task, const struct sched_told *told, uint64_t now) {
    bool old = told->state && told->read_ns + COMING_NS < now;
    uint8_t asked = told->ask.state;
    if (!old || told->ask.wait != task->waits_all)
        return false;
    return asked == SCHED_ASK_RUNNABLE ? sched_counts(task->state) && told->state != 'R'
           : asked == SCHED_ASK_DISK   ? task->state == SCHED_DISK && told->state != 'D'
                                       : task->state == SCHED_SLEEPING && told->state == 'R';
}

// With hidepid, other users' threads do not show, and hidden is not gone.
static bool sees_all(const struct sched_who *who) {
    char path[160];
    snprintf(path, sizeof(path), "%s/1/stat", who->proc);
    return !access(path, F_OK);
}

static void take(struct sched_who *who, struct sched_machine *machine, const struct sched_told *told, uint64_t now) {
    uint32_t slot = told->ask.slot;
    if (slot >= machine->n || machine->tasks[slot].tid != told->ask.tid || !machine->tasks[slot].listed)
        return;
    struct sched_person *person = sched_who_of(who, machine, slot);
    person->idle = false;
    if (told->gone && !sees_all(who))
        return;
    if (told->gone) {
        person->asked = false; // it may still be told that it ended
        if (told->read_ns + COMING_NS < now_ns() && told->ask.wait == machine->tasks[slot].waits_all)
            sched_machine_gone(machine, slot, now);
        return;
    }
    if (contradicts(&machine->tasks[slot], told, now_ns()))
        sched_machine_doubt(machine, slot, told->state, now);
    if (told->cgroup[0])
        text_set(&person->cgroup, told->cgroup);
    if (told->ask.state == SCHED_ASK_RUNNABLE) {
        person->runnable_ns = told->state == 'R' ? person->asked_ns : person->runnable_ns;
        return;
    }
    if (told->where[0]) {
        text_set(&person->where, told->where);
        if (person->syscall_nr != told->syscall) {
            char name[64] = "";
            if (told->syscall >= 0)
                syscalls_name(told->short_words ? SYSCALLS_ABI_32 : SYSCALLS_ABI_NATIVE, (uint32_t)told->syscall, name,
                              sizeof(name));
            text_set(&person->syscall, name);
        }
        person->syscall_nr = told->syscall;
    }
    if (told->ask.wait != machine->tasks[slot].waits_all)
        return; // it went on meanwhile
    forget_wait(person);
    person->answered = true;
    person->deep = told->ask.deep;
    person->wait = told->ask.wait;
    person->hangs = told->hangs;
    person->why = told->why;
    text_set(&person->waits_for, told->waits_for);
    text_set(&person->stack, told->stack);
    if (told->hangs)
        text_set(&person->waits_for, "/proc does not answer about it: it hangs within the kernel's locks");
}

void sched_who_throttled(struct sched_who *who, struct sched_machine *machine, const struct sched_limits *limits) {
    struct sched_limit limit;
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        if (!task->tid || !sched_waits(task->state))
            continue;
        const struct text *cgroup = sched_who_of(who, machine, i)->cgroup;
        task->throttled = cgroup && sched_limits_find(limits, text_bytes(cgroup), &limit);
    }
}

// How urgent a question about the task is. Fills the question.
static enum urgency question(struct sched_who *who, const struct sched_machine *machine, uint32_t slot, uint64_t now,
                             struct sched_ask *ask) {
    const struct sched_task *task = &machine->tasks[slot];
    if (!task->tid || task->state < SCHED_RUNNING || task->state > SCHED_DISK || task->state == SCHED_RUNNABLE)
        return URGENT_NOT;
    const struct sched_person *person = sched_who_of(who, machine, slot);
    uint64_t age = now > task->since ? now - task->since : 0, quiet = now - person->asked_ns;
    bool runs = task->state == SCHED_RUNNING; // whoever it is: its leaving may not have been recorded
    if (!person->wanted && !runs)
        return URGENT_NOT;
    *ask = (struct sched_ask){.tid = task->tid, .slot = slot, .wait = task->waits_all};
    bool same = person->asked && person->asked_wait == task->waits_all;
    if (runs || sched_waits(task->state)) {
        ask->state = SCHED_ASK_RUNNABLE;
        // Once in each wait, and again and again: an event of it may have been left out.
        bool anew = !person->asked || person->asked_ns < task->since;
        bool due = age >= QUEUED_NS && (anew || quiet >= AGAIN_NS);
        return !due ? URGENT_NOT : runs ? URGENT_RUNS : URGENT_QUEUED;
    }
    ask->state = task->state == SCHED_DISK ? SCHED_ASK_DISK : SCHED_ASK_SLEEPING;
    ask->deep = age >= DEEP_NS;
    if (ask->deep)
        return same && person->asked_deep ? URGENT_NOT : task->state == SCHED_DISK ? URGENT_DISK : URGENT_LONG;
    return same || (person->asked && quiet < AGAIN_NS) ? URGENT_NOT : URGENT_SHORT;
}

// Whom a round can ask about with one urgency, of all tasks in order: those after the one that was asked about last,
// then those up to it, so that everybody's turn comes.
struct turns {
    uint32_t slots[2][ASKS];
    size_t n[2];
};

static void turns_add(struct turns *turns, uint32_t slot, uint32_t cursor) {
    bool before = slot <= cursor;
    if (turns->n[before] < ASKS)
        turns->slots[before][turns->n[before]++] = slot;
}

static uint32_t turns_at(const struct turns *turns, size_t i) {
    return i < turns->n[0] ? turns->slots[0][i] : turns->slots[1][i - turns->n[0]];
}

// Many CPUs have many that run, and a crowd many that want to, again and again: of them each round has a few. And each
// leaves some room to the others when answers do not come.
static size_t most_of(enum urgency urgency, size_t room) {
    static const struct {
        size_t most, leaves;
    } parts[URGENCIES] = {
        [URGENT_SHORT] = {ASKS, SCHED_ASKS_MAX * 3 / 4},
        [URGENT_LONG] = {ASKS, SCHED_ASKS_MAX / 4},
        [URGENT_RUNS] = {ASKS / 3, SCHED_ASKS_MAX / 2},
        [URGENT_QUEUED] = {ASKS / 3, SCHED_ASKS_MAX / 2},
        [URGENT_DISK] = {ASKS, 0},
    };
    size_t left = room > parts[urgency].leaves ? room - parts[urgency].leaves : 0;
    return left < parts[urgency].most ? left : parts[urgency].most;
}

static size_t choose(struct sched_who *who, const struct sched_machine *machine, uint64_t now, struct sched_ask *asks,
                     size_t room) {
    struct turns all[URGENCIES] = {0};
    size_t chosen = 0;
    for (uint32_t slot = 1; slot < machine->n; slot++) {
        enum urgency urgency = question(who, machine, slot, now, &asks[0]);
        turns_add(&all[urgency], slot, who->cursors[urgency]);
    }
    for (int urgency = URGENT_DISK; urgency > URGENT_NOT; urgency--) {
        size_t n = all[urgency].n[0] + all[urgency].n[1], most = most_of(urgency, room - chosen);
        for (size_t i = 0; i < n && i < most && chosen < ASKS; i++, chosen++) {
            uint32_t slot = turns_at(&all[urgency], i);
            question(who, machine, slot, now, &asks[chosen]);
            struct sched_person *person = &who->persons[slot];
            person->asked = true;
            person->asked_deep = asks[chosen].deep;
            person->asked_wait = asks[chosen].wait;
            person->asked_ns = now;
            who->cursors[urgency] = slot;
        }
    }
    return chosen;
}

void sched_who_look(struct sched_who *who, struct sched_machine *machine, uint64_t now) {
    if (!who->look)
        return;
    size_t n = sched_look_take(who->look, who->told, SCHED_ASKS_MAX, now_ns());
    for (size_t i = 0; i < n; i++)
        take(who, machine, &who->told[i], now);
    struct sched_ask asks[ASKS];
    size_t room = sched_look_room(who->look);
    size_t chosen = room ? choose(who, machine, now, asks, room) : 0;
    if (chosen)
        sched_look_ask(who->look, asks, chosen);
}
