#include "collectors/event_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

#define TASK_COMM_LEN 16
#define SLOTS 8192    // a power of two
#define USED_MAX 4096 // beyond, all are forgotten at the next interval

struct slot {
    int32_t tid; // 0: free
    uint32_t interval;
    struct task_identity identity;
};
struct event_names {
    const char *proc;
    uint32_t interval, used;
    struct slot slots[SLOTS];
    struct task_identity other; // for threads that find no slot
    uint32_t saved;             // the interval in which the kernel's names were read, plus 1
    uint64_t unknown;           // events that do not pass because their threads are unknown
};

struct event_names *event_names_new(const char *proc) {
    struct event_names *names = xcalloc(1, sizeof(*names));
    names->proc = proc;
    return names;
}

void event_names_free(struct event_names *names) {
    free(names);
}

void event_names_begin(struct event_names *names) {
    names->interval++;
    if (names->used < USED_MAX)
        return;
    memset(names->slots, 0, sizeof(names->slots));
    names->used = 0;
}

static struct slot *slot_of(struct event_names *names, int32_t tid) {
    uint32_t at = (uint32_t)tid * 2654435761u >> 19;
    for (uint32_t tries = 0; tries < SLOTS; tries++, at = (at + 1) & (SLOTS - 1))
        if (names->slots[at].tid == tid || !names->slots[at].tid)
            return &names->slots[at];
    return NULL;
}

// The events of a thread that exited identify it.
static bool find_kept(void *context, int32_t pid, struct thread_status *out) {
    struct event_names *names = context;
    const struct slot *slot = slot_of(names, pid);
    if (!slot || slot->tid != pid || !slot->identity.found)
        return thread_status_read(names->proc, pid, out);
    *out = slot->identity.status;
    return true;
}

static const struct task_identity *keep(struct event_names *names, struct slot *slot, int32_t tid,
                                        const struct task_identity *identity) {
    if (!slot) {
        names->other = *identity;
        return &names->other;
    }
    names->used += slot->tid != tid;
    *slot = (struct slot){.tid = tid, .interval = names->interval, .identity = *identity};
    return &slot->identity;
}

const struct task_identity *event_names_find(struct event_names *names, const struct collect_options *options,
                                             int32_t tid) {
    struct slot *slot = slot_of(names, tid);
    if (slot && slot->tid == tid && slot->interval == names->interval)
        return &slot->identity;
    struct task_identity identity = task_identify(names->proc, options, tid);
    if (slot && slot->tid == tid && !identity.found && slot->identity.found)
        identity = slot->identity; // it exited
    return keep(names, slot, tid, &identity);
}

const struct task_identity *event_names_find_as(struct event_names *names, const struct collect_options *options,
                                                int32_t tid, const struct thread_status *status) {
    struct slot *slot = slot_of(names, tid);
    if (slot && slot->tid == tid && slot->interval == names->interval && slot->identity.found)
        return &slot->identity;
    return event_names_learn(names, options, tid, status);
}

const struct task_identity *event_names_learn(struct event_names *names, const struct collect_options *options,
                                              int32_t tid, const struct thread_status *status) {
    const struct task_identity identity = {
        .status = *status,
        .found = true,
        .wanted = names->proc ? thread_wanted_among(find_kept, names, options, status) : !thread_filters(options)};
    return keep(names, slot_of(names, tid), tid, &identity);
}

// Gives threads that have no name the kernel's. "PID NAME" a line; "<...>": unknown.
static void saved_read(struct event_names *names) {
    const char *dir = tracing_dir(NULL, NULL);
    char path[512], line[64];
    snprintf(path, sizeof(path), "%s/saved_cmdlines", dir ? dir : "");
    FILE *file = dir ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof(line), file)) {
        char *name;
        int32_t tid = (int32_t)strtol(line, &name, 10);
        struct slot *slot = *name == ' ' && name[1] != '<' ? slot_of(names, tid) : NULL;
        if (slot && slot->tid == tid && !*slot->identity.status.name)
            snprintf(slot->identity.status.name, sizeof(slot->identity.status.name), "%.*s",
                     (int)strcspn(name + 1, "\n"), name + 1);
    }
    if (file)
        fclose(file);
}

const struct text *event_names_text(struct event_names *names, const struct task_identity *identity, int32_t tid) {
    if (!*identity->status.name && tid && names->saved != names->interval + 1) {
        names->saved = names->interval + 1;
        saved_read(names);
    }
    return *identity->status.name ? text_from(identity->status.name) : tid ? NULL : text_from("swapper");
}

const struct text *event_names_comm(struct event_names *names, const struct task_identity *identity,
                                    struct event_format *format, const uint8_t *record, uint32_t size, int32_t tid) {
    char name[64], id[32], file[4096];
    if (*identity->status.name || !tid)
        return event_names_text(names, identity, tid);
    // Events of an exit, and of a switch, carry the name of the thread that ran.
    for (int i = 0; format && i < 2; i++)
        if (event_format_field(format, record, size, i ? "prev_pid" : "pid", id, sizeof(id)) && atoi(id) == tid &&
            event_format_field(format, record, size, i ? "prev_comm" : "comm", name, sizeof(name)) && *name)
            return text_from(name);
    // An exec names the thread after its file: no other event has "filename" and "old_pid".
    if (format && event_format_field(format, record, size, "old_pid", id, sizeof(id)) &&
        event_format_field(format, record, size, "filename", file, sizeof(file))) {
        const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
        return text_new(base, strnlen(base, TASK_COMM_LEN - 1));
    }
    return event_names_text(names, identity, tid);
}

bool event_names_passes(struct event_names *names, const struct collect_options *options, int32_t tid,
                        const struct task_identity *identity, bool by_kernel) {
    if (!thread_filters(options))
        return true;
    if (identity->found || !names->proc)
        return identity->wanted;
    if (by_kernel && !options->has_user)
        return true;
    names->unknown += tid != 0;
    return false;
}

void event_names_notes(struct event_names *names, const struct collect_options *options, const char *what,
                       struct section *out) {
    char text[160];
    if (options && options->has_user) {
        snprintf(text, sizeof(text), "%s of all users are counted; those of --user are listed", what);
        section_note(out, SEVERITY_INFO, "count", text, NULL);
    }
    if (names->unknown) {
        snprintf(text, sizeof(text), "%llu %s are not listed: their threads exited before %s were read",
                 (unsigned long long)names->unknown, what,
                 options && options->has_user ? "their users" : "their parents");
        section_note(out, SEVERITY_INFO, NULL, text, NULL);
    }
    names->unknown = 0;
}
