// Symbol tables: which symbol an address belongs to, whatever overlaps.
#include "tests/unit/model_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/symbols/table.h"

static void add(struct symbol_builder *builder, const char *name, uint64_t start, uint64_t end, uint32_t rank,
                uint64_t limit) {
    struct symbol_draft draft = {.start = start, .end = end, .rank = rank, .limit = limit};
    assert_true(symbol_builder_add(builder, &draft, name, strlen(name), NULL));
}

static const char *at(const struct symbol_table *table, uint64_t address) {
    const struct symbol *symbol = symbol_table_find(table, address);
    return symbol ? table->names + symbol->name : "";
}

static void inner(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    add(&builder, "outer", 100, 200, 1, 0);
    add(&builder, "inner", 120, 130, 1, 0);
    add(&builder, "label", 140, 0, 1, 0); // within a sized function
    add(&builder, "weak", 300, 310, 1, 0);
    add(&builder, "global", 300, 308, 2, 0); // wins at its address
    add(&builder, "unsized", 400, 0, 1, 450);
    add(&builder, "next", 420, 0, 1, 450);
    add(&builder, "last", 500, 0, 1, 0);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    assert_string_equal(at(table, 99), "");
    assert_string_equal(at(table, 100), "outer");
    assert_string_equal(at(table, 125), "inner");
    assert_string_equal(at(table, 130), "outer");
    assert_string_equal(at(table, 145), "outer");
    assert_string_equal(at(table, 199), "outer");
    assert_string_equal(at(table, 200), "");
    assert_string_equal(at(table, 307), "global");
    assert_string_equal(at(table, 309), "");
    assert_string_equal(at(table, 419), "unsized");
    assert_string_equal(at(table, 449), "next");
    assert_string_equal(at(table, 450), "");
    assert_string_equal(at(table, 1 << 20), "last");
    for (uint32_t i = 0; i < table->count; i++)
        assert_int_equal(table->ids[i], NAME_NONE);
    symbol_table_free(table);
}

// Later code replaces what it overlaps, and nothing else.
static void ranked(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    add(&builder, "first", 100, 200, 1, 0);
    add(&builder, "second", 150, 250, 2, 0);
    add(&builder, "third", 120, 130, 3, 0);
    add(&builder, "covered", 400, 410, 4, 0);
    add(&builder, "cover", 390, 420, 5, 0);
    add(&builder, "again", 500, 510, 6, 0);
    add(&builder, "again and shorter", 500, 505, 7, 0);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_RANK);
    assert_string_equal(at(table, 100), "first");
    assert_string_equal(at(table, 125), "third");
    assert_string_equal(at(table, 149), "first");
    assert_string_equal(at(table, 150), "second");
    assert_string_equal(at(table, 249), "second");
    assert_string_equal(at(table, 405), "cover");
    assert_string_equal(at(table, 504), "again and shorter");
    assert_string_equal(at(table, 507), "again");
    symbol_table_free(table);
}

// Against a plain array of bytes.
static void random_overlaps(void **state) {
    (void)state;
    srand(1);
    for (int round = 0; round < 200; round++) {
        struct symbol_builder builder = {0};
        int owner[256], start_of[64];
        memset(owner, -1, sizeof(owner));
        enum symbol_overlap overlap = round % 2 ? OVERLAP_RANK : OVERLAP_INNER;
        for (int i = 0; i < 40; i++) {
            int start = rand() % 200, size = 1 + rand() % 50;
            char name[16];
            snprintf(name, sizeof(name), "%d", i);
            start_of[i] = start;
            bool taken = false; // at one address the rank decides: here the first of equal ranks loses
            for (int j = 0; j < i && overlap == OVERLAP_INNER; j++)
                taken |= start_of[j] == start;
            if (taken)
                continue;
            add(&builder, name, (uint64_t)start, (uint64_t)(start + size), (uint32_t)i, 0);
            for (int b = start; b < start + size; b++)
                if (overlap == OVERLAP_RANK || owner[b] < 0 || start_of[owner[b]] < start)
                    owner[b] = i;
        }
        struct symbol_table *table = symbol_builder_finish(&builder, overlap);
        for (int b = 0; b < 256; b++)
            assert_int_equal(at(table, (uint64_t)b)[0] ? atoi(at(table, (uint64_t)b)) : -1, owner[b]);
        symbol_table_free(table);
    }
}

static void limits(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    assert_int_equal(table->count, 0);
    assert_null(symbol_table_find(table, 0));
    symbol_table_free(table);
    size_t size = 1 << 20;
    char *huge = malloc(size);
    memset(huge, 'x', size);
    struct symbol_draft draft = {.start = 1, .end = 2};
    assert_true(symbol_builder_add(&builder, &draft, huge, size, "[object]"));
    assert_int_equal(strlen(builder.names), SYMBOL_NAME_MAX);
    assert_string_equal(builder.names + SYMBOL_NAME_MAX + 1, "[object]");
    uint32_t n = 1;
    for (; symbol_builder_add(&builder, &draft, huge, SYMBOL_NAME_MAX, NULL); n++)
        draft.start++;
    assert_true(builder.cut);
    assert_true(builder.names_size <= TABLE_NAMES_MAX);
    assert_true(builder.names_size > TABLE_NAMES_MAX - 2 * SYMBOL_NAME_MAX);
    symbol_builder_free(&builder);
    free(huge);
    for (n = 0; symbol_builder_add(&builder, &draft, "", 0, NULL); n++)
        draft.start++;
    assert_int_equal(n, TABLE_SYMBOLS_MAX);
    symbol_builder_free(&builder);
}

static void segments(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    uint64_t address;
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    assert_true(symbol_table_address(table, 123, &address)); // none: an offset is an address
    assert_int_equal(address, 123);
    table->segments[0] = (struct symbol_segment){.offset = 0x1000, .size = 0x2000, .address = 0x401000};
    table->n_segments = 1;
    assert_true(symbol_table_address(table, 0x2fff, &address));
    assert_int_equal(address, 0x402fff);
    assert_false(symbol_table_address(table, 0x3000, &address));
    assert_false(symbol_table_address(table, 0xfff, &address));
    symbol_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inner), cmocka_unit_test(ranked),
                                       cmocka_unit_test(random_overlaps), cmocka_unit_test(limits),
                                       cmocka_unit_test(segments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
