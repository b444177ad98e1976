// From a function's name to its object and an offset in it, and from the answer to rows (see the header).
#include "collectors/profile/code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/symbols/code.h"
#include "collectors/profile/profile.h"
#include "collectors/profile/table.h"
#include "model/mem.h"

enum code_state { CODE_NONE, CODE_WANTED, CODE_ASKED, CODE_KNOWN };

struct profile_code {
    enum code_state state;
    struct code_ask ask; // owns its strings
    struct symbols_object *object;
    uint64_t base;   // of the kernel: the function's address, which offsets of rows are from
    uint64_t offset; // asked for
    struct table_builder *rows;
    const struct text *symbol, *dso;
};

struct profile_code *profile_code_new(void) {
    struct profile_code *code = xcalloc(1, sizeof *code);
    code->rows = table_builder_new(&profile_code_table);
    return code;
}

static void ask_free(struct profile_code *code) {
    free((char *)code->ask.symbol);
    free((char *)code->ask.object);
    text_unref(code->symbol);
    text_unref(code->dso);
}

void profile_code_free(struct profile_code *code) {
    if (!code)
        return;
    ask_free(code);
    table_builder_free(code->rows);
    free(code);
}

void profile_code_forget(struct profile_code *code) {
    code->object = NULL;
    if (code->state == CODE_ASKED)
        code->state = CODE_WANTED;
}

// ---- rows ----

static uint32_t row_add(struct profile_code *code) {
    uint32_t row = table_builder_add(code->rows);
    table_builder_set_text(code->rows, row, CODE_SYMBOL, text_ref(code->symbol));
    table_builder_set_text(code->rows, row, CODE_DSO, text_ref(code->dso));
    table_builder_set_num(code->rows, row, CODE_LINE_ONLY, code->ask.line_only);
    return row;
}

static void set_text(struct profile_code *code, uint32_t row, uint16_t column, const char *text) {
    if (text[0])
        table_builder_set_text(code->rows, row, column, text_from(text));
}

// "f (a.h:12), inlined into g (b.c:40)": without the innermost, which is the row's own line.
static void set_inlined(struct profile_code *code, uint32_t row, const struct symbols_source *where) {
    char text[1024] = "";
    size_t length = 0;
    for (uint32_t i = 0; i + 1 < where->n && length < sizeof text; i++) {
        const struct source_frame *inner = &where->frames[i], *outer = &where->frames[i + 1];
        const char *slash = strrchr(outer->file, '/'), *file = slash ? slash + 1 : outer->file;
        int n = snprintf(text + length, sizeof text - length, "%s%s inlined at %s:%u", i ? ", " : "",
                         inner->function[0] ? inner->function : "[unknown]", file[0] ? file : "?", outer->line);
        length += n > 0 ? (size_t)n : 0;
    }
    set_text(code, row, CODE_FUNCTION, text);
}

// The first row is about the function: where it is, and what is missing.
static void head_set(struct profile_code *code, const struct symbols_source *where, const char *note) {
    table_builder_clear(code->rows);
    uint32_t row = row_add(code);
    set_text(code, row, CODE_NOTE, note);
    if (!where || !where->n)
        return;
    set_text(code, row, CODE_FILE, where->frames[0].file);
    if (where->frames[0].line)
        table_builder_set_num(code->rows, row, CODE_LINE, where->frames[0].line);
    set_inlined(code, row, where);
}

static void rows_set(struct profile_code *code, const struct code *answer) {
    head_set(code, &answer->where, answer->note);
    for (uint32_t i = 0; i < answer->n; i++) {
        const struct code_line *line = &answer->lines[i];
        uint32_t row = row_add(code);
        table_builder_set_num(code->rows, row, CODE_OFFSET, (double)(line->offset - code->base));
        table_builder_set_num(code->rows, row, CODE_ADDRESS, (double)(line->address - code->base));
        set_text(code, row, CODE_INSTRUCTION, answer->texts + line->text);
        set_text(code, row, CODE_FUNCTION, answer->texts + line->function);
        set_text(code, row, CODE_FILE, answer->texts + line->file);
        set_text(code, row, CODE_SOURCE, answer->texts + line->source);
        if (line->line)
            table_builder_set_num(code->rows, row, CODE_LINE, line->line);
    }
}

// ---- from a name to a place ----

static bool is_kernel(const char *object) {
    return object[0] == '[' && strcmp(object, "[vdso]") != 0 && strcmp(object, "[jit]") != 0 &&
           strcmp(object, "[other files]") != 0;
}

struct seek {
    long pid;
    const char *path;
    struct symbols_object *found;
};

static void space_seek(void *context, struct space *space) {
    struct seek *seek = context;
    for (uint32_t i = 0; space->pid == seek->pid && space->list && i < space->list->n && !seek->found; i++)
        if (!strcmp(space->list->maps[i].file->path, seek->path))
            seek->found = space->list->maps[i].file->object;
}

static struct symbols_object *object_seek(struct profile *profile, const struct code_ask *ask) {
    struct symbols *symbols = stacks_symbols(profile->stacks);
    struct seek seek = {ask->pid, ask->object, NULL};
    if (!strcmp(ask->object, "[jit]"))
        return ask->pid > 0 ? symbols_jit(symbols, (pid_t)ask->pid) : NULL;
    space_maps_each(profile->maps, space_seek, &seek);
    return seek.found ? seek.found : symbols_file(symbols, ask->object);
}

// Several kernel functions can have one name: the one that was sampled.
static bool kernel_seek(struct profile *profile, const struct code_ask *ask, uint64_t *start) {
    struct symbols *symbols = stacks_symbols(profile->stacks);
    size_t n;
    uint64_t dropped, within;
    const struct address *list = addresses_sorted(profile->addresses, &n, &dropped);
    for (size_t i = 0; i < n; i++) {
        const struct text *name = list[i].kernel ? name_table_text(profile->names, list[i].leaf) : NULL;
        if (!name || strcmp(text_bytes(name), ask->symbol) != 0 || strcmp(name_object(name), ask->object) != 0 ||
            !symbols_within(symbols, NULL, list[i].ip, &within))
            continue;
        *start = list[i].ip - within;
        return true;
    }
    return symbols_find(symbols, NULL, ask->symbol, ask->object, start);
}

static bool place_seek(struct profile *profile, struct profile_code *code) {
    const struct code_ask *ask = &code->ask;
    struct symbols *symbols = stacks_symbols(profile->stacks);
    code->base = 0;
    code->object = NULL;
    if (is_kernel(ask->object)) {
        if (!kernel_seek(profile, ask, &code->base))
            return false;
        code->offset = code->base + (ask->n_hot ? ask->hot[0] : 0);
        return true;
    }
    code->object = object_seek(profile, ask);
    if (!code->object)
        return false;
    code->offset = ask->hot[0];
    return ask->n_hot || symbols_find(symbols, code->object, ask->symbol, ask->object, &code->offset);
}

static int compare_offsets(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void seek_and_ask(struct profile *profile, struct profile_code *code) {
    if (!place_seek(profile, code))
        return;
    code->state = CODE_ASKED;
    if (code->ask.line_only)
        return;
    struct code_query query = {.object = code->object, .offset = code->offset, .pid = (pid_t)code->ask.pid};
    for (uint32_t i = 0; i < code->ask.n_hot && i < CODE_HOT_MAX; i++)
        query.hot[query.n_hot++] = code->base + code->ask.hot[i];
    qsort(query.hot, query.n_hot, sizeof *query.hot, compare_offsets);
    symbols_code_want(stacks_symbols(profile->stacks), &query);
}

static void poll(struct profile *profile, struct profile_code *code) {
    struct symbols *symbols = stacks_symbols(profile->stacks);
    if (code->state == CODE_WANTED)
        seek_and_ask(profile, code);
    if (code->state != CODE_ASKED)
        return;
    if (!code->ask.line_only) {
        struct code *answer = symbols_code_take(symbols);
        if (!answer)
            return;
        rows_set(code, answer);
        code_free(answer);
    } else {
        struct symbols_source where = {0};
        if (code->object && !symbols_source(symbols, code->object, code->offset, &where))
            return;
        head_set(code, &where, "");
    }
    code->state = CODE_KNOWN;
}

void profile_code_ask(struct profile *profile, const struct code_ask *ask) {
    struct profile_code *code = profile->code;
    ask_free(code);
    code->ask = *ask;
    code->ask.symbol = xstrdup(ask->symbol);
    code->ask.object = xstrdup(ask->object);
    code->symbol = text_from(ask->symbol);
    code->dso = text_from(ask->object);
    code->state = CODE_WANTED;
    head_set(code, NULL, ask->line_only ? "" : "disassembling ...");
    poll(profile, code);
}

void profile_code_fill(struct profile *profile, struct section *out) {
    struct profile_code *code = profile->code;
    poll(profile, code);
    section_table(out, table_builder_seal(code->rows));
}
