// Annotate: forged samples and instructions as a literal screen, merged over a span of frames; what is asked for; keys.
#include "tests/unit/forge_flame.h"
#include "tests/unit/screens.h"

#include "model/code_ask.h"
#include "views/flame/annotate.h"
#include "views/flame/hot.h"

#define FRAMES 4
#define WORK "work|/opt/app"
#define C "/src/app/hot.c"

extern const struct view view_profile;
static struct name_table *names;
static const struct frame *frames[FRAMES];

static const char stacks[] = "app/812;u:main//opt/app;u:work//opt/app 90\n"
                             "app/812;u:main//opt/app;k:do_read/[kernel] 10";

// The columns of `addresses`: pid, symbol, dso, offset, comm, samples. In the first frame the symbol was not known yet.
static const char first[] = "812|[app+0x1188]|/opt/app|4488|app|20\n"
                            "812|do_read|[kernel]|16|app|10";
static const char others[] = "812|" WORK "|4488|app|60\n"
                             "812|" WORK "|4491|app|10\n"
                             "900|" WORK "|4491|app|5\n"
                             "812|" WORK "|5000|app|15\n"
                             "812|other|/opt/lib|4488|app|50\n"
                             "812|do_read|[kernel]|16|app|10";
// symbol, dso, line_only, offset, address, instruction, function, file, line, source, note
static const char code[] =
    WORK "|0|-|-|-|slow inlined at hot.c:10|" C "|4|-|-\n" WORK "|0|4480|0x401180|movq    %rsi, %rdi|-|" C
         "|10|sum = slow(a, sum) + 1;|-\n" WORK "|0|4483|0x401183|orq     $1, %rdi|-|" C
         "|10|sum = slow(a, sum) + 1;|-\n" WORK "|0|4488|0x401188|divq    %rdi|slow|" C "|4|return a / b;|-\n" WORK
         "|0|4491|0x40118b|addq    %rsi, %rax|-|" C "|10|sum = slow(a, sum) + 1;|-\n" WORK
         "|0|4494|0x40118e|retq|-|-|-|-|-\n" WORK "|0|5000|0x401388|nop|-|" C "|20|\x1b[2Jhostile|-";

static const struct frame *forge(uint64_t number, const char *addresses, const char *instructions) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("profile", number);

    section_series(section, real_series("profile_frequency_hz"), 99);
    section_tree(section, forge_tree_of(names, stacks));
    section_table(section, forge_table(def_of("symbols"), WORK "|app|90|90|90"));
    section_table(section, forge_table(def_of("addresses"), addresses));
    section_table(section, forge_table(def_of("code"), instructions));
    frame_add_section(frame, section, 0);
    return frame;
}

static int frames_make(void **state) {
    (void)state;
    names = name_table_new();
    frames[0] = forge(1, first, "");
    frames[1] = forge(2, others, WORK "|0|-|-|-|-|-|-|-|disassembling ...");
    frames[2] = forge(3, others, code);
    frames[3] = forge(4, others, WORK "|0|-|-|-|-|-|-|-|disassembling ..."); // asked again
    return 0;
}

static int frames_drop(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    name_table_unref(names);
    return 0;
}

static struct pane_answer press(struct pane *pane, const struct look *look, int key) {
    struct pane_answer answer;
    struct grid *grid = grid_new(80, 24, false);

    pane_draw(pane, look, grid_area(grid));
    assert_true(pane_key(pane, look, key, 0, 0, &answer));
    pane_draw(pane, look, grid_area(grid));
    grid_free(grid);
    return answer;
}

// On the function, from the flame graph.
static struct pane *open_annotate(struct look *look, size_t n, const char *function, struct pane_answer *answer) {
    struct pane *pane = pane_new(&view_profile);
    struct grid *grid = grid_new(80, 24, false);

    forge_look(look, frames, n);
    pane_draw(pane, look, grid_area(grid));
    grid_free(grid);
    snprintf(pane->search, sizeof(pane->search), "%s", function);
    assert_true(pane_search(pane, look, 1));
    pane->search[0] = '\0';
    *answer = press(pane, look, 'a');
    return pane;
}

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane_answer answer;
    struct pane *pane = open_annotate(&look, FRAMES, "work", &answer);
    forge_expect(pane, &look, 80, 24, false,
                 "─ Annotate work ────────────── hottest hot.c:4 69.0%; 72.5% of all, last 4.0 s ─\n"
                 "                hot.c:10  sum = slow(a, sum) + 1;\n"
                 "                  401180  movq    %rsi, %rdi\n"
                 "                  401183  orq     $1, %rdi\n"
                 " 69.0%          hot.c:4  return a / b;\n"
                 " 69.0% █████▌     401188  divq    %rdi\n"
                 " 15.5%          hot.c:10  sum = slow(a, sum) + 1;\n"
                 " 15.5% █▎         40118b  addq    %rsi, %rax\n"
                 "                  40118e  retq\n"
                 "                  ...\n"
                 " 15.5%          hot.c:20  \\e[2Jhostile\n"
                 " 15.5% █▎         401388  nop\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "69.0% of the function, 200 of 290 samples\n"
                 "/src/app/hot.c:4  inlined: slow\n");
    forge_expect(pane, &look, 120, 40, false,
                 "─ Annotate work ────────────────────────────────────────────────────── hottest hot.c:4 69.0%; 72.5% "
                 "of all, last 4.0 s ─\n"
                 "                hot.c:10  sum = slow(a, sum) + 1;\n"
                 "                  401180  movq    %rsi, %rdi\n"
                 "                  401183  orq     $1, %rdi\n"
                 " 69.0%          hot.c:4  return a / b;\n"
                 " 69.0% █████▌     401188  divq    %rdi\n"
                 " 15.5%          hot.c:10  sum = slow(a, sum) + 1;\n"
                 " 15.5% █▎         40118b  addq    %rsi, %rax\n"
                 "                  40118e  retq\n"
                 "                  ...\n"
                 " 15.5%          hot.c:20  \\e[2Jhostile\n"
                 " 15.5% █▎         401388  nop\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "69.0% of the function, 200 of 290 samples\n"
                 "/src/app/hot.c:4  inlined: slow\n");
    forge_expect(pane, &look, 60, 8, true,
                 "- Annotate work ----------------- 72.5% of all, last 4.0 s -\n"
                 "                  401183  orq     $1, %rdi\n"
                 " 69.0%          hot.c:4  return a / b;\n"
                 " 69.0% ######     401188  divq    %rdi\n"
                 " 15.5%          hot.c:10  sum = slow(a, sum) + 1;\n"
                 " 15.5% #          40118b  addq    %rsi, %rax\n"
                 "69.0% of the function, 200 of 290 samples\n"
                 "/src/app/hot.c:4  inlined: slow\n");
    pane_free(pane);
}

// What is asked for: the hottest offsets first, and the process.
static void asks(void **state) {
    (void)state;
    struct look look;
    struct pane_answer answer;
    struct pane *pane = open_annotate(&look, FRAMES, "work", &answer);
    assert_non_null(answer.ask);
    assert_string_equal(answer.ask->symbol, "work");
    assert_string_equal(answer.ask->object, "/opt/app");
    assert_int_equal(answer.ask->pid, 812);
    assert_false(answer.ask->line_only);
    assert_int_equal(answer.ask->n_hot, 3);
    assert_int_equal(answer.ask->hot[0], 4488);
    assert_int_equal(answer.ask->hot[1], 4491);         // 15 a frame, as the next
    assert_null(press(pane, &look, KEY_VIEW_DOWN).ask); // once
    press(pane, &look, KEY_VIEW_BACK);
    // A selected frame of the graph asks for its line alone.
    answer = press(pane, &look, KEY_VIEW_UP);
    assert_non_null(answer.ask);
    assert_true(answer.ask->line_only);
    assert_string_equal(answer.ask->symbol, "main");
    pane_free(pane);
}

static void merged(void **state) {
    (void)state;
    struct look look;
    forge_look(&look, frames, FRAMES);
    struct hot_wanted wanted = {"work", "/opt/app", 0, NAN, NAN, SIZE_MAX};
    struct hot hot = hot_make(&look, 1, 4, "cpu", &wanted);
    assert_int_equal(hot.total, 3 * 90);
    assert_int_equal(hot.n, 3);
    assert_int_equal(hot_between(&hot, 4488, 4491), 180);
    assert_int_equal(hot_between(&hot, 4491, 4492), 45);
    assert_int_equal(hot_between(&hot, 4492, 4999), 0);
    assert_true(hot.hottest == 4488);
    hot_free(&hot);
    annotate_range(frame_table(frames[2], "code"), &wanted.low, &wanted.high);
    assert_true(wanted.low == 4480 && wanted.high == 5001);
    hot = hot_make(&look, 1, 4, "cpu", &wanted); // with those whose symbol was not known
    assert_int_equal(hot.total, 20 + 3 * 90);
    hot_free(&hot);
    wanted.pid = 900;
    hot = hot_make(&look, 2, 3, "cpu", &wanted);
    assert_int_equal(hot.total, 10);
    assert_int_equal(hot.pid, 900);
    hot_free(&hot);
    // A frame that repeats a section is no second one.
    struct frame *again = forge_frame(5);
    frame_add_section(again, section_ref(frames[3]->sections[0]), FORGE_SECOND);
    again->repeated[0] = true;
    const struct frame *both[] = {frames[3], again};
    forge_look(&look, both, 2);
    hot = hot_make(&look, 4, 5, "cpu", &(struct hot_wanted){"work", "/opt/app", 0, NAN, NAN, SIZE_MAX});
    assert_int_equal(hot.total, 90);
    hot_free(&hot);
    frame_unref(again);
}

static void expect_line(struct pane *pane, const struct look *look, const char *text) {
    struct grid *grid = grid_new(80, 24, false);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid);
    if (!strstr(screen, text))
        fail_msg("no \"%s\" in\n%s", text, screen);
    free(screen);
    grid_free(grid);
}

static void keys(void **state) {
    (void)state;
    struct look look;
    struct pane_answer answer;
    struct pane *pane = open_annotate(&look, FRAMES, "work", &answer);
    expect_line(pane, &look, "200 of 290 samples\n" C ":4  inlined: slow\n");
    press(pane, &look, 'n');
    expect_line(pane, &look, "45 of 290 samples\n" C ":10\n");
    press(pane, &look, 'n');
    expect_line(pane, &look, "45 of 290 samples\n" C ":20\n");
    press(pane, &look, 'n'); // around
    expect_line(pane, &look, "200 of 290 samples\n");
    press(pane, &look, 'N');
    expect_line(pane, &look, C ":20\n");
    press(pane, &look, 'N');
    expect_line(pane, &look, C ":10\n");
    press(pane, &look, KEY_VIEW_UP);
    press(pane, &look, KEY_VIEW_UP);
    press(pane, &look, KEY_VIEW_UP);
    expect_line(pane, &look, "200 of 290 samples\n" C ":4\n"); // the source line
    press(pane, &look, KEY_VIEW_HOME);
    expect_line(pane, &look, "200 of 290 samples\n" C ":4  inlined: slow\n");
    pane_set_filter(pane, "");
    pane_free(pane);
}

static void files(void **state) {
    (void)state;
    const struct write_info info = {.version = "1", .host = "h", .kernel = "k"};
    struct look look;
    struct pane_answer answer;
    struct pane *pane = open_annotate(&look, FRAMES, "work", &answer);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct part_file *file = pane_file(pane, "x.annotate.txt");
    assert_non_null(file);
    assert_int_equal(pane_write_file(pane, &look, file, &info, out), 0);
    fclose(out);
    assert_string_equal(text, "work  /opt/app  290 of 400 samples\n"
                              "        hot.c:10  sum = slow(a, sum) + 1;\n"
                              "          401180  movq    %rsi, %rdi\n"
                              "          401183  orq     $1, %rdi\n"
                              " 69.0%  hot.c:4  return a / b;\n"
                              " 69.0%    401188  divq    %rdi  [inlined: slow]\n"
                              " 15.5%  hot.c:10  sum = slow(a, sum) + 1;\n"
                              " 15.5%    40118b  addq    %rsi, %rax\n"
                              "          40118e  retq\n"
                              "          ...\n"
                              " 15.5%  hot.c:20  \\e[2Jhostile\n"
                              " 15.5%    401388  nop\n");
    free(text);
    assert_null(pane_file(pane, "x.txt")); // the screen
    pane_free(pane);
}

static void without_code(void **state) {
    (void)state;
    struct look look;
    struct pane_answer answer;
    struct pane *pane = open_annotate(&look, 2, "work", &answer);
    expect_line(pane, &look, "disassembling ...");
    expect_line(pane, &look, " 66.7% █████▍       1188");
    pane_free(pane);
    pane = open_annotate(&look, FRAMES, "do_read", &answer);
    expect_line(pane, &look, "no instructions yet");
    expect_line(pane, &look, "100.0% ████████       10");
    assert_string_equal(answer.ask->object, "[kernel]");
    assert_int_equal(answer.ask->hot[0], 16);
    pane_free(pane);
}

// The place of the selected function stands below the flame graph.
static void where(void **state) {
    (void)state;
    struct look look;
    char text[256];
    forge_look(&look, frames, FRAMES);
    annotate_where(&look, "work", "/opt/app", text, sizeof(text));
    assert_string_equal(text, "hot.c:4; slow inlined at hot.c:10");
    annotate_where(&look, "main", "/opt/app", text, sizeof(text));
    assert_string_equal(text, "");
    struct pane *pane = pane_new(&view_profile);
    snprintf(pane->search, sizeof(pane->search), "work");
    struct grid *grid = grid_new(80, 24, false);
    pane_draw(pane, &look, grid_area(grid));
    grid_free(grid);
    assert_true(pane_search(pane, &look, 1));
    expect_line(pane, &look, "work  program /opt/app  hot.c:4; slow inlined at hot.c:10");
    // And in the title of the table, for its selected row.
    press(pane, &look, 'o');
    struct pane_answer answer = press(pane, &look, KEY_VIEW_DOWN);
    assert_non_null(answer.ask);
    assert_true(answer.ask->line_only);
    assert_string_equal(answer.ask->symbol, "work");
    expect_line(pane, &look, " hot.c:4; slow inlined at hot.c:10 ─\n");
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens), cmocka_unit_test(asks),         cmocka_unit_test(merged), cmocka_unit_test(keys),
        cmocka_unit_test(files),   cmocka_unit_test(without_code), cmocka_unit_test(where),
    };
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
