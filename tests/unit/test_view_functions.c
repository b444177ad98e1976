// The pane functions on literal screens: the functions, the processes that call them, and the histogram of the selected
// one.
#include "tests/unit/forge_frames.h"

#include "collectors/functions/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("functions", number);
    const double series[FUNCTIONS_SERIES] = {
        [FUNCTIONS_CALLS] = 5310, [FUNCTIONS_COST] = 2.1, [FUNCTIONS_MISSED] = 36, [FUNCTIONS_PLACES] = 6};
    forge_series(section, functions_series, series, FUNCTIONS_SERIES);
    section_table(section, forge_table(&functions_table,
                                       "SSL_read|libssl.so.3|5000|320000|64|900|40000|0|2|5000|2|yes|libssl*:SSL_*\n"
                                       "SSL_write|libssl.so.3|300|12000|40|90|110|36|1|300|2|yes|libssl*:SSL_*\n"
                                       "main.handle|server|10|-|-|-|-|-|-|10|1|Go|server:main.*"));
    section_table(section, forge_table(&functions_process_table,
                                       "101|nginx|SSL_read|libssl.so.3|4000|300000|75|900|40000|0|1|4000\n"
                                       "102|nginx|SSL_read|libssl.so.3|1000|20000|20|90|900|0|1|1000\n"
                                       "101|nginx|SSL_write|libssl.so.3|300|12000|40|90|110|36|1|300"));
    struct hist_set *latency = hist_set_new(&functions_latency_hist);
    forge_hist_of(latency, "SSL_read", 0, (struct forge_run[]){{20000, 4000}, {900000, 990}, {40000000, 10}, {0, 0}});
    forge_hist_of(latency, "SSL_write", 0, (struct forge_run[]){{40000, 290}, {110000, 10}, {0, 0}});
    section_hists(section, latency);
    section_stream(section,
                   forge_table(&functions_slow_table,
                               "1790000000.1|40000|nginx|101|102|SSL_read|ngx_ssl_recv|0x7f12, 0x7f40, 16384, 0, 1, "
                               "2|ngx_ssl_recv < ngx_http_read < main"),
                   0);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_functions;

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_functions, &look);
    forge_expect(pane, &look, 80, 24, false,
                 "calls/s       5310  cost %         2.1  missed          36  probes           6\n"
                 "─ ▸ Functions ──────────────────────────────────────────────────────────────────\n"
                 "FUNCTION                 CALLS/s ▼TOTAL/s     AVG     p99     MAX  MISSED\n"
                 "SSL_read                    5000    320ms    64us   900us  40.0ms       0\n"
                 "SSL_write                    300   12.0ms    40us    90us   110us      36\n"
                 "main.handle                   10        -       -       -       -       -\n"
                 "─ By process ───────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         FUNCTION                 CALLS/s ▼TOTAL/s     AVG\n"
                 "    101 nginx           SSL_read                    4000    300ms    75us\n"
                 "    102 nginx           SSL_read                    1000   20.0ms    20us\n"
                 "    101 nginx           SSL_write                    300   12.0ms    40us\n"
                 "─ Slow calls ───────────────────────────────────────────────────────────────────\n"
                 "           TIME  LATENCY FUNCTION                 STACK\n"
                 "14:13:20.100000   40.0ms SSL_read                 ngx_ssl_recv < ngx_http_read …\n"
                 "─ Latency histogram ─────────────────────────── Function latency, function all ─\n"
                 "count 5300  avg 261us  p50 20us  p90 897us  p95 897us  p99 897us  p99.9 40.0ms\n"
                 "max 40.0ms\n"
                 "  10us - 100us  ██████████████████████████████████████████████████   4290  80.9%\n"
                 " 100us - 1ms    ███████████▋                                         1000  18.9%\n"
                 "   1ms - 10ms                                                           0   0.0%\n"
                 "  10ms - 100ms  ▏                                                      10   0.2%\n"
                 "\n"
                 "\n"
                 "▸Functions  •By process  •Slow calls   Heat map  •Histogram   o next  = enlarge\n");
    forge_expect(
        pane, &look, 140, 40, false,
        "calls/s       5310  cost %         2.1  missed          36  probes           6\n"
        "─ ▸ Functions "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "────────────────\n"
        "FUNCTION                 CALLS/s ▼TOTAL/s     AVG     p99     MAX  MISSED OBJECT              INFLT PROCS "
        "TIMED         CALLS\n"
        "SSL_read                    5000    320ms    64us   900us  40.0ms       0 libssl.so.3             2     2 yes "
        "           5000\n"
        "SSL_write                    300   12.0ms    40us    90us   110us      36 libssl.so.3             1     2 yes "
        "            300\n"
        "main.handle                   10        -       -       -       -       - server                  -     1 Go  "
        "             10\n"
        "─ By process "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────\n"
        "    PID COMMAND         FUNCTION                 CALLS/s ▼TOTAL/s     AVG     p99     MAX  MISSED OBJECT      "
        "        INFLT     CALLS\n"
        "    101 nginx           SSL_read                    4000    300ms    75us   900us  40.0ms       0 libssl.so.3 "
        "            1      4000\n"
        "    102 nginx           SSL_read                    1000   20.0ms    20us    90us   900us       0 libssl.so.3 "
        "            1      1000\n"
        "    101 nginx           SSL_write                    300   12.0ms    40us    90us   110us      36 libssl.so.3 "
        "            1       300\n"
        "─ Slow calls "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────\n"
        "           TIME  LATENCY FUNCTION                 COMMAND         CALLER                   STACK\n"
        "14:13:20.100000   40.0ms SSL_read                 nginx           ngx_ssl_recv             ngx_ssl_recv < "
        "ngx_http_read < main\n"
        "─ Latency heat map ──────────────────────────────────────────────────────────────────────────────────────── "
        "Function latency, function all ─\n"
        "      │\n"
        "  30ms│                                                                                                       "
        "▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒\n"
        "      │\n"
        "  15ms│\n"
        "      │\n"
        "   7ms│\n"
        "      │\n"
        "   3ms│\n"
        "      │\n"
        " 1.5ms│\n"
        "      │\n"
        " 700us│                                                                                                       "
        "██████████████████████████████\n"
        "      │\n"
        " 300us│\n"
        "      │\n"
        " 150us│\n"
        "      │                                                                                                       "
        "▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒\n"
        "  70us│\n"
        "      │\n"
        "  30us│                                                                                                       "
        "▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
        "      │                                                                                                       "
        "██████████████████████████████\n"
        "  15us│\n"
        "                                                                                                              "
        "      -20s      -10s       now\n"
        "░1 ▒9 ▓65 █517 most 4000 a cell                                                                               "
        " p50 20us p99 897us max 40.0ms\n"
        "▸Functions  •By process  •Slow calls  •Heat map   Histogram                                                   "
        "            o next  = enlarge\n");
    pane_free(pane);
}

// The selected function's histogram alone; D removes its pattern.
static void selected(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_functions, &look);
    struct pane_answer answer = {0};
    forge_expect(pane, &look, 80, 12, false,
                 "calls/s       5310  cost %         2.1  missed          36  probes           6\n"
                 "─ ▸ Functions ──────────────────────────────────────────────────────────────────\n"
                 "FUNCTION                 CALLS/s ▼TOTAL/s     AVG     p99     MAX  MISSED\n"
                 "SSL_read                    5000    320ms    64us   900us  40.0ms       0\n"
                 "SSL_write                    300   12.0ms    40us    90us   110us      36\n"
                 "main.handle                   10        -       -       -       -       -\n"
                 "─ By process ───────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         FUNCTION                 CALLS/s ▼TOTAL/s     AVG\n"
                 "    101 nginx           SSL_read                    4000    300ms    75us\n"
                 "    102 nginx           SSL_read                    1000   20.0ms    20us\n"
                 "    101 nginx           SSL_write                    300   12.0ms    40us\n"
                 "▸Functions  •By process   Slow calls   Heat map   Histogram   o next  = enlarge\n");
    assert_false(pane_key(pane, &look, 'D', -1, -1, &answer) && answer.removes[0]); // none is selected
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    forge_expect(
        pane, &look, 120, 30, false,
        "calls/s       5310  cost %         2.1  missed          36  probes           6\n"
        "─ ▸ Functions "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "FUNCTION                 CALLS/s ▼TOTAL/s     AVG     p99     MAX  MISSED OBJECT              INFLT PROCS "
        "TIMED\n"
        "SSL_read                    5000    320ms    64us   900us  40.0ms       0 libssl.so.3             2     2 "
        "yes\n"
        "SSL_write                    300   12.0ms    40us    90us   110us      36 libssl.so.3             1     2 "
        "yes\n"
        "main.handle                   10        -       -       -       -       - server                  -     1 Go\n"
        "─ By process "
        "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         FUNCTION                 CALLS/s ▼TOTAL/s     AVG     p99     MAX  MISSED OBJECT\n"
        "    101 nginx           SSL_read                    4000    300ms    75us   900us  40.0ms       0 "
        "libssl.so.3\n"
        "    102 nginx           SSL_read                    1000   20.0ms    20us    90us   900us       0 "
        "libssl.so.3\n"
        "    101 nginx           SSL_write                    300   12.0ms    40us    90us   110us      36 "
        "libssl.so.3\n"
        "─ Slow calls "
        "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "           TIME  LATENCY FUNCTION                 COMMAND         STACK\n"
        "14:13:20.100000   40.0ms SSL_read                 nginx           ngx_ssl_recv < ngx_http_read < main\n"
        "─ Latency heat map ────────────────────────────────────────────────────────────── Function latency, function "
        "SSL_write ─\n"
        " 120us│\n"
        " 110us│                                                                                   "
        "▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒\n"
        " 100us│\n"
        "  90us│\n"
        "  80us│\n"
        "  70us│\n"
        "  60us│\n"
        "  56us│\n"
        "  50us│\n"
        "  45us│\n"
        "  40us│                                                                                   "
        "██████████████████████████████\n"
        "  36us│\n"
        "                                                                                                -20s      "
        "-10s       now\n"
        "░1 ▒5 ▓18 █72 most 290 a cell                                                               p50 40us p99 "
        "110us max 110us\n"
        "▸Functions  •By process  •Slow calls  •Heat map   Histogram                                           o next  "
        "= enlarge\n");
    assert_true(pane_key(pane, &look, 'D', -1, -1, &answer));
    assert_string_equal(answer.removes, "libssl*:SSL_*");
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(screens), cmocka_unit_test(selected)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
