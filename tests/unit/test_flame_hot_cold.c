// On- and off-CPU time of a process in one graph: the sums, the screens, the blue parts, and files.
#include "tests/unit/forge_profile_frames.h"

#include "views/flame/fold.h"

// 70 of nginx's samples a second at 99 Hz are 707,070 us on a CPU. Off-CPU time of its own path, of a path that never
// ran, and of a process that never ran.
static const char cold_stacks[] = NGINX "l:epoll_wait//usr/lib/libc.so.6;k:do_epoll_wait/[kernel] 250000\n" NGINX
                                        "u:ngx_http_process_request//usr/sbin/nginx;k:io_schedule/[kernel] 42930\n"
                                        "cron/33;l:sleep//usr/lib/libc.so.6 1000000";

#define N 3
static const struct frame *both[N];

// Frame 1 is older than the off-CPU profile.
static int both_make(void **state) {
    frames_make(state);
    for (uint64_t i = 0; i < N; i++) {
        struct frame *frame = forge_frame(i + 1);
        frame_add_section(frame, section_ref(frames[i]->sections[0]), 0);
        if (i)
            frame_add_section(frame, forge_offcpu(i + 1, cold_stacks), 0);
        both[i] = frame;
    }
    return 0;
}

static int both_drop(void **state) {
    for (int i = 0; i < N; i++)
        frame_unref(both[i]);
    return frames_drop(state);
}

static void added(void **state) {
    (void)state;
    struct tree *tree = forge_tree("a/1;u:f/x;k:run/[kernel] 2\nidle/0;k:idle/[kernel] 9");
    struct tree *base = forge_tree("a/1;u:f/x;k:wait/[kernel] 50\na/2;u:f/x;k:wait/[kernel] 7");
    struct fold_filter filter = {.add = true, .scale = 10.5};
    struct fold *fold = fold_new(tree, base, &filter);
    static const struct {
        const char *name;
        uint64_t total, cold, self;
    } expected[] = {{"", 78, 57, 0},    {"a", 78, 57, 0},    {"f", 78, 57, 0},
                    {"run", 21, 0, 21}, {"wait", 57, 57, 0}, {"[off-CPU]", 57, 57, 57}};
    assert_int_equal(fold->n, 6);
    for (uint32_t i = 0; i < fold->n; i++) {
        assert_string_equal(fold->nodes[i].name ? text_bytes(fold->nodes[i].name) : "", expected[i].name);
        assert_int_equal(fold->nodes[i].total, expected[i].total);
        assert_int_equal(fold->nodes[i].base_total, expected[i].cold);
        assert_int_equal(fold->nodes[i].self, expected[i].self);
    }
    assert_int_equal(fold->nodes[1].processes, 2);
    fold_free(fold);
    fold = fold_new(NULL, base, &filter); // nothing ran
    assert_int_equal(fold->nodes[0].total, 57);
    fold_free(fold);
    tree_free(tree);
    tree_free(base);
}

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, both, N, "K=");
    const char *names[8];
    assert_int_equal(pane_needs(pane, false, names, 0, 8), 2);
    forge_expect(pane, &look, 80, 24, false,
                 "─ Hot and cold flame graph ─────────────────── last 2.0 s, 4.5s on and off CPU ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏epoll_wait             ▏ngx_http_process_request\n"
                 "▏do_epoll_wait          ▏deflate                        ▏i…▏writev\n"
                 "▏[off-CPU]                                              ▏[…▏do_writev\n"
                 "                                                           ▏tcp_sendmsg\n"
                 "nginx  PID 812\n"
                 "44.8% of all, 100.0% of zoomed  2.0s: 1.4s on CPU, 586ms off CPU\n"
                 "                                    program   library   kernel   JIT   off-CPU\n"
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
                 "more: Flame graph   Symbols   Processes   Sub-second heat map    o next  = back\n");
    forge_expect(
        pane, &look, 200, 50, false,
        "─ Hot and cold flame graph "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "───────────────────────────── last 2.0 s, 4.5s on and off CPU ─\n"
        "▏all\n"
        "▏nginx (PID 812)\n"
        "▏main\n"
        "▏ngx_worker_process_cycle\n"
        "▏epoll_wait                                                 ▏ngx_http_process_request\n"
        "▏do_epoll_wait                                              ▏deflate                                          "
        "                              ▏io_sche…▏writev\n"
        "▏[off-CPU]                                                                                                    "
        "                              ▏[off-CP…▏do_writev\n"
        "                                                                                                              "
        "                                       ▏tcp_sendmsg\n"
        "nginx  PID 812\n"
        "44.8% of all, 100.0% of zoomed  2.0s: 1.4s on CPU, 586ms off CPU\n"
        "                                                                                                              "
        "                                              program   library   kernel   JIT   off-CPU\n"
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
        " Flame graph  ▸Hot and cold flame graph   Symbols   Processes   Sub-second heat map                           "
        "                                                                           o next  = back\n");
    press(pane, &look, "!"); // all
    forge_expect(pane, &look, 80, 24, true,
                 "- Hot and cold flame graph ------------------- last 2.0 s, 4.5s on and off CPU -\n"
                 "|all\n"
                 "|cron (PID 33)                     |nginx (PID 812)                    |node  |.\n"
                 "|sleep                             |main                               |start|.\n"
                 "|[off-CPU]                         |ngx_worker_process_cycle           |Pa.|.|\n"
                 "                                   |epoll_wa.|ngx_http_process_request |Pa.\n"
                 "                                   |do_epoll.|deflate       ||writev\n"
                 "                                   |[off-C.                 ||do_writev\n"
                 "                                                             |tcp_send.\n"
                 "all\n"
                 "100.0% of all  4.5s: 1.9s on CPU, 2.6s off CPU\n"
                 "                                    program   library   kernel   JIT   off-CPU\n"
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
                 "more: Flame graph   Symbols   Processes   Sub-second heat map    o next  = back\n");
    pane_free(pane);
}

static void blue(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, both, N, "K=");
    struct grid *grid = grid_new(80, 24, false);
    pane_draw(pane, &look, grid_area(grid));
    // nginx runs for 707,070 us and is blocked for 292,930 us of each second; epoll_wait for 50,505 and 250,000.
    static const struct {
        int y, from, to, blue;
        enum role role;
    } cells[] = {
        {3, 0, 80, 23, ROLE_FLAME_USER}, {5, 0, 24, 20, ROLE_FLAME_LIBRARY}, {7, 0, 19, 19, ROLE_FLAME_OFF_CPU}};
    for (int i = 0; i < 3; i++) {
        int blue = 0, y = cells[i].y * 80;
        for (int x = cells[i].from; x < cells[i].to; x++)
            blue += grid->cells[y + x].role == ROLE_FLAME_OFF_CPU;
        assert_int_equal(blue, cells[i].blue);
        assert_int_equal(grid->cells[y + cells[i].from].role, cells[i].role);
        assert_int_equal(grid->cells[y + cells[i].to - 1].role, ROLE_FLAME_OFF_CPU);
    }
    grid_free(grid);
    pane_free(pane);
}

// It begins at the process that is selected in the flame graph, else at the one that runs most.
static void chosen(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, both, N, "");
    forge_draw(pane, &look);
    press(pane, &look, "vv>K="); // node
    forge_expect(pane, &look, 80, 8, false,
                 "─ Hot and cold flame graph ──── last 2.0 s, 4.5s on and off CPU, rows 1-4 of 5 ─\n"
                 "▏all\n"
                 "▏node (PID 900)\n"
                 "▏[b…▏start\n"
                 "▏[u…▏Parser.parse                                           ▏std::map<>::find()\n"
                 "node  PID 900\n"
                 "9.0% of all, 100.0% of zoomed  404ms: 404ms on CPU, 0us off CPU\n"
                 "more: Flame graph   Symbols   Processes   Sub-second heat map    o next  = back\n");
    press(pane, &look, "=K");
    forge_draw(pane, &look);
    press(pane, &look, "<K="); // nginx
    forge_expect(pane, &look, 80, 8, false,
                 "─ Hot and cold flame graph ──── last 2.0 s, 4.5s on and off CPU, rows 1-4 of 8 ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "nginx  PID 812\n"
                 "44.8% of all, 100.0% of zoomed  2.0s: 1.4s on CPU, 586ms off CPU\n"
                 "more: Flame graph   Symbols   Processes   Sub-second heat map    o next  = back\n");
    press(pane, &look, "=K!");
    forge_draw(pane, &look);
    press(pane, &look, "K="); // nothing is selected: again the one that runs most
    struct grid *grid = grid_new(80, 8, false);
    pane_draw(pane, &look, grid_area(grid));
    char *screen = forge_screen(grid);
    assert_non_null(strstr(screen, "\n▏nginx (PID 812)\n"));
    free(screen);
    grid_free(grid);
    pane_free(pane);
}

static char *file_of(struct pane *pane, const struct look *look, const char *name) {
    static const struct write_info info = {.version = "1", .host = "h", .kernel = "6.1"};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(pane_write_file(pane, look, pane_file(pane, name), &info, out), 0);
    fclose(out);
    return text;
}

static void files(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, both, N, "K");
    char *text;
    forge_draw(pane, &look);
    text = file_of(pane, &look, "x.folded");
    assert_non_null(strstr(text, "nginx;main;ngx_worker_process_cycle;epoll_wait;do_epoll_wait_[k] 101010\n"));
    assert_non_null(
        strstr(text, "nginx;main;ngx_worker_process_cycle;epoll_wait;do_epoll_wait_[k];[off-CPU] 500000\n"));
    free(text);
    text = file_of(pane, &look, "x.svg");
    const char *node = strstr(text, "<title>epoll_wait\n");
    assert_non_null(node);
    assert_non_null(strstr(node, "101010 us on CPU, 500000 us off CPU</title>"));
    assert_non_null(strstr(text, ">mostly off-CPU</text>"));
    free(text);
    text = file_of(pane, &look, "x.perf");
    assert_non_null(strstr(text, "nginx 812/812 [000] 1790000002.000000: 250000 hotcold:\n"
                                 "\t               0 [off-CPU] ([unknown])\n"));
    assert_null(strstr(text, "1790000001.")); // without off-CPU time
    free(text);
    // The files of the pane have it as well while it is shown, of one frame.
    text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pane_write(pane, &look, FORMAT_CSV, &(struct write_info){"1", "h", "k"}, out), 0);
    fclose(out);
    assert_non_null(strstr(text, "\nhotcold,2026-09-21T14:13:23.000Z,nginx;main;ngx_worker_process_cycle;epoll_wait;"
                                 "do_epoll_wait_[k];[off-CPU],250000\n"));
    assert_non_null(strstr(text, "\nhotcold,2026-09-21T14:13:23.000Z,nginx;main;ngx_worker_process_cycle;epoll_wait;"
                                 "do_epoll_wait_[k],50505\n"));
    free(text);
    pane_free(pane);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(added), cmocka_unit_test(screens), cmocka_unit_test(blue),
                                       cmocka_unit_test(chosen), cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, both_make, both_drop);
}
