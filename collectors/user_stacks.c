// Names of user stacks; see the header.
#include "collectors/user_stacks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/slow_calls.h"
#include "collectors/kernel/symbols/symbols.h"
#include "model/mem.h"
#include "model/names.h"

#define PROCESSES_MAX 64 // the one used longest ago is forgotten
#define MAPS_MAX 4096    // executable mappings of a process
#define MAPS_BYTES (8u << 20)
#define TEXT_MAX 2048
#define WAIT_MS 100

// What texts need: they may outlive the rest.
struct texts {
    struct text_formatter formatter; // first: the formatter's callbacks get its address
    atomic_uint references;
    struct name_table *names;
};
struct mapping {
    uint64_t start, end, offset;
    struct symbols_object *object;
};
struct maps_call {
    struct slow_call call; // the first member
    char path[160];
    char *text; // NULL: it cannot be read
};
struct process {
    int32_t pid; // 0: free
    uint64_t used;
    bool fresh; // read in this interval
    struct maps_call *reading;
    struct mapping *maps;
    size_t n;
};
struct user_stacks {
    struct texts *texts;
    struct symbols *symbols;
    struct slow_calls *calls;
    struct process processes[PROCESSES_MAX];
    uint64_t turn;
    char proc[128];
};

// ---- texts ----

static void texts_hold(const struct text_formatter *formatter) {
    atomic_fetch_add_explicit(&((struct texts *)(uintptr_t)formatter)->references, 1, memory_order_relaxed);
}

static void texts_drop(const struct text_formatter *formatter) {
    struct texts *texts = (struct texts *)(uintptr_t)formatter;
    if (atomic_fetch_sub_explicit(&texts->references, 1, memory_order_acq_rel) != 1)
        return;
    name_table_unref(texts->names);
    free(texts);
}

struct frame_id {
    uint64_t address;
    uint32_t id; // NAME_NONE: no mapping is known
    uint32_t zero;
};

// A library's function has the file's name behind it: "malloc [libc.so.6]".
static size_t frame_text(const struct texts *texts, const struct frame_id *frame, bool first, char *out, size_t size) {
    const struct text *name = frame->id == NAME_NONE ? NULL : name_table_text(texts->names, frame->id);
    const char *between = first ? "" : " < ", *object = name ? name_object(name) : "", *slash = strrchr(object, '/');
    char brief[256];
    int n;
    if (!name) {
        n = snprintf(out, size, "%s0x%" PRIx64, between, frame->address);
    } else {
        name_brief(text_bytes(name), brief, sizeof(brief));
        if (name_kind(name) == NAME_LIBRARY && brief[0] != '[')
            n = snprintf(out, size, "%s%s [%s]", between, brief, slash ? slash + 1 : object);
        else
            n = snprintf(out, size, "%s%s", between, brief);
    }
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static const struct text *make(const struct text_formatter *formatter, const void *blob, size_t size) {
    const struct texts *texts = (const struct texts *)(uintptr_t)formatter;
    struct frame_id frame;
    char text[TEXT_MAX];
    size_t used = 0;
    for (size_t at = 0; at + sizeof(frame) <= size && used < sizeof(text) - 1; at += sizeof(frame)) {
        memcpy(&frame, (const uint8_t *)blob + at, sizeof(frame));
        used += frame_text(texts, &frame, !at, text + used, sizeof(text) - used);
    }
    return text_new(text, used);
}

// ---- mappings ----

// In a thread of the service.
static void call_run(struct slow_call *call) {
    struct maps_call *reading = (struct maps_call *)call;
    int fd = open(reading->path, O_RDONLY | O_CLOEXEC);
    size_t used = 0, space = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    char *text = NULL;
    while (n > 0 && used < MAPS_BYTES) {
        if (space - used < 4096)
            text = xrealloc(text, space += 65536);
        n = read(fd, text + used, space - used - 1);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        text[used] = '\0';
    reading->text = text;
}

static void call_free(struct slow_call *call) {
    struct maps_call *reading = (struct maps_call *)call;
    free(reading->text);
    free(reading);
}

// "START-END r-xp OFFSET MAJOR:MINOR INODE   PATH"
static bool mapping_parse(struct user_stacks *stacks, int32_t pid, const char *line, struct mapping *mapping) {
    unsigned major, minor;
    uint64_t inode;
    char flags[8];
    int path = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start, &mapping->end,
               flags, &mapping->offset, &major, &minor, &inode, &path) < 7 ||
        flags[2] != 'x')
        return false;
    const struct object_key key = {.pid = pid,
                                   .start = mapping->start,
                                   .end = mapping->end,
                                   .device = makedev(major, minor),
                                   .inode = inode,
                                   .path = path && line[path] ? line + path : "//anon"};
    mapping->object = symbols_object(stacks->symbols, &key);
    return true;
}

static void process_forget(struct user_stacks *stacks, struct process *process) {
    if (process->reading)
        slow_call_drop(stacks->calls, &process->reading->call);
    free(process->maps);
    *process = (struct process){.pid = 0};
}

static void maps_take(struct user_stacks *stacks, struct process *process) {
    char *rest = process->reading->text, *line;
    if (rest && *rest) { // the mappings of a process that ended meanwhile stay
        struct mapping mapping;
        size_t space = 0;
        process->n = 0;
        while ((line = strsep(&rest, "\n")) && process->n < MAPS_MAX) {
            if (!mapping_parse(stacks, process->pid, line, &mapping))
                continue;
            if (process->n == space)
                process->maps = xrealloc(process->maps, (space = space ? 2 * space : 32) * sizeof(mapping));
            process->maps[process->n++] = mapping;
        }
    }
    slow_call_drop(stacks->calls, &process->reading->call);
    process->reading = NULL;
}

// Begins to read its mappings, or asks whether they are there.
static void maps_read(struct user_stacks *stacks, struct process *process) {
    if (process->reading) {
        if (slow_call_done(stacks->calls, &process->reading->call))
            maps_take(stacks, process);
        return;
    }
    if (process->fresh)
        return;
    process->fresh = true;
    process->reading = xcalloc(1, sizeof(*process->reading));
    process->reading->call = (struct slow_call){.run = call_run, .free = call_free};
    snprintf(process->reading->path, sizeof(process->reading->path), "%s/%d/maps", stacks->proc, (int)process->pid);
    if (slow_call_start(stacks->calls, &process->reading->call))
        maps_take(stacks, process);
}

static struct process *process_get(struct user_stacks *stacks, int32_t pid) {
    struct process *process = &stacks->processes[0];
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        struct process *at = &stacks->processes[i];
        if (at->pid == pid) {
            process = at;
            break;
        }
        if (at->used < process->used)
            process = at;
    }
    if (process->pid != pid) {
        process_forget(stacks, process);
        process->pid = pid;
    }
    process->used = ++stacks->turn;
    return process;
}

static const struct mapping *mapping_find(const struct process *process, uint64_t address) {
    for (size_t i = 0; i < process->n; i++)
        if (address >= process->maps[i].start && address < process->maps[i].end)
            return &process->maps[i];
    return NULL;
}

// ---- the interface ----

struct user_stacks *user_stacks_new(const char *proc) {
    struct user_stacks *stacks = xcalloc(1, sizeof(*stacks));
    struct texts *texts = stacks->texts = xcalloc(1, sizeof(*texts));
    texts->formatter = (struct text_formatter){.make = make, .hold = texts_hold, .drop = texts_drop};
    atomic_init(&texts->references, 1);
    texts->names = name_table_new();
    snprintf(stacks->proc, sizeof(stacks->proc), "%s", proc);
    stacks->symbols = symbols_new(texts->names);
    stacks->calls = stacks->symbols ? slow_calls_new() : NULL;
    if (!stacks->calls) {
        user_stacks_free(stacks);
        return NULL;
    }
    return stacks;
}

void user_stacks_free(struct user_stacks *stacks) {
    if (!stacks)
        return;
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        process_forget(stacks, &stacks->processes[i]);
    if (stacks->calls)
        slow_calls_free(stacks->calls);
    if (stacks->symbols)
        symbols_free(stacks->symbols);
    texts_drop(&stacks->texts->formatter);
    free(stacks);
}

void user_stacks_see(struct user_stacks *stacks, int32_t pid) {
    if (pid <= 0)
        return;
    maps_read(stacks, process_get(stacks, pid)); // again in each interval: after an exec they are others
}

void user_stacks_begin(struct user_stacks *stacks) {
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        stacks->processes[i].fresh = false;
}

const struct text *user_stacks_text(struct user_stacks *stacks, int32_t pid, const uint64_t *addresses, size_t n,
                                    size_t exact) {
    struct frame_id frames[USER_STACKS_FRAMES] = {{0}};
    if (!n || pid <= 0)
        return NULL;
    struct process *process = process_get(stacks, pid);
    n = n < USER_STACKS_FRAMES ? n : USER_STACKS_FRAMES;
    for (size_t i = 0; i < n; i++) {
        uint64_t address = addresses[i] - (i >= exact);
        const struct mapping *mapping = mapping_find(process, address);
        if (!mapping) { // a library that was loaded since, or the first one
            maps_read(stacks, process);
            mapping = mapping_find(process, address);
        }
        frames[i] = (struct frame_id){.address = addresses[i], .id = NAME_NONE};
        if (mapping)
            frames[i].id =
                symbols_user(stacks->symbols, mapping->object,
                             symbols_is_jit(mapping->object) ? address : address - mapping->start + mapping->offset);
    }
    return text_lazy(&stacks->texts->formatter, frames, n * sizeof(*frames));
}

void user_stacks_wait(struct user_stacks *stacks) {
    const struct timespec step = {.tv_nsec = 2000000};
    for (int ms = 0; ms < WAIT_MS && !symbols_idle(stacks->symbols); ms += 2)
        nanosleep(&step, NULL);
}
