// Decoding of frames. The texts and definitions of a key frame and of its delta frames are kept by ID until the next
// key frame. The tables of the previous frame are kept in file order, for the chunks that are shared.
#include "model/record/decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/record/schema.h"
#include "model/section_private.h"
#include "model/table_private.h"

#define TEXT_MAX ((size_t)1 << 24)
#define DEFS_MAX 65536
#define TREE_NODES_MAX 4000000
#define NAMES_MAX (1 << 22) // of trees

// A table of the previous frame, in file order.
struct seen_table {
    const struct file_def *def;
    const struct table *table; // NULL: unknown here. Lives as long as its frame
};

struct seen_section {
    size_t n;
    struct seen_table *tables;
};

struct decoder {
    const struct frame *schema;
    const struct origin *origin;
    const struct text **texts;
    size_t n_texts, texts_room, text_bytes;
    struct file_def **defs;
    size_t n_defs, unknown;
    uint64_t number;          // of the previous frame, also after that was dropped
    struct name_table *names; // of all trees; kept over key frames
    uint32_t *name_ids;       // by their place in the recording; NAME_NONE: not yet
    size_t n_name_ids;
    const struct frame *before;
    struct seen_section seen[FRAME_SECTIONS_MAX], next[FRAME_SECTIONS_MAX]; // of `before`; being decoded
    size_t budget; // bytes of cells and buckets left for this frame
};

static void seen_clear(struct seen_section *seen) {
    for (int i = 0; i < FRAME_SECTIONS_MAX; i++) {
        free(seen[i].tables);
        seen[i] = (struct seen_section){0};
    }
}

static void forget(struct decoder *decoder) {
    for (size_t i = 0; i < decoder->n_texts; i++)
        text_unref(decoder->texts[i]);
    for (size_t i = 0; i < decoder->n_defs; i++) {
        def_done(decoder->defs[i]);
        free(decoder->defs[i]);
    }
    seen_clear(decoder->seen);
    frame_unref(decoder->before);
    decoder->before = NULL;
    decoder->n_texts = decoder->text_bytes = decoder->n_defs = decoder->unknown = 0;
}

struct decoder *decoder_new(const struct frame *schema) {
    struct decoder *decoder = xcalloc(1, sizeof(*decoder));
    decoder->schema = frame_ref(schema);
    decoder->names = name_table_new();
    return decoder;
}

void decoder_free(struct decoder *decoder) {
    if (!decoder)
        return;
    forget(decoder);
    seen_clear(decoder->next);
    free(decoder->texts);
    free(decoder->name_ids);
    name_table_unref(decoder->names);
    free(decoder->defs);
    origin_unref(decoder->origin);
    frame_unref(decoder->schema);
    free(decoder);
}

const struct origin *decoder_origin(const struct decoder *decoder) {
    return decoder->origin;
}

size_t decoder_unknown(const struct decoder *decoder) {
    return decoder->unknown;
}

// ---- IDs ----

static void texts_get(struct decoder *decoder, struct byte_reader *in) {
    size_t n = get_count(in, SIZE_MAX);
    if (decoder->n_texts + n > decoder->texts_room) {
        decoder->texts_room = decoder->n_texts + n + decoder->texts_room;
        decoder->texts = xrealloc(decoder->texts, decoder->texts_room * sizeof(decoder->texts[0]));
    }
    for (size_t i = 0; i < n; i++) {
        size_t length = get_count(in, TEXT_MAX);
        const uint8_t *bytes = get_bytes(in, length);
        decoder->text_bytes += length + RECORD_TEXT_COST;
        in->bad |= decoder->text_bytes > RECORD_TEXTS_MAX;
        if (in->bad)
            return;
        decoder->texts[decoder->n_texts++] = text_new((const char *)bytes, length);
    }
}

static void defs_get(struct decoder *decoder, struct byte_reader *in) {
    size_t n = get_count(in, DEFS_MAX - decoder->n_defs);
    decoder->defs = xrealloc(decoder->defs, (decoder->n_defs + n) * sizeof(decoder->defs[0]));
    for (size_t i = 0; i < n && !in->bad; i++) {
        struct file_def *def = xcalloc(1, sizeof(*def));
        def_get(in, decoder->schema, def);
        decoder->defs[decoder->n_defs++] = def;
        decoder->unknown += def->unknown;
    }
}

static const struct file_def *get_def(struct decoder *decoder, struct byte_reader *in, enum def_kind kind) {
    uint64_t id = get_uint(in);
    if (in->bad || id >= decoder->n_defs || decoder->defs[id]->kind != kind) {
        in->bad = true;
        return NULL;
    }
    return decoder->defs[id];
}

// Borrowed.
static const struct text *get_text(struct decoder *decoder, struct byte_reader *in) {
    uint64_t id = get_uint(in);
    if (in->bad || !id || id > decoder->n_texts) {
        in->bad |= id > decoder->n_texts;
        return NULL;
    }
    return decoder->texts[id - 1];
}

static bool spend(struct decoder *decoder, struct byte_reader *in, size_t bytes) {
    if (in->bad || bytes > decoder->budget) {
        in->bad = true;
        return false;
    }
    decoder->budget -= bytes;
    return true;
}

// ---- tables ----

static union cell get_cell(struct decoder *decoder, struct byte_reader *in, uint8_t type) {
    if (type == COLUMN_TEXT)
        return (union cell){.text = get_text(decoder, in)};
    return (union cell){.num = get_num(in)};
}

// The rows that continue from the base, and nulls.
static void chunk_start(const struct table_def *own, struct chunk *chunk, struct chunk *base) {
    for (uint32_t row = 0; row < TABLE_CHUNK_ROWS; row++) {
        if (!(chunk->live & (1u << row)))
            continue;
        bool old = base && base->live & (1u << row);
        for (uint16_t c = 0; c < own->n_columns; c++) {
            union cell *cell = &chunk_row(own, chunk, row)[c];
            *cell = old ? chunk_row(own, base, row)[c] : cell_null(own->columns[c].type);
            if (old && own->columns[c].type == COLUMN_TEXT)
                text_ref(cell->text);
        }
    }
}

// NULL if the definition is unknown here.
static struct chunk *get_chunk(struct decoder *decoder, struct byte_reader *in, const struct file_def *def,
                               struct chunk *base) {
    const struct table_def *own = def->own;
    uint64_t live = get_uint(in);
    struct chunk *chunk = NULL;
    in->bad |= live > UINT16_MAX || !live;
    if (own && spend(decoder, in, sizeof(struct chunk) + sizeof(union cell) * TABLE_CHUNK_ROWS * own->n_columns)) {
        chunk = chunk_new(own);
        chunk->live = (uint16_t)live;
        chunk_start(own, chunk, base);
    }
    for (uint16_t c = 0; c < def->n_columns && !in->bad; c++) {
        uint64_t differs = get_uint(in);
        in->bad |= (differs & ~live) != 0;
        for (; differs && !in->bad; differs &= differs - 1) {
            union cell value = get_cell(decoder, in, def->types[c]);
            if (!chunk || def->to[c] < 0)
                continue;
            union cell *cell = &chunk_row(own, chunk, (uint32_t)__builtin_ctzll(differs))[def->to[c]];
            if (def->types[c] == COLUMN_TEXT) {
                text_unref(cell->text);
                text_ref(value.text);
            }
            *cell = value;
        }
    }
    return chunk;
}

// NULL if bad, or if the definition is unknown here.
static struct table *get_table(struct decoder *decoder, struct byte_reader *in, const struct file_def *def,
                               const struct table *base) {
    size_t n = get_count(in, UINT32_MAX / TABLE_CHUNK_ROWS);
    if (in->bad || !def || !spend(decoder, in, n * sizeof(struct chunk *)))
        return NULL;
    struct table *table = def->own ? table_alloc(def->own, (uint32_t)n) : NULL;
    for (size_t i = 0; i < n && !in->bad; i++) {
        struct chunk *old = base && i < base->n_chunks ? base->chunks[i] : NULL, *chunk = NULL;
        uint8_t tag = get_u8(in);
        in->bad |= tag > CHUNK_NEW || (table && !old && (tag == CHUNK_SAME || tag == CHUNK_CHANGED));
        if (in->bad)
            break;
        if (tag == CHUNK_SAME)
            chunk = chunk_ref(old);
        else if (tag != CHUNK_NONE)
            chunk = get_chunk(decoder, in, def, tag == CHUNK_CHANGED ? old : NULL);
        if (!table)
            continue;
        table->chunks[i] = chunk;
        table->n_rows += chunk ? (uint32_t)__builtin_popcount(chunk->live) : 0;
    }
    if (in->bad) {
        table_free(table);
        return NULL;
    }
    return table;
}

// ---- the other shapes ----

static struct hist *get_hist(struct decoder *decoder, struct byte_reader *in) {
    uint64_t count = get_uint(in), sum = get_uint(in), min = get_uint(in), max = get_uint(in);
    size_t n = get_count(in, HIST_BUCKETS), size = sizeof(struct hist) + n * sizeof(struct hist_bucket_count);
    in->bad |= (n == 0) != (count == 0) || min > max;
    if (!spend(decoder, in, size))
        return NULL;
    struct hist *hist = mem_alloc(size);
    *hist = (struct hist){.count = count, .sum = sum, .min = min, .max = max, .n_buckets = (uint32_t)n};
    for (size_t i = 0; i < n && !in->bad; i++) {
        uint64_t bucket = get_uint(in) + (i ? hist->buckets[i - 1].bucket : 0), held = get_uint(in);
        in->bad |= bucket >= HIST_BUCKETS || !held || held > UINT32_MAX || (i && bucket == hist->buckets[i - 1].bucket);
        hist->buckets[i] = (struct hist_bucket_count){(uint32_t)bucket, (uint32_t)held};
    }
    if (!in->bad)
        return hist;
    hist_free(hist);
    return NULL;
}

static void get_hists(struct decoder *decoder, struct byte_reader *in, struct section *section) {
    const struct file_def *def = get_def(decoder, in, DEF_HISTS);
    if (!def)
        return;
    const struct hist_def *own = def->own;
    size_t n = get_count(in, SIZE_MAX), n_keys = own ? own->n_keys : 0;
    struct hist_set *set = own && !in->bad ? hist_set_new(own) : NULL;
    union cell *keys = xcalloc(n_keys, sizeof(*keys));
    for (size_t i = 0; i < n && !in->bad; i++) {
        for (size_t k = 0; k < n_keys; k++)
            keys[k] = cell_null(own->keys[k].type);
        for (uint16_t k = 0; k < def->n_columns; k++) {
            union cell value = get_cell(decoder, in, def->types[k]);
            if (set && def->to[k] >= 0)
                keys[def->to[k]] = value;
        }
        struct hist *hist = get_hist(decoder, in);
        if (!hist || !set) {
            hist_free(hist);
            continue;
        }
        for (size_t k = 0; k < n_keys; k++)
            if (own->keys[k].type == COLUMN_TEXT)
                text_ref(keys[k].text);
        hist_set_add(set, keys, hist);
    }
    free(keys);
    if (set)
        section_hists(section, set);
}

static uint32_t get_name(struct decoder *decoder, struct byte_reader *in) {
    uint64_t value = get_uint(in), place = value >> 1;
    const struct text *text = value & 1 ? get_text(decoder, in) : NULL;
    in->bad |= place >= NAMES_MAX || (!place && value);
    if (in->bad || !place)
        return NAME_NONE;
    if (place >= decoder->n_name_ids) {
        size_t n = place * 2;
        decoder->name_ids = xrealloc(decoder->name_ids, n * sizeof(decoder->name_ids[0]));
        memset(&decoder->name_ids[decoder->n_name_ids], 0xff, (n - decoder->n_name_ids) * sizeof(uint32_t));
        decoder->n_name_ids = n;
    }
    uint32_t *id = &decoder->name_ids[place];
    if (*id == NAME_NONE)
        *id = name_table_add(decoder->names, text_ref(text));
    else if (value & 1 && text_compare(name_table_text(decoder->names, *id), text))
        name_table_set(decoder->names, *id, text_ref(text));
    return *id;
}

static void get_tree(struct decoder *decoder, struct byte_reader *in, struct section *section) {
    const struct file_def *def = get_def(decoder, in, DEF_TREE);
    size_t n = get_count(in, TREE_NODES_MAX), room = 0, deepest = 0;
    uint32_t *path = NULL;
    struct tree_builder *builder = def && def->own && !in->bad ? tree_builder_new(def->own, decoder->names) : NULL;
    for (size_t i = 0; i < n && !in->bad; i++) {
        uint64_t depth = get_uint(in);
        uint32_t name = get_name(decoder, in);
        uint64_t self = get_uint(in);
        in->bad |= depth > deepest + (i > 0) || (i > 0) != (depth > 0);
        if (in->bad)
            break;
        if (depth > room)
            path = xrealloc(path, (room = depth * 2) * sizeof(path[0]));
        if (depth)
            path[depth - 1] = name;
        deepest = depth;
        // A builder walks the whole path for each node.
        if (spend(decoder, in, depth * sizeof(path[0])) && builder)
            tree_builder_add(builder, path, depth, self);
    }
    free(path);
    if (builder)
        section_tree(section, tree_builder_seal(builder));
    tree_builder_free(builder);
}

static void get_notes(struct decoder *decoder, struct byte_reader *in, struct section *section) {
    size_t n = get_count(in, SIZE_MAX);
    for (size_t i = 0; i < n && !in->bad; i++) {
        uint8_t severity = get_u8(in);
        const struct text *column = get_text(decoder, in), *text = get_text(decoder, in), *fix = get_text(decoder, in);
        in->bad |= severity > SEVERITY_CRITICAL;
        if (spend(decoder, in, text_length(column) + text_length(text) + text_length(fix)))
            section_note(section, (enum severity)severity, column ? text_bytes(column) : NULL, text_bytes(text),
                         fix ? text_bytes(fix) : NULL);
    }
}

static void get_tables(struct decoder *decoder, struct byte_reader *in, struct section *section, size_t index) {
    uint64_t base = get_uint(in);
    in->bad |= base > (decoder->before ? decoder->before->n_sections : 0);
    size_t n = get_count(in, DEFS_MAX);
    struct seen_section *next = &decoder->next[index], none = {0};
    const struct seen_section *before = base && !in->bad ? &decoder->seen[base - 1] : &none;
    next->tables = xcalloc(n, sizeof(next->tables[0]));
    for (size_t i = 0; i < n && !in->bad; i++) {
        const struct file_def *def = get_def(decoder, in, DEF_TABLE);
        uint64_t at = get_uint(in);
        in->bad |= at > before->n || (at && before->tables[at - 1].def != def);
        if (in->bad)
            break;
        struct table *table = get_table(decoder, in, def, at ? before->tables[at - 1].table : NULL);
        next->tables[next->n++] = (struct seen_table){def, table};
        if (table)
            section_table(section, table);
    }
}

static void get_shapes(struct decoder *decoder, struct byte_reader *in, struct section *section) {
    for (size_t i = 0, n = get_count(in, SIZE_MAX); i < n && !in->bad; i++) {
        const struct file_def *def = get_def(decoder, in, DEF_SERIES);
        double value = get_num(in);
        if (def && def->own)
            section_series(section, def->own, value);
    }
    for (size_t i = 0, n = get_count(in, SIZE_MAX); i < n && !in->bad; i++)
        get_hists(decoder, in, section);
    for (size_t i = 0, n = get_count(in, SIZE_MAX); i < n && !in->bad; i++)
        get_tree(decoder, in, section);
    for (size_t i = 0, n = get_count(in, SIZE_MAX); i < n && !in->bad; i++) {
        const struct file_def *def = get_def(decoder, in, DEF_TABLE);
        uint64_t left_out = get_uint(in);
        struct table *events = get_table(decoder, in, def, NULL);
        if (events)
            section_stream(section, events, left_out);
    }
}

// ---- definitions that the recording lacks ----

static struct table *table_empty(const struct table_def *def) {
    return table_alloc(def, 0);
}

static bool has_series(const struct section *section, const char *name) {
    const struct series_def *def;
    for (size_t i = 0; i < section_n_series(section); i++) {
        section_series_at(section, i, &def);
        if (!strcmp(def->name, name))
            return true;
    }
    return false;
}

static void section_fill(struct section *section, const struct section *schema) {
    const struct series *series = schema->series.items;
    struct table *const *tables = schema->tables.items;
    struct hist_set *const *hists = schema->hists.items;
    const struct stream *streams = schema->streams.items;
    // The numbers are usually equal; only otherwise names are compared.
    for (size_t i = 0; section->series.n < schema->series.n && i < schema->series.n; i++)
        if (!has_series(section, series[i].def->name))
            section_series(section, series[i].def, NAN);
    for (size_t i = 0; i < schema->tables.n; i++)
        if (!section_find_table(section, tables[i]->def->name))
            section_table(section, table_empty(tables[i]->def));
    for (size_t i = 0; i < schema->hists.n; i++)
        if (!section_find_hists(section, hist_set_def(hists[i])->name))
            section_hists(section, hist_set_new(hist_set_def(hists[i])));
    for (size_t i = 0; i < schema->streams.n; i++)
        if (!section_find_stream(section, streams[i].events->def->name, NULL))
            section_stream(section, table_empty(streams[i].events->def), 0);
}

static void frame_fill(struct frame *frame, const struct frame *schema) {
    for (uint16_t i = 0; schema && i < schema->n_sections; i++)
        if (!frame_section(frame, section_collector(schema->sections[i]), NULL))
            frame_add_section(frame, section_ref(schema->sections[i]), 0);
}

// ---- sections and frames ----

static struct section *get_section(struct decoder *decoder, struct byte_reader *in, uint64_t frame_ns, size_t index) {
    const struct text *collector = get_text(decoder, in);
    uint8_t state = get_u8(in);
    uint64_t begin_ns = frame_ns + (uint64_t)get_int(in), end_ns = frame_ns + (uint64_t)get_int(in);
    spend(decoder, in, text_length(collector));
    struct section *section = section_new(in->bad ? "" : text_bytes(collector), begin_ns, end_ns);
    in->bad |= !collector || state > SECTION_UNAVAILABLE;
    section_set_state(section, (enum section_state)state);
    get_uint(in); // once the time that the rates cover
    uint64_t seen = get_uint(in), lost = get_uint(in);
    section_events(section, seen, lost);
    section_cost(section, get_uint(in));
    get_notes(decoder, in, section);
    get_tables(decoder, in, section, index);
    get_shapes(decoder, in, section);
    const struct section *schema =
        decoder->schema && !in->bad ? frame_section(decoder->schema, section_collector(section), NULL) : NULL;
    if (schema)
        section_fill(section, schema);
    return section;
}

static void get_sections(struct decoder *decoder, struct byte_reader *in, struct frame *frame) {
    size_t n = get_count(in, FRAME_SECTIONS_MAX);
    for (size_t i = 0; i < n && !in->bad; i++) {
        uint64_t stale_ns = get_uint(in);
        bool repeated = get_u8(in) != 0;
        uint64_t same = get_uint(in);
        in->bad |= same > (decoder->before ? decoder->before->n_sections : 0);
        if (in->bad)
            return;
        if (same) {
            const struct seen_section *seen = &decoder->seen[same - 1];
            struct seen_section *next = &decoder->next[i];
            next->n = seen->n;
            next->tables = xcalloc(seen->n, sizeof(seen->tables[0]));
            if (seen->n)
                memcpy(next->tables, seen->tables, seen->n * sizeof(seen->tables[0]));
            frame_add_section(frame, section_ref(decoder->before->sections[same - 1]), stale_ns);
        } else {
            frame_add_section(frame, get_section(decoder, in, frame->end_ns, i), stale_ns);
        }
        frame->repeated[i] = repeated;
    }
}

static const struct frame *get_frame(struct decoder *decoder, struct byte_reader *in) {
    uint64_t number = get_uint(in), begin_ns = get_uint(in), end_ns = get_uint(in);
    struct timespec wall = {.tv_sec = (time_t)get_int(in)};
    uint64_t wall_ns = get_uint(in);
    // Numbers must rise, and the time must be a valid date.
    in->bad |= number <= decoder->number || wall_ns >= 1000000000 || end_ns < begin_ns;
    in->bad |= wall.tv_sec < 0 || wall.tv_sec > 1000000000000;
    if (in->bad)
        return NULL;
    wall.tv_nsec = (long)wall_ns;
    struct frame *frame = frame_new(number, begin_ns, end_ns, wall);
    frame->origin = origin_ref(decoder->origin);
    decoder->budget = RECORD_CELLS_MAX;
    get_sections(decoder, in, frame);
    if (in->bad || in->at != in->end) {
        in->bad = true;
        frame_unref(frame);
        seen_clear(decoder->next);
        return NULL;
    }
    seen_clear(decoder->seen);
    memcpy(decoder->seen, decoder->next, sizeof decoder->seen);
    memset(decoder->next, 0, sizeof decoder->next);
    frame_unref(decoder->before);
    decoder->before = frame_ref(frame);
    decoder->number = number;
    frame_fill(frame, decoder->schema);
    return frame;
}

static void get_origin(struct decoder *decoder, struct byte_reader *in) {
    char *texts[4];
    for (int i = 0; i < 4; i++)
        texts[i] = get_string(in, 256);
    uint64_t cpus = get_uint(in);
    origin_unref(decoder->origin);
    decoder->origin = origin_new(&(struct origin){texts[0], texts[1], texts[2], texts[3], (uint32_t)cpus});
    for (int i = 0; i < 4; i++)
        free(texts[i]);
}

bool decoder_take(struct decoder *decoder, const uint8_t *bytes, size_t size, struct decoded *out) {
    struct byte_reader in = {bytes, bytes + size, false};
    *out = (struct decoded){.type = (enum record_type)get_u8(&in)};
    switch (out->type) {
    case RECORD_ORIGIN:
        get_origin(decoder, &in);
        break;
    case RECORD_KEY:
    case RECORD_DELTA:
        if (out->type == RECORD_KEY)
            forget(decoder);
        else if (!decoder->before)
            return false;
        out->left_out = get_uint(&in);
        texts_get(decoder, &in);
        defs_get(decoder, &in);
        if (in.bad || !(out->frame = get_frame(decoder, &in)))
            return false;
        break;
    case RECORD_END:
        out->frames = get_uint(&in);
        out->left_out = get_uint(&in);
        break;
    default:
        in.bad = true;
    }
    return !in.bad;
}
