// The parts around the flame graph on literal screens: callers and callees, the difference of two spans.
#include "tests/unit/forge_profile_frames.h"

#include "views/flame/callers.h"
#include "views/flame/names.h"

static void sandwich(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, frames, 7, "");
    forge_draw(pane, &look);
    press(pane, &look, "vvvvvv>c"); // writev
    forge_expect(pane, &look, 80, 24, false,
                 "─ Callers and callees of writev ───────────────────── 23.8% of all, last 7.0 s ─\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏ngx_http_process_request\n"
                 "▏writev\n"
                 "▏do_writev\n"
                 "▏tcp_sendmsg\n"
                 "writev  library /usr/lib/libc.so.6\n"
                 "23.8% of all, 100.0% of the function  125 samples, 0 self\n"
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
                 "\n");
    press(pane, &look, "^$v"); // its caller in the middle, what it calls selected
    forge_expect(pane, &look, 80, 24, false,
                 "─ Callers and callees of ngx_http_process_request ─── 61.9% of all, last 7.0 s ─\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏ngx_http_process_request\n"
                 "▏deflate                                         ▏writev\n"
                 "                                                 ▏do_writev\n"
                 "                                                 ▏tcp_sendmsg\n"
                 "ngx_http_process_request  program /usr/sbin/nginx\n"
                 "61.9% of all, 100.0% of the function  325 samples, 0 self\n"
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
                 "\n");
    press(pane, &look, "!"); // writev again
    forge_expect(pane, &look, 200, 50, false,
                 "─ Callers and callees of writev "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "──────────────────────────────────────── 23.8% of all, last 7.0 s ─\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏ngx_http_process_request\n"
                 "▏writev\n"
                 "▏do_writev\n"
                 "▏tcp_sendmsg\n"
                 "writev  library /usr/lib/libc.so.6\n"
                 "23.8% of all, 100.0% of the function  125 samples, 0 self                                            "
                 "                                                                 program   library   kernel   JIT\n"
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
                 "\n");
    press(pane, &look, "!");  // the flame graph
    press(pane, &look, "o$"); // from the table of symbols
    forge_expect(pane, &look, 60, 9, false,
                 "─ Callers and callees of deflate  38.1% of all, last 7.0 s ─\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏ngx_http_process_request\n"
                 "▏deflate\n"
                 "deflate  library /usr/lib/libz.so.1\n"
                 "38.1% of all, 100.0% of the function  200 samples, 200 self\n"
                 "\n");
    forge_look(&look, &frames[3], 1);
    forge_expect(pane, &look, 60, 9, false,
                 "─ Callers and callees of deflate ───────────────────────────\n"
                 " no sample: every CPU was idle\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    pane_free(pane);
}

// A sample of a recursive function counts once.
static void recursion(void **state) {
    (void)state;
    struct tree *tree =
        forge_tree("p/1;u:a/x;u:f/x;u:f/x;u:g/x 3\np/1;u:b/x;u:f/x 4\np/1;u:f/x;u:b/x;u:f/x 5\nq/2;u:g/x 9");
    struct fold *fold = fold_new(tree, NULL, NULL);
    struct callers callers = callers_new(fold, "f", false);
    static const struct {
        const char *name;
        uint64_t total;
    } up[] = {{"f", 12}, {"a", 3}, {"p", 3}, {"b", 4}, {"p", 4}, {"p", 5}},
      down[] = {{"f", 12}, {"b", 5}, {"f", 5}, {"f", 3}, {"g", 3}};
    assert_int_equal(callers.total, 12);
    assert_int_equal(callers.up->n, 7);
    for (uint32_t i = 0; i < 6; i++) {
        assert_string_equal(flame_symbol(callers.up->nodes[i + 1].name), up[i].name);
        assert_int_equal(callers.up->nodes[i + 1].total, up[i].total);
    }
    assert_int_equal(callers.down->n, 6);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(flame_symbol(callers.down->nodes[i + 1].name), down[i].name);
        assert_int_equal(callers.down->nodes[i + 1].total, down[i].total);
    }
    callers_free(&callers);
    callers = callers_new(fold, "p", false); // a process's name is no function's
    assert_int_equal(callers.total, 0);
    callers_free(&callers);
    callers = callers_new(fold, "p", true);
    assert_int_equal(callers.total, 12);
    callers_free(&callers);
    fold_free(fold);
    tree_free(tree);
    tree = forge_tree("p/1;u:f/x 1\np/2;u:f/x 2"); // two processes: no PID is the caller's
    fold = fold_new(tree, NULL, NULL);
    callers = callers_new(fold, "f", false);
    assert_int_equal(callers.up->n, 3);
    assert_string_equal(flame_symbol(callers.up->nodes[2].name), "p");
    assert_string_equal(name_object(callers.up->nodes[2].name), "");
    callers_free(&callers);
    fold_free(fold);
    tree_free(tree);
}

static void difference(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, frames, 7, "SA=");
    forge_look(&look, frames, FRAMES);
    press(pane, &look, "B");
    struct grid *grid = grid_new(80, 24, false);
    pane_draw(pane, &look, grid_area(grid));
    // What grew and shrank is told by roles: node grew, nginx shrank, find did not change.
    struct {
        int y, x;
        enum role role;
    } cells[] = {{2, 10, ROLE_FLAME_LESS}, {2, 60, ROLE_FLAME_MORE}, {4, 78, ROLE_FLAME_PROCESS}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(grid->cells[cells[i].y * 80 + cells[i].x].role, cells[i].role);
    grid_free(grid);
    press(pane, &look, "vv>"); // node
    forge_expect(pane, &look, 80, 24, false,
                 "─ Difference ───────────── B: 1 s to 14:13:34, A: 1 s to 14:13:27, 100 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                ▏node (PID 900)                                ▏\n"
                 "▏main                           ▏start                                         ▏\n"
                 "▏ngx_worker_process_cycle       ▏Parser.parse                              ▏st…▏\n"
                 "▏ngx_http_process_request       ▏Parser.next\n"
                 "▏deflate        ▏writev\n"
                 "                ▏do_writev\n"
                 "                ▏tcp_sendmsg\n"
                 "a\\e[2Jnew\\xff  PID 77\n"
                 "1.0% of all  1 sample, 0 self  A 0.0%, B 1.0%: +1.0 points\n"
                 "                          red: more in B than in A   blue: less in B than in A\n"
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
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    forge_expect(
        pane, &look, 200, 50, false,
        "─ Difference "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────── B: 1 s to 14:13:34, A: 1 s to 14:13:27, 100 samples ─\n"
        "▏all\n"
        "▏…▏nginx (PID 812)                                                                ▏node (PID 900)\n"
        "▏b▏main                                                                           ▏start\n"
        "▏…▏ngx_worker_process_cycle                                                       ▏Parser.parse               "
        "                                                                                ▏std::map…\n"
        "  ▏ngx_http_process_request                                                       ▏Parser.next\n"
        "  ▏deflate                                ▏writev\n"
        "                                          ▏do_writev\n"
        "                                          ▏tcp_sendmsg\n"
        "a\\e[2Jnew\\xff  PID 77\n"
        "1.0% of all  1 sample, 0 self  A 0.0%, B 1.0%: +1.0 points\n"
        "                                                                                                              "
        "                                    red: more in B than in A   blue: less in B than in A\n"
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
        "▸Flame graph   Symbols   Processes   Sub-second heat map                                                      "
        "                                                                           o next  = back\n");
    press(pane, &look, "x");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 1.0 s, 100 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                ▏node (PID 900)                                ▏\n"
                 "▏main                           ▏start                                         ▏\n"
                 "▏ngx_worker_process_cycle       ▏Parser.parse                              ▏st…▏\n"
                 "▏ngx_http_process_request       ▏Parser.next\n"
                 "▏deflate        ▏writev\n"
                 "                ▏do_writev\n"
                 "                ▏tcp_sendmsg\n"
                 "a\\e[2Jnew\\xff  PID 77\n"
                 "1.0% of all  1 sample, 0 self                 program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    forge_key(pane, &look, 'x', false);
    press(pane, &look, "B"); // without A
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sandwich), cmocka_unit_test(recursion),
                                       cmocka_unit_test(difference)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
