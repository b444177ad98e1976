#include "collectors/events/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define TEXT_MAX 16384

struct calls {
    bool wanted[64];
    struct bpf_recorder recorder;
    uint64_t dropped;
    struct call_dirs *dirs;
    void (*fn)(void *context, const struct call_kept *kept, uint32_t size);
    void *context;
    uint8_t blob[CALL_KEPT_BYTES] __attribute__((aligned(8)));
};

// ---- one call ----

static const char *string_of(const struct call_record *record, int string) {
    const char *at = (const char *)(record + 1);
    for (int i = 0; i < string; i++)
        at += record->lengths[i] > 0 ? record->lengths[i] : 0;
    return at;
}

// The index among the strings of the call.
static int string_at(const struct call *call, int arg) {
    int string = 0;
    for (int i = 0; i < arg; i++)
        string += call_is_string(call->args[i].kind);
    return string;
}

static int dirfd_of(const struct call *call, const struct call_record *record, int arg) {
    return arg && call->args[arg - 1].kind == CALL_DIRFD ? (int)record->args[arg - 1] : AT_FDCWD;
}

static void dirs_find(struct calls *calls, struct call_kept *kept, char *end) {
    const struct call *call = &calls_table[kept->record.call];
    for (int arg = 0, path = 0; arg < CALL_ARGS && path < 2; arg++) {
        int string = string_at(call, arg);
        if (call->args[arg].kind != CALL_PATH)
            continue;
        int fd = dirfd_of(call, &kept->record, arg);
        const char *name = string_of(&kept->record, string);
        if (kept->record.lengths[string] > 0 && *name != '/' && (fd >= 0 || fd == AT_FDCWD) &&
            call_dirs_find(calls->dirs, kept->record.task.tid, kept->record.task.pid, fd, end, 4096,
                           &kept->read_ns[path])) {
            kept->dirs[path] = (uint16_t)(strlen(end) + 1);
            end += kept->dirs[path];
        }
        path++;
    }
}

// ---- texts ----

struct out {
    char bytes[TEXT_MAX];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(out->bytes + out->n, sizeof(out->bytes) - out->n, format, list);
    va_end(list);
    out->n += n < 0 ? 0 : (size_t)n;
    if (out->n >= sizeof(out->bytes))
        out->n = sizeof(out->bytes) - 1;
}

// PATH_MAX with its NUL: the kernel refuses longer ones.
static bool is_cut(const struct call_record *record, int string, enum call_kind kind) {
    return record->lengths[string] == CALL_STRING_BYTES && (kind != CALL_PATH || record->result == -ENAMETOOLONG);
}

static void put_path(const struct calls *calls, const struct call_kept *kept, int arg, struct call_row *row,
                     struct out *out) {
    const struct call_record *record = &kept->record;
    const struct call *call = &calls_table[record->call];
    int string = string_at(call, arg), path = 0;
    const char *name = string_of(record, string), *dir = (const char *)(record + 1) + kept->strings;
    for (int i = 0; i < arg; i++)
        path += call->args[i].kind == CALL_PATH;
    if (path)
        dir += kept->dirs[0];
    if (record->lengths[string] <= 0) {
        row->unreadable |= record->result != -EFAULT;
        put(out, "(unreadable)");
        return;
    }
    if (*name != '/') {
        bool known = kept->dirs[path] && !(kept->read_ns[path] && call_dirs_was_late(calls->dirs, kept->read_ns[path]));
        row->unresolved |= !known;
        while (!strncmp(name, "./", 2))
            name += 2 + strspn(name + 2, "/");
        put(out, "%s%s", known ? dir : "?", *name && !(known && !dir[1]) ? "/" : "");
    }
    put(out, "%s%s", name, is_cut(record, string, CALL_PATH) ? "..." : "");
}

// Values of options whose names speak of a secret are replaced.
static void put_options(struct out *out, const char *text, bool secret) {
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ","), name = strcspn(at, "=,");
        bool hide = secret || memmem(at, name, "pass", 4) || memmem(at, name, "secret", 6) || !strncmp(at, "key=", 4);
        if (hide && (secret || name < length))
            put(out, "%.*s***", secret ? 0 : (int)name + 1, at);
        else
            put(out, "%.*s", (int)length, at);
        at += length;
        if (*at == ',')
            put(out, ","), at++;
    }
}

static bool is_secret_key(const struct call *call, const struct call_record *record) {
    const char *key = call->args[2].kind == CALL_STRING && call->args[1].kind == CALL_VALUE ? string_of(record, 0) : "";
    return record->lengths[0] > 0 && (strstr(key, "pass") || strstr(key, "secret") || !strcmp(key, "key"));
}

static void put_string(const struct call *call, const struct call_record *record, int arg, struct out *out) {
    int string = string_at(call, arg);
    if (!record->args[arg])
        put(out, "NULL");
    else if (record->lengths[string] <= 0)
        put(out, "(unreadable)");
    else if (call->args[arg].kind == CALL_OPTIONS)
        put_options(out, string_of(record, string), is_secret_key(call, record));
    else
        put(out, "%s", string_of(record, string));
    if (record->args[arg] && is_cut(record, string, call->args[arg].kind))
        put(out, "...");
}

// struct open_how: flags, mode, resolve.
static bool how_of(const struct call *call, const struct call_record *record, uint64_t how[3]) {
    for (int arg = 0; arg < CALL_ARGS; arg++)
        if (call->args[arg].kind == CALL_HOW && record->lengths[string_at(call, arg)] == 24) {
            memcpy(how, string_of(record, string_at(call, arg)), 24);
            return true;
        }
    return false;
}

static bool flags_of(const struct call *call, const struct call_record *record, uint64_t *flags,
                     const struct call_arg **of) {
    uint64_t how[3];
    for (int arg = 0; arg < CALL_ARGS; arg++) {
        *of = &call->args[arg];
        if (call->args[arg].kind == CALL_FLAGS) {
            *flags = (uint32_t)record->args[arg];
            return true;
        }
        if (call->args[arg].kind == CALL_HOW && how_of(call, record, how)) {
            *flags = how[0];
            return true;
        }
    }
    return false;
}

static bool creates(const struct call *call, const struct call_record *record) {
    const struct call_arg *of;
    uint64_t flags;
    return !flags_of(call, record, &flags, &of) || flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY));
}

// The value of fsconfig is a string for three of its commands only.
static bool is_absent(const struct call *call, const struct call_record *record, int arg) {
    if (call->args[arg].kind == CALL_MODE)
        return !creates(call, record);
    return call->args[1].kind == CALL_VALUE &&
           ((arg == 2 && !record->args[2]) || (arg == 3 && record->args[1] != 1 && record->args[1] - 3 > 1));
}

static void put_value(const struct calls *calls, const struct call_kept *kept, int arg, struct call_row *row,
                      struct out *out) {
    const struct call_record *record = &kept->record;
    const struct call *call = &calls_table[record->call];
    uint64_t value = record->args[arg], how[3];
    char text[1024];
    switch (call->args[arg].kind) {
    case CALL_PATH:
        put_path(calls, kept, arg, row, out);
        return;
    case CALL_STRING:
    case CALL_OPTIONS:
        put_string(call, record, arg, out);
        return;
    case CALL_HOW:
        if (!how_of(call, record, how)) {
            put(out, "(unreadable)");
            return;
        }
        call_flags_text(&call->args[arg], how[0], text, sizeof(text));
        put(out, "%s", text);
        if (creates(call, record))
            put(out, " mode=0%llo", (unsigned long long)how[1]);
        if (how[2])
            put(out, " resolve=0x%llx", (unsigned long long)how[2]);
        return;
    case CALL_MODE:
        put(out, "0%o", (unsigned)value & 07777);
        return;
    case CALL_FLAGS:
    case CALL_VALUE:
        call_flags_text(&call->args[arg], (uint32_t)value, text, sizeof(text));
        put(out, "%s", text);
        return;
    default:
        put(out, "%d", (int)value);
    }
}

static const struct text *result_text(const struct call_record *record) {
    const char *name = record->result < 0 && record->result > -4096 ? strerrorname_np((int)-record->result) : NULL;
    return name ? text_from(name) : text_printf("%lld", (long long)record->result);
}

void calls_row(const struct calls *calls, const struct call_kept *kept, struct call_row *row) {
    const struct call_record *record = &kept->record;
    const struct call *call = &calls_table[record->call];
    struct out *out = xmalloc(sizeof(*out));
    char text[1024];
    uint64_t flags;
    const struct call_arg *of;
    *row = (struct call_row){.result = result_text(record)};
    out->n = 0;
    for (int arg = 0; arg < CALL_ARGS && call->args[arg].kind; arg++) {
        if (call->args[arg].kind == CALL_DIRFD || is_absent(call, record, arg))
            continue;
        put(out, "%s%s=", out->n ? " " : "", call->args[arg].name);
        size_t begin = out->n;
        put_value(calls, kept, arg, row, out);
        if (call->args[arg].kind == CALL_PATH) {
            text_unref(row->path);
            row->path = text_new(out->bytes + begin, out->n - begin);
        }
    }
    put(out, "%sresult=%s", out->n ? " " : "", text_bytes(row->result));
    row->fields = text_new(out->bytes, out->n);
    free(out);
    if (flags_of(call, record, &flags, &of))
        row->flags = text_new(text, call_flags_text(of, flags, text, sizeof(text)));
}

// ---- the ring ----

// Descriptors and directories that the call changed.
static void follow(struct calls *calls, const struct call_kept *kept) {
    const struct call_record *record = &kept->record;
    const struct call *call = &calls_table[record->call];
    int fd = call->result == CALL_MOVES ? AT_FDCWD : (int)record->result;
    struct call_row row = {.unresolved = false};
    struct out out;
    out.n = 0;
    if (record->result < 0 || call->result == CALL_PLAIN)
        return;
    if (call->args[0].kind == CALL_FD && call->result != CALL_MOUNT_FD) {
        call_dirs_duplicated(calls->dirs, record->task.pid, (int)record->args[0], fd, record->ns);
        return;
    }
    // What a detached mount contains has no path.
    for (int arg = 0; arg < 2 && call->result != CALL_MOUNT_FD && !out.n; arg++)
        if (call->args[arg].kind == CALL_PATH)
            put_path(calls, kept, arg, &row, &out);
    call_dirs_opened(calls->dirs, record->task.pid, fd, record->ns,
                     out.n && !row.unresolved && *out.bytes == '/' ? out.bytes : NULL);
}

static void take(void *context, const uint8_t *bytes, uint32_t size) {
    struct calls *calls = context;
    struct call_kept *kept = (struct call_kept *)calls->blob;
    if (size < sizeof(kept->record) || size > CALL_SCRATCH_BYTES)
        return;
    memcpy(&kept->record, bytes, size);
    if (kept->record.call >= calls_table_n)
        return;
    *kept = (struct call_kept){.strings = size - (uint32_t)sizeof(kept->record), .record = kept->record};
    dirs_find(calls, kept, (char *)(&kept->record + 1) + kept->strings);
    follow(calls, kept);
    if (!calls_table[kept->record.call].hidden)
        calls->fn(calls->context, kept, (uint32_t)sizeof(*kept) + kept->strings + kept->dirs[0] + kept->dirs[1]);
}

void calls_drain(struct calls *calls, void (*fn)(void *context, const struct call_kept *kept, uint32_t size),
                 void *context) {
    calls->fn = fn;
    calls->context = context;
    bpf_ring_drain(&calls->recorder.ring, take, calls);
}

uint64_t calls_lost(struct calls *calls) {
    uint64_t dropped = bpf_recorder_dropped(&calls->recorder), lost = dropped - calls->dropped;
    calls->dropped = dropped;
    call_dirs_begin(calls->dirs);
    return lost;
}

// ---- opening ----

int calls_fd(const struct calls *calls) {
    return calls->recorder.ring.fd;
}

static int program_start(struct calls *calls, uint32_t self) {
    struct bpf_code *code = xcalloc(1, sizeof(*code));
    const struct bpf_task_offsets offsets = bpf_task_offsets();
    call_program(code, calls->wanted, self, &offsets, &calls->recorder);
    int rc = bpf_recorder_start(&calls->recorder, code, "ktop_calls", "sys_exit");
    free(code);
    return rc;
}

int calls_open(const bool *wanted, const char *proc, uint32_t self, struct calls **out) {
    struct calls *calls = xcalloc(1, sizeof(*calls));
    *out = NULL;
    for (size_t i = 0; i < calls_table_n; i++)
        calls->wanted[i] = wanted[i] || calls_table[i].hidden;
    calls->dirs = call_dirs_new(proc);
    int error = bpf_recorder_open(&calls->recorder, CALL_RING_BYTES, CALL_SCRATCH_BYTES);
    if (!error)
        error = program_start(calls, self);
    if (error) {
        calls_close(calls);
        return error;
    }
    *out = calls;
    return 0;
}

void calls_close(struct calls *calls) {
    if (!calls)
        return;
    bpf_recorder_close(&calls->recorder);
    call_dirs_free(calls->dirs);
    free(calls);
}
