// Joining, filtering and ordering of a table's rows (see the header). The user sees the front of the order: the rest
// stays unordered until it is scrolled to or written to a file. Must never format a value that is not needed.
#include "views/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/filter.h"

#define ORDER_AHEAD 128 // rows ordered beyond the requested one

static void rows_join(struct rows *rows, const struct rows_source *source) {
    const struct table *tables[JOIN_MAX] = {0};
    const struct table_def *defs[JOIN_MAX] = {0};
    uint16_t n = 0;

    if (!source->tables[0])
        return;
    rows->repeated = source->stream ? frame_stream_repeated(rows->frame, source->tables[0])
                                    : frame_table_repeated(rows->frame, source->tables[0]);
    for (int i = 0; i < JOIN_MAX && source->tables[i]; i++) {
        const struct table *table = source->stream ? frame_stream(rows->frame, source->tables[i], &rows->left_out)
                                                   : frame_table(rows->frame, source->tables[i]);
        if (!table && i == 0)
            return;
        if (!table)
            continue;
        tables[n] = table;
        defs[n++] = table_def(table);
    }
    if (n)
        rows->owned = join_new(tables, defs, n);
    rows->join = rows->owned;
    int aside = source->aside && rows->join ? join_column(rows->join, source->aside) : -1;
    for (size_t row = 0; aside >= 0 && row < rows->join->n_rows; row++)
        rows->n_aside += join_cell(rows->join, row, (uint16_t)aside).text != NULL;
}

uint16_t rows_n_keys(const struct rows *rows) {
    return rows->join ? rows->join->defs[0]->n_keys : 0;
}

// ---- the order ----

static int compare_cells(const struct rows *rows, int column, size_t a, size_t b, bool descending) {
    return column_compare_sorted(rows->join->columns[column], join_cell(rows->join, a, (uint16_t)column),
                                 join_cell(rows->join, b, (uint16_t)column), descending);
}

static int compare_keys(const struct rows_key *a, const struct rows_key *b, const struct rows *rows) {
    int order;

    if (a->primary != b->primary)
        return a->primary < b->primary ? -1 : 1;
    if (rows->sort_column >= 0) {
        const struct column *column = rows->join->columns[rows->sort_column];
        if ((column->type == COLUMN_TEXT || column->compare) &&
            (order = compare_cells(rows, rows->sort_column, a->row, b->row, !rows->ascending)))
            return order;
    }
    if (a->tie != b->tie)
        return a->tie < b->tie ? -1 : 1;
    for (uint16_t i = 0; i < rows_n_keys(rows); i++)
        if ((order = compare_cells(rows, i, a->row, b->row, false)))
            return order;
    return a->row < b->row ? -1 : a->row > b->row;
}

static int compare_for_sort(const void *a, const void *b, void *rows) {
    return compare_keys(a, b, rows);
}

static void swap_keys(struct rows_key *a, struct rows_key *b) {
    struct rows_key keep = *a;

    *a = *b;
    *b = keep;
}

// Moves the k first of keys[0..n) to its front (quickselect). All keys differ, since the row's index breaks ties.
static void select_front(const struct rows *rows, struct rows_key *keys, size_t n, size_t k) {
    size_t low = 0, high = n;

    while (high - low > 16 && k > low && k < high) {
        struct rows_key *first = &keys[low], *middle = &keys[low + (high - low) / 2], *last = &keys[high - 1];
        if (compare_keys(middle, first, rows) < 0)
            swap_keys(middle, first);
        if (compare_keys(last, first, rows) < 0)
            swap_keys(last, first);
        if (compare_keys(last, middle, rows) < 0)
            swap_keys(last, middle);
        struct rows_key pivot = *middle;
        size_t i = low, j = high - 1;
        for (;;) {
            while (compare_keys(&keys[i], &pivot, rows) < 0)
                i++;
            while (compare_keys(&pivot, &keys[j], rows) < 0)
                j--;
            if (i >= j)
                break;
            swap_keys(&keys[i++], &keys[j--]);
        }
        if (k <= j + 1)
            high = j + 1;
        else
            low = j + 1;
    }
    // The remaining window is small: sorting it puts its elements on the right side of k.
    if (k > low && k < high)
        qsort_r(keys + low, high - low, sizeof(*keys), compare_for_sort, (void *)rows);
}

static void order_to(struct rows *rows, size_t place) {
    size_t want = place + ORDER_AHEAD;

    if (place < rows->n_ordered)
        return;
    if (want < rows->n_ordered * 2)
        want = rows->n_ordered * 2;
    if (want > rows->n_keys)
        want = rows->n_keys;
    struct rows_key *rest = rows->keys + rows->n_ordered;
    size_t n = rows->n_keys - rows->n_ordered, k = want - rows->n_ordered;
    select_front(rows, rest, n, k);
    qsort_r(rest, k, sizeof(*rest), compare_for_sort, rows);
    rows->n_ordered = want;
}

size_t rows_at(struct rows *rows, size_t place) {
    order_to(rows, place);
    return rows->keys[place].row;
}

long rows_place(struct rows *rows, const union cell *key, uint16_t n_key) {
    if (!rows->join || n_key > rows->join->n_columns)
        return -1;
    for (size_t i = 0; i < rows->n_keys; i++) {
        uint16_t k = 0;
        while (k < n_key &&
               cells_equal(rows->join->columns[k]->type, join_cell(rows->join, rows->keys[i].row, k), key[k]))
            k++;
        if (k < n_key)
            continue;
        size_t place = i;
        if (i >= rows->n_ordered) {
            place = rows->n_ordered;
            for (size_t other = rows->n_ordered; other < rows->n_keys; other++)
                place += compare_keys(&rows->keys[other], &rows->keys[i], rows) < 0;
        }
        return place < rows->n ? (long)place : -1;
    }
    return -1;
}

// ---- the filter ----

bool row_contains(const struct join *join, uint16_t n_keys, size_t row, const char *text) {
    for (uint16_t i = 0; i < join->n_columns; i++)
        if (cell_contains(join->columns[i], i < n_keys, join_cell(join, row, i), text))
            return true;
    return false;
}

static int column_named(const struct rows *rows, const char *name) {
    return name && *name ? join_column(rows->join, name) : -1;
}

static double number_at(const struct join *join, size_t row, int column) {
    return column < 0 ? NAN : join_cell(join, row, (uint16_t)column).num;
}

// A number as a key of an ascending order, rounded as shown; not measured sorts last.
static double order_of(const struct join *join, size_t row, int column, bool ascending) {
    double value = unit_round(join->columns[column]->unit, number_at(join, row, column));

    return isnan(value) ? INFINITY : ascending ? value : -value;
}

static bool terms_hold(const struct filter *filter, const int *wanted, const struct join *join, size_t row) {
    for (size_t i = 0; i < filter->n; i++)
        if (wanted[i] >= 0 &&
            !filter_holds(filter, i, join->columns[wanted[i]], join_cell(join, row, (uint16_t)wanted[i])))
            return false;
    return true;
}

bool rows_any(const struct rows_source *source, const struct frame *frame) {
    uint64_t left_out;
    const char *name = source->tables[0];
    const struct table *table = source->stream ? frame_stream(frame, name, &left_out) : frame_table(frame, name);
    const bool without = source->only && source->only[0] == '-';
    int only = table && source->only ? table_column(table_def(table), source->only + without) : -1;
    const union cell *row;
    for (size_t at = 0; table && (row = table_next(table, &at));)
        if (only < 0 || without != (row[only].text != NULL))
            return true;
    return false;
}

// Drops the rows that the filter, `only` and `positive` exclude, and gives each other row its sort key.
static void rows_filter(struct rows *rows, const struct rows_source *source) {
    const struct join *join = rows->join;
    uint16_t n_keys = rows_n_keys(rows);
    int own = column_named(rows, source->sort ? source->sort + (source->sort[0] == '-') : NULL);
    int then = column_named(rows, source->then), column;
    const bool without = source->only && source->only[0] == '-';
    int only = source->only ? join_column(join, source->only + without) : -1;
    size_t n_all = 0;

    rows->sort_column = column = column_named(rows, rows->sort);
    struct filter filter = {0};
    int wanted[FILTER_TERMS_MAX] = {0};
    bool has_terms = rows->filter[0] && filter_parse(rows->filter, rows->frame, &filter);
    rows->terms = false;
    for (size_t i = 0; i < filter.n; i++) {
        wanted[i] = join_column(join, filter.terms[i].name);
        rows->terms |= wanted[i] >= 0;
    }
    rows->unfiltered = has_terms && !rows->terms;
    bool by_number = column >= 0 && join->columns[column]->type == COLUMN_NUMBER && !join->columns[column]->compare;
    bool number_tie = n_keys > 0 && join->columns[0]->type == COLUMN_NUMBER && !join->columns[0]->compare;
    if (join->n_rows > rows->capacity) {
        rows->capacity = join->n_rows;
        rows->keys = xrealloc(rows->keys, rows->capacity * sizeof(*rows->keys));
    }
    rows->n_keys = rows->n_ordered = 0;
    for (size_t row = 0; row < join->n_rows; row++) {
        if (only >= 0 && without == (join_cell(join, row, (uint16_t)only).text != NULL))
            continue;
        n_all++;
        if (source->positive && !(number_at(join, row, own) > 0) && !(number_at(join, row, then) > 0))
            continue;
        if (has_terms ? !terms_hold(&filter, wanted, join, row)
                      : filter.text[0] && !row_contains(join, n_keys, row, filter.text))
            continue;
        struct rows_key *key = &rows->keys[rows->n_keys++];
        *key = (struct rows_key){.row = (uint32_t)row};
        if (column < 0) {
            key->primary = source->stream ? -(double)row : (double)row;
            continue;
        }
        if (by_number)
            key->primary = order_of(join, row, column, rows->ascending);
        // Unmeasured rows are equal to those below the floor: they would swap places all the time.
        if (by_number && column == own && !rows->user_sorted && source->floor > 0 &&
            (fabs(key->primary) < source->floor || isinf(key->primary)))
            key->primary = 0;
        if (then >= 0)
            key->tie = order_of(join, row, then, false);
        else if (number_tie)
            key->tie = order_of(join, row, 0, true);
    }
    rows->generation++;
    rows->n_all = n_all;
    rows->n = source->limit && rows->n_keys > source->limit ? source->limit : rows->n_keys;
}

void rows_load(struct rows *rows, const struct rows_source *source, const struct frame *frame, const char *filter,
               const char *sort, bool ascending) {
    if (!filter)
        filter = "";
    bool user_sorted = sort && *sort;
    if (!user_sorted) {
        ascending = source->sort && source->sort[0] == '-';
        sort = source->sort ? source->sort + ascending : "";
    }
    if (frame == rows->frame && !strcmp(rows->filter, filter) && !strcmp(rows->sort, sort) &&
        rows->ascending == ascending && rows->user_sorted == user_sorted)
        return;
    if (frame != rows->frame) {
        struct rows old = *rows;
        rows->join = rows->owned = NULL;
        rows->frame = frame ? frame_ref(frame) : NULL;
        rows->n = rows->n_all = rows->n_keys = rows->n_ordered = 0;
        rows->left_out = rows->n_aside = 0;
        if (frame)
            rows_join(rows, source);
        if (old.owned)
            join_free(old.owned);
        if (old.frame)
            frame_unref(old.frame);
    }
    snprintf(rows->filter, sizeof(rows->filter), "%s", filter);
    snprintf(rows->sort, sizeof(rows->sort), "%s", sort);
    rows->ascending = ascending;
    rows->user_sorted = user_sorted;
    if (rows->join)
        rows_filter(rows, source);
}

void rows_done(struct rows *rows) {
    if (rows->owned)
        join_free(rows->owned);
    if (rows->frame)
        frame_unref(rows->frame);
    free(rows->keys);
    memset(rows, 0, sizeof(*rows));
}

const char *column_title(const struct column *column) {
    return column->title ? column->title : column->name;
}

size_t cell_text(const struct column *column, union cell value, char *out, size_t size) {
    char raw[512];

    if (column->type == COLUMN_TEXT && !column->format && value.text)
        return escape_text(text_bytes(value.text), text_length(value.text), out, size);
    size_t n = column_format(column, value, raw, sizeof(raw));
    return escape_text(raw, n, out, size);
}

size_t row_text(const struct join *join, size_t row, uint16_t at, char *out, size_t size) {
    const struct column *column = join->columns[at];
    union cell value = join_cell(join, row, at);
    int bound = column->lower_bound_flag && size ? join_column(join, column->lower_bound_flag) : -1;

    if (bound < 0 || cell_is_null(column, value) || !(number_at(join, row, bound) > 0))
        return cell_text(column, value, out, size);
    out[0] = '>';
    return 1 + cell_text(column, value, out + 1, size - 1);
}
