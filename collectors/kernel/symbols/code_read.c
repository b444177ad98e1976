// Instructions on demand: the query of the collector's thread, and the reader that answers it. See code.h.
#include "collectors/kernel/symbols/code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/symbols/demangle.h"
#include "collectors/kernel/symbols/jitdump.h"
#include "collectors/kernel/symbols/kcore.h"
#include "collectors/kernel/symbols/lines.h"
#include "collectors/kernel/symbols/private.h"

#if defined(__aarch64__)
#define NATIVE EM_AARCH64
#else
#define NATIVE EM_X86_64
#endif
#define UNKNOWN_BYTES 256 // disassembled after the last sample of code that no symbol covers
#define SOURCE_TEXT 256

// ---- the collector's side ----

void symbols_code_want(struct symbols *symbols, const struct code_query *query) {
    struct symbols_object *object = query->object ? query->object : symbols->kernel;
    pthread_mutex_lock(&symbols->lock);
    struct code_slot *slot = &symbols->code;
    slot->query = *query;
    slot->query.object = object;
    slot->wanted = true;
    slot->version++;
    code_free(slot->done);
    slot->done = NULL;
    object->code = true;
    symbols_queue(symbols, object);
    pthread_mutex_unlock(&symbols->lock);
}

struct code *symbols_code_take(struct symbols *symbols) {
    pthread_mutex_lock(&symbols->lock);
    struct code *done = symbols->code.done;
    symbols->code.done = NULL;
    pthread_mutex_unlock(&symbols->lock);
    return done;
}

// Address to file offset; the inverse of symbol_table_address().
static bool offset_of(const struct symbol_table *table, uint64_t address, uint64_t *offset) {
    *offset = address;
    for (size_t i = 0; i < table->n_segments; i++) {
        const struct symbol_segment *segment = &table->segments[i];
        if (address - segment->address >= segment->size)
            continue;
        *offset = address - segment->address + segment->offset;
        return true;
    }
    return !table->n_segments;
}

bool symbols_find(struct symbols *symbols, struct symbols_object *object, const char *symbol, const char *of,
                  uint64_t *offset) {
    bool found = false;
    object = object ? object : symbols->kernel;
    pthread_mutex_lock(&symbols->lock);
    const struct symbol_table *table = object->table;
    for (uint32_t i = 0; table && i < table->count && !found; i++) {
        const struct text *name = table->ids[i] == NAME_NONE ? NULL : name_table_text(symbols->names, table->ids[i]);
        if (name && !strcmp(text_bytes(name), symbol) && (object->role == ROLE_FILE || !strcmp(name_object(name), of)))
            found = offset_of(table, table->symbols[i].start, offset);
    }
    pthread_mutex_unlock(&symbols->lock);
    return found;
}

bool symbols_within(struct symbols *symbols, struct symbols_object *object, uint64_t offset, uint64_t *within) {
    uint64_t address;
    object = object ? object : symbols->kernel;
    pthread_mutex_lock(&symbols->lock);
    const struct symbol_table *table = object->table;
    const struct symbol *symbol =
        table && symbol_table_address(table, offset, &address) ? symbol_table_find(table, address) : NULL;
    if (symbol)
        *within = address - symbol->start;
    pthread_mutex_unlock(&symbols->lock);
    return symbol;
}

struct symbols_object *symbols_file(struct symbols *symbols, const char *path) {
    struct symbols_object *found = NULL;
    pthread_mutex_lock(&symbols->lock);
    for (size_t i = 0; i < symbols->n_objects; i++) {
        struct symbols_object *object = symbols->objects[i];
        if (object->role == ROLE_FILE && object != symbols->rest && !strcmp(object->key.path, path) &&
            (!found || object->used > found->used))
            found = object;
    }
    pthread_mutex_unlock(&symbols->lock);
    return found;
}

// ---- the reader's side ----

struct job {
    struct symbols *symbols;
    struct symbols_object *object;
    const struct code_place *place;
    struct code_query query;
    struct code *code;
};

static void set_note(struct code *code, const char *what, ssize_t error) {
    snprintf(code->note, sizeof(code->note), "%s: %s", what, strerror((int)-error));
}

// The function around the queried offset; without a symbol what was sampled.
static uint64_t find_range(const struct job *job) {
    const struct symbol_table *table = job->place->table;
    const struct code_query *query = &job->query;
    struct code *code = job->code;
    uint64_t address;
    const struct symbol *symbol = NULL;
    if (table && symbol_table_address(table, query->offset, &address))
        symbol = symbol_table_find(table, address);
    if (symbol) {
        code->start = query->offset - (address - symbol->start);
        code->end = code->start + symbol->size;
        return symbol->start;
    }
    code->start = code->end = query->offset;
    for (uint32_t i = 0; i < query->n_hot; i++) {
        code->start = query->hot[i] < code->start ? query->hot[i] : code->start;
        code->end = query->hot[i] > code->end ? query->hot[i] : code->end;
    }
    code->end += UNKNOWN_BYTES;
    return table && symbol_table_address(table, code->start, &address) ? address : code->start;
}

static ssize_t read_jit(const struct job *job, uint8_t *out, size_t size) {
    char path[64], reason[160];
    ssize_t n = -ESRCH;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)job->place->key->pid);
    int fd = job->place->ended ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = pread(fd, out, size, (off_t)job->code->start);
        n = n < 0 ? -errno : n;
        close(fd);
    }
    struct jit_file dump = {0};
    bool restarted;
    fd = n > 0 || !job->place->dump_path
             ? -1
             : jit_file_open(&dump, JIT_DUMP, &job->object->owner, job->place->dump_path, &restarted, reason);
    if (fd >= 0) {
        n = jitdump_code(fd, job->code->start, out, size);
        close(fd);
    }
    return n;
}

static ssize_t read_bytes(const struct job *job, uint8_t *out, size_t size, uint16_t *machine) {
    *machine = NATIVE;
    ssize_t n;
    if (job->object->role == ROLE_FILE) {
        n = object_code(job->place->key, job->code->start, out, size, machine);
        if (n <= 0)
            set_note(job->code, "no instructions: the file cannot be read", n < 0 ? n : -ENODATA);
    } else if (job->object->role == ROLE_JIT) {
        n = read_jit(job, out, size);
        if (n <= 0)
            set_note(job->code, "no JIT code: reading the memory of the process", n < 0 ? n : -ENODATA);
    } else {
        n = kcore_read("/proc/kcore", job->code->start, out, size, machine);
        if (n <= 0)
            set_note(job->code,
                     n == -EPERM || n == -EACCES
                         ? "no kernel code: /proc/kcore needs CAP_SYS_RAWIO and a kernel without lockdown"
                         : "no kernel code: reading /proc/kcore",
                     n < 0 ? n : -ENODATA);
    }
    return n;
}

static void disassemble(const struct job *job, uint64_t address) {
    struct code *code = job->code;
    uint64_t size = code->end - code->start;
    size = size < CODE_BYTES_MAX ? size : CODE_BYTES_MAX;
    uint8_t *bytes = xmalloc(size + 1);
    struct code_bytes out = {
        .bytes = bytes, .offset = code->start, .address = address, .hot = job->query.hot, .n_hot = job->query.n_hot};
    ssize_t n = read_bytes(job, bytes, size, &out.machine);
    if (n > 0) {
        out.size = (size_t)n;
        code_disassemble(code, &out);
    }
    free(bytes);
}

// The names of the targets of calls and jumps to other functions.
static void name_targets(const struct job *job) {
    const struct symbol_table *table = job->place->table;
    struct code *code = job->code;
    char text[512], name[DEMANGLED_MAX];
    uint64_t target;
    for (uint32_t i = 0; table && i < code->n; i++) {
        struct code_line *line = &code->lines[i];
        if (!code_target(code->texts + line->text, &target))
            continue;
        const struct symbol *symbol = symbol_table_find(table, target);
        if (!symbol || symbols_unnamed(table, symbol))
            continue;
        uint64_t within = target - symbol->start;
        demangle(table->names + symbol->name, name);
        if (within)
            snprintf(text, sizeof(text), "%s <%.300s+0x%llx>", code->texts + line->text, name,
                     (unsigned long long)within);
        else
            snprintf(text, sizeof(text), "%s <%.300s>", code->texts + line->text, name);
        line->text = code_text(code, text);
    }
}

static bool is_hot(const struct code_query *query, uint64_t from, uint64_t to) {
    for (uint32_t i = 0; i < query->n_hot; i++)
        if (query->hot[i] >= from && query->hot[i] < to)
            return true;
    return false;
}

// What is inlined at the sampled instructions.
static void set_function(const struct job *job, struct lines *lines, struct code_line *line, uint64_t next) {
    struct symbols_source source;
    if (is_hot(&job->query, line->offset, next) && lines_find(lines, line->address, &source) && source.n > 1)
        line->function = code_text(job->code, source.frames[0].function);
}

static void set_lines(const struct job *job, struct lines *lines) {
    struct code *code = job->code;
    struct source_files *files = source_files_new(job->query.pid);
    const char *last_file = NULL;
    uint32_t last_line = 0, text = 0, source = 0;
    char bytes[SOURCE_TEXT];
    for (uint32_t i = 0; i < code->n; i++) {
        struct code_line *line = &code->lines[i];
        const char *file;
        if (!lines_row(lines, line->address, &file, &line->line))
            continue;
        bool same_file = last_file && !strcmp(file, last_file);
        if (!same_file)
            text = code_text(code, file);
        if (!same_file || line->line != last_line)
            source = source_files_line(files, file, line->line, bytes, sizeof(bytes)) ? code_text(code, bytes) : 0;
        last_file = file;
        last_line = line->line;
        line->file = text;
        line->source = source;
        set_function(job, lines, line, i + 1 < code->n ? code->lines[i + 1].offset : code->end);
    }
    source_files_free(files);
}

static void read_lines(const struct job *job) {
    const struct symbol_table *table = job->place->table;
    const char *reason = NULL;
    uint64_t size, address;
    int fd = job->object->role == ROLE_FILE && table ? object_open_debug(job->place->key, &size) : -1;
    if (fd < 0)
        return;
    struct lines *lines = lines_open(fd, size, &reason);
    close(fd);
    if (reason && !job->code->note[0])
        snprintf(job->code->note, sizeof(job->code->note), "no source lines: %s", reason);
    if (!lines)
        return;
    atomic_fetch_add(&job->symbols->bytes, lines_bytes(lines));
    if (symbol_table_address(table, job->query.offset, &address))
        lines_find(lines, address, &job->code->where);
    set_lines(job, lines);
    atomic_fetch_sub(&job->symbols->bytes, lines_bytes(lines));
    lines_close(lines);
}

void symbols_read_code(struct symbols *symbols, struct symbols_object *object, const struct code_place *place) {
    struct job job = {.symbols = symbols, .object = object, .place = place};
    pthread_mutex_lock(&symbols->lock);
    struct code_slot *slot = &symbols->code;
    bool wanted = slot->wanted && slot->query.object == object;
    uint32_t version = slot->version;
    job.query = slot->query;
    slot->wanted &= !wanted;
    pthread_mutex_unlock(&symbols->lock);
    if (!wanted)
        return;
    job.code = code_new();
    uint64_t address = find_range(&job);
    disassemble(&job, address);
    name_targets(&job);
    read_lines(&job);
    pthread_mutex_lock(&symbols->lock);
    if (slot->version == version) {
        code_free(slot->done);
        slot->done = job.code;
        job.code = NULL;
    }
    pthread_mutex_unlock(&symbols->lock);
    code_free(job.code);
}
