// The call graph in the pane functions, on literal screens: the indented tree, slow calls, the flame graph. And the
// choice as text.
#include "tests/unit/forge_frames.h"

#include <string.h>

#include "collectors/choice_error.h"
#include "collectors/functions/graph.h"
#include "collectors/functions/graph_table.h"

static struct name_table *names;

static void path_add(struct tree_builder *builder, const char *path, uint64_t ns) {
    char copy[256], *save;
    uint32_t ids[8], n = 0;
    snprintf(copy, sizeof(copy), "%s", path);
    for (char *word = strtok_r(copy, ";", &save); word; word = strtok_r(NULL, ";", &save))
        ids[n++] = name_table_add(names, name_pack(word, NAME_KERNEL, "[kernel]"));
    tree_builder_add(builder, ids, n, ns);
}

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("call_graph", number);
    const double series[GRAPH_SERIES] = {[GRAPH_S_CALLS] = 12, [GRAPH_S_LOST] = 0, [GRAPH_S_INCOMPLETE] = 0};
    struct tree_builder *builder = tree_builder_new(&graph_tree_def, names);
    path_add(builder, "vfs_read", 200000);
    path_add(builder, "vfs_read;rw_verify_area", 50000);
    path_add(builder, "vfs_read;ext4_file_read_iter", 1000);
    path_add(builder, "vfs_read;ext4_file_read_iter;filemap_read", 749000);
    forge_series(section, graph_series, series, GRAPH_SERIES);
    section_tree(section, tree_builder_seal(builder));
    tree_builder_free(builder);
    section_table(section, forge_table(&graph_functions_table, "1|0|4|1000|200|250|700|0|40|9000|2500|vfs_read\n"
                                                               "2|1|4|750|1|187.5|690|0|40|8000|2400|  "
                                                               "ext4_file_read_iter\n"
                                                               "3|2|3|749|749|250|689|1|39|7900|2300|    filemap_read\n"
                                                               "4|1|4|50|50|12.5|20|0|40|400|30|  rw_verify_area\n"
                                                               "5|1|0|-|-|-|-|0|1|3|3|  fsnotify"));
    section_table(section,
                  forge_table(&graph_calls_table, "1|1|0|1790000000.1|700|7|300|301|1|fio|vfs_read\n"
                                                  "2|1|1|1790000000.1|690|1|300|301|1|fio|  ext4_file_read_iter\n"
                                                  "3|1|2|1790000000.1|-|-|300|301|1|fio|    filemap_read"));
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_functions;

// The parts of the pane that are about the call graph, shown.
static struct pane *graph_pane(struct look *look) {
    static struct part parts[8];
    static struct view view;
    view = view_functions;
    view.parts = parts;
    view.n_parts = 0;
    for (size_t i = 0; i < view_functions.n_parts; i++)
        if (!strncmp(view_functions.parts[i].name, "graph", 5))
            parts[view.n_parts++] = view_functions.parts[i];
    assert_int_equal(view.n_parts, 4);
    struct pane *pane = forge_pane(&view, look);
    struct pane_answer answer = {0};
    assert_true(pane_key(pane, look, 'G', -1, -1, &answer));
    return pane;
}

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph_pane(&look);
    forge_expect(pane, &look, 80, 24, false,
                 "─ Call tree ────────────────────────────────────────────────────────────────────\n"
                 "   CALLS    TOTAL     SELF      AVG      MAX FUNCTION\n"
                 "       4    1.0ms    200us    250us    700us vfs_read\n"
                 "       4    750us    1.0us    188us    690us   ext4_file_read_iter\n"
                 "       3    749us    749us    250us    689us     filemap_read\n"
                 "       4     50us     50us     12us     20us   rw_verify_area\n"
                 "       0        -        -        -        -   fsnotify\n"
                 "─ Slow calls ───────────────────────────────────────────────────────────────────\n"
                 "   TOTAL     SELF COMMAND         FUNCTION\n"
                 "   700us    7.0us fio             vfs_read\n"
                 "   690us    1.0us fio               ext4_file_read_iter\n"
                 "       -        - fio                 filemap_read\n"
                 "─ ▸ Call graph ───────────────────────────────────────────── last 10 s, 10.0ms ─\n"
                 "▏all\n"
                 "▏vfs_read\n"
                 "▏ext4_file_read_iter                                        ▏rw…\n"
                 "▏filemap_read\n"
                 "all\n"
                 "100.0% of all  10.0ms, 0us self               program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_expect(
        pane, &look, 130, 20, false,
        "─ Call tree ──────────────────────────────────────────────────── ─ Slow calls "
        "────────────────────────────────────────────────────\n"
        "   CALLS    TOTAL     SELF      AVG      MAX FUNCTION               TOTAL     SELF FUNCTION\n"
        "       4    1.0ms    200us    250us    700us vfs_read               700us    7.0us vfs_read\n"
        "       4    750us    1.0us    188us    690us   ext4_file_read_i…    690us    1.0us   ext4_file_read_iter\n"
        "       3    749us    749us    250us    689us     filemap_read           -        -     filemap_read\n"
        "       4     50us     50us     12us     20us   rw_verify_area\n"
        "       0        -        -        -        -   fsnotify\n"
        "─ ▸ Call graph "
        "─────────────────────────────────────────────────────────────────────────────────────────────── last 10 s, "
        "10.0ms ─\n"
        "▏all\n"
        "▏vfs_read\n"
        "▏ext4_file_read_iter                                                                             ▏rw_ve…\n"
        "▏filemap_read\n"
        "all\n"
        "100.0% of all  10.0ms, 0us self                                                                 program   "
        "library   kernel   JIT\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n");
    pane_free(pane);
}

static int begin(void **state) {
    names = name_table_new();
    return frames_make(state);
}

static int end(void **state) {
    name_table_unref(names);
    return frames_drop(state);
}

// The place of the error; -1: none.
static int refused(const char *text) {
    struct graph_words words;
    struct choice_error error = {.place = -1};
    int result = graph_words_parse(&words, text, &error);
    assert_true(!result == (error.place < 0));
    assert_true(!result || error.sentence[0]);
    return error.place;
}

static void words(void **state) {
    (void)state;
    struct graph_words words;
    struct choice_error error;
    assert_int_equal(graph_words_parse(&words, "vfs_read,ext4_* depth=5 without=kfree,_raw_spin_* > 10ms", &error), 0);
    assert_string_equal(words.functions, "vfs_read,ext4_*");
    assert_string_equal(words.notrace, "kfree,_raw_spin_*");
    assert_int_equal(words.depth, 5);
    assert_int_equal(words.slow_ns, 10000000);
    assert_false(words.forced);
    assert_int_equal(graph_words_parse(&words, " ! * >1.5us", &error), 0);
    assert_string_equal(words.functions, "");
    assert_int_equal(words.slow_ns, 1500);
    assert_true(words.forced);
    assert_int_equal(words.depth, 0);
    assert_int_equal(graph_words_parse(&words, "ext4_* stop=vfs_write,vfs_read start=*sys_open", &error), 0);
    assert_string_equal(words.start, "*sys_open");
    assert_string_equal(words.stop, "vfs_write,vfs_read");
    assert_int_equal(refused("vfs_read start="), 15);
    assert_int_equal(refused("vfs_read stop=a;b"), 14);
    assert_int_equal(refused("vfs_read depth=64"), -1);
    assert_int_equal(refused(""), 0);
    assert_int_equal(refused("!"), 1);
    assert_int_equal(refused("vfs;read"), 0);
    assert_int_equal(refused(",,"), 0);
    assert_int_equal(refused("vfs_read dept=5"), 9);
    assert_int_equal(refused("vfs_read depth=0"), 15);
    assert_int_equal(refused("vfs_read depth=-1"), 15);
    assert_int_equal(refused("vfs_read depth=65"), 15);
    assert_int_equal(refused("vfs_read without="), 17);
    assert_int_equal(refused("vfs_read > 10"), 11);
    assert_int_equal(refused("vfs_read >0us"), 10);
    assert_int_equal(refused("vfs_read > "), 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(screens), cmocka_unit_test(words)};
    return cmocka_run_group_tests(tests, begin, end);
}
