// Frames made by hand, for the tests of panes: rows from text, and screens as text to compare.
#ifndef TESTS_UNIT_FORGE_H
#define TESTS_UNIT_FORGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/frame.h"
#include "views/view.h"

#define FORGE_NS 1000000000ull

// Adds a row: "name=value|name=value"; what is not named is not measured.
static inline void forge_row(struct table_builder *builder, const struct table_def *def, const char *values) {
    uint32_t slot = table_builder_add(builder);
    char *copy = strdup(values), *save;

    for (char *field = strtok_r(copy, "|", &save); field; field = strtok_r(NULL, "|", &save)) {
        char *value = strchr(field, '=');
        assert_non_null(value);
        *value++ = '\0';
        int column = table_column(def, field);
        if (column < 0)
            fail_msg("no column %s in %s", field, def->name);
        if (def->columns[column].type == COLUMN_TEXT)
            table_builder_set_text(builder, slot, (uint16_t)column, text_from(value));
        else
            table_builder_set_num(builder, slot, (uint16_t)column, atof(value));
    }
    free(copy);
}

// A table of NULL-terminated rows.
static inline struct table *forge_table(const struct table_def *def, const char *const *rows) {
    struct table_builder *builder = table_builder_new(def);

    for (; rows && *rows; rows++)
        forge_row(builder, def, *rows);
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static inline struct section *forge_section(const char *collector, uint64_t number) {
    struct section *section = section_new(collector, number * FORGE_NS, (number + 1) * FORGE_NS);

    section_set_state(section, SECTION_OK);
    return section;
}

static inline struct frame *forge_frame(uint64_t number) {
    return frame_new(number, number * FORGE_NS, (number + 1) * FORGE_NS,
                     (struct timespec){1769860800 + (time_t)number, 123000000}); // 2026-01-31T12:00:00.123Z and on
}

static inline char *grid_text(const struct grid *grid) {
    size_t size = (size_t)grid->height * ((size_t)grid->width * 4 + 1) + 1, used = 0;
    char *text = calloc(1, size);

    for (int y = 0; y < grid->height; y++) {
        used += grid_row_text(grid, y, text + used, size - used);
        text[used++] = '\n';
    }
    text[used] = '\0';
    while (used > 1 && text[used - 1] == '\n' && text[used - 2] == '\n')
        text[--used] = '\0';
    return text;
}

// The screen of a pane, as lines without trailing blanks; the caller frees it.
static inline char *pane_screen(struct pane *pane, const struct look *look, int width, int height, bool ascii) {
    struct grid *grid = grid_new(width, height, ascii);

    pane_draw(pane, look, grid_area(grid));
    char *text = grid_text(grid);
    grid_free(grid);
    return text;
}

// The pane on a screen of that size is exactly this text. With FORGE_SHOW=1 in the environment it is printed instead.
static inline void expect_screen(struct pane *pane, const struct look *look, int width, int height, const char *want) {
    char *text = pane_screen(pane, look, width, height, false);
    if (getenv("FORGE_SHOW"))
        printf("---- %dx%d\n%s", width, height, text);
    else
        assert_string_equal(text, want);
    free(text);
}

// Any size down to nothing must draw without harm.
static inline void draw_all_sizes(struct pane *pane, const struct look *look) {
    static const int sizes[][2] = {{0, 0},  {1, 1},   {2, 3},   {5, 2},    {10, 4},
                                   {39, 9}, {40, 10}, {81, 23}, {200, 50}, {400, 120}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        free(pane_screen(pane, look, sizes[i][0], sizes[i][1], false));
        free(pane_screen(pane, look, sizes[i][0], sizes[i][1], true));
    }
}

// What pane_write writes; the caller frees it.
static inline char *pane_written(struct pane *pane, const struct look *look, enum format format) {
    static const struct write_info info = {.version = "0.1.0", .host = "box", .kernel = "6.18.0"};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(pane_write(pane, look, format, &info, out), 0);
    fclose(out);
    return text;
}

// No byte that could harm a terminal, and lines only where the format has them.
static inline void expect_harmless(const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if ((*c < 0x20 && *c != '\n') || *c == 0x7f)
            fail_msg("control byte 0x%02x in the output: %.60s", *c, (const char *)c);
}

#endif
