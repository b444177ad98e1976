// Long calls; see the header.
#include "collectors/functions/long_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "collectors/functions/table.h"
#include "collectors/kernel/symbols/symbols.h"
#include "model/clock.h"
#include "model/mem.h"
#include "model/names.h"

#define WAIT_NS 5000000000ull // for symbols
#define PROCESSES_MAX 16      // whose mappings are kept
#define MAPPINGS_MAX 1024     // of one process, executable
#define READ_AGAIN_NS 500000000ull

struct mapping {
    uint64_t start, end, offset;
    struct symbols_object *object; // NULL: no file's code
};
struct process {
    pid_t pid;
    uint64_t read_ns, used;
    struct mapping *mappings;
    size_t n;
};

struct long_call {
    struct call_record record;
    uint64_t came_ns;
    uint32_t ids[CALL_FRAMES];
    size_t n_ids;
    uint32_t exact_id; // of the kernel: the first address itself; else NAME_NONE
};

struct long_calls {
    struct name_table *names;
    struct symbols *symbols; // NULL: no thread for it
    const struct running *running;
    struct process processes[PROCESSES_MAX];
    uint64_t uses;
    struct long_call *calls; // a ring of LONG_CALLS_MAX
    uint64_t first, n;       // `n` of them came, those from `first` on are not filled yet
    uint64_t left_out, dropped;
};

struct long_calls *long_calls_new(bool kernel) {
    struct long_calls *calls = xcalloc(1, sizeof(*calls));
    calls->names = name_table_new();
    calls->symbols = symbols_new(calls->names);
    if (kernel && calls->symbols)
        symbols_kernel(calls->symbols, UINT64_MAX);
    calls->calls = xcalloc(LONG_CALLS_MAX, sizeof(*calls->calls));
    return calls;
}

void long_calls_free(struct long_calls *calls) {
    if (!calls)
        return;
    if (calls->symbols)
        symbols_free(calls->symbols);
    for (size_t i = 0; i < PROCESSES_MAX; i++)
        free(calls->processes[i].mappings);
    name_table_unref(calls->names);
    free(calls->calls);
    free(calls);
}

// ---- from addresses to names ----

static void mapping_add(struct long_calls *calls, struct process *process, char *line) {
    unsigned long long start, end, offset, inode;
    unsigned major, minor;
    char rights[8];
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, rights, &offset, &major, &minor, &inode, &at) <
            7 ||
        !at || rights[2] != 'x' || process->n == MAPPINGS_MAX)
        return;
    const struct object_key key = {.pid = process->pid,
                                   .start = start,
                                   .end = end,
                                   .device = makedev(major, minor),
                                   .inode = inode,
                                   .path = line[at] ? line + at : "//anon"};
    // The kernel's trampoline stands in for the return address of a probed caller.
    bool trampoline = !strcmp(key.path, "[uprobes]");
    process->mappings[process->n++] =
        (struct mapping){start, end, offset, trampoline ? NULL : symbols_object(calls->symbols, &key)};
}

static void process_read(struct long_calls *calls, struct process *process) {
    char path[64], *line = NULL;
    size_t space = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)process->pid);
    FILE *in = fopen(path, "re");
    if (!process->mappings)
        process->mappings = xcalloc(MAPPINGS_MAX, sizeof(*process->mappings));
    process->read_ns = now_ns();
    if (!in)
        return; // it has ended: what was read before stands
    process->n = 0;
    while (getline(&line, &space, in) > 0)
        mapping_add(calls, process, line);
    free(line);
    fclose(in);
}

static struct process *process_find(struct long_calls *calls, pid_t pid) {
    struct process *oldest = &calls->processes[0];
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        struct process *process = &calls->processes[i];
        if (process->pid == pid) {
            process->used = ++calls->uses;
            return process;
        }
        oldest = process->used < oldest->used ? process : oldest;
    }
    oldest->pid = pid;
    oldest->used = ++calls->uses;
    oldest->n = 0;
    process_read(calls, oldest);
    return oldest;
}

static const struct mapping *mapping_find(const struct process *process, uint64_t address) {
    for (size_t i = 0; i < process->n; i++)
        if (address >= process->mappings[i].start && address < process->mappings[i].end)
            return &process->mappings[i];
    return NULL;
}

// Return addresses: the call is before them.
static void kernel_resolve(struct long_calls *calls, struct long_call *call, size_t n) {
    if (calls->symbols && n)
        call->exact_id = symbols_kernel(calls->symbols, call->record.frames[0]);
    for (size_t i = 0; calls->symbols && i < n; i++)
        call->ids[call->n_ids++] = symbols_kernel(calls->symbols, call->record.frames[i] - 1);
}

static bool of_kernel(const struct running *running, const struct call_record *record) {
    return record->place < running->n_places &&
           running->choice.users[running->places[record->place].user].pid == FUNCTION_KERNEL_PID;
}

static void frames_resolve(struct long_calls *calls, struct long_call *call) {
    const struct call_record *record = &call->record;
    size_t n = record->stack_bytes > 0 ? (size_t)record->stack_bytes / sizeof(uint64_t) : 0;
    if (of_kernel(calls->running, record)) {
        kernel_resolve(calls, call, n < CALL_FRAMES ? n : CALL_FRAMES);
        return;
    }
    struct process *process = calls->symbols ? process_find(calls, (pid_t)record->pid) : NULL;
    for (size_t i = 0; process && i < n && i < CALL_FRAMES; i++) {
        uint64_t address = record->frames[i] - 1;
        const struct mapping *mapping = mapping_find(process, address);
        if (!mapping && now_ns() - process->read_ns > READ_AGAIN_NS) {
            process_read(calls, process);
            mapping = mapping_find(process, address);
        }
        if (!mapping) // a chain of frame pointers that ends in code without them
            break;
        if (!mapping->object)
            continue;
        uint64_t offset = symbols_is_jit(mapping->object) ? address : address - mapping->start + mapping->offset;
        call->ids[call->n_ids++] = symbols_user(calls->symbols, mapping->object, offset);
    }
}

static void take(void *context, const uint8_t *bytes, uint32_t size) {
    struct long_calls *calls = context;
    if (size < sizeof(struct call_record))
        return;
    struct long_call *call = &calls->calls[calls->n++ % LONG_CALLS_MAX];
    *call = (struct long_call){.came_ns = now_ns(), .exact_id = NAME_NONE};
    memcpy(&call->record, bytes, sizeof(call->record));
    frames_resolve(calls, call);
    if (calls->n - calls->first > LONG_CALLS_MAX) {
        calls->first++;
        calls->left_out++;
    }
}

void long_calls_drain(struct long_calls *calls, struct running *running) {
    calls->running = running;
    if (running->maps.lists)
        bpf_ring_drain(&running->maps.recorder.ring, take, calls);
}

// ---- rows ----

// A return probe on a kernel before 6.x runs in a trampoline, which is then the first frame, and the callers behind it
// are unknown.
static size_t first_frame(const struct long_calls *calls, const struct long_call *call) {
    const struct text *name = name_table_text(calls->names, call->exact_id);
    return name && strstr(text_bytes(name), "retprobe_trampoline") ? 1 : 0;
}

static size_t name_put(const struct long_calls *calls, uint32_t id, char *out, size_t size) {
    const struct text *name = name_table_text(calls->names, id);
    char brief[256];
    name_brief(name ? text_bytes(name) : "?", brief, sizeof(brief));
    int n = snprintf(out, size, "%s", brief);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void args_text(const struct call_record *record, char *out, size_t size) {
    size_t at = 0;
    for (int i = 0; i < CALL_ARGS && at + 24 < size; i++)
        at += (size_t)snprintf(out + at, size - at, record->args[i] < 1000000 ? "%s%" PRIu64 : "%s0x%" PRIx64,
                               i ? ", " : "", record->args[i]);
}

static void row_add(const struct long_calls *calls, const struct running *running, const struct long_call *call,
                    int64_t wall_ns, struct table_builder *rows) {
    const struct call_record *record = &call->record;
    char text[2048], caller[256] = "";
    size_t at = 0;
    if (record->place >= running->n_places)
        return;
    const struct function *function = &running->choice.functions[running->places[record->place].function];
    uint32_t slot = table_builder_add(rows);
    table_builder_set_num(rows, slot, FUNCTIONS_S_TIME, (double)((int64_t)record->begin_ns + wall_ns) / 1e9);
    table_builder_set_num(rows, slot, FUNCTIONS_S_LATENCY, (double)record->took_ns / 1e3);
    snprintf(text, sizeof(text), "%.16s", record->comm);
    table_builder_set_text(rows, slot, FUNCTIONS_S_COMM, text_from(text));
    table_builder_set_num(rows, slot, FUNCTIONS_S_PID, record->pid);
    table_builder_set_num(rows, slot, FUNCTIONS_S_TID, record->tid);
    table_builder_set_text(rows, slot, FUNCTIONS_S_FUNCTION, text_from(function->name));
    size_t first = first_frame(calls, call);
    bool known = call->n_ids > first;
    if (known)
        name_put(calls, call->ids[first], caller, sizeof(caller));
    table_builder_set_text(rows, slot, FUNCTIONS_S_CALLER, known ? text_from(caller) : NULL);
    args_text(record, text, sizeof(text));
    table_builder_set_text(rows, slot, FUNCTIONS_S_ARGS, of_kernel(running, record) ? NULL : text_from(text));
    for (size_t i = first; i < call->n_ids && at + 300 < sizeof(text); i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", i > first ? " < " : "");
        at += name_put(calls, call->ids[i], text + at, sizeof(text) - at);
    }
    table_builder_set_text(rows, slot, FUNCTIONS_S_STACK, known ? text_from(text) : NULL);
}

uint64_t long_calls_fill(struct long_calls *calls, struct running *running, struct table_builder *rows) {
    const int64_t wall_ns = wall_offset_ns();
    const uint64_t now = now_ns();
    bool ready = !calls->symbols || symbols_idle(calls->symbols);
    table_builder_clear(rows);
    if (!running || !running->maps.lists)
        return 0;
    long_calls_drain(calls, running);
    for (; calls->first < calls->n; calls->first++) {
        const struct long_call *call = &calls->calls[calls->first % LONG_CALLS_MAX];
        if (!ready && now - call->came_ns < WAIT_NS)
            break;
        row_add(calls, running, call, wall_ns, rows);
    }
    uint64_t dropped = bpf_recorder_dropped(&running->maps.recorder);
    uint64_t left_out = calls->left_out + (dropped >= calls->dropped ? dropped - calls->dropped : dropped);
    calls->dropped = dropped;
    calls->left_out = 0;
    return left_out;
}
