// Groups and latencies of the pane probes on literal screens.
#include "tests/unit/forge_frames.h"
#include "tests/unit/forge_io.h"

#include "collectors/probes/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("probes", number);
    const double series[PROBES_SERIES] = {[PROBES_PER_S] = 100, [PROBES_LOST] = 0, [PROBES_RECORDED] = 100};
    forge_series(section, probes_series, series, PROBES_SERIES);
    section_table(section, forge_table(&probes_table, "work|uprobe|a.out:work|100|100|200|-|-|-|-|-|on|p a.out:work"));
    section_table(section, forge_table(&probes_groups_table, "work|cat|odd|90|90|n|368640|4096|-9|8192\n"
                                                             "work|others|-|10|10|n|100|10|10|10"));
    section_table(section, forge_table(&probes_latencies_table, "work -> back|all|100|100|24.5|900|3|2"));
    struct hist_set *set = hist_set_new(&probes_latency_hist);
    forge_hist(set, "work -> back", "301", (struct forge_run[]){{8000, 90}, {900000, 10}, {0, 0}});
    section_hists(section, set);
    section_stream(section,
                   forge_table(&probes_stream_table,
                               "1790000000.1|0|cat|410|410|work|n=4096|cat|odd|4096|-|-|work < outer < main < "
                               "__libc_start_call_main [libc.so.6]\n"
                               "1790000000.2|1|sh|411|411|work|n=1|sh|even|1|-|hrtimer_nanosleep < common_nsleep|-"),
                   0);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_probes;

static void groups(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_probes, &look);
    struct pane_answer answer = {0};
    pane_key(pane, &look, 'Y', -1, -1, &answer);
    forge_expect(pane, &look, 80, 22, false,
                 "hits/s         100  lost             0  recorded %     100\n"
                 "─ Probes ───────────────────────────────────────────────────────────────────────\n"
                 "PROBE                      ▼HIT/s  MISSED     TOTAL STATE   SPECIFICATION\n"
                 "work                          100       -       200 on      p a.out:work\n"
                 "─ Groups ───────────────────────────────────────────────────────────────────────\n"
                 "PROBE                    KEY             KEY2       ▼COUNT      SUM      AVG\n"
                 "work                     cat             odd            90     369k     4096\n"
                 "work                     others          -              10      100       10\n"
                 "─ Latencies ────────────────────────────────────────────────────────────────────\n"
                 "PAIR                                 KEY          ▼COUNT     AVG     MAX    OPEN\n"
                 "work -> back                         all             100    24us   900us       3\n"
                 "─ ▸ Latency histogram ─────── Latency (first to second hit), pair all, key all ─\n"
                 "count 100  avg 97us  p50 8.0us  p90 8.0us  p95 897us  p99 897us  p99.9 900us\n"
                 "max 900us\n"
                 "   5us - 10us   ██████████████████████████████████████████████████     90  90.0%\n"
                 "  10us - 20us                                                           0   0.0%\n"
                 "  20us - 50us                                                           0   0.0%\n"
                 "  50us - 100us                                                          0   0.0%\n"
                 " 100us - 200us                                                          0   0.0%\n"
                 " 200us - 500us                                                          0   0.0%\n"
                 " 500us - 1ms    █████▌                                                 10  10.0%\n"
                 "•Probes  •Groups  •Latencies  ▸Histogram   Hits               o next  = enlarge\n");
    pane_free(pane);

    // Enter on a hit shows its stacks.
    pane = forge_pane(&view_probes, &look);
    forge_expect(pane, &look, 80, 22, false,
                 "hits/s         100  lost             0  recorded %     100\n"
                 "─ ▸ Probes ─────────────────────────────────────────────────────────────────────\n"
                 "PROBE                      ▼HIT/s  MISSED     TOTAL STATE   SPECIFICATION\n"
                 "work                          100       -       200 on      p a.out:work\n"
                 "─ Groups ───────────────────────────────────────────────────────────────────────\n"
                 "PROBE                    KEY             KEY2       ▼COUNT      SUM      AVG\n"
                 "work                     cat             odd            90     369k     4096\n"
                 "work                     others          -              10      100       10\n"
                 "─ Latencies ────────────────────────────────────────────────────────────────────\n"
                 "PAIR                                 KEY          ▼COUNT     AVG     MAX    OPEN\n"
                 "work -> back                         all             100    24us   900us       3\n"
                 "─ Hits ─────────────────────────────────────────────────────────────────────────\n"
                 "           TIME COMMAND         PROBE                ARGUMENTS\n"
                 "14:13:20.200000 sh              work                 n=1\n"
                 "14:13:20.100000 cat             work                 n=4096\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    pane_key(pane, &look, 'O', -1, -1, &answer); // the last part: the hits
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, -1, -1, &answer));
    forge_expect(pane, &look, 80, 22, false,
                 "─ Hit ────────────────────────────────────────────────────────────── Esc: back ─\n"
                 " TIME        14:13:20.100000\n"
                 " CPU         0               COMMAND     cat\n"
                 " PID         410             TID         410\n"
                 " PROBE       work            KEY         cat\n"
                 " KEY2        odd             VALUE       4096\n"
                 " ARGUMENTS   n=4096\n"
                 " USER STACK  work\n"
                 "             outer\n"
                 "             main\n"
                 "             __libc_start_call_main [libc.so.6]\n"
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
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
