#include "collectors/events/exec_args.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/events/exec_program.h"
#include "model/mem.h"

#define ENTRIES 4096 // a power of two
#define CHAIN_MAX 64
#define SAME_NS 20000000ull // at most between the times of one event in two clocks; the nearest one counts
#define TEXT_MAX 16384

struct entry {
    int32_t tid;
    uint32_t next; // index + 1 of an older one of the same chain; may be of another chain when it was overwritten
    uint64_t ns;
    const struct text *text;
};
struct exec_args {
    struct bpf_recorder recorder;
    struct entry entries[ENTRIES];
    uint32_t heads[ENTRIES]; // index + 1 of the newest one of a chain
    uint64_t n;
    exec_args_fn *fn; // during a drain
    void *context;
};

// ---- texts ----

struct out {
    char bytes[TEXT_MAX];
    size_t n;
};

static void put(struct out *out, const char *bytes, size_t length) {
    size_t room = sizeof(out->bytes) - out->n;
    memcpy(out->bytes + out->n, bytes, length < room ? length : room);
    out->n += length < room ? length : room;
}

static bool is_plain(const char *text, size_t length) {
    static const char special[] = " \t\n'\"\\$`&|;<>()*?[]{}~#!";
    for (size_t i = 0; i < length; i++)
        if (strchr(special, text[i]))
            return false;
    return length > 0;
}

static void put_quoted(struct out *out, const char *text, size_t length) {
    if (is_plain(text, length)) {
        put(out, text, length);
        return;
    }
    put(out, "'", 1);
    for (size_t i = 0; i < length; i++)
        put(out, text[i] == '\'' ? "'\\''" : text + i, text[i] == '\'' ? 4 : 1);
    put(out, "'", 1);
}

const struct text *exec_args_text(const char *bytes, size_t size) {
    struct out *out = xmalloc(sizeof(*out));
    out->n = 0;
    for (size_t at = 0; at < size;) {
        size_t length = strnlen(bytes + at, size - at);
        bool cut = at + length == size || out->n + length >= TEXT_MAX / 2;
        if (at)
            put(out, " ", 1);
        put_quoted(out, bytes + at, length);
        if (cut)
            put(out, " ...", 4);
        at = cut ? size : at + length + 1;
    }
    const struct text *text = out->n ? text_new(out->bytes, out->n) : NULL;
    free(out);
    return text;
}

// ---- records ----

static void entry_add(struct exec_args *args, int32_t tid, uint64_t ns, const struct text *take) {
    uint32_t at = (uint32_t)(args->n++ & (ENTRIES - 1)), *head = &args->heads[tid & (ENTRIES - 1)];
    struct entry *entry = &args->entries[at];
    text_unref(entry->text);
    *entry = (struct entry){.tid = tid, .next = *head == at + 1 ? 0 : *head, .ns = ns, .text = take};
    *head = at + 1;
}

const struct text *exec_args_find(const struct exec_args *args, int32_t tid, uint64_t ns) {
    uint32_t at = args->heads[tid & (ENTRIES - 1)];
    uint64_t nearest = SAME_NS;
    const struct text *text = NULL;
    for (int i = 0; at && i < CHAIN_MAX; i++, at = args->entries[at - 1].next) {
        const struct entry *entry = &args->entries[at - 1];
        uint64_t distance = ns > entry->ns ? ns - entry->ns : entry->ns - ns;
        if (entry->tid != tid || distance >= nearest)
            continue;
        nearest = distance;
        text = entry->text;
    }
    return text;
}

static void take(void *context, const uint8_t *bytes, uint32_t size) {
    struct exec_args *args = context;
    struct exec_record record;
    char path[EXEC_NAMES * EXEC_NAME_BYTES];
    if (size < sizeof(record))
        return;
    memcpy(&record, bytes, sizeof(record));
    const char *names = (const char *)bytes + sizeof(record);
    if (record.dir_bytes > size - sizeof(record) || record.args_bytes > size - sizeof(record) - record.dir_bytes)
        return;
    struct exec exec = {
        .ns = record.ns, .tid = (int32_t)record.task.tid, .status = bpf_task_status(&record.task, record.comm)};
    memcpy(exec.parent, record.parent, sizeof(exec.parent) - 1);
    if (record.flags & EXEC_ARGS_KNOWN)
        exec.args = exec_args_text(names + record.dir_bytes, record.args_bytes);
    if (exec_dir_path(&record, names, path, sizeof(path)))
        exec.cwd = text_from(path);
    if (args->fn)
        args->fn(args->context, &exec);
    text_unref(exec.cwd);
    if (exec.args)
        entry_add(args, exec.tid, exec.ns, exec.args);
}

void exec_args_drain(struct exec_args *args, exec_args_fn *fn, void *context) {
    args->fn = fn;
    args->context = context;
    bpf_ring_drain(&args->recorder.ring, take, args);
}

uint64_t exec_args_lost(const struct exec_args *args) {
    return bpf_recorder_dropped(&args->recorder);
}

int exec_args_fd(const struct exec_args *args) {
    return args->recorder.ring.fd;
}

// ---- opening ----

static int program_start(struct exec_args *args) {
    int32_t offsets[EXEC_OFFSETS];
    int error = exec_program_offsets(offsets);
    if (error)
        return error;
    struct bpf_code *code = xcalloc(1, sizeof(*code));
    exec_program(code, offsets, &args->recorder);
    error = bpf_recorder_start(&args->recorder, code, "ktop_exec", "sched_process_exec");
    free(code);
    return error;
}

int exec_args_open(struct exec_args **out) {
    struct exec_args *args = xcalloc(1, sizeof(*args));
    *out = NULL;
    int error = bpf_recorder_open(&args->recorder, EXEC_RING_BYTES, EXEC_SCRATCH_BYTES);
    if (!error)
        error = program_start(args);
    if (error) {
        exec_args_close(args);
        return error;
    }
    *out = args;
    return 0;
}

void exec_args_close(struct exec_args *args) {
    if (!args)
        return;
    bpf_recorder_close(&args->recorder);
    for (int i = 0; i < ENTRIES; i++)
        text_unref(args->entries[i].text);
    free(args);
}
