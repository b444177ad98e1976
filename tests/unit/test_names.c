// Name tables: IDs that stay, texts that are set late, and readers beside a writer.
#include "tests/unit/model_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "model/mem.h"
#include "model/names.h"

#define NAMES 5000

static void ids(void **state) {
    (void)state;
    size_t before = mem_used();
    struct name_table *table = name_table_new();
    assert_null(name_table_text(table, 0));
    for (uint32_t i = 0; i < NAMES; i++)
        assert_int_equal(name_table_add(table, i % 3 ? text_printf("f%u", i) : NULL), i);
    assert_text(name_table_text(table, 64), "f64");
    assert_text(name_table_text(table, NAMES - 1), "f4999");
    assert_null(name_table_text(table, 3));
    assert_null(name_table_text(table, NAMES));
    assert_null(name_table_text(table, NAME_NONE));
    const struct text *old = name_table_text(table, 64);
    uint64_t changes = name_table_changes(table);
    name_table_set(table, 64, text_from("main"));
    assert_true(name_table_changes(table) > changes);
    name_table_set(table, 3, text_from("late"));
    name_table_set(table, NAMES, text_from("no such ID"));
    assert_text(name_table_text(table, 64), "main");
    assert_text(name_table_text(table, 3), "late");
    assert_text(old, "f64"); // a reader may hold it
    name_table_unref(name_table_ref(table));
    assert_text(name_table_text(table, 64), "main");
    name_table_unref(table);
    name_table_unref(NULL);
    assert_int_equal(mem_used(), before);
}

struct race {
    struct name_table *table;
    atomic_uint added; // release by the writer, acquire by the reader: as a frame hands IDs on
};

static void *write_names(void *context) {
    struct race *race = context;
    for (uint32_t i = 0; i < NAMES; i++) {
        uint32_t id = name_table_add(race->table, text_from("[?]"));
        atomic_store_explicit(&race->added, id + 1, memory_order_release);
        name_table_set(race->table, id / 2, text_printf("f%u", id / 2));
    }
    return NULL;
}

static void readers_beside_a_writer(void **state) {
    (void)state;
    struct race race = {.table = name_table_new()};
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_names, &race), 0);
    for (uint32_t n = 0; n < NAMES;) {
        n = atomic_load_explicit(&race.added, memory_order_acquire);
        for (uint32_t id = n > 100 ? n - 100 : 0; id < n; id++) {
            const char *text = text_bytes(name_table_text(race.table, id));
            assert_true(!strcmp(text, "[?]") || (text[0] == 'f' && (uint32_t)atoi(text + 1) == id));
        }
    }
    pthread_join(writer, NULL);
    assert_text(name_table_text(race.table, NAMES / 2 - 1), "f2499");
    name_table_unref(race.table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids), cmocka_unit_test(readers_beside_a_writer)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
