// Frames made by hand, for tests of parts and panes. Everything is owned by the frame that comes out.
#ifndef TESTS_SCREENS_H
#define TESTS_SCREENS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/frame.h"
#include "model/mem.h"
#include "tests/unit/schema.h"
#include "views/view.h"

#define FORGE_SECOND 1000000000ull
#define FORGE_TIME 1790000000 // 2026-09-21T14:13:20Z

static inline struct frame *forge_frame(uint64_t number) {
    return frame_new(number, (100 + number) * FORGE_SECOND, (101 + number) * FORGE_SECOND,
                     (struct timespec){.tv_sec = FORGE_TIME + (time_t)number});
}

// A section of the interval of that frame.
static inline struct section *forge_section(const char *collector, uint64_t number) {
    struct section *section = section_new(collector, (100 + number) * FORGE_SECOND, (101 + number) * FORGE_SECOND);
    section_set_state(section, SECTION_OK);
    return section;
}

// Rows given as strings, a row per line, cells with '|' between; "-" is not measured. The cells are of these columns.
static inline struct table *forge_rows(const struct table_def *def, const int *columns, int n, const char *rows) {
    struct table_builder *builder = table_builder_new(def);
    char *copy = xstrdup(rows), *line_save, *cell_save;
    for (char *line = strtok_r(copy, "\n", &line_save); line; line = strtok_r(NULL, "\n", &line_save)) {
        uint32_t slot = table_builder_add(builder);
        int i = 0;
        for (char *cell = strtok_r(line, "|", &cell_save); cell && i < n; cell = strtok_r(NULL, "|", &cell_save), i++) {
            uint16_t column = (uint16_t)columns[i];
            if (!strcmp(cell, "-"))
                continue;
            if (def->columns[column].type == COLUMN_TEXT)
                table_builder_set_text(builder, slot, column, text_from(cell));
            else
                table_builder_set_num(builder, slot, column, strtod(cell, NULL));
        }
    }
    free(copy);
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

#define FORGE_COLUMNS_MAX 64

// All columns of a definition, in order.
static inline struct table *forge_table(const struct table_def *def, const char *rows) {
    int columns[FORGE_COLUMNS_MAX];
    for (int i = 0; i < FORGE_COLUMNS_MAX; i++)
        columns[i] = i;
    return forge_rows(def, columns, def->n_columns, rows);
}

// The real table of that name; the cells are of the columns named, "device|util_pct", the others are not measured.
static inline struct table *forge_real(const char *name, const char *titles, const char *rows) {
    const struct table_def *def = def_of(name);
    char *copy = xstrdup(titles), *save;
    int columns[FORGE_COLUMNS_MAX], n = 0;
    for (char *column = strtok_r(copy, "|", &save); column; column = strtok_r(NULL, "|", &save)) {
        columns[n] = table_column(def, column);
        if (columns[n++] < 0)
            fail_msg("no column %s in %s", column, name);
    }
    free(copy);
    return forge_rows(def, columns, n, rows);
}

static inline void forge_look(struct look *look, const struct frame **frames, size_t n) {
    *look = (struct look){.frame = n ? frames[n - 1] : NULL, .window = frames, .n_window = n, .live = true};
}

// The grid as lines; the caller frees it.
static inline char *forge_screen(const struct grid *grid) {
    size_t size = (size_t)grid->height * ((size_t)grid->width * 4 + 1) + 1, used = 0;
    char *out = xmalloc(size);
    out[0] = '\0';
    for (int y = 0; y < grid->height; y++) {
        used += grid_row_text(grid, y, out + used, size - used);
        out[used++] = '\n';
        out[used] = '\0';
    }
    return out;
}

// The pane on a screen of that size is exactly this text. With FORGE_SHOW=1 in the environment it is printed instead.
static inline void forge_expect(struct pane *pane, const struct look *look, int width, int height, bool ascii,
                                const char *expected) {
    struct grid *grid = grid_new(width, height, ascii);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid);
    if (getenv("FORGE_SHOW"))
        printf("---- %dx%d%s\n%s", width, height, ascii ? " ascii" : "", screen);
    else
        assert_string_equal(screen, expected);
    free(screen);
    grid_free(grid);
}

// What the pane writes to a file is exactly this text.
static inline void forge_text(struct pane *pane, const struct look *look, enum format format, const char *expected) {
    const struct write_info info = {.version = "1", .host = "h", .kernel = "k"};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pane_write(pane, look, format, &info, out), 0);
    fclose(out);
    if (getenv("FORGE_SHOW"))
        printf("---- file\n%s", text);
    else
        assert_string_equal(text, expected);
    free(text);
}

static inline struct pane_answer forge_key(struct pane *pane, const struct look *look, int key, bool used) {
    struct pane_answer answer;
    assert_int_equal(pane_key(pane, look, key, 0, 0, &answer), used);
    return answer;
}

#endif
