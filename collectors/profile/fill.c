// One interval's section: tree, tables, stream and series. Names become texts here, once per name and interval.
#include <math.h>

#include "collectors/profile/index.h"
#include "collectors/profile/profile.h"
#include "collectors/profile/table.h"
#include "model/clock.h"

static double percent(uint64_t part, uint64_t whole) {
    return whole ? 100 * (double)part / (double)whole : NAN;
}

// `without`: of the first columns; the table of objects has no symbol.
static void sums_fill(const struct profile *profile, struct table_builder *builder, const struct tally_symbol *sums,
                      size_t n, unsigned without, struct section *out) {
    table_builder_clear(builder);
    for (size_t i = 0; i < n && i < PROFILE_SYMBOLS_SHOWN; i++) {
        uint32_t row = table_builder_add(builder);
        if (!without)
            table_builder_set_text(builder, row, SYMBOL_NAME, text_ref(sums[i].symbol));
        table_builder_set_text(builder, row, SYMBOL_DSO - without, text_ref(sums[i].dso));
        table_builder_set_text(builder, row, SYMBOL_COMM - without, text_ref(sums[i].comm));
        table_builder_set_num(builder, row, SYMBOL_SELF_PCT - without, percent(sums[i].self, profile->samples));
        table_builder_set_num(builder, row, SYMBOL_TOTAL_PCT - without, percent(sums[i].total, profile->samples));
        table_builder_set_num(builder, row, SYMBOL_SAMPLES - without, (double)sums[i].self);
    }
    section_table(out, table_builder_seal(builder));
}

static double offset_of(struct profile *profile, const struct address *address) {
    uint64_t within;
    if (!address->kernel)
        return (double)address->offset;
    return symbols_within(stacks_symbols(profile->stacks), NULL, address->ip, &within) ? (double)within : NAN;
}

static void addresses_fill(struct profile *profile, struct section *out) {
    struct table_builder *builder = profile->address_rows;
    size_t n;
    uint64_t left_out;
    const struct address *list = addresses_sorted(profile->addresses, &n, &left_out);
    table_builder_clear(builder);
    for (size_t i = 0; i < n; i++) {
        if (i >= ADDRESSES_SHOWN) {
            left_out += list[i].samples;
            continue;
        }
        const struct text *name = name_table_text(profile->names, list[i].leaf);
        const struct text *process = name_table_text(profile->names, list[i].process);
        uint32_t row = table_builder_add(builder);
        table_builder_set_num(builder, row, ADDRESS_PID, list[i].pid);
        table_builder_set_text(builder, row, ADDRESS_SYMBOL, text_from(text_bytes(name)));
        table_builder_set_text(builder, row, ADDRESS_DSO, text_from(name ? name_object(name) : ""));
        table_builder_set_num(builder, row, ADDRESS_OFFSET, offset_of(profile, &list[i]));
        table_builder_set_text(builder, row, ADDRESS_COMM, text_from(text_bytes(process)));
        table_builder_set_num(builder, row, ADDRESS_SAMPLES, list[i].samples);
    }
    section_table(out, table_builder_seal(builder));
    profile->addresses_dropped = left_out;
    section_series(out, &profile_series[PROFILE_ADDRESSES_DROPPED], (double)left_out);
}

static double cpu_pct(const struct profile *profile, const struct space_counts *counts) {
    const struct profile_source *source = profile_sampling_source(profile->sampling);
    if (!(profile->seconds > 0))
        return NAN;
    if (source->is_clock) // a period is a time in ns
        return (double)counts->period / 1e7 / profile->seconds;
    return source->hz ? 100 * (double)counts->samples / source->hz / profile->seconds : NAN;
}

static void process_fill(void *context, struct space *space) {
    struct profile *profile = context;
    struct table_builder *builder = profile->processes;
    const struct space_counts *counts = &space->counts;
    if (!counts->samples)
        return;
    const struct text *name = name_table_text(profile->names, space->known.is_named ? space->known.name : NAME_NONE);
    const struct tally_process *sum = tally_process(profile->tally, space->known.name);
    uint32_t row = table_builder_add(builder);
    table_builder_set_num(builder, row, PROCESS_PID, space->pid);
    table_builder_set_text(builder, row, PROCESS_COMM, text_from(name ? text_bytes(name) : space->comm));
    table_builder_set_num(builder, row, PROCESS_SAMPLES, (double)counts->samples);
    table_builder_set_num(builder, row, PROCESS_CPU_PCT, cpu_pct(profile, counts));
    table_builder_set_num(builder, row, PROCESS_USER_PCT, percent(counts->samples - counts->kernel, counts->samples));
    table_builder_set_num(builder, row, PROCESS_KERNEL_PCT, percent(counts->kernel, counts->samples));
    table_builder_set_num(builder, row, PROCESS_BROKEN_PCT, sum ? percent(sum->broken, sum->user) : NAN);
}

// ---- the stream ----

struct texts { // plain texts of IDs: the symbol without its kind and object
    const struct name_table *names;
    struct index by_id;
    const struct text **list;
    uint32_t n, room;
};

static const struct text *text_of(struct texts *texts, uint32_t id) {
    uint32_t at = index_get(&texts->by_id, id);
    if (at == INDEX_NONE) {
        if (texts->n == texts->room) {
            texts->room = texts->room ? texts->room * 2 : 64;
            texts->list = xrealloc(texts->list, texts->room * sizeof *texts->list);
        }
        at = texts->n++;
        texts->list[at] = text_from(text_bytes(name_table_text(texts->names, id)));
        index_add(&texts->by_id, id, at);
    }
    return text_ref(texts->list[at]);
}

// paths: the node in the frame's tree of each path's number.
static void stream_fill(struct profile *profile, const uint32_t *paths, struct section *out) {
    struct table_builder *builder = table_builder_new(&profile_samples_table);
    struct texts texts = {.names = profile->names};
    int64_t wall_ns = wall_offset_ns();
    uint64_t n = profile->n_recent, first = n > PROFILE_EVENTS_KEPT ? n - PROFILE_EVENTS_KEPT : 0;
    for (uint64_t i = first; i < n; i++) {
        const struct profile_recent *recent = &profile->recent[i % PROFILE_EVENTS_KEPT];
        uint32_t row = table_builder_add(builder);
        table_builder_set_num(builder, row, EVENT_TIME_S, (double)((int64_t)recent->time + wall_ns) / 1e9);
        table_builder_set_num(builder, row, EVENT_CPU, recent->cpu);
        table_builder_set_num(builder, row, EVENT_PID, recent->pid);
        table_builder_set_num(builder, row, EVENT_TID, recent->tid);
        table_builder_set_text(builder, row, EVENT_COMM, text_of(&texts, recent->process));
        table_builder_set_text(builder, row, EVENT_NAME, text_of(&texts, recent->leaf));
        table_builder_set_num(builder, row, EVENT_PATH, paths[recent->path]);
    }
    for (uint32_t i = 0; i < texts.n; i++)
        text_unref(texts.list[i]);
    free(texts.list);
    index_free(&texts.by_id);
    section_stream(out, table_builder_seal(builder), first);
    table_builder_free(builder);
    profile->n_recent = 0;
}

void profile_fill(struct profile *profile, struct section *out) {
    const struct profile_source *source = profile_sampling_source(profile->sampling);
    uint32_t *paths, *nodes; // of the numbers in the raw tree; in the other one
    struct tree *raw = tree_builder_seal_nodes(profile->raw, &paths);
    size_t n_paths = tree_nodes(raw);
    uint64_t broken, user, lost = profile->lost + profile->malformed;
    bool timed = profile->seconds > 0;
    tally_tree(profile->tally, raw, &profile->marks, profile->tree);
    tree_free(raw);
    section_tree(out, tree_builder_seal_nodes(profile->tree, &nodes));
    for (size_t i = 0; i < n_paths; i++)
        paths[i] = nodes[tally_numbers(profile->tally)[paths[i]]];
    size_t n_symbols, n_objects;
    const struct tally_symbol *symbols = tally_symbols(profile->tally, &n_symbols);
    const struct tally_symbol *objects = tally_objects(profile->tally, &n_objects);
    sums_fill(profile, profile->symbols, symbols, n_symbols, 0, out);
    sums_fill(profile, profile->objects, objects, n_objects, SYMBOL_DSO, out);
    addresses_fill(profile, out);
    profile_code_fill(profile, out);
    addresses_clear(profile->addresses);
    table_builder_clear(profile->processes);
    space_maps_each(profile->maps, process_fill, profile);
    section_table(out, table_builder_seal(profile->processes));
    stream_fill(profile, paths, out);
    free(paths);
    free(nodes);
    user = tally_user(profile->tally, &broken);
    double per_s = timed ? (double)profile->samples / profile->seconds : NAN;
    section_series(out, &profile_series[PROFILE_SAMPLES_PER_S], per_s);
    section_series(out, &profile_series[PROFILE_BROKEN_PCT], percent(broken, user));
    section_series(out, &profile_series[PROFILE_FREQUENCY_HZ], source->hz ? source->hz : NAN);
    section_series(out, &profile_series[PROFILE_LOST], (double)lost);
    section_events(out, profile->samples, lost);
}
