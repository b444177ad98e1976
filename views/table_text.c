// A table as lines of a log: aligned as on the screen, but of a fixed width and with the last column in full.
#include <string.h>

#include "views/table_columns.h"

#define FILE_WIDTH 132 // without the rest of the last column
#define CELL_MAX 1024

static void write_cell(const struct table_slot *slot, const struct column *column, bool first, bool last,
                       const char *text, FILE *out) {
    bool right = column->type == COLUMN_NUMBER;
    int pad = slot->width - text_width(text);

    fprintf(out, "%s%*s%s", first ? "  " : " ", right && pad > 0 ? pad : 0, "", text);
    if (!right && !last && pad > 0)
        fprintf(out, "%*s", pad, "");
}

void columns_write_text(struct table_columns *columns, const struct table_spec *spec, struct rows *rows,
                        const char *empty, FILE *out) {
    const struct join *join = rows->join;
    struct table_line line;
    char text[CELL_MAX];

    columns_line(columns, spec, rows, FILE_WIDTH + spec->rest_wants, &line); // the last column is not cut here
    if (!rows->n || rows->repeated) {
        fprintf(out, "  %s\n", rows->repeated ? "no new events" : empty ? empty : "nothing");
        return;
    }
    for (size_t i = 0; i < line.n; i++) {
        const struct column *column = join->columns[line.slots[i].column];
        write_cell(&line.slots[i], column, i == 0, i + 1 == line.n, column_title(column), out);
    }
    fputc('\n', out);
    size_t n = spec->text_rows && rows->n > spec->text_rows ? spec->text_rows : rows->n;
    for (size_t place = 0; place < n; place++) {
        size_t row = rows_at(rows, place);
        for (size_t i = 0; i < line.n; i++) {
            uint16_t at = slot_column(&line.slots[i], spec, join, row);
            row_text(join, row, at, text, sizeof(text));
            write_cell(&line.slots[i], join->columns[at], i == 0, i + 1 == line.n, text, out);
        }
        fputc('\n', out);
    }
    if (n < rows->n)
        fprintf(out, "  %zu more rows: JSON and CSV have them\n", rows->n - n);
}
