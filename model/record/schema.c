// Descriptions of definitions, written and read. Names go first. A description with more fields needs a new format
// version.
#include "model/record/schema.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/section_private.h"

#define NAME_MAX_BYTES 256
#define HELP_MAX_BYTES 8192
#define COLUMNS_MAX 4096

// ---- writing ----

static void columns_put(struct sink *out, const struct column *columns, uint16_t n) {
    put_uint(out, n);
    for (uint16_t i = 0; i < n; i++) {
        put_string(out, columns[i].name);
        put_string(out, columns[i].title);
        put_string(out, columns[i].help);
        put_u8(out, (uint8_t)columns[i].type);
        put_uint(out, columns[i].unit);
        put_u8(out, columns[i].width);
        put_u8(out, columns[i].ascending);
        put_string(out, columns[i].overrides);
        put_string(out, columns[i].lower_bound_flag);
    }
}

static void table_def_put(struct sink *out, const struct table_def *def) {
    put_string(out, def->name);
    put_string(out, def->help);
    put_u8(out, def->count != NULL);
    put_uint(out, def->n_keys);
    columns_put(out, def->columns, def->n_columns);
}

static void series_def_put(struct sink *out, const struct series_def *def) {
    put_string(out, def->name);
    put_string(out, def->title);
    put_string(out, def->help);
    put_uint(out, def->unit);
}

static void hist_def_put(struct sink *out, const struct hist_def *def) {
    put_string(out, def->name);
    put_string(out, def->title);
    put_string(out, def->help);
    put_string(out, def->span);
    put_string(out, def->unit_name);
    put_num(out, def->divisor);
    put_uint(out, def->unit);
    columns_put(out, def->keys, def->n_keys);
}

static void tree_def_put(struct sink *out, const struct tree_def *def) {
    put_string(out, def->name);
    put_string(out, def->title);
    put_string(out, def->help);
    put_string(out, def->unit_name);
}

void def_put(struct sink *out, enum def_kind kind, const char *collector, const void *def) {
    put_u8(out, (uint8_t)kind);
    put_string(out, collector);
    switch (kind) {
    case DEF_SERIES:
        series_def_put(out, def);
        break;
    case DEF_TABLE:
        table_def_put(out, def);
        break;
    case DEF_HISTS:
        hist_def_put(out, def);
        break;
    case DEF_TREE:
        tree_def_put(out, def);
        break;
    }
}

// ---- finding this program's definition ----

static const void *own_in(const struct section *section, enum def_kind kind, const char *name) {
    const struct series_def *series;
    const struct table *table;
    const struct hist_set *hists;
    const struct tree *tree;
    switch (kind) {
    case DEF_SERIES:
        for (size_t i = 0; i < section_n_series(section); i++) {
            section_series_at(section, i, &series);
            if (!strcmp(series->name, name))
                return series;
        }
        return NULL;
    case DEF_TABLE:
        table = section_find_table(section, name);
        if (!table)
            table = section_find_stream(section, name, NULL);
        return table ? table_def(table) : NULL;
    case DEF_HISTS:
        hists = section_find_hists(section, name);
        return hists ? hist_set_def(hists) : NULL;
    default:
        tree = section_find_tree(section, name);
        return tree ? tree_def(tree) : NULL;
    }
}

// In the section of that collector first; another version may name the collector differently, so then in any.
static const void *own_find(const struct frame *schema, enum def_kind kind, const char *collector, const char *name) {
    const struct section *section = schema ? frame_section(schema, collector, NULL) : NULL;
    const void *own = section ? own_in(section, kind, name) : NULL;
    for (uint16_t i = 0; schema && !own && i < schema->n_sections; i++)
        own = own_in(schema->sections[i], kind, name);
    return own;
}

// ---- reading ----

static void columns_free(struct column *columns, size_t n) {
    for (size_t i = 0; i < n; i++) {
        free((char *)columns[i].name);
        free((char *)columns[i].title);
        free((char *)columns[i].help);
        free((char *)columns[i].overrides);
        free((char *)columns[i].lower_bound_flag);
    }
    free(columns);
}

static struct column *columns_get(struct byte_reader *in, uint16_t *n_columns) {
    size_t n = get_count(in, COLUMNS_MAX);
    struct column *columns = xcalloc(n, sizeof(*columns));
    for (size_t i = 0; i < n && !in->bad; i++) {
        struct column *column = &columns[i];
        column->name = get_string(in, NAME_MAX_BYTES);
        column->title = get_string(in, NAME_MAX_BYTES);
        column->help = get_string(in, HELP_MAX_BYTES);
        uint8_t type = get_u8(in);
        uint64_t unit = get_uint(in);
        column->width = get_u8(in);
        column->ascending = get_u8(in) != 0;
        column->overrides = get_string(in, NAME_MAX_BYTES);
        column->lower_bound_flag = get_string(in, NAME_MAX_BYTES);
        column->type = type == COLUMN_TEXT ? COLUMN_TEXT : COLUMN_NUMBER;
        column->unit = unit <= UNIT_RATIO ? (enum unit)unit : UNIT_NONE;
        in->bad |= !column->name || type > COLUMN_TEXT;
        if (!in->bad && !column->title)
            column->title = xstrdup(column->name);
        if (!in->bad && !column->help)
            column->help = xstrdup("");
    }
    *n_columns = (uint16_t)n;
    return columns;
}

// The index of each of the file's columns in this program's definition. A column of another type does not match.
static void columns_map(struct file_def *out, const struct column *file, const struct column *own, uint16_t n_own) {
    out->types = xcalloc(out->n_columns, sizeof(out->types[0]));
    out->to = xcalloc(out->n_columns, sizeof(out->to[0]));
    for (uint16_t i = 0; i < out->n_columns; i++) {
        out->types[i] = (uint8_t)file[i].type;
        out->to[i] = -1;
        if (out->made)
            out->to[i] = i;
        for (uint16_t k = 0; k < n_own && out->to[i] < 0; k++)
            if (!strcmp(own[k].name, file[i].name) && own[k].type == file[i].type)
                out->to[i] = k;
        out->unknown += out->own && out->to[i] < 0;
    }
    out->unknown += !out->own;
}

static void table_def_get(struct byte_reader *in, const struct frame *schema, const char *collector, char *name,
                          struct file_def *out) {
    char *help = get_string(in, HELP_MAX_BYTES);
    bool made = get_u8(in) != 0;
    uint64_t n_keys = get_uint(in);
    struct column *columns = columns_get(in, &out->n_columns);
    in->bad |= n_keys > out->n_columns;
    if (!in->bad) {
        const struct table_def *own = own_find(schema, DEF_TABLE, collector, name);
        if (!own && made)
            own = out->made = table_def_new(&(struct table_def){.name = name,
                                                                .help = help ? help : "",
                                                                .columns = columns,
                                                                .n_columns = out->n_columns,
                                                                .n_keys = (uint16_t)n_keys});
        out->own = own;
        columns_map(out, columns, own ? own->columns : NULL, own ? own->n_columns : 0);
    }
    columns_free(columns, out->n_columns);
    free(help);
}

static void hist_def_get(struct byte_reader *in, const struct frame *schema, const char *collector, const char *name,
                         struct file_def *out) {
    char *texts[4];
    for (int i = 0; i < 4; i++) // title, help, span, unit
        texts[i] = get_string(in, HELP_MAX_BYTES);
    double divisor = get_num(in);
    get_uint(in);
    struct column *keys = columns_get(in, &out->n_columns);
    if (!in->bad) {
        const struct hist_def *own = own_find(schema, DEF_HISTS, collector, name);
        // Buckets of another unit have other values.
        if (own && own->divisor == divisor && texts[3] && !strcmp(own->unit_name, texts[3]))
            out->own = own;
        columns_map(out, keys, out->own ? own->keys : NULL, out->own ? own->n_keys : 0);
    }
    columns_free(keys, out->n_columns);
    for (int i = 0; i < 4; i++)
        free(texts[i]);
}

bool def_get(struct byte_reader *in, const struct frame *schema, struct file_def *out) {
    uint8_t kind = get_u8(in);
    char *collector = get_string(in, NAME_MAX_BYTES), *name = get_string(in, NAME_MAX_BYTES);
    *out = (struct file_def){.kind = (enum def_kind)kind};
    in->bad |= kind > DEF_TREE || !collector || !name;
    if (!in->bad && kind == DEF_TABLE) {
        table_def_get(in, schema, collector, name, out);
    } else if (!in->bad && kind == DEF_HISTS) {
        hist_def_get(in, schema, collector, name, out);
    } else if (!in->bad) {
        free(get_string(in, NAME_MAX_BYTES));
        free(get_string(in, HELP_MAX_BYTES));
        if (kind == DEF_SERIES)
            get_uint(in);
        else
            free(get_string(in, NAME_MAX_BYTES));
        out->own = in->bad ? NULL : own_find(schema, (enum def_kind)kind, collector, name);
        out->unknown = !out->own;
    }
    free(collector);
    free(name);
    return !in->bad;
}

void def_done(struct file_def *def) {
    table_def_unref(def->made);
    free(def->types);
    free(def->to);
}
