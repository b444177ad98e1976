// The pane probes on literal screens: the probes, their hits with arguments, and the key that removes one.
#include "tests/unit/forge_frames.h"

#include "collectors/probes/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("probes", number);
    const double series[PROBES_SERIES] = {[PROBES_PER_S] = 154, [PROBES_LOST] = 0, [PROBES_RECORDED] = 100};
    forge_series(section, probes_series, series, PROBES_SERIES);
    section_table(section,
                  forge_table(&probes_table,
                              "readline|uprobe|/usr/bin/bash:readline|3|3|120|-|-|-|-|-|on|p /usr/bin/bash:readline\n"
                              "vfs_read__return|kretprobe|vfs_read|151|151|9000|4|64|12|155|0|on|r vfs_read $retval\n"
                              "malloc|uprobe|libc.so.6:malloc|0|0|400000|-|-|-|-|-|stopped|p libc.so.6:malloc n=%di"));
    section_stream(section,
                   forge_table(&probes_stream_table, "1790000000.1|0|bash|410|410|readline|-\n"
                                                     "1790000000.2|1|fio|300|301|vfs_read__return|arg1=4096"),
                   7);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_probes;

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_probes, &look);
    forge_expect(pane, &look, 80, 16, false,
                 "hits/s         154  lost             0  recorded %     100\n"
                 "─ ▸ Probes ─────────────────────────────────────────────────────────────────────\n"
                 "PROBE                      ▼HIT/s  MISSED     TOTAL STATE   SPECIFICATION\n"
                 "vfs_read__return              151       4      9000 on      r vfs_read $retval\n"
                 "readline                      3.0       -       120 on      p /usr/bin/bash:rea…\n"
                 "malloc                          0       -      400k stopped p libc.so.6:malloc …\n"
                 "─ Hits ────────────────────────────────────────────────────── 7 older not kept ─\n"
                 "           TIME COMMAND         PROBE                ARGUMENTS\n"
                 "14:13:20.200000 fio             vfs_read__return     arg1=4096\n"
                 "14:13:20.100000 bash            readline             -\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_expect(pane, &look, 160, 14, false,
                 "hits/s         154  lost             0  recorded %     100\n"
                 "─ ▸ Probes "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "────────────────────────────────────────────────\n"
                 "PROBE                      ▼HIT/s  MISSED     TOTAL STATE   KIND         SPECIFICATION\n"
                 "vfs_read__return              151       4      9000 on      kretprobe    r vfs_read $retval\n"
                 "readline                      3.0       -       120 on      uprobe       p /usr/bin/bash:readline\n"
                 "malloc                          0       -      400k stopped uprobe       p libc.so.6:malloc n=%di\n"
                 "─ Hits "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "───────────────────────────────── 7 older not kept ─\n"
                 "           TIME COMMAND         PROBE                    PID  CPU     TID ARGUMENTS\n"
                 "14:13:20.200000 fio             vfs_read__return         300    1     301 arg1=4096\n"
                 "14:13:20.100000 bash            readline                 410    0     410 -\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    pane_free(pane);
}

static void removes(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_probes, &look);
    struct pane_answer answer = {0};
    forge_expect(pane, &look, 80, 16, false,
                 "hits/s         154  lost             0  recorded %     100\n"
                 "─ ▸ Probes ─────────────────────────────────────────────────────────────────────\n"
                 "PROBE                      ▼HIT/s  MISSED     TOTAL STATE   SPECIFICATION\n"
                 "vfs_read__return              151       4      9000 on      r vfs_read $retval\n"
                 "readline                      3.0       -       120 on      p /usr/bin/bash:rea…\n"
                 "malloc                          0       -      400k stopped p libc.so.6:malloc …\n"
                 "─ Hits ────────────────────────────────────────────────────── 7 older not kept ─\n"
                 "           TIME COMMAND         PROBE                ARGUMENTS\n"
                 "14:13:20.200000 fio             vfs_read__return     arg1=4096\n"
                 "14:13:20.100000 bash            readline             -\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    assert_false(pane_key(pane, &look, 'D', -1, -1, &answer) && answer.removes[0]); // none is selected
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    assert_true(pane_key(pane, &look, 'D', -1, -1, &answer));
    assert_string_equal(answer.removes, "p /usr/bin/bash:readline");
    assert_string_equal(answer.removed_as, "readline");
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(screens), cmocka_unit_test(removes)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
