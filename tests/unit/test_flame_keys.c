// The keys of the flame graph: selection, zoom, search and span, which survive a refresh.
#include "tests/unit/forge_profile_frames.h"

// The flame graph alone, on a small screen.
static struct pane *graph(struct look *look, size_t n) {
    return forge_pane(look, frames, n, "=");
}

static void zoom(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 7);
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "vvvv"); // nginx's cycle
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "ngx_worker_process_cycle  program /usr/sbin/nginx\n"
                 "66.7% of all  350 samples, 0 self             program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "$v");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏epo…▏ngx_http_process_request\n"
                 "▏do_…▏deflate                                      ▏writev\n"
                 "                                                   ▏do_writev\n"
                 "                                                   ▏tcp_sendmsg\n"
                 "ngx_http_process_request  program /usr/sbin/nginx\n"
                 "61.9% of all, 92.9% of zoomed  325 samples, 0 self\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "v>$");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏ngx_http_process_request\n"
                 "▏writev\n"
                 "▏do_writev\n"
                 "▏tcp_sendmsg\n"
                 "writev  library /usr/lib/libc.so.6\n"
                 "23.8% of all, 100.0% of zoomed  125 samples, 0 self\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "!!");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "writev  library /usr/lib/libc.so.6\n"
                 "23.8% of all  125 samples, 0 self             program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_free(pane);
}

// Later frames have other nodes in front of the selected one.
static void refresh(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 7);
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "vv>v$v"); // node, start: zoomed; its parser selected
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏node (PID 900)\n"
                 "▏start\n"
                 "▏Parser.parse                                             ▏std::map<>::find()\n"
                 "▏Parser.next\n"
                 "Parser.parse  JIT\n"
                 "13.3% of all, 73.7% of zoomed  70 samples, 0 self\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    forge_look(&look, frames, FRAMES);
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ───────────────────────────────────────── last 10 s, 946 samples ─\n"
                 "▏all\n"
                 "▏node (PID 900)\n"
                 "▏start\n"
                 "▏Parser.parse                                                           ▏std::m…\n"
                 "▏Parser.next\n"
                 "Parser.parse  JIT\n"
                 "42.9% of all, 90.0% of zoomed  406 samples, 0 self\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_free(pane);
}

static void search(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 7);
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    strcpy(pane->search, "WRITEV");
    assert_true(pane_search(pane, &look, 1));
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────── \"WRITEV\" 23.8%, last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "writev  library /usr/lib/libc.so.6\n"
                 "23.8% of all  125 samples, 0 self             program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    assert_true(pane_search(pane, &look, 1));
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────── \"WRITEV\" 23.8%, last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "do_writev  kernel\n"
                 "23.8% of all  125 samples, 0 self             program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    strcpy(pane->search, "no such name");
    assert_false(pane_search(pane, &look, 1));
    pane_free(pane);
}

static bool shows(struct pane *pane, const struct look *look, int width, const char *text) {
    struct grid *grid = grid_new(width, 14, false);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid);
    bool found = strstr(screen, text);
    free(screen);
    grid_free(grid);
    return found;
}

// Zoomed into what was too narrow, a match elsewhere below the same frame ends the zoom.
static void search_outside(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 7);
    assert_true(shows(pane, &look, 8, "…")); // sh and swapper
    press(pane, &look, "vv>>$");
    assert_true(shows(pane, &look, 8, "▏swapp") && !shows(pane, &look, 8, "▏ngi…"));
    strcpy(pane->search, "deflate");
    assert_true(pane_search(pane, &look, 1));
    assert_true(shows(pane, &look, 8, "\ndef…") && shows(pane, &look, 8, "▏ngi…"));
    pane_free(pane);
}

// What is too narrow is entered; the filter and the kinds of frames narrow it.
static void narrow(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 7);
    forge_expect(pane, &look, 24, 14, false,
                 "─ Flame graph ──────────\n"
                 "▏all\n"
                 "▏nginx (PID 812)▏no…▏s…▏\n"
                 "▏main           ▏s…▏▏d……\n"
                 "▏ngx_worker_pro…▏…▏▏\n"
                 "▏▏ngx_http_proc…▏…\n"
                 "▏▏deflate ▏writ…\n"
                 "          ▏do_w…\n"
                 "          ▏tcp_…\n"
                 "all\n"
                 "100.0% of all  525 sampl\n"
                 "\n"
                 "\n"
                 "more: Symbo…   Proce…\n");
    press(pane, &look, "vv>>v$"); // the three functions of sh
    forge_expect(pane, &look, 24, 14, false,
                 "─ Flame graph ──────────\n"
                 "▏all\n"
                 "▏swapper (PID 0)\n"
                 "▏do_idle\n"
                 "do_idle  kernel\n"
                 "11.4% of all, 100.0% of\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "more: Symbo…   Proce…\n");
    press(pane, &look, "!!u");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph, user frames ─────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏…\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "   ▏deflate                      ▏writev\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "u");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph, kernel frames ───────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏d…▏do_writev                                        ▏                ▏do_idle\n"
                 "   ▏tcp_sendmsg                                      ▏\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "ue");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph, without idle ────────────────────────── last 7.0 s, 465 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                            ▏node (PID 900)  ▏sh\n"
                 "▏main                                                       ▏start          ▏▏▏▏\n"
                 "▏ngx_worker_process_cycle                                   ▏Parser.pa…▏std…▏\n"
                 "▏ep…▏ngx_http_process_request                               ▏Parser.ne…\n"
                 "▏do…▏deflate                          ▏writev\n"
                 "                                      ▏do_writev\n"
                 "                                      ▏tcp_sendmsg\n"
                 "all\n"
                 "100.0% of all  465 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_set_filter(pane, "pid=900");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph, without idle ────────────────────────── last 7.0 s, 100 samples ─\n"
                 "▏all\n"
                 "▏node (PID 900)\n"
                 "▏[b…▏start\n"
                 "▏[u…▏Parser.parse                                           ▏std::map<>::find()\n"
                 "    ▏Parser.next\n"
                 "all\n"
                 "100.0% of all  100 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_set_filter(pane, "nowhere");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph, without idle ─────────────────────────────────────── last 7.0 s ─\n"
                 " no stack matches the filter\n"
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
    pane_free(pane);
}

static void span(void **state) {
    (void)state;
    static const struct {
        const char *key, *status;
    } spans[] = {{"S", "last 1.0 s, 100 samples"},
                 {"s", "last 10 s, 946 samples"},
                 {"s", "last 14 s, 1225 samples"},
                 {"s", "whole history, 14 s, 1225 samples"},
                 {"s", "last 1.0 s, 100 samples"}};
    struct look look;
    struct pane *pane = graph(&look, FRAMES);
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        struct grid *grid = grid_new(100, 14, false);
        char row[512];
        press(pane, &look, spans[i].key);
        pane_draw(pane, &look, grid_area(grid));
        grid_row_text(grid, 0, row, sizeof(row));
        if (!strstr(row, spans[i].status))
            fail_msg("%s is not in %s", spans[i].status, row);
        grid_free(grid);
    }
    pane_free(pane);
}

// The whole history grows with every frame: the sum must be that of all of them, and again after a rewind.
static void growing(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 1);
    press(pane, &look, "ss");
    static const size_t seen[] = {1, 2, 3, 6, 7, 9, 14, 5, 14};
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        size_t n = seen[i], before = n < 7 ? n : 7;
        struct grid *grid = grid_new(100, 14, false);
        char row[512], expected[64];
        forge_look(&look, frames, n);
        pane_draw(pane, &look, grid_area(grid));
        grid_row_text(grid, 0, row, sizeof(row));
        snprintf(expected, sizeof(expected), "%zu s, %zu samples", n,
                 93 * (before - (n >= 4) - (n >= 6)) + 60 * (n >= 6) + 100 * (n - before));
        if (!strstr(row, expected))
            fail_msg("%s is not in %s", expected, row);
        grid_free(grid);
    }
    pane_free(pane);
}

static bool is_on_screen(struct pane *pane, const struct look *look, const char *word) {
    struct grid *grid = grid_new(80, 14, false);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid);
    bool found = strstr(screen, word);
    free(screen);
    grid_free(grid);
    return found;
}

// A name that is found while the same frame is shown is on the next screen.
static void late_name(void **state) {
    (void)state;
    struct look look;
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("profile", 1);
    struct name_table *names = name_table_new();
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    uint32_t ids[] = {name_table_add(names, name_pack("web", NAME_PLAIN, "812")),
                      name_table_add(names, name_pack("[x+0x10]", NAME_USER, "/x"))};
    tree_builder_add(builder, ids, 2, 3);
    section_tree(section, tree_builder_seal(builder));
    frame_add_section(frame, section, 0);
    const struct frame *one = frame;
    struct pane *pane = forge_pane(&look, &one, 1, "");
    assert_true(is_on_screen(pane, &look, "[x]"));
    name_table_set(names, ids[1], name_pack("parse", NAME_USER, "/x"));
    assert_true(is_on_screen(pane, &look, "parse"));
    assert_false(is_on_screen(pane, &look, "[x]"));
    pane_free(pane);
    tree_builder_free(builder);
    name_table_unref(names);
    frame_unref(frame);
}

static void mouse(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look, 7);
    struct pane_answer answer;
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                                     ▏node (PID 900)▏…▏swapper\n"
                 "▏main                                                ▏start        ▏… ▏do_idle\n"
                 "▏ngx_worker_process_cycle                            ▏Parser.p…▏st…▏\n"
                 "▏e…▏ngx_http_process_request                         ▏Parser.n…\n"
                 "▏d…▏deflate                      ▏writev\n"
                 "                                 ▏do_writev\n"
                 "                                 ▏tcp_sendmsg\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 45, 6, &answer)); // writev: selected
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 45, 6, &answer)); // again: zoomed
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ──────────────────────────────────────── last 7.0 s, 525 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏ngx_http_process_request\n"
                 "▏writev\n"
                 "▏do_writev\n"
                 "▏tcp_sendmsg\n"
                 "writev  library /usr/lib/libc.so.6\n"
                 "23.8% of all, 100.0% of zoomed  125 samples, 0 self\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zoom),           cmocka_unit_test(refresh), cmocka_unit_test(search),
        cmocka_unit_test(search_outside), cmocka_unit_test(narrow),  cmocka_unit_test(span),
        cmocka_unit_test(growing),        cmocka_unit_test(mouse),   cmocka_unit_test(late_name),
    };
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
