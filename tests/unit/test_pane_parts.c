// Panes with more parts than fit: at most four at once, the part bar, enlarging a part.
#include "tests/unit/forge.h"

#include <stdio.h>
#include <string.h>

#include "views/pane_parts.h"

static int tall(struct part_context *ctx, int width) {
    (void)ctx, (void)width;
    return 30;
}

static bool takes_a(struct part_context *ctx) {
    return ctx->key == 'a';
}

static void fill(struct part_context *ctx) {
    for (int y = 0; y < ctx->area.height; y++)
        area_text(ctx->area, 0, y, ROLE_TEXT, ctx->part->name);
}

static const struct part_kind tall_kind = {.height = tall, .draw = fill, .key = takes_a};
static const struct part six[] = {
    {.kind = &tall_kind, .name = "a", .title = "Alpha", .min_height = 3, .weight = 1},
    {.kind = &tall_kind, .name = "b", .title = "Beta", .min_height = 3, .weight = 1},
    {.kind = &tall_kind, .name = "c", .title = "Gamma", .min_height = 3, .weight = 1},
    {.kind = &tall_kind, .name = "d", .title = "Delta", .min_height = 3, .weight = 1, .right = true},
    {.kind = &tall_kind, .name = "e", .title = "Epsilon", .min_height = 3, .weight = 1},
    {.kind = &tall_kind, .name = "f", .title = "Zeta", .min_height = 3, .weight = 1},
};
static const struct view crowd = {
    .name = "six", .title = "Six", .question = "?", .parts = six, .n_parts = 6, .wide_from = 100};

// "abc.e." for the parts on the screen; the letter of the one with the focus is a capital.
static void expect_drawn(struct pane *pane, const struct look *look, int width, int height, const char *expected) {
    char got[8] = "";

    free(pane_screen(pane, look, width, height, false));
    for (size_t i = 0; i < 6; i++)
        got[i] = !(pane->layout->drawn & 1u << i) ? '.' : (char)(((size_t)pane->focus == i ? 'A' : 'a') + i);
    assert_string_equal(got, expected);
}

// At most four, fewer without room for them, more on a tall screen; the one with the focus always.
static void test_four_parts(void **state) {
    struct look look = {.frame = forge_frame(1)};
    struct pane *pane = pane_new(&crowd);
    struct pane_answer answer;

    (void)state;
    expect_drawn(pane, &look, 140, 40, "Abcd..");
    expect_drawn(pane, &look, 80, 40, "Abcd..");
    expect_drawn(pane, &look, 80, 21, "Abc...");
    expect_drawn(pane, &look, 80, 10, "Ab....");
    expect_drawn(pane, &look, 80, 4, "A.....");
    expect_drawn(pane, &look, 80, 70, "Abcde.");
    expect_drawn(pane, &look, 80, 90, "Abcdef");
    assert_true(pane_key(pane, &look, 'O', 0, 0, &answer));
    expect_drawn(pane, &look, 140, 40, "abc..F");
    expect_drawn(pane, &look, 80, 10, "a....F");
    assert_true(pane_key(pane, &look, 'O', 0, 0, &answer));
    expect_drawn(pane, &look, 140, 40, "abc.E.");
    pane_free(pane);
    frame_unref(look.frame);
}

// A part that a key has shown comes before others, also without the focus.
static void test_asked_for(void **state) {
    struct look look = {.frame = forge_frame(1)};
    struct part parts[6];
    memcpy(parts, six, sizeof(parts));
    parts[4].toggle = 'e';
    const struct view view = {.name = "six", .title = "Six", .question = "?", .parts = parts, .n_parts = 6};
    struct pane *pane = pane_new(&view);
    struct pane_answer answer;

    (void)state;
    expect_drawn(pane, &look, 80, 40, "Abcd..");
    assert_true(pane_key(pane, &look, 'e', 0, 0, &answer));
    expect_drawn(pane, &look, 80, 40, "abc.E.");
    assert_true(pane_key(pane, &look, 'O', 0, 0, &answer));
    expect_drawn(pane, &look, 80, 40, "ab.De.");
    assert_true(pane_key(pane, &look, 'e', 0, 0, &answer));
    expect_drawn(pane, &look, 80, 40, "abcD..");
    pane_free(pane);
    frame_unref(look.frame);
}

// The key = gives a part the whole pane, and takes it back; o and O then lead to the others, Esc back to all.
static void test_enlarge(void **state) {
    struct look look = {.frame = forge_frame(1)};
    struct pane *pane = pane_new(&crowd);
    struct pane_answer answer;

    (void)state;
    expect_drawn(pane, &look, 80, 40, "Abcd..");
    assert_true(pane_key(pane, &look, '=', 0, 0, &answer));
    expect_screen(pane, &look, 80, 5,
                  "─ Alpha ────────────────────────────────────────────────────────────────────────\n"
                  "a\n"
                  "a\n"
                  "a\n"
                  "▸Alpha   Beta   Gamma   Delta   Epsilon   Zeta                   o next  = back\n");
    assert_true(pane_key(pane, &look, 'o', 0, 0, &answer));
    expect_drawn(pane, &look, 80, 40, ".B....");
    assert_true(pane_key(pane, &look, '=', 0, 0, &answer));
    expect_drawn(pane, &look, 80, 40, "aBcd..");
    assert_true(pane_key(pane, &look, '=', 0, 0, &answer));
    assert_true(pane_key(pane, &look, KEY_VIEW_BACK, 0, 0, &answer));
    expect_drawn(pane, &look, 80, 40, "aBcd..");
    assert_false(pane_key(pane, &look, KEY_VIEW_BACK, 0, 0, &answer));
    draw_all_sizes(pane, &look);
    pane_free(pane);
    frame_unref(look.frame);
}

// The part bar names all parts, or in a narrow pane those that are not on the screen, and takes clicks.
static void test_part_bar(void **state) {
    struct look look = {.frame = forge_frame(1)};
    struct pane *pane = pane_new(&crowd);
    struct pane_answer answer;

    (void)state;
    expect_screen(pane, &look, 62, 9,
                  "─ ▸ Alpha ────────────────────────────────────────────────────\n"
                  "a\n"
                  "a\n"
                  "a\n"
                  "─ Beta ───────────────────────────────────────────────────────\n"
                  "b\n"
                  "b\n"
                  "b\n"
                  "▸Alpha  •Beta   Gamma   Delta   Epsilon   Zeta\n");
    expect_screen(pane, &look, 40, 5,
                  "─ Alpha ────────────────────────────────\n"
                  "a\n"
                  "a\n"
                  "a\n"
                  "more: Beta   Gamma   Delta   Epsil…   Ze\n");
    expect_drawn(pane, &look, 140, 40, "Abcd..");
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 33, 39, &answer)); // Epsilon
    expect_drawn(pane, &look, 140, 40, "abc.E.");
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 33, 39, &answer)); // again
    expect_drawn(pane, &look, 140, 40, "....E.");
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 1, 39, &answer));
    expect_drawn(pane, &look, 140, 40, "A.....");
    assert_false(pane_key(pane, &look, KEY_VIEW_CLICK, 139, 39, &answer)); // between the names
    assert_int_equal(part_bar_at(pane, 1, 38), -1);
    pane_free(pane);
    frame_unref(look.frame);
}

// A part without room gets no keys: it would do unseen things.
static void test_keys_of_hidden_parts(void **state) {
    static const struct part_kind deaf = {.height = tall, .draw = fill};
    const struct part two[] = {{.kind = &deaf, .name = "a", .title = "A", .min_height = 3, .weight = 1},
                               {.kind = &tall_kind, .name = "b", .title = "B", .min_height = 3, .weight = 1}};
    const struct view deaf_view = {.name = "deaf", .title = "Deaf", .question = "?", .parts = two, .n_parts = 2};
    struct look look = {.frame = forge_frame(1)};
    struct pane *pane = pane_new(&deaf_view);
    struct pane_answer answer;

    (void)state;
    pane->focus = 0; // it takes no keys: they go to the other one, while that is on the screen
    pane->layout->settled = true;
    free(pane_screen(pane, &look, 40, 20, false));
    assert_true(pane_key(pane, &look, 'a', 0, 0, &answer));
    free(pane_screen(pane, &look, 40, 5, false));
    assert_false(pane_key(pane, &look, 'a', 0, 0, &answer));
    pane_free(pane);
    frame_unref(look.frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_parts),
        cmocka_unit_test(test_asked_for),
        cmocka_unit_test(test_enlarge),
        cmocka_unit_test(test_part_bar),
        cmocka_unit_test(test_keys_of_hidden_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
