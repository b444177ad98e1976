// Source lines on demand: a small cache of answers, filled by a reader.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/symbols/lines.h"
#include "collectors/kernel/symbols/private.h"

// The entry of an address; else the one to be replaced, of another address: never one that is still wanted.
static struct source_entry *entry_of(struct symbols *symbols, struct symbols_object *object, uint64_t offset) {
    struct source_entry *oldest = NULL;
    for (size_t i = 0; i < SOURCES_MAX; i++) {
        struct source_entry *entry = &symbols->sources[i];
        if (entry->state != SOURCE_FREE && entry->object == object && entry->offset == offset)
            return entry;
        if (entry->state != SOURCE_WANTED && (!oldest || entry->used < oldest->used))
            oldest = entry;
    }
    return oldest;
}

bool symbols_source(struct symbols *symbols, struct symbols_object *object, uint64_t offset,
                    struct symbols_source *out) {
    *out = (struct symbols_source){0};
    if (object->role != ROLE_FILE || object == symbols->rest)
        return true;
    pthread_mutex_lock(&symbols->lock);
    if (!symbols->sources) {
        symbols->sources = xcalloc(SOURCES_MAX, sizeof(*symbols->sources));
        atomic_fetch_add(&symbols->bytes, SOURCES_MAX * sizeof(*symbols->sources));
    }
    struct source_entry *entry = entry_of(symbols, object, offset);
    bool known = entry && entry->object == object && entry->offset == offset && entry->state == SOURCE_KNOWN;
    if (entry && !known && entry->state != SOURCE_WANTED) {
        *entry = (struct source_entry){.state = SOURCE_WANTED, .object = object, .offset = offset};
        object->source = true;
        symbols_queue(symbols, object);
    }
    if (known) {
        entry->used = ++symbols->tick;
        *out = entry->source;
    }
    pthread_mutex_unlock(&symbols->lock);
    return known;
}

// Answers the first question about the object. False: no question waits.
static bool answer(struct symbols *symbols, struct symbols_object *object, struct lines *lines,
                   const struct symbol_table *table) {
    struct symbols_source source = {0};
    uint64_t offset = 0, address;
    bool any = false;
    pthread_mutex_lock(&symbols->lock);
    for (size_t i = 0; i < SOURCES_MAX && !any; i++)
        if (symbols->sources[i].state == SOURCE_WANTED && symbols->sources[i].object == object) {
            offset = symbols->sources[i].offset;
            any = true;
        }
    pthread_mutex_unlock(&symbols->lock);
    if (!any)
        return false;
    if (lines && table && symbol_table_address(table, offset, &address))
        lines_find(lines, address, &source);
    pthread_mutex_lock(&symbols->lock);
    struct source_entry *entry = entry_of(symbols, object, offset);
    if (entry && entry->object == object && entry->offset == offset) {
        entry->state = SOURCE_KNOWN;
        entry->source = source;
        entry->used = ++symbols->tick;
    }
    pthread_mutex_unlock(&symbols->lock);
    return true;
}

void symbols_read_sources(struct symbols *symbols, struct symbols_object *object, const struct object_key *key,
                          const struct symbol_table *table) {
    uint64_t size, bytes;
    const char *reason = NULL;
    int fd = table ? object_open_debug(key, &size) : -1;
    struct lines *lines = fd >= 0 ? lines_open(fd, size, &reason) : NULL;
    bytes = lines ? lines_bytes(lines) : 0;
    atomic_fetch_add(&symbols->bytes, bytes);
    if (reason) {
        char text[160];
        snprintf(text, sizeof(text), "no source lines of %.80s: %s", key->path, reason);
        pthread_mutex_lock(&symbols->lock);
        symbols_add_note(symbols, text);
        pthread_mutex_unlock(&symbols->lock);
    }
    while (answer(symbols, object, lines, table))
        continue;
    lines_close(lines);
    atomic_fetch_sub(&symbols->bytes, bytes);
    if (fd >= 0)
        close(fd);
}
