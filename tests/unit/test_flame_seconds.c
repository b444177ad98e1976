// The sub-second heat map on literal screens, the range that is marked on it, and the counts behind it.
#include "tests/unit/forge_profile_frames.h"

#include "views/flame/seconds.h"

static void heat(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, frames, FRAMES, "ooo=");
    forge_expect(pane, &look, 80, 24, false,
                 "─ Sub-second heat map ──────────────────────── a column a second, 100 ms a row ─\n"
                 "   0ms│                                                          ░\n"
                 " 100ms│                                                           ░\n"
                 " 200ms│                                                            ░░\n"
                 " 300ms│                                                              ░\n"
                 " 400ms│                                                          ██████████████\n"
                 " 500ms│                                                                 ░\n"
                 " 600ms│                                                                  ░\n"
                 " 700ms│                                                                   ░░\n"
                 " 800ms│                                                                     ░\n"
                 " 900ms│                                                                      ░░\n"
                 "                  14:12:40          14:12:58          14:13:16          14:13:34\n"
                 "░5 ▒10 ▓15 █21 samples a cell\n"
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
                 " Flame graph   Symbols   Processes  ▸Sub-second heat map         o next  = back\n");
    forge_expect(
        pane, &look, 200, 54, false,
        "─ Sub-second heat map "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────── a column a second, 20 ms a row ─\n"
        "   0ms│\n"
        "      │\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                           ░\n"
        "      │\n"
        " 100ms│\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                            ░\n"
        "      │\n"
        "      │\n"
        " 200ms│                                                                                                       "
        "                                                                             ░\n"
        "      │\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                              ░\n"
        "      │\n"
        " 300ms│\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                               ░\n"
        "      │\n"
        "      │\n"
        " 400ms│                                                                                                       "
        "                                                                           ██████████████\n"
        "      │                                                                                                       "
        "                                                                                ░\n"
        "      │\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                 ░\n"
        " 500ms│\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                  ░\n"
        "      │\n"
        "      │\n"
        " 600ms│\n"
        "      │                                                                                                       "
        "                                                                                   ░\n"
        "      │\n"
        "      │\n"
        "      │\n"
        " 700ms│                                                                                                       "
        "                                                                                    ░\n"
        "      │\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                     ░\n"
        "      │\n"
        " 800ms│\n"
        "      │                                                                                                       "
        "                                                                                      ░\n"
        "      │\n"
        "      │\n"
        "      │\n"
        " 900ms│                                                                                                       "
        "                                                                                       ░\n"
        "      │\n"
        "      │\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                        ░\n"
        "            14:10:34          14:10:52          14:11:10          14:11:28          14:11:46          "
        "14:12:04          14:12:22          14:12:40          14:12:58          14:13:16          14:13:34\n"
        "░5 ▒10 ▓15 █20 samples a cell\n"
        " Flame graph   Symbols   Processes  ▸Sub-second heat map                                                      "
        "                                                                           o next  = back\n");
    forge_expect(
        pane, &look, 200, 50, false,
        "─ Sub-second heat map "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────── a column a second, 40 ms a row ─\n"
        "   0ms│\n"
        "      │                                                                                                       "
        "                                                                           ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                            ░\n"
        "      │\n"
        " 200ms│                                                                                                       "
        "                                                                             ░\n"
        "      │                                                                                                       "
        "                                                                              ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                               ░\n"
        "      │\n"
        " 400ms│                                                                                                       "
        "                                                                           ██████████████\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                 ░\n"
        "      │                                                                                                       "
        "                                                                                  ░\n"
        "      │\n"
        " 600ms│                                                                                                       "
        "                                                                                   ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                    ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                     ░\n"
        " 800ms│                                                                                                       "
        "                                                                                      ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                       ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                        ░\n"
        "            14:10:34          14:10:52          14:11:10          14:11:28          14:11:46          "
        "14:12:04          14:12:22          14:12:40          14:12:58          14:13:16          14:13:34\n"
        "░5 ▒10 ▓15 █21 samples a cell\n"
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
        " Flame graph   Symbols   Processes  ▸Sub-second heat map                                                      "
        "                                                                           o next  = back\n");
    forge_expect(pane, &look, 80, 24, true,
                 "- Sub-second heat map ------------------------ a column a second, 100 ms a row -\n"
                 "   0ms|                                                          .\n"
                 " 100ms|                                                           .\n"
                 " 200ms|                                                            ..\n"
                 " 300ms|                                                              .\n"
                 " 400ms|                                                          @@@@@@@@@@@@@@\n"
                 " 500ms|                                                                 .\n"
                 " 600ms|                                                                  .\n"
                 " 700ms|                                                                   ..\n"
                 " 800ms|                                                                     .\n"
                 " 900ms|                                                                      ..\n"
                 "                  14:12:40          14:12:58          14:13:16          14:13:34\n"
                 "-5 +10 #15 @21 samples a cell\n"
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
                 " Flame graph   Symbols   Processes  >Sub-second heat map         o next  = back\n");
    press(pane, &look, "v<<<$>v$"); // two seconds
    forge_expect(pane, &look, 80, 24, false,
                 "─ Sub-second heat map ──────────────────────── a column a second, 100 ms a row ─\n"
                 "   0ms│                                                          ░           ·\n"
                 " 100ms│                                                           ░         ··\n"
                 " 200ms│                                                            ░░       ·+\n"
                 " 300ms│                                                              ░      ·\n"
                 " 400ms│                                                          ██████████████\n"
                 " 500ms│                                                                 ░   ·\n"
                 " 600ms│                                                                  ░  ·\n"
                 " 700ms│                                                                   ░░·\n"
                 " 800ms│                                                                     ░\n"
                 " 900ms│                                                                     ·░░\n"
                 "                  14:12:40          14:12:58          14:13:16          14:13:34\n"
                 "14:13:32.200 + 100 ms: 0 samples  Enter: a range begins here\n"
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
                 " Flame graph   Symbols   Processes  ▸Sub-second heat map         o next  = back\n");
    press(pane, &look, "=o="); // the flame graph of that range
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ────────────────────────────────────── marked 1.20 s, 21 samples ─\n"
                 "▏all\n"
                 "▏a…▏node (PID 900)\n"
                 "▏b ▏start\n"
                 "▏c…▏Parser.parse\n"
                 "   ▏Parser.next\n"
                 "all\n"
                 "100.0% of all  21 samples, 0 self             program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    press(pane, &look, "s");
    forge_expect(pane, &look, 80, 14, false,
                 "─ Flame graph ───────────────────────────────────────── last 10 s, 946 samples ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                   ▏node (PID 900)                       ▏swa……\n"
                 "▏main                              ▏start                               ▏▏do_…\n"
                 "▏ngx_worker_process_cycle          ▏Parser.parse                    ▏st…▏\n"
                 "▏ngx_http_process_request         ▏▏Parser.next\n"
                 "▏deflate          ▏writev         ▏\n"
                 "                  ▏do_writev\n"
                 "                  ▏tcp_sendmsg\n"
                 "all\n"
                 "100.0% of all  946 samples, 0 self            program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_free(pane);
}

static void counted(void **state) {
    (void)state;
    static struct seconds seconds;
    struct look look;
    uint64_t from, to;
    forge_look(&look, frames, 3);
    seconds_load(&seconds, &look, "profile_samples", "");
    seconds_load(&seconds, &look, "profile_samples", ""); // not again
    assert_int_equal(seconds_at(&seconds, FORGE_TIME)[20], 20);
    assert_int_equal(seconds_at(&seconds, FORGE_TIME)[3], 1); // 70 ms
    assert_int_equal(seconds_at(&seconds, FORGE_TIME + 1)[7], 1);
    assert_null(seconds_at(&seconds, FORGE_TIME + 3));
    forge_look(&look, frames, FRAMES);
    seconds_load(&seconds, &look, "profile_samples", "");
    assert_int_equal(seconds_at(&seconds, FORGE_TIME + 13)[20], 20);
    forge_look(&look, frames, 2); // rewound: the rest stays
    seconds_load(&seconds, &look, "profile_samples", "");
    assert_int_equal(seconds_at(&seconds, FORGE_TIME)[20], 20);
    seconds_load(&seconds, &look, "profile_samples", "pid=900");
    assert_int_equal(seconds_at(&seconds, FORGE_TIME)[20], 0);
    assert_int_equal(seconds_at(&seconds, FORGE_TIME)[3], 1);
    forge_look(&look, frames, FRAMES);
    assert_true(seconds_frames(&look, FORGE_TIME + 2.5, FORGE_TIME + 4.0, &from, &to));
    assert_true(from == 3 && to == 4);
    assert_false(seconds_frames(&look, FORGE_TIME + 50, FORGE_TIME + 60, &from, &to));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(heat), cmocka_unit_test(counted)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
