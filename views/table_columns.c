// Which columns a table shows and where (see the header). The list is in order of importance: columns that do not fit
// are left out at the right, but the keys at the left and the column that takes the rest of the line stay.
#include "views/table_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define REST_MIN 12   // minimum cells of the column that takes the rest,
#define REST_MAX 40   // or up to this, and a quarter of the line,
#define REST_FROM 30  // on lines of this width and more
#define TEXT_WIDTH 16 // of a column of width 0 that does not take the rest

void columns_init(struct table_columns *columns, const struct table_spec *spec) {
    char *save;

    if (!spec->shown)
        return;
    columns->copy = xstrdup(spec->shown);
    for (char *name = strtok_r(columns->copy, " ", &save); name && columns->n_shown < SHOWN_MAX;
         name = strtok_r(NULL, " ", &save))
        columns->shown[columns->n_shown++] = name;
}

void columns_done(struct table_columns *columns) {
    free(columns->copy);
}

static long shown_at(const struct table_columns *columns, const char *name) {
    for (size_t i = 0; i < columns->n_shown; i++)
        if (!strcmp(columns->shown[i], name))
            return (long)i;
    return -1;
}

// Without a list of the view's own, all columns are shown.
static void shown_default(struct table_columns *columns, const struct join *join) {
    if (columns->n_shown || columns->chosen)
        return;
    for (uint16_t i = 0; i < join->n_columns && i < SHOWN_MAX; i++)
        columns->shown[columns->n_shown++] = join->columns[i]->name;
}

// True if the twin differs from the first column in some row.
static bool twin_differs(const struct rows *rows, int first, int twin) {
    for (size_t i = 0; i < rows->n_keys; i++) {
        double a = join_cell(rows->join, rows->keys[i].row, (uint16_t)first).num;
        double b = join_cell(rows->join, rows->keys[i].row, (uint16_t)twin).num;
        if (!isnan(b) && a != b)
            return true;
    }
    return false;
}

static int column_width(const struct column *column) {
    int title = text_width(column_title(column));
    int width = column->width ? column->width : TEXT_WIDTH;

    return title > width ? title : width;
}

// The shown columns of the join, in order, without the one that takes the rest. Returns how many; before: how many of
// them precede that one in the view's list.
static size_t resolve(struct table_columns *columns, const struct table_spec *spec, struct rows *rows,
                      uint16_t list[SHOWN_MAX], int *rest, size_t *before) {
    const struct join *join = rows->join;
    size_t n = 0;
    int twin = spec->twin && !columns->chosen ? join_column(join, spec->twin) : -1;

    *rest = -1;
    for (size_t i = 0; i < columns->n_shown; i++) {
        int column = join_column(join, columns->shown[i]);
        if (column < 0)
            continue;
        bool is_rest = spec->rest ? !strcmp(columns->shown[i], spec->rest)
                                  : !join->columns[column]->width && join->columns[column]->type == COLUMN_TEXT;
        if (is_rest)
            *rest = column;
    }
    *before = SHOWN_MAX;
    for (size_t i = 0; i < columns->n_shown && n < SHOWN_MAX - 1; i++) {
        int column = join_column(join, columns->shown[i]);
        if (column >= 0 && column == *rest)
            *before = n;
        if (column < 0 || column == *rest || column == twin)
            continue;
        list[n++] = (uint16_t)column;
        if (n > 1 || twin < 0)
            continue;
        if (columns->twin_generation != rows->generation)
            columns->twin_shown |= twin_differs(rows, column, twin);
        columns->twin_generation = rows->generation;
        if (columns->twin_shown)
            list[n++] = (uint16_t)twin;
    }
    return n;
}

// The columns that stay while the others scroll: the keys, and the columns before the first number that is not an ID,
// as long as two thirds of the line hold them. Returns how many.
static size_t names_of(const struct rows *rows, const uint16_t *list, size_t n, int width, bool names[SHOWN_MAX]) {
    bool leading = true;
    size_t count = 0;
    int used = 0;

    for (size_t i = 0; i < n; i++) {
        const struct column *column = rows->join->columns[list[i]];
        int more = column_width(column) + 1;
        leading = leading && (column->type == COLUMN_TEXT || column->unit == UNIT_ID);
        names[i] = (list[i] < rows_n_keys(rows) || leading) && used + more <= width * 2 / 3;
        used += names[i] ? more : 0;
        count += names[i];
    }
    return count;
}

void columns_line(struct table_columns *columns, const struct table_spec *spec, struct rows *rows, int width,
                  struct table_line *out) {
    const struct join *join = rows->join;
    bool names[SHOWN_MAX];
    uint16_t list[SHOWN_MAX];
    size_t n, before;
    int rest, x = 0;

    out->n = out->n_left_out = 0;
    shown_default(columns, join);
    n = resolve(columns, spec, rows, list, &rest, &before);
    int most_left = (int)(n - names_of(rows, list, n, width, names)) - 1;
    columns->left = columns->left > most_left ? most_left : columns->left;
    columns->left = columns->left < 0 ? 0 : columns->left;
    int rest_width = width / 4 > REST_MAX ? REST_MAX : width / 4 < REST_MIN ? REST_MIN : width / 4;
    int room = width - (rest >= 0 && width >= REST_FROM ? rest_width + 1 : 0);
    bool wants = rest >= 0 && spec->rest_wants > rest_width && !columns->chosen && !columns->left;
    int skip = columns->left;
    for (size_t i = 0; i < n; i++) {
        if (!names[i] && skip-- > 0)
            continue;
        int wanted = column_width(join->columns[list[i]]);
        if (x + wanted > (wants && i >= before ? width - spec->rest_wants - 1 : room) && out->n) {
            out->n_left_out = n - i;
            break;
        }
        out->slots[out->n++] = (struct table_slot){list[i], x, wanted};
        x += wanted + 1;
    }
    if (rest >= 0 && (x + 4 <= width || !out->n))
        out->slots[out->n++] = (struct table_slot){(uint16_t)rest, x, width - x};
}

uint16_t slot_column(const struct table_slot *slot, const struct table_spec *spec, const struct join *join,
                     size_t row) {
    const struct column *column = join->columns[slot->column];

    if (!spec->rest_or || strcmp(column->name, spec->rest) || !cell_is_null(column, join_cell(join, row, slot->column)))
        return slot->column;
    int other = join_column(join, spec->rest_or);
    return other < 0 ? slot->column : (uint16_t)other;
}

// ---- the chooser ----

static void toggle(struct table_columns *columns, const char *name) {
    long at = shown_at(columns, name);

    columns->chosen = true;
    if (at >= 0) {
        if (columns->n_shown == 1)
            return;
        columns->n_shown--;
        memmove(columns->shown + at, columns->shown + at + 1,
                (columns->n_shown - (size_t)at) * sizeof(*columns->shown));
    } else if (columns->n_shown < SHOWN_MAX) {
        columns->shown[columns->n_shown++] = name;
    }
}

// Moves the column in the order on the screen.
static void move(struct table_columns *columns, const char *name, int direction) {
    long at = shown_at(columns, name), to = at + direction;

    if (at < 0 || to < 0 || to >= (long)columns->n_shown)
        return;
    const char *other = columns->shown[to];
    columns->shown[to] = columns->shown[at];
    columns->shown[at] = other;
    columns->chosen = true;
}

bool columns_key(struct table_columns *columns, const struct join *join, int key, int page) {
    int last = (int)join->n_columns - 1;
    const char *name = columns->at <= last ? join->columns[columns->at]->name : "";

    switch (key) {
    case KEY_VIEW_UP:
    case KEY_VIEW_DOWN:
    case KEY_VIEW_PAGE_UP:
    case KEY_VIEW_PAGE_DOWN:
        columns->at += (int)view_key_step(key, page);
        break;
    case KEY_VIEW_HOME:
        columns->at = 0;
        break;
    case KEY_VIEW_END:
        columns->at = last;
        break;
    case ' ':
        toggle(columns, name);
        break;
    case '<':
    case KEY_VIEW_LEFT:
        move(columns, name, -1);
        break;
    case '>':
    case KEY_VIEW_RIGHT:
        move(columns, name, 1);
        break;
    case 'f':
    case KEY_VIEW_ENTER:
    case KEY_VIEW_BACK:
        columns->choosing = false;
        break;
    default:
        return false;
    }
    columns->at = columns->at > last ? last : columns->at < 0 ? 0 : columns->at;
    return true;
}

void columns_draw_chooser(struct table_columns *columns, const struct join *join, struct area area) {
    int rows = area.height - 1, n = (int)join->n_columns;

    if (area.height <= 0)
        return;
    for (int y = 0; y < area.height; y++)
        area_fill(area, 0, y, area.width, ROLE_TEXT, ' ');
    area_fill(area, 0, 0, area.width, ROLE_HEADER, ' ');
    area_text(area, 1, 0, ROLE_HEADER, "Columns: Space shows or hides, < > move, Enter done");
    if (columns->at < columns->top)
        columns->top = columns->at;
    if (rows > 0 && columns->at >= columns->top + rows)
        columns->top = columns->at - rows + 1;
    for (int y = 0; y < rows && columns->top + y < n; y++) {
        int i = columns->top + y;
        const struct column *column = join->columns[i];
        long at = shown_at(columns, column->name);
        enum role role = at >= 0 ? ROLE_TEXT : ROLE_DIM;
        if (at >= 0)
            area_printf(area, 0, y + 1, role, "[%2ld]", at + 1);
        else
            area_text(area, 0, y + 1, role, "[  ]");
        int x = 5 + area_text(area, 5, y + 1, at >= 0 ? ROLE_KEY : ROLE_DIM, column->name);
        x = x < 30 ? 30 : x + 1;
        area_text(area, x, y + 1, role, column->help ? column->help : "");
        if (i == columns->at)
            area_role(area, 0, y + 1, area.width, ROLE_SELECTED);
    }
}
