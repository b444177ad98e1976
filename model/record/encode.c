// Encoding of frames. One thread uses an encoder; frames are immutable and may be shared meanwhile.
#include "model/record/encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/record/schema.h"
#include "model/section_private.h"
#include "model/table_private.h"

#define TEXTS_KEY_BYTES ((size_t)32 << 20) // of texts, after which the next frame is a key frame

// Assigned IDs: definitions by address, texts by bytes. Open addressing.
struct id_map {
    struct id_entry {
        uint64_t hash;
        const void *key; // NULL: free
        uint32_t id;
        bool counted; // a table's definition that is reference-counted
    } * entries;
    size_t n, mask;
};

// A name of a tree: its index in the recording, kept across key frames so that trees of several frames can be merged,
// and the text written since the last key frame.
struct seen_name {
    struct name_table *table; // NULL: free
    uint32_t name, id;
    const struct text *text; // lives as long as the table
};

struct encoder {
    struct id_map defs, texts;
    struct seen_name *names; // open addressing
    size_t n_names, names_mask;
    struct sink new_defs, new_texts, body;
    size_t n_new_defs, n_new_texts, text_bytes;
    const struct frame *before; // the frame that the next one may refer to
    unsigned since_key;
};

// ---- IDs ----

static uint64_t hash_bytes(const char *bytes, size_t length) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
    return hash ^ (hash >> 32);
}

static void map_grow(struct id_map *map) {
    size_t size = map->mask ? (map->mask + 1) * 2 : 256;
    struct id_entry *entries = xcalloc(size, sizeof(*entries));
    for (size_t i = 0; map->mask && i <= map->mask; i++) {
        if (!map->entries[i].key)
            continue;
        size_t at = map->entries[i].hash & (size - 1);
        while (entries[at].key)
            at = (at + 1) & (size - 1);
        entries[at] = map->entries[i];
    }
    free(map->entries);
    map->entries = entries;
    map->mask = size - 1;
}

static void map_clear(struct id_map *map) {
    free(map->entries);
    *map = (struct id_map){0};
}

// The entry of that address, or a free one.
static struct id_entry *map_def(struct id_map *map, const void *def) {
    if (map->n * 2 >= map->mask)
        map_grow(map);
    uint64_t hash = ((uintptr_t)def >> 3) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
    size_t at = hash & map->mask;
    while (map->entries[at].key && map->entries[at].key != def)
        at = (at + 1) & map->mask;
    map->entries[at].hash = hash;
    return &map->entries[at];
}

static struct id_entry *map_text(struct id_map *map, const struct text *text) {
    if (map->n * 2 >= map->mask)
        map_grow(map);
    uint64_t hash = hash_bytes(text_bytes(text), text_length(text));
    size_t at = hash & map->mask;
    while (map->entries[at].key && (map->entries[at].hash != hash || text_compare(map->entries[at].key, text) != 0))
        at = (at + 1) & map->mask;
    map->entries[at].hash = hash;
    return &map->entries[at];
}

static void put_def(struct encoder *encoder, enum def_kind kind, const char *collector, const void *def) {
    struct id_entry *entry = map_def(&encoder->defs, def);
    if (!entry->key) {
        entry->key = kind == DEF_TABLE ? table_def_ref(def) : def;
        entry->id = (uint32_t)encoder->defs.n++;
        def_put(&encoder->new_defs, kind, collector, def);
        encoder->n_new_defs++;
        entry->counted = kind == DEF_TABLE;
    }
    put_uint(&encoder->body, entry->id);
}

static void put_text(struct encoder *encoder, const struct text *text) {
    if (!text) {
        put_uint(&encoder->body, 0);
        return;
    }
    struct id_entry *entry = map_text(&encoder->texts, text);
    if (!entry->key) {
        entry->key = text_ref(text);
        entry->id = (uint32_t)encoder->texts.n++;
        put_uint(&encoder->new_texts, text_length(text));
        put_bytes(&encoder->new_texts, text_bytes(text), text_length(text));
        encoder->n_new_texts++;
        encoder->text_bytes += text_length(text) + RECORD_TEXT_COST;
    }
    put_uint(&encoder->body, (uint64_t)entry->id + 1);
}

static void put_chars(struct encoder *encoder, const char *string) {
    const struct text *text = string ? text_from(string) : NULL;
    put_text(encoder, text);
    text_unref(text);
}

static struct seen_name *name_at(struct seen_name *names, size_t mask, const struct name_table *table, uint32_t name) {
    size_t at = (((uintptr_t)table >> 4 ^ name) * 0x9e3779b97f4a7c15ull) >> 32 & mask;
    while (names[at].table && (names[at].table != table || names[at].name != name))
        at = (at + 1) & mask;
    return &names[at];
}

static void names_grow(struct encoder *encoder) {
    size_t size = encoder->names_mask ? (encoder->names_mask + 1) * 2 : 256;
    struct seen_name *names = xcalloc(size, sizeof(*names));
    for (size_t i = 0; encoder->names_mask && i <= encoder->names_mask; i++)
        if (encoder->names[i].table)
            *name_at(names, size - 1, encoder->names[i].table, encoder->names[i].name) = encoder->names[i];
    free(encoder->names);
    encoder->names = names;
    encoder->names_mask = size - 1;
}

// 0: no name; else twice its index, from 1 on, plus 1 if its text follows (a new or replaced text).
static void put_name(struct encoder *encoder, struct name_table *table, uint32_t name) {
    if (name == NAME_NONE) {
        put_uint(&encoder->body, 0);
        return;
    }
    if (encoder->n_names * 2 >= encoder->names_mask)
        names_grow(encoder);
    struct seen_name *seen = name_at(encoder->names, encoder->names_mask, table, name);
    if (!seen->table)
        *seen = (struct seen_name){name_table_ref(table), name, (uint32_t)++encoder->n_names, NULL};
    const struct text *text = name_table_text(table, name);
    put_uint(&encoder->body, (uint64_t)seen->id << 1 | (text != seen->text));
    if (text != seen->text)
        put_text(encoder, text);
    seen->text = text;
}

static void forget(struct encoder *encoder) {
    for (size_t i = 0; encoder->names_mask && i <= encoder->names_mask; i++)
        encoder->names[i].text = NULL;

    for (size_t i = 0; encoder->defs.mask && i <= encoder->defs.mask; i++)
        if (encoder->defs.entries[i].counted)
            table_def_unref(encoder->defs.entries[i].key);
    for (size_t i = 0; encoder->texts.mask && i <= encoder->texts.mask; i++)
        text_unref(encoder->texts.entries[i].key);
    map_clear(&encoder->defs);
    map_clear(&encoder->texts);
    encoder->text_bytes = 0;
    frame_unref(encoder->before);
    encoder->before = NULL;
}

struct encoder *encoder_new(void) {
    return xcalloc(1, sizeof(struct encoder));
}

void encoder_free(struct encoder *encoder) {
    if (!encoder)
        return;
    forget(encoder);
    for (size_t i = 0; encoder->names_mask && i <= encoder->names_mask; i++)
        name_table_unref(encoder->names[i].table);
    free(encoder->names);
    sink_free(&encoder->new_defs);
    sink_free(&encoder->new_texts);
    sink_free(&encoder->body);
    free(encoder);
}

// ---- tables ----

static bool cell_same(enum column_type type, union cell a, union cell b) {
    if (type == COLUMN_TEXT)
        return cells_equal(type, a, b);
    return a.num == b.num ? signbit(a.num) == signbit(b.num) : isnan(a.num) && isnan(b.num);
}

static void put_cell(struct encoder *encoder, enum column_type type, union cell cell) {
    if (type == COLUMN_TEXT)
        put_text(encoder, cell.text);
    else
        put_num(&encoder->body, cell.num);
}

// The rows that exist, then per column a mask of the rows that differ from the base (or from null), and their cells.
static void put_chunk(struct encoder *encoder, const struct table_def *def, struct chunk *chunk, struct chunk *base) {
    put_uint(&encoder->body, chunk->live);
    for (uint16_t c = 0; c < def->n_columns; c++) {
        enum column_type type = def->columns[c].type;
        uint32_t differs = 0;
        for (uint32_t row = 0; row < TABLE_CHUNK_ROWS; row++) {
            if (!(chunk->live & (1u << row)))
                continue;
            union cell old = base && base->live & (1u << row) ? chunk_row(def, base, row)[c] : cell_null(type);
            differs |= (uint32_t)!cell_same(type, chunk_row(def, chunk, row)[c], old) << row;
        }
        put_uint(&encoder->body, differs);
        for (; differs; differs &= differs - 1)
            put_cell(encoder, type, chunk_row(def, chunk, (uint32_t)__builtin_ctz(differs))[c]);
    }
}

static void put_table(struct encoder *encoder, const struct table *table, const struct table *base) {
    if (base && base->def != table->def)
        base = NULL;
    put_uint(&encoder->body, table->n_chunks);
    for (uint32_t i = 0; i < table->n_chunks; i++) {
        struct chunk *chunk = table->chunks[i], *old = base && i < base->n_chunks ? base->chunks[i] : NULL;
        enum chunk_tag tag = !chunk ? CHUNK_NONE : chunk == old ? CHUNK_SAME : old ? CHUNK_CHANGED : CHUNK_NEW;
        put_u8(&encoder->body, (uint8_t)tag);
        if (tag == CHUNK_NEW || tag == CHUNK_CHANGED)
            put_chunk(encoder, table->def, chunk, old);
    }
}

// ---- the other shapes ----

static void put_hists(struct encoder *encoder, const struct hist_set *set) {
    const struct hist_def *def = hist_set_def(set);
    struct sink *out = &encoder->body;
    put_uint(out, hist_set_count(set));
    for (size_t i = 0; i < hist_set_count(set); i++) {
        const union cell *keys;
        const struct hist *hist = hist_set_at(set, i, &keys);
        for (uint16_t k = 0; k < def->n_keys; k++)
            put_cell(encoder, def->keys[k].type, keys[k]);
        put_uint(out, hist->count);
        put_uint(out, hist->sum);
        put_uint(out, hist->min);
        put_uint(out, hist->max);
        put_uint(out, hist->n_buckets);
        for (uint32_t b = 0; b < hist->n_buckets; b++) {
            put_uint(out, hist->buckets[b].bucket - (b ? hist->buckets[b - 1].bucket : 0));
            put_uint(out, hist->buckets[b].count);
        }
    }
}

static void put_tree(struct encoder *encoder, const struct tree *tree) {
    put_uint(&encoder->body, tree_nodes(tree));
    for (size_t i = 0; i < tree_nodes(tree); i++) {
        const struct tree_node *node = tree_node(tree, i);
        put_uint(&encoder->body, node->depth);
        put_name(encoder, tree_names(tree), node->name);
        put_uint(&encoder->body, node->self);
    }
}

static void put_notes(struct encoder *encoder, const struct section *section) {
    put_uint(&encoder->body, section_notes(section));
    for (size_t i = 0; i < section_notes(section); i++) {
        const struct note *note = section_note_at(section, i);
        put_u8(&encoder->body, (uint8_t)note->severity);
        put_chars(encoder, note->column);
        put_chars(encoder, note->text);
        put_chars(encoder, note->fix);
    }
}

// ---- sections and frames ----

// The index of the same table in the section of the previous frame, by position as the reader does.
static size_t table_index(const struct section *section, const struct table *wanted) {
    struct table *const *tables = section->tables.items;
    for (size_t i = 0; i < section->tables.n; i++)
        if (tables[i]->def == wanted->def)
            return i;
    return SIZE_MAX;
}

static void put_tables(struct encoder *encoder, const struct section *section, const struct section *base) {
    const char *collector = section_collector(section);
    struct table *const *tables = section->tables.items;
    put_uint(&encoder->body, section->tables.n);
    for (size_t i = 0; i < section->tables.n; i++) {
        size_t at = base ? table_index(base, tables[i]) : SIZE_MAX;
        put_def(encoder, DEF_TABLE, collector, tables[i]->def);
        put_uint(&encoder->body, at == SIZE_MAX ? 0 : at + 1);
        put_table(encoder, tables[i], at == SIZE_MAX ? NULL : ((struct table *const *)base->tables.items)[at]);
    }
}

static void put_shapes(struct encoder *encoder, const struct section *section) {
    const char *collector = section_collector(section);
    const struct series *series = section->series.items;
    struct hist_set *const *hists = section->hists.items;
    struct tree *const *trees = section->trees.items;
    const struct stream *streams = section->streams.items;
    put_uint(&encoder->body, section->series.n);
    for (size_t i = 0; i < section->series.n; i++) {
        put_def(encoder, DEF_SERIES, collector, series[i].def);
        put_num(&encoder->body, series[i].value);
    }
    put_uint(&encoder->body, section->hists.n);
    for (size_t i = 0; i < section->hists.n; i++) {
        put_def(encoder, DEF_HISTS, collector, hist_set_def(hists[i]));
        put_hists(encoder, hists[i]);
    }
    put_uint(&encoder->body, section->trees.n);
    for (size_t i = 0; i < section->trees.n; i++) {
        put_def(encoder, DEF_TREE, collector, tree_def(trees[i]));
        put_tree(encoder, trees[i]);
    }
    put_uint(&encoder->body, section->streams.n);
    for (size_t i = 0; i < section->streams.n; i++) {
        put_def(encoder, DEF_TABLE, collector, streams[i].events->def);
        put_uint(&encoder->body, streams[i].left_out);
        put_table(encoder, streams[i].events, NULL);
    }
}

static void put_section(struct encoder *encoder, const struct section *section, uint64_t frame_ns, size_t base) {
    struct sink *out = &encoder->body;
    put_text(encoder, section->collector);
    put_u8(out, (uint8_t)section->state);
    put_int(out, (int64_t)(section->begin_ns - frame_ns));
    put_int(out, (int64_t)(section->end_ns - frame_ns));
    put_uint(out, section_ns(section)); // once the time that the rates cover
    put_uint(out, section->seen);
    put_uint(out, section->lost);
    put_uint(out, section->cpu_ns);
    put_notes(encoder, section);
    put_uint(out, base + 1); // 0: none
    put_tables(encoder, section, base == SIZE_MAX ? NULL : encoder->before->sections[base]);
    put_shapes(encoder, section);
}

static size_t section_index(const struct frame *frame, const struct section *wanted) {
    for (size_t i = 0; frame && i < frame->n_sections; i++)
        if (!text_compare(frame->sections[i]->collector, wanted->collector))
            return i;
    return SIZE_MAX;
}

static void put_frame(struct encoder *encoder, const struct frame *frame) {
    struct sink *out = &encoder->body;
    put_uint(out, frame->number);
    put_uint(out, frame->begin_ns);
    put_uint(out, frame->end_ns);
    put_int(out, frame->wall.tv_sec);
    put_uint(out, (uint64_t)frame->wall.tv_nsec);
    put_uint(out, frame->n_sections);
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        size_t at = section_index(encoder->before, frame->sections[i]);
        bool same = at != SIZE_MAX && encoder->before->sections[at] == frame->sections[i];
        put_uint(out, frame->stale_ns[i]);
        put_u8(out, frame->repeated[i]);
        put_uint(out, same ? at + 1 : 0);
        if (!same)
            put_section(encoder, frame->sections[i], frame->end_ns, at);
    }
}

static void put_counted(struct sink *out, size_t n, struct sink *items) {
    put_uint(out, n);
    put_bytes(out, items->bytes, items->n);
    items->n = 0;
}

enum record_type encode_frame(struct encoder *encoder, const struct frame *frame, uint64_t left_out, struct sink *out) {
    bool key = !encoder->before || encoder->since_key + 1 >= RECORD_KEY_EVERY || encoder->text_bytes >= TEXTS_KEY_BYTES;
    if (key)
        forget(encoder);
    encoder->since_key = key ? 0 : encoder->since_key + 1;
    encoder->n_new_defs = encoder->n_new_texts = 0;
    put_frame(encoder, frame);
    enum record_type type = key ? RECORD_KEY : RECORD_DELTA;
    put_u8(out, (uint8_t)type);
    put_uint(out, left_out);
    put_counted(out, encoder->n_new_texts, &encoder->new_texts);
    put_counted(out, encoder->n_new_defs, &encoder->new_defs);
    put_bytes(out, encoder->body.bytes, encoder->body.n);
    encoder->body.n = 0;
    frame_unref(encoder->before);
    encoder->before = frame_ref(frame);
    return type;
}

void encode_origin(const struct origin *origin, struct sink *out) {
    put_u8(out, RECORD_ORIGIN);
    put_string(out, origin ? origin->host : "");
    put_string(out, origin ? origin->boot_id : "");
    put_string(out, origin ? origin->kernel : "");
    put_string(out, origin ? origin->version : "");
    put_uint(out, origin ? origin->cpus : 0);
}

void encode_end(uint64_t frames, uint64_t left_out, struct sink *out) {
    put_u8(out, RECORD_END);
    put_uint(out, frames);
    put_uint(out, left_out);
}
