// The readers' side of the symbol service: threads that open files, build tables and set names. A read can hang (a dead
// network file system, FUSE): then another reader goes on with the other files, and the end of ktop waits for none.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/kernel/symbols/code.h"
#include "collectors/kernel/symbols/demangle.h"
#include "collectors/kernel/symbols/kallsyms.h"
#include "collectors/kernel/symbols/private.h"
#include "model/clock.h"

#define STACK_BYTES ((size_t)8 << 20) // libiberty recurses
#define COST_FACTOR 10                // a table that is built anew takes at most this part of one CPU
#define REBUILD_MIN_NS 100000000ull
#define REBUILD_MAX_NS 2000000000ull
#define JIT_RETRY_NS 1000000000ull
#define TABLES_RESERVE (8ull << 20) // of the bound, for what is not a table

void symbols_queue(struct symbols *symbols, struct symbols_object *object) {
    if (object->queued)
        return;
    object->queued = true;
    object->queue_next = NULL;
    if (symbols->queue_tail)
        symbols->queue_tail->queue_next = object;
    else
        symbols->queue_head = object;
    symbols->queue_tail = object;
    pthread_cond_signal(&symbols->work);
}

void symbols_add_note(struct symbols *symbols, const char *text) {
    if (!text[0] || symbols->n_notes == NOTES)
        return;
    struct symbols_note *note = &symbols->notes[(symbols->first_note + symbols->n_notes++) % NOTES];
    snprintf(note->text, sizeof(note->text), "%s", text);
}

void symbols_table_unref(struct symbols *symbols, struct symbol_table *table) {
    if (!table || --table->refs)
        return;
    atomic_fetch_sub(&symbols->bytes, symbol_table_bytes(table));
    symbol_table_free(table);
}

void symbols_leave(struct symbols *symbols) {
    bool last = --symbols->users == 0;
    pthread_cond_broadcast(&symbols->left);
    pthread_mutex_unlock(&symbols->lock);
    if (!last)
        return;
    for (size_t i = 0; i < symbols->n_objects; i++) {
        struct symbols_object *object = symbols->objects[i];
        symbols_table_unref(symbols, object->table);
        id_cache_clear(symbols, &object->cache);
        free(object->pending);
        free(object->dump_path);
        free((char *)object->key.path);
        free(object);
    }
    free(symbols->objects);
    free(symbols->ksymbols);
    free(symbols->sources);
    code_free(symbols->code.done);
    pthread_cond_destroy(&symbols->work);
    pthread_cond_destroy(&symbols->left);
    pthread_mutex_destroy(&symbols->lock);
    name_table_unref(symbols->names);
    mem_free(symbols->anchor, 1);
    free(symbols);
}

// ---- work on one object ----

// What a reader takes along: nothing of the object that the lock guards is used while it reads.
struct work {
    struct symbols *symbols;
    struct symbols_object *object;
    struct object_key key; // owns its path
    char *dump_path;
    struct symbol_table *table; // a reference; NULL: none
    struct pending *pending;
    uint32_t n_pending, pending_capacity;
    bool verify, ended, source, code;
};

static void begin(struct symbols *symbols, struct symbols_object *object, struct work *work) {
    *work = (struct work){.symbols = symbols,
                          .object = object,
                          .key = object->key,
                          .table = object->table,
                          .pending = object->pending,
                          .n_pending = object->n_pending,
                          .pending_capacity = object->pending_capacity,
                          .verify = object->verify,
                          .ended = object->ended,
                          .source = object->source,
                          .code = object->code};
    work->key.path = xstrdup(object->key.path);
    work->dump_path = object->dump_path ? xstrdup(object->dump_path) : NULL;
    if (work->table)
        work->table->refs++;
    object->pending = NULL;
    object->n_pending = object->pending_capacity = 0;
    object->verify = object->source = object->code = false;
    object->in_work = true;
}

// A runtime may write a function into its map long after it was sampled.
static void set_waiting(struct symbols *symbols, struct symbols_object *object) {
    bool waiting = object->role == ROLE_JIT && object->n_pending && !object->ended;
    symbols->n_waiting += (uint32_t)waiting - (uint32_t)object->waiting;
    object->waiting = waiting;
}

// Gives the IDs back that have no name yet.
static void finish(struct work *work) {
    struct symbols_object *object = work->object;
    struct symbols *symbols = work->symbols;
    object->in_work = false;
    if (work->n_pending && !object->n_pending) {
        free(object->pending);
        atomic_fetch_sub(&symbols->bytes, object->pending_capacity * sizeof(*object->pending));
        object->pending = work->pending;
        object->n_pending = work->n_pending;
        object->pending_capacity = work->pending_capacity;
    } else {
        for (uint32_t i = 0; i < work->n_pending; i++) {
            if (object->n_pending == object->pending_capacity) {
                uint32_t capacity = object->pending_capacity * 2;
                object->pending = xrealloc(object->pending, capacity * sizeof(*object->pending));
                atomic_fetch_add(&symbols->bytes, object->pending_capacity * sizeof(*object->pending));
                object->pending_capacity = capacity;
            }
            object->pending[object->n_pending++] = work->pending[i];
        }
        free(work->pending);
        atomic_fetch_sub(&symbols->bytes, work->pending_capacity * sizeof(*work->pending));
    }
    set_waiting(symbols, object);
    symbols_table_unref(symbols, work->table);
    free((char *)work->key.path);
    free(work->dump_path);
}

// Tables that were not looked at for longest go first; they are read again when they are needed.
static void evict(struct symbols *symbols, const struct symbols_object *but) {
    while (atomic_load(&symbols->bytes) > SYMBOLS_BYTES_MAX - TABLES_RESERVE) {
        struct symbols_object *oldest = NULL;
        for (size_t i = 0; i < symbols->n_objects; i++) {
            struct symbols_object *object = symbols->objects[i];
            if (object->table && object != but && !object->in_work && object->role != ROLE_KERNEL &&
                (!oldest || object->used < oldest->used))
                oldest = object;
        }
        if (!oldest)
            return;
        symbols_table_unref(symbols, oldest->table);
        oldest->table = NULL;
    }
}

// IDs of symbols that are in the new table as well.
static void carry_ids(const struct symbol_table *old, struct symbol_table *table) {
    for (uint32_t i = 0; old && i < old->count; i++) {
        if (old->ids[i] == NAME_NONE)
            continue;
        const struct symbol *was = &old->symbols[i], *now = symbol_table_find(table, was->start);
        if (now && now->start == was->start && !strcmp(old->names + was->name, table->names + now->name))
            table->ids[now - table->symbols] = old->ids[i];
    }
}

// Takes the table; the work keeps a reference to it.
static void publish(struct work *work, struct symbol_table *table, bool other_file) {
    struct symbols *symbols = work->symbols;
    struct symbols_object *object = work->object;
    atomic_fetch_add(&symbols->bytes, symbol_table_bytes(table));
    pthread_mutex_lock(&symbols->lock);
    if (!other_file)
        carry_ids(object->table, table);
    symbols_table_unref(symbols, object->table);
    symbols_table_unref(symbols, work->table);
    object->table = work->table = table;
    table->refs++;
    object->flush |= other_file;
    object->used = object->ended ? 0 : ++symbols->tick;
    evict(symbols, object);
    // Release: pairs with lookup() in symbols.c, which then takes the lock.
    atomic_fetch_add_explicit(&object->version, 1, memory_order_release);
    pthread_mutex_unlock(&symbols->lock);
}

const struct text *symbols_name(const struct symbol_table *table, const struct symbol *symbol, const char *path) {
    static const char deleted[] = " (deleted)";
    char name[DEMANGLED_MAX], cut[512];
    const char *raw = table->names + symbol->name;
    size_t length = strlen(path);
    demangle(raw, name);
    if (table->named_objects) {
        path = raw + strlen(raw) + 1;
    } else if (length >= sizeof(deleted) && length < sizeof(cut) &&
               !strcmp(path + length - sizeof(deleted) + 1, deleted)) {
        memcpy(cut, path, length - sizeof(deleted) + 1);
        cut[length - sizeof(deleted) + 1] = '\0';
        path = cut;
    }
    return name_pack(name, table->kind, path);
}

static void set_name(struct work *work, const struct symbol *symbol, const struct pending *pending) {
    struct symbols *symbols = work->symbols;
    bool unnamed = symbols_unnamed(work->table, symbol);
    const struct text *name = unnamed ? NULL : symbols_name(work->table, symbol, work->key.path);
    pthread_mutex_lock(&symbols->lock);
    if (unnamed)
        name = symbols_placeholder(work->object, symbols_start_offset(work->table, symbol, pending->offset));
    name_table_set(symbols->names, pending->id, name);
    uint32_t *id = &work->table->ids[symbol - work->table->symbols];
    *id = *id == NAME_NONE ? pending->id : *id;
    pthread_mutex_unlock(&symbols->lock);
}

// Names what the table has. `keep`: the rest may be named later.
static void set_names(struct work *work, bool keep) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < work->n_pending; i++) {
        uint64_t address;
        const struct symbol *symbol = NULL;
        if (work->table && symbol_table_address(work->table, work->pending[i].offset, &address))
            symbol = symbol_table_find(work->table, address);
        if (symbol) {
            set_name(work, symbol, &work->pending[i]);
            atomic_fetch_sub(&work->symbols->placeholders, 1);
        } else if (keep) {
            work->pending[kept++] = work->pending[i];
        }
    }
    work->n_pending = kept;
}

static void note(struct work *work, const char *reason) {
    if (!reason[0] || !strcmp(reason, work->object->last_reason))
        return;
    snprintf(work->object->last_reason, sizeof(work->object->last_reason), "%s", reason);
    pthread_mutex_lock(&work->symbols->lock);
    symbols_add_note(work->symbols, reason);
    pthread_mutex_unlock(&work->symbols->lock);
}

static void set_failed(struct work *work, enum object_state state) {
    struct symbols_object *object = work->object;
    pthread_mutex_lock(&work->symbols->lock);
    object->failed = true;
    object->missing = state == OBJECT_MISSING;
    object->replaced = state == OBJECT_REPLACED;
    for (uint32_t i = 0; object->replaced && i < work->n_pending; i++)
        name_table_set(work->symbols->names, work->pending[i].id, symbols_placeholder(object, work->pending[i].offset));
    pthread_mutex_unlock(&work->symbols->lock);
}

static void read_file(struct work *work) {
    struct object_identity now;
    struct object_symbols read = {.state = OBJECT_READ};
    bool other_file =
        work->verify && object_identify(&work->key, &now) && memcmp(&now, &work->object->identity, sizeof(now)) != 0;
    if (!work->table || other_file) {
        object_read(&work->key, &read);
        note(work, read.reason);
        if (read.state == OBJECT_READ) {
            work->object->identity = read.identity;
            pthread_mutex_lock(&work->symbols->lock);
            work->object->failed = work->object->missing = work->object->replaced = false;
            pthread_mutex_unlock(&work->symbols->lock);
            publish(work, read.table, other_file);
        } else {
            set_failed(work, read.state);
        }
    }
    set_names(work, read.state == OBJECT_MISSING);
    if (work->source)
        symbols_read_sources(work->symbols, work->object, &work->key, work->table);
}

// ---- JIT code and the kernel: tables that grow ----

// The symbols of the table that is replaced, of lower rank than all new ones.
static uint32_t add_old(struct symbol_builder *builder, const struct symbol_table *old) {
    for (uint32_t i = 0; old && i < old->count; i++) {
        const struct symbol *symbol = &old->symbols[i];
        const char *name = old->names + symbol->name;
        struct symbol_draft draft = {.start = symbol->start, .end = symbol->start + symbol->size};
        size_t length = strlen(name);
        symbol_builder_add(builder, &draft, name, length, old->named_objects ? name + length + 1 : NULL);
    }
    return 1;
}

static void publish_ranked(struct work *work, struct symbol_builder *builder, enum name_kind kind) {
    bool named_objects = work->table && work->table->named_objects;
    struct symbol_table *table = symbol_builder_finish(builder, OVERLAP_RANK);
    table->kind = kind;
    table->named_objects = named_objects;
    publish(work, table, false);
}

static void read_jit_file(struct work *work, struct jit_file *file, enum jit_file_kind kind) {
    char reason[160];
    bool restarted, more = true;
    int fd = jit_file_open(file, kind, &work->object->owner, work->dump_path, &restarted, reason);
    note(work, reason);
    if (fd < 0)
        return;
    // In rounds: a runtime that writes its functions again and again fills a builder long before a table.
    for (unsigned round = 0; more && round < 64; round++) {
        struct symbol_builder builder = {0};
        uint32_t rank = restarted ? 1 : add_old(&builder, work->table), old = builder.count;
        restarted = false;
        more = jit_file_read(file, kind, fd, &builder, &rank);
        if (builder.count == old) { // full of old ones, or nothing whole was appended
            symbol_builder_free(&builder);
            break;
        }
        publish_ranked(work, &builder, NAME_JIT);
    }
    close(fd);
}

static void read_jit(struct work *work) {
    struct symbols_object *object = work->object;
    if (!work->ended) // else the PID may be another process's by now
        jit_owner_read(&object->owner, work->key.pid);
    if (!work->table) // evicted
        object->map = object->dump = (struct jit_file){0};
    read_jit_file(work, &object->map, JIT_PERF_MAP);
    if (work->dump_path)
        read_jit_file(work, &object->dump, JIT_DUMP);
    set_names(work, true);
}

static void add_ksymbols(struct work *work) {
    struct symbols *symbols = work->symbols;
    pthread_mutex_lock(&symbols->lock);
    uint32_t n = symbols->n_ksymbols, first = symbols->next_ksymbol - n;
    struct ksymbol *copy = n ? xmalloc(n * sizeof(*copy)) : NULL;
    for (uint32_t i = 0; i < n; i++)
        copy[i] = symbols->ksymbols[(first + i) % KSYMBOLS_MAX];
    symbols->n_ksymbols = 0;
    pthread_mutex_unlock(&symbols->lock);
    if (!n)
        return;
    struct symbol_builder builder = {0};
    uint32_t rank = add_old(&builder, work->table);
    for (uint32_t i = 0; i < n; i++) {
        struct symbol_draft draft = {.start = copy[i].address, .end = copy[i].address + copy[i].size, .rank = rank++};
        const char *tab = strchr(copy[i].name, '\t'); // a module's: "name\t[module]"
        size_t length = tab ? (size_t)(tab - copy[i].name) : strlen(copy[i].name);
        const char *object = tab ? tab + 1 : !strncmp(copy[i].name, "bpf_", 4) ? "[bpf]" : "[kernel]";
        symbol_builder_add(&builder, &draft, copy[i].name, length, object);
    }
    free(copy);
    publish_ranked(work, &builder, NAME_KERNEL);
}

static void read_kernel(struct work *work) {
    if (!work->table) {
        struct symbol_table *table;
        int error = kallsyms_read("/proc/kallsyms", &table);
        char reason[160];
        if (error == -EACCES)
            note(work, "kernel symbols are hidden (kernel.kptr_restrict): run ktop as root or with CAP_SYSLOG");
        else if (error) {
            snprintf(reason, sizeof(reason), "kernel symbols are not available: /proc/kallsyms: %s", strerror(-error));
            note(work, reason);
        }
        if (error)
            set_failed(work, OBJECT_READ);
        else
            publish(work, table, false);
    }
    if (work->table)
        add_ksymbols(work);
    set_names(work, work->table != NULL);
}

// ---- the threads ----

static void do_work(struct work *work) {
    enum object_role role = work->object->role;
    if (role == ROLE_FILE)
        read_file(work);
    else if (role == ROLE_JIT)
        read_jit(work);
    else
        read_kernel(work);
    if (work->code)
        symbols_read_code(work->symbols, work->object,
                          &(struct code_place){&work->key, work->table, work->dump_path, work->ended});
}

// The first queued object that is due; until when to wait if none is.
static struct symbols_object *take_due(struct symbols *symbols, uint64_t now, uint64_t *until) {
    struct symbols_object **at = &symbols->queue_head, *before = NULL;
    *until = UINT64_MAX;
    for (; *at; before = *at, at = &(*at)->queue_next) {
        struct symbols_object *object = *at;
        if (object->in_work)
            continue; // its reader signals when it is done
        if (object->due_ns > now) {
            *until = object->due_ns < *until ? object->due_ns : *until;
            continue;
        }
        *at = object->queue_next;
        if (symbols->queue_tail == object)
            symbols->queue_tail = before;
        object->queued = false;
        return object;
    }
    return NULL;
}

// Maps that may have grown are looked at each second; symbols_idle() does not wait for that, so it is not queued.
static struct symbols_object *take_waiting(struct symbols *symbols, uint64_t now, uint64_t *until) {
    for (size_t i = 0; symbols->n_waiting && i < symbols->n_objects; i++) {
        struct symbols_object *object = symbols->objects[i];
        if (!object->waiting || object->in_work || object->queued)
            continue;
        uint64_t due = object->due_ns + JIT_RETRY_NS;
        if (due <= now)
            return object;
        *until = due < *until ? due : *until;
    }
    return NULL;
}

static void wait_for_work(struct symbols *symbols, uint64_t until) {
    struct timespec deadline = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
    if (until == UINT64_MAX)
        pthread_cond_wait(&symbols->work, &symbols->lock);
    else
        pthread_cond_timedwait(&symbols->work, &symbols->lock, &deadline);
}

static uint64_t due_after(uint64_t began) {
    uint64_t now = now_ns(), pause = (now - began) * COST_FACTOR;
    pause = pause > REBUILD_MIN_NS ? pause : REBUILD_MIN_NS;
    return now + (pause < REBUILD_MAX_NS ? pause : REBUILD_MAX_NS);
}

static void *reader_main(void *argument) {
    struct reader *reader = argument;
    struct symbols *symbols = reader->symbols;
    struct work work;
    pthread_setname_np(pthread_self(), "ktop-symbols");
    mem_charge(symbols->account);
    pthread_mutex_lock(&symbols->lock);
    while (!symbols->stop) {
        uint64_t until, began = now_ns();
        struct symbols_object *object = take_due(symbols, began, &until);
        if (!object)
            object = take_waiting(symbols, began, &until);
        if (!object) {
            wait_for_work(symbols, until);
            continue;
        }
        begin(symbols, object, &work);
        bool is_new = object->role == ROLE_KERNEL && !work.table;
        reader->object = object;
        reader->begun_ns = began;
        pthread_mutex_unlock(&symbols->lock);
        do_work(&work);
        pthread_mutex_lock(&symbols->lock);
        finish(&work);
        // Not after kallsyms itself was read: addresses that were sampled meanwhile wait for their names.
        if (object->role != ROLE_FILE && !(is_new && object->table))
            object->due_ns = due_after(began);
        reader->object = NULL;
        reader->slow = false;
        if (object->queued)
            pthread_cond_signal(&symbols->work);
    }
    symbols_leave(symbols);
    return NULL;
}

int symbols_reader_start(struct symbols *symbols) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (symbols->n_readers == READERS_MAX)
        return -EAGAIN;
    struct reader *reader = &symbols->readers[symbols->n_readers];
    reader->symbols = symbols;
    int error = pthread_attr_init(&attributes);
    if (error)
        return -error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &attributes, reader_main, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    symbols->n_readers += !error;
    symbols->users += !error;
    return -error;
}

void symbols_check_readers(struct symbols *symbols) {
    uint64_t now = now_ns();
    bool blocked = true;
    for (size_t i = 0; i < symbols->n_readers; i++) {
        struct reader *reader = &symbols->readers[i];
        if (!reader->object || now - reader->begun_ns < READ_SLOW_NS) {
            blocked = false;
        } else if (!reader->slow) {
            char text[160];
            reader->slow = true;
            snprintf(text, sizeof(text), "reading %.100s takes long: its names come late", reader->object->key.path);
            symbols_add_note(symbols, text);
        }
    }
    if (blocked && symbols->queue_head && !symbols->stop)
        symbols_reader_start(symbols);
}
