// Name tables. Entries live in chunks that double in size and never move, so an ID finds its entry without a lock while
// the table grows.
#include "model/names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "model/mem.h"

#define FIRST_BITS 6 // chunk k has 2^(FIRST_BITS + k) entries
#define CHUNKS 20

typedef _Atomic(const struct text *) entry;

// A replaced text. Replacing is rare (a placeholder becomes a name), so the list stays short.
struct retired {
    const struct text *text;
    struct retired *next;
};

struct name_table {
    atomic_uint refs;
    atomic_uint_fast64_t changes;
    _Atomic(entry *) chunks[CHUNKS];
    pthread_mutex_t writers; // guards count, retired, and all stores to chunks and entries
    uint32_t count;
    struct retired *retired;
};

static uint32_t chunk_of(uint32_t id) {
    return (uint32_t)(31 - __builtin_clz((id >> FIRST_BITS) + 1));
}

static uint32_t chunk_start(uint32_t chunk) {
    return ((1u << chunk) - 1) << FIRST_BITS;
}

static size_t chunk_size(uint32_t chunk) {
    return sizeof(entry) << (FIRST_BITS + chunk);
}

struct name_table *name_table_new(void) {
    struct name_table *table = mem_alloc(sizeof(*table));
    atomic_init(&table->refs, 1);
    pthread_mutex_init(&table->writers, NULL);
    return table;
}

struct name_table *name_table_ref(struct name_table *table) {
    // Relaxed: the caller already holds a reference.
    atomic_fetch_add_explicit(&table->refs, 1, memory_order_relaxed);
    return table;
}

void name_table_unref(struct name_table *table) {
    // Release: this thread's reads are done; acquire by the last thread, which frees.
    if (!table || atomic_fetch_sub_explicit(&table->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t id = 0; id < table->count; id++)
        text_unref(name_table_text(table, id));
    for (struct retired *old = table->retired, *next; old; old = next) {
        next = old->next;
        text_unref(old->text);
        mem_free(old, sizeof(*old));
    }
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        entry *entries = atomic_load_explicit(&table->chunks[chunk], memory_order_relaxed);
        if (entries)
            mem_free(entries, chunk_size(chunk));
    }
    pthread_mutex_destroy(&table->writers);
    mem_free(table, sizeof(*table));
}

// NULL: the ID was never handed out.
static entry *entry_of(const struct name_table *table, uint32_t id) {
    uint32_t chunk = chunk_of(id);
    // Acquire: pairs with the release in name_table_add(), so that the zeroed entries are seen.
    entry *entries = chunk < CHUNKS ? atomic_load_explicit(&table->chunks[chunk], memory_order_acquire) : NULL;
    return entries ? &entries[id - chunk_start(chunk)] : NULL;
}

uint32_t name_table_add(struct name_table *table, const struct text *take) {
    pthread_mutex_lock(&table->writers);
    uint32_t id = table->count, chunk = chunk_of(id);
    if (chunk < CHUNKS) {
        if (id == chunk_start(chunk))
            atomic_store_explicit(&table->chunks[chunk], mem_alloc(chunk_size(chunk)), memory_order_release);
        table->count++;
        // Release: pairs with the acquire in name_table_text(), so that the text's bytes are seen.
        atomic_store_explicit(entry_of(table, id), take, memory_order_release);
    } else {
        text_unref(take);
        id = NAME_NONE;
    }
    pthread_mutex_unlock(&table->writers);
    return id;
}

void name_table_set(struct name_table *table, uint32_t id, const struct text *take) {
    pthread_mutex_lock(&table->writers);
    if (id < table->count) {
        entry *at = entry_of(table, id);
        const struct text *old = atomic_load_explicit(at, memory_order_relaxed);
        if (old) {
            struct retired *retired = mem_alloc(sizeof(*retired));
            *retired = (struct retired){old, table->retired};
            table->retired = retired;
        }
        atomic_store_explicit(at, take, memory_order_release); // pairs with name_table_text(), as in name_table_add()
        // Release: pairs with name_table_changes(); a reader that sees the number also sees the text.
        atomic_fetch_add_explicit(&table->changes, 1, memory_order_release);
    } else {
        text_unref(take);
    }
    pthread_mutex_unlock(&table->writers);
}

const struct text *name_table_text(const struct name_table *table, uint32_t id) {
    entry *at = entry_of(table, id);
    return at ? atomic_load_explicit(at, memory_order_acquire) : NULL;
}

uint64_t name_table_changes(const struct name_table *table) {
    return atomic_load_explicit(&table->changes, memory_order_acquire); // pairs with name_table_set()
}

// ---- names of code: the symbol, NUL, the kind, the object ----

#define NAME_PART_MAX 4096

const struct text *name_pack(const char *symbol, enum name_kind kind, const char *object) {
    char packed[2 * NAME_PART_MAX + 2];
    size_t n = strnlen(symbol, NAME_PART_MAX), m = strnlen(object, NAME_PART_MAX);
    memcpy(packed, symbol, n);
    packed[n] = '\0';
    packed[n + 1] = (char)kind;
    memcpy(packed + n + 2, object, m);
    return text_new(packed, n + 2 + m);
}

// The bytes after the symbol's NUL; NULL: not packed.
static const char *name_rest(const struct text *text) {
    size_t n = strlen(text_bytes(text));
    return n + 1 < text_length(text) ? text_bytes(text) + n + 1 : NULL;
}

enum name_kind name_kind(const struct text *text) {
    const char *rest = name_rest(text);
    return rest ? (enum name_kind)(unsigned char)*rest : NAME_PLAIN;
}

const char *name_object(const struct text *text) {
    const char *rest = name_rest(text);
    return rest ? rest + 1 : "";
}

// ---- brief names ----

static bool ends_in(const char *start, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - start) >= n && !memcmp(end - n, word, n);
}

// The end of what stands in brackets from here on; NULL: they do not close.
static const char *closing(const char *at) {
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '<' || *at == '(';
        depth -= *at == ')' || (*at == '>' && at[-1] != '-'); // not of "->"
        if (!depth)
            return at;
    }
    return NULL;
}

void name_brief(const char *symbol, char *out, size_t size) {
    size_t n = 0;
    for (const char *at = symbol; *at && n < size - 3; at++) {
        out[n++] = *at;
        if ((*at != '<' && *at != '(') || at == symbol || ends_in(symbol, at, "operator") ||
            (*at == '<' && ends_in(symbol, at, "operator<")) || !strncmp(at, "(anonymous", 10))
            continue;
        const char *end = closing(at);
        if (!end)
            continue;
        out[n++] = *end;
        at = end;
    }
    out[n] = '\0';
}
