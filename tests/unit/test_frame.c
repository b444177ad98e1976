// Frames: look-ups over the sections by name, references, what was lost.
#include "tests/unit/model_test.h"

#include "model/frame.h"
#include "model/mem.h"

static const struct series_def load_def = {"load_1", "load", "", UNIT_NONE}, ipc_def = {"ipc", "IPC", "", UNIT_RATIO};
static const struct column columns[] = {{.name = "n"}};
static const struct table_def first_def = {.name = "first", .columns = columns, .n_columns = 1},
                              second_def = {
                                  .name = "second", .columns = columns, .n_columns = 1, .rows = ROWS_REPORTED_ONCE};

static struct table *table_of(const struct table_def *def) {
    struct table_builder *builder = table_builder_new(def);
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static void by_name(void **state) {
    (void)state;
    size_t before = mem_used();
    struct frame *frame = frame_new(3, 1000000000, 2500000000, (struct timespec){.tv_sec = 5});
    assert_number(frame_interval_s(frame), 1.5);
    assert_true(isnan(frame_series(frame, "load_1", NULL)));
    struct section *a = section_new("system", 1, 2), *b = section_new("block", 1, 2);
    section_series(a, &load_def, 1.25);
    section_series(b, &ipc_def, NAN);
    section_table(a, table_of(&first_def));
    section_table(b, table_of(&second_def));
    section_stream(b, table_of(&first_def), 12);
    section_events(a, 10, 1);
    section_events(b, 10, 4);
    frame_add_section(frame, a, 0);
    frame_add_section(frame, b, 7);

    const struct series_def *def;
    assert_number(frame_series(frame, "load_1", &def), 1.25);
    assert_ptr_equal(def, &load_def);
    assert_true(isnan(frame_series(frame, "ipc", &def)));
    assert_ptr_equal(def, &ipc_def); // known, not measured
    assert_true(isnan(frame_series(frame, "nothing", &def)));
    assert_null(def);
    uint64_t stale = 0, left_out = 0;
    assert_ptr_equal(frame_section(frame, "block", &stale), b);
    assert_int_equal(stale, 7);
    assert_null(frame_section(frame, "nothing", NULL));
    assert_ptr_equal(frame_table(frame, "second"), section_find_table(b, "second"));
    assert_null(frame_table(frame, "third"));
    assert_ptr_equal(frame_stream(frame, "first", &left_out), section_find_stream(b, "first", NULL));
    assert_int_equal(left_out, 12);
    assert_null(frame_hists(frame, "first"));
    assert_null(frame_tree(frame, "first"));
    assert_int_equal(frame_lost(frame), 5);
    frame->repeated[1] = true; // the frame before has told those
    assert_int_equal(frame_lost(frame), 1);
    assert_true(frame_stream_repeated(frame, "first"));
    assert_true(frame_table_repeated(frame, "second")); // its rows are told once
    frame->repeated[0] = true;
    assert_false(frame_table_repeated(frame, "first")); // its rows are of now

    assert_false(frame_shared(frame));
    assert_ptr_equal(frame_ref(frame), frame);
    assert_true(frame_shared(frame));
    frame_unref(frame);
    frame_unref(frame);
    frame_unref(NULL);
    assert_int_equal(mem_used(), before);
}

static struct section *with_tree(struct name_table *names, uint64_t weight) {
    static const struct tree_def def = {.name = "cpu"};
    struct section *section = section_new("profile", 1, 2);
    struct tree_builder *builder = tree_builder_new(&def, names);
    tree_builder_add(builder, &(uint32_t){0}, 1, weight);
    section_tree(section, tree_builder_seal(builder));
    tree_builder_free(builder);
    return section;
}

static void trees_of_a_span(void **state) {
    (void)state;
    size_t before = mem_used();
    struct name_table *names = name_table_new();
    const struct frame *frames[5];
    for (uint64_t i = 0; i < 5; i++) {
        struct frame *frame = frame_new(i + 1, 1, 2, (struct timespec){0});
        if (i == 3) // late: the section of the frame before stands here too
            frame_add_section(frame, section_ref(frames[2]->sections[0]), 1);
        else if (i != 1)
            frame_add_section(frame, with_tree(names, 10 + i), 0);
        frames[i] = frame;
    }
    struct tree *sum = frames_tree(frames, 5, 2, "cpu");
    assert_int_equal(tree_node(sum, 0)->total, 12 + 14);
    tree_free(sum);
    sum = frames_tree(frames, 5, 0, "cpu");
    assert_int_equal(tree_node(sum, 1)->self, 10 + 12 + 14);
    tree_free(sum);
    assert_null(frames_tree(frames, 5, 0, "offcpu"));
    assert_null(frames_tree(frames, 5, 6, "cpu"));
    for (int i = 0; i < 5; i++)
        frame_unref(frames[i]);
    name_table_unref(names);
    assert_int_equal(mem_used(), before);
}

static void too_many_sections(void **state) {
    (void)state;
    size_t before = mem_used();
    struct frame *frame = frame_new(1, 2, 1, (struct timespec){0});
    assert_number(frame_interval_s(frame), 0);
    for (int i = 0; i < FRAME_SECTIONS_MAX + 3; i++)
        frame_add_section(frame, section_new("x", 0, 1), 0);
    assert_int_equal(frame->n_sections, FRAME_SECTIONS_MAX);
    frame_unref(frame);
    assert_int_equal(mem_used(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_name), cmocka_unit_test(trees_of_a_span),
                                       cmocka_unit_test(too_many_sections)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
