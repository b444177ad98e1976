// Walks the sealed tree depth-first, with what is on the path (see the header).
#include "collectors/profile/tally.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/profile/index.h"
#include "model/mem.h"

#define FIRST_FRAME 2 // depth of the outermost frame; 1 is the process

struct name { // equal texts are one
    const struct text *packed, *symbol, *object;
    enum name_kind kind;
};

struct level { // of the path to the node
    uint32_t id, name;
    uint32_t symbol, object; // rows of the sums; INDEX_NONE: none
};

struct sums {
    struct tally_symbol *rows;
    uint32_t *on_path; // of each row: how often it is on the path
    size_t n, room;
    struct index by_key;
};

struct tally {
    struct name *names;
    size_t n_names, names_room;
    struct index by_id, by_text;  // to names
    struct sums symbols, objects; // by (symbol, comm) and (object, comm)
    struct tally_process *processes;
    size_t n_processes, processes_room;
    struct index by_process;
    struct tally_blame *blames;
    size_t n_blames, blames_room;
    struct index by_blame;
    uint64_t user, broken;
    struct level *levels;
    size_t levels_room;
    uint32_t *path;
    uint32_t *numbers; // in the tree that is made, by node of the one that is read
    size_t numbers_room;
};

struct tally *tally_new(void) {
    return xcalloc(1, sizeof(struct tally));
}

static void tally_clear(struct tally *tally) {
    for (size_t i = 0; i < tally->n_names; i++) {
        text_unref(tally->names[i].packed);
        text_unref(tally->names[i].symbol);
        text_unref(tally->names[i].object);
    }
    tally->n_names = tally->symbols.n = tally->objects.n = tally->n_processes = tally->n_blames = 0;
    tally->user = tally->broken = 0;
    index_clear(&tally->by_id);
    index_clear(&tally->by_text);
    index_clear(&tally->symbols.by_key);
    index_clear(&tally->objects.by_key);
    index_clear(&tally->by_process);
    index_clear(&tally->by_blame);
}

static void sums_free(struct sums *sums) {
    index_free(&sums->by_key);
    free(sums->rows);
    free(sums->on_path);
}

void tally_free(struct tally *tally) {
    if (!tally)
        return;
    tally_clear(tally);
    index_free(&tally->by_id);
    index_free(&tally->by_text);
    sums_free(&tally->symbols);
    sums_free(&tally->objects);
    index_free(&tally->by_process);
    index_free(&tally->by_blame);
    free(tally->names);
    free(tally->processes);
    free(tally->blames);
    free(tally->levels);
    free(tally->path);
    free(tally->numbers);
    free(tally);
}

// Room for one more element of `size` bytes.
static void *room(void *array, size_t n, size_t *capacity, size_t size) {
    if (n < *capacity)
        return array;
    *capacity = *capacity ? *capacity * 2 : 64;
    return xrealloc(array, *capacity * size);
}

// ---- names ----

static uint64_t text_hash(const struct text *text) { // FNV-1a
    const char *bytes = text_bytes(text);
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < text_length(text); i++)
        hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001b3ull;
    return hash;
}

static uint32_t name_of(struct tally *tally, const struct tree *tree, size_t node) {
    uint32_t id = tree_node(tree, node)->name, known = index_get(&tally->by_id, id);
    if (known != INDEX_NONE)
        return known;
    const struct text *text = tree_node_text(tree, node);
    uint64_t hash = text_hash(text);
    known = index_get(&tally->by_text, hash);
    if (known == INDEX_NONE) {
        known = (uint32_t)tally->n_names;
        tally->names = room(tally->names, tally->n_names, &tally->names_room, sizeof *tally->names);
        tally->names[tally->n_names++] = (struct name){.packed = text_ref(text),
                                                       .symbol = text_from(text_bytes(text)),
                                                       .object = text_from(text ? name_object(text) : ""),
                                                       .kind = text ? name_kind(text) : NAME_PLAIN};
        index_add(&tally->by_text, hash, known);
    }
    index_add(&tally->by_id, id, known);
    return known;
}

// Enters the row of (what, the process's name), and adds the node. Processes of one name share rows: their PIDs are in
// other objects.
static uint32_t sums_enter(struct sums *sums, uint64_t what, const struct tally_symbol *key,
                           const struct tree_node *node) {
    uint64_t hash = text_hash(key->comm) ^ what * 0x9e3779b97f4a7c15ull;
    uint32_t row = index_get(&sums->by_key, hash);
    if (row == INDEX_NONE) {
        size_t before = sums->room;
        row = (uint32_t)sums->n;
        sums->rows = room(sums->rows, sums->n, &sums->room, sizeof *sums->rows);
        if (before != sums->room)
            sums->on_path = xrealloc(sums->on_path, sums->room * sizeof *sums->on_path);
        sums->on_path[row] = 0;
        sums->rows[sums->n++] = *key;
        index_add(&sums->by_key, hash, row);
    }
    sums->rows[row].self += node->self;
    if (!sums->on_path[row]++)
        sums->rows[row].total += node->total;
    return row;
}

// ---- whole or broken ----

static bool begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

static bool is_start(const char *symbol) {
    static const char *const starts[] = {"_start",
                                         "__clone",
                                         "clone",
                                         "__clone3",
                                         "clone3",
                                         "start_thread",
                                         "thread_start",
                                         "__thread_start",
                                         "main",
                                         "_dl_start",
                                         "_dl_start_user",
                                         "__libc_start_main",
                                         "__libc_start_call_main",
                                         "generic_start_main",
                                         "__libc_start_main_impl",
                                         "_dl_relocate_static_pie"};
    static const char *const prefixes[] = {"__libc_start_main@", "__libc_start_main_impl", "runtime.goexit",
                                           "runtime.mstart",     "runtime.rt0_go",         "_rt0_"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!strcmp(symbol, starts[i]))
            return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins(symbol, prefixes[i]))
            return true;
    return false;
}

static bool is_libc(const char *object) {
    const char *slash = strrchr(object, '/'), *name = slash ? slash + 1 : object;
    return begins(name, "libc.so") || begins(name, "libc-") || begins(name, "libpthread") || begins(name, "ld-musl") ||
           begins(name, "libc.musl");
}

bool tally_whole(const struct text *outermost, const struct text *next) {
    const char *symbol = text_bytes(outermost);
    if (is_start(symbol))
        return true;
    if (next && symbol[0] == '[' && begins(text_bytes(next), "__libc_start_main")) // _start of a stripped program
        return true;
    if (!next || !is_libc(name_object(outermost)))
        return false;
    // Its local functions have no names in a stripped C library.
    return symbol[0] == '[' || !strcmp(text_bytes(next), "main");
}

static bool is_user(enum name_kind kind) {
    return kind == NAME_USER || kind == NAME_LIBRARY || kind == NAME_JIT;
}

static struct tally_process *process_of(struct tally *tally, uint32_t id) {
    uint32_t at = index_get(&tally->by_process, id);
    if (at == INDEX_NONE) {
        at = (uint32_t)tally->n_processes;
        tally->processes = room(tally->processes, at, &tally->processes_room, sizeof *tally->processes);
        tally->processes[tally->n_processes++] = (struct tally_process){.name = id};
        index_add(&tally->by_process, id, at);
    }
    return &tally->processes[at];
}

static void blame(struct tally *tally, const struct name *process, const struct name *frame, uint64_t samples) {
    uint64_t key = text_hash(process->symbol) * 31 ^ text_hash(frame->object);
    uint32_t at = index_get(&tally->by_blame, key);
    if (at == INDEX_NONE) {
        at = (uint32_t)tally->n_blames;
        tally->blames = room(tally->blames, at, &tally->blames_room, sizeof *tally->blames);
        tally->blames[tally->n_blames++] = (struct tally_blame){process->symbol, frame->object, 0, 0};
        index_add(&tally->by_blame, key, at);
    }
    tally->blames[at].broken += samples;
}

static void broken_add(struct tally *tally, struct tally_process *of, const struct name *process,
                       const struct name *frame, uint64_t samples) {
    of->broken += samples;
    tally->broken += samples;
    blame(tally, process, frame, samples);
}

// Whether the stacks below the outermost user frame `node` are broken. Those that end in it are judged with the others:
// without a caller that is one of the starts, they are.
static bool first_frame(struct tally *tally, const struct tree *tree, size_t node, const struct level *process,
                        uint32_t mark_broken) {
    const struct tree_node *frame = tree_node(tree, node);
    uint32_t outermost = name_of(tally, tree, node),
             next = frame->n_descendants ? name_of(tally, tree, node + 1) : outermost;
    bool mark = tally->names[outermost].kind == NAME_MARK;
    if (!is_user(tally->names[outermost].kind) && !mark)
        return false;
    if (!is_user(tally->names[next].kind))
        next = outermost;
    struct tally_process *of = process_of(tally, process->id);
    of->user += frame->total;
    tally->user += frame->total;
    const struct text *caller = tally->names[outermost].packed;
    // A mark: of a chain that lacks callers, of a stack that was cut, or of a whole one.
    if (frame->name == mark_broken)
        broken_add(tally, of, &tally->names[process->name], &tally->names[next], frame->total);
    if (mark || tally_whole(caller, frame->n_descendants && next != outermost ? tally->names[next].packed : NULL))
        return false;
    // An address that is no code was read by the frame below it.
    bool no_code = !text_length(tally->names[outermost].object);
    broken_add(tally, of, &tally->names[process->name], &tally->names[no_code ? next : outermost], frame->total);
    return true;
}

// ---- the walk ----

static void level_leave(struct tally *tally, const struct level *level) {
    if (level->symbol != INDEX_NONE)
        tally->symbols.on_path[level->symbol]--;
    if (level->object != INDEX_NONE)
        tally->objects.on_path[level->object]--;
}

static void level_enter(struct tally *tally, const struct tree *tree, size_t node, unsigned depth) {
    const struct tree_node *at = tree_node(tree, node);
    uint32_t name = name_of(tally, tree, node);
    struct level *level = &tally->levels[depth];
    *level = (struct level){.id = at->name, .name = name, .symbol = INDEX_NONE, .object = INDEX_NONE};
    if (depth < FIRST_FRAME || tally->names[name].kind == NAME_MARK)
        return;
    const struct text *object = tally->names[name].object, *comm = tally->names[tally->levels[1].name].symbol;
    const struct tally_symbol symbol = {tally->names[name].symbol, object, comm, 0, 0},
                              whole = {NULL, object, comm, 0, 0};
    level->symbol = sums_enter(&tally->symbols, name + 1, &symbol, at);
    if (text_length(object))
        level->object = sums_enter(&tally->objects, text_hash(object), &whole, at);
}

void tally_tree(struct tally *tally, const struct tree *raw, const struct tally_marks *marks,
                struct tree_builder *out) {
    size_t n = tree_nodes(raw);
    unsigned depth = 0;
    bool broken = false;
    tally_clear(tally);
    if (n > tally->numbers_room)
        tally->numbers = xrealloc(tally->numbers, (tally->numbers_room = n) * sizeof *tally->numbers);
    memset(tally->numbers, 0, n * sizeof *tally->numbers);
    for (size_t i = 1; i < n; i++) {
        const struct tree_node *node = tree_node(raw, i);
        while (depth >= node->depth)
            level_leave(tally, &tally->levels[depth--]);
        depth = node->depth;
        if (depth + 2 > tally->levels_room) {
            tally->levels_room = 2 * depth + 64;
            tally->levels = xrealloc(tally->levels, tally->levels_room * sizeof *tally->levels);
            tally->path = xrealloc(tally->path, tally->levels_room * sizeof *tally->path);
        }
        level_enter(tally, raw, i, depth);
        if (depth < FIRST_FRAME)
            broken = false;
        else if (depth == FIRST_FRAME)
            broken = first_frame(tally, raw, i, &tally->levels[1], marks->broken);
        if (!node->self)
            continue;
        size_t length = 0;
        for (unsigned k = 1; k <= depth; k++) {
            if (k == FIRST_FRAME && broken)
                tally->path[length++] = marks->broken;
            if (tally->levels[k].id != marks->whole)
                tally->path[length++] = tally->levels[k].id;
        }
        tally->numbers[i] = tree_builder_add(out, tally->path, length, node->self);
    }
    while (depth > 0)
        level_leave(tally, &tally->levels[depth--]);
}

// ---- results ----

const uint32_t *tally_numbers(const struct tally *tally) {
    return tally->numbers;
}

uint64_t tally_user(const struct tally *tally, uint64_t *broken) {
    *broken = tally->broken;
    return tally->user;
}

static int symbol_order(const void *a, const void *b) {
    const struct tally_symbol *x = a, *y = b;
    if (x->self != y->self)
        return x->self < y->self ? 1 : -1;
    if (x->total != y->total)
        return x->total < y->total ? 1 : -1;
    int order = text_compare(x->symbol, y->symbol);
    order = order ? order : text_compare(x->dso, y->dso);
    return order ? order : text_compare(x->comm, y->comm);
}

static const struct tally_symbol *sorted(struct sums *sums, size_t *n) {
    if (sums->n)
        qsort(sums->rows, sums->n, sizeof *sums->rows, symbol_order);
    *n = sums->n;
    return sums->rows;
}

const struct tally_symbol *tally_symbols(struct tally *tally, size_t *n) {
    return sorted(&tally->symbols, n);
}

const struct tally_symbol *tally_objects(struct tally *tally, size_t *n) {
    return sorted(&tally->objects, n);
}

const struct tally_process *tally_process(const struct tally *tally, uint32_t name) {
    uint32_t at = index_get(&tally->by_process, name);
    return at == INDEX_NONE ? NULL : &tally->processes[at];
}

static int blame_order(const void *a, const void *b) {
    const struct tally_blame *x = a, *y = b;
    if (x->broken != y->broken)
        return x->broken < y->broken ? 1 : -1;
    return text_compare(x->dso, y->dso);
}

const struct tally_blame *tally_blames(struct tally *tally, size_t *n) {
    for (size_t i = 0; i < tally->n_blames; i++) {
        struct tally_blame *blamed = &tally->blames[i];
        blamed->user = 0;
        for (size_t k = 0; k < tally->n_processes; k++) {
            uint32_t name = index_get(&tally->by_id, tally->processes[k].name);
            if (name != INDEX_NONE && !text_compare(tally->names[name].symbol, blamed->comm))
                blamed->user += tally->processes[k].user;
        }
    }
    if (tally->n_blames)
        qsort(tally->blames, tally->n_blames, sizeof *tally->blames, blame_order);
    *n = tally->n_blames;
    return tally->blames;
}
