// The pane profile on literal screens, and what it writes.
#include "tests/unit/forge_profile_frames.h"

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, frames, 7, "");
    forge_expect(pane, &look, 80, 24, false,
                 "samples/s       99  broken %       5.0  frequency     99Hz\n"
                 "─ ▸ Flame graph ────────────────────────────────────── last 7.0 s, 525 samples ─\n"
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
                 "─ Symbols ──────────────────────────────────────────────── of this frame alone ─\n"
                 "▼SELF% TOTAL% SAMPLES SYMBOL                           OBJECT\n"
                 "  43.0   43.0      40 deflate                          /usr/lib/libz.so.1\n"
                 "  26.9   26.9      25 tcp_sendmsg                      [kernel]\n"
                 "  15.1   15.1      14 Parser.next                      [JIT]\n"
                 "   0.0   75.3       0 main                             /usr/sbin/nginx\n"
                 "─ Processes ────────────────────────────────────────────── of this frame alone ─\n"
                 "    PID COMMAND        ▼SAMPLES   CPU%   USR% KERN% BROKEN%\n"
                 "    812 nginx                70   70.7   57.1  42.9     0.0\n"
                 "    900 node                 20   20.2    100   0.0     5.0\n"
                 "\n"
                 "▸Flame graph  •Symbols  •Processes   Sub-second heat map      o next  = enlarge\n");
    forge_expect(
        pane, &look, 200, 50, false,
        "samples/s       99  broken %       5.0  frequency     99Hz\n"
        "─ ▸ Flame graph "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "──────────────────────────────────────────────── last 7.0 s, 525 samples ─\n"
        "▏all\n"
        "▏nginx (PID 812)                                                                                              "
        "                       ▏node (PID 900)                       ▏sh   ▏swapper (PID 0)\n"
        "▏main                                                                                                         "
        "                       ▏▏start                               ▏a▏b▏c▏do_idle\n"
        "▏ngx_worker_process_cycle                                                                                     "
        "                       ▏▏Parser.parse              ▏std::map…\n"
        "▏epoll_w…▏ngx_http_process_request                                                                            "
        "                        ▏Parser.next\n"
        "▏do_epol…▏deflate                                                                    ▏writev\n"
        "                                                                                     ▏do_writev\n"
        "                                                                                     ▏tcp_sendmsg\n"
        "all\n"
        "100.0% of all  525 samples, 0 self                                                                            "
        "                                                        program   library   kernel   JIT\n"
        "─ Symbols ─────────────────────────────────────────────────────────────────── of this frame alone ─ ─ "
        "Processes ────────────────────────────────────────────────────────────────── of this frame alone ─\n"
        "▼SELF% TOTAL% SAMPLES SYMBOL                           OBJECT                   COMMAND                 PID "
        "COMMAND        ▼SAMPLES   CPU%   USR% KERN% BROKEN%\n"
        "  43.0   43.0      40 deflate                          /usr/lib/libz.so.1       nginx                   812 "
        "nginx                70   70.7   57.1  42.9     0.0\n"
        "  26.9   26.9      25 tcp_sendmsg                      [kernel]                 nginx                   900 "
        "node                 20   20.2    100   0.0     5.0\n"
        "  15.1   15.1      14 Parser.next                      [JIT]                    node\n"
        "   0.0   75.3       0 main                             /usr/sbin/nginx          nginx\n"
        "─ Sub-second heat map "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────── a column a second, 40 ms a row ─\n"
        "   0ms│\n"
        "      │                                                                                                       "
        "                                                                                  ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                   ░\n"
        "      │\n"
        " 200ms│                                                                                                       "
        "                                                                                    ░\n"
        "      │                                                                                                       "
        "                                                                                     ░\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                      ░\n"
        "      │\n"
        " 400ms│                                                                                                       "
        "                                                                                  ███████\n"
        "      │\n"
        "      │                                                                                                       "
        "                                                                                        ░\n"
        "      │\n"
        "      │\n"
        " 600ms│\n"
        "      │\n"
        "      │\n"
        "      │\n"
        "      │\n"
        " 800ms│\n"
        "      │\n"
        "      │\n"
        "      │\n"
        "      │\n"
        "            14:10:27          14:10:45          14:11:03          14:11:21          14:11:39          "
        "14:11:57          14:12:15          14:12:33          14:12:51          14:13:09          14:13:27\n"
        "░5 ▒10 ▓15 █21 samples a cell\n"
        "\n"
        "\n"
        "\n"
        "\n");
    press(pane, &look, "i=");
    forge_expect(pane, &look, 80, 24, true,
                 "- Flame graph ---------------------------------------- last 7.0 s, 525 samples -\n"
                 "                                 |tcp_sendmsg\n"
                 "                                 |do_writev\n"
                 "|d.|deflate                      |writev\n"
                 "|e.|ngx_http_process_request                         |Parser.n.\n"
                 "|ngx_worker_process_cycle                            |Parser.p.|st.|\n"
                 "|main                                                |start        |. |do_idle\n"
                 "|nginx (PID 812)                                     |node (PID 900)|.|swapper\n"
                 "|all\n"
                 "all\n"
                 "100.0% of all  525 samples, 0 self            program   library   kernel   JIT\n"
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
                 ">Flame graph   Symbols   Processes   Sub-second heat map         o next  = back\n");
    pane_free(pane);
}

static void files(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, frames, 1, "");
    forge_text(pane, &look, FORMAT_TEXT,
               "== 2026-09-21T14:13:21.000Z  profile  1.000 s  h ==\n"
               "  samples/s 99, broken % 5.0, frequency 99Hz\n"
               "Flame graph\n"
               "  TOTAL%  SELF%  93 samples\n"
               "  100.0%   0.0%  all\n"
               "   75.3%   0.0%   nginx  (PID 812)\n"
               "   75.3%   0.0%    main  (nginx)\n"
               "   75.3%   0.0%     ngx_worker_process_cycle  (nginx)\n"
               "    5.4%   0.0%      epoll_wait  (libc.so.6)\n"
               "    5.4%   5.4%       do_epoll_wait\n"
               "   69.9%   0.0%      ngx_http_process_request  (nginx)\n"
               "   43.0%  43.0%       deflate  (libz.so.1)\n"
               "   26.9%   0.0%       writev  (libc.so.6)\n"
               "   26.9%   0.0%        do_writev\n"
               "   26.9%  26.9%         tcp_sendmsg\n"
               "   21.5%   0.0%   node  (PID 900)\n"
               "    1.1%   0.0%    [broken stack]\n"
               "    1.1%   1.1%     [unknown]\n"
               "   20.4%   0.0%    start  (node)\n"
               "   15.1%   0.0%     Parser.parse\n"
               "   15.1%  15.1%      Parser.next\n"
               "    5.4%   5.4%     std::map<int, std::string>::find(int const&)  (node)\n"
               "    3.2%   0.0%   sh  (PID 950)\n"
               "    1.1%   1.1%    a  (sh)\n"
               "    1.1%   1.1%    b  (sh)\n"
               "    1.1%   1.1%    c  (sh)\n"
               "Symbols\n"
               "   SELF% TOTAL% SAMPLES SYMBOL                           OBJECT                   COMMAND\n"
               "    43.0   43.0      40 deflate                          /usr/lib/libz.so.1       nginx\n"
               "    26.9   26.9      25 tcp_sendmsg                      [kernel]                 nginx\n"
               "    15.1   15.1      14 Parser.next                      [JIT]                    node\n"
               "     0.0   75.3       0 main                             /usr/sbin/nginx          nginx\n"
               "Processes\n"
               "      PID COMMAND         SAMPLES   CPU%   USR% KERN% BROKEN%\n"
               "      812 nginx                70   70.7   57.1  42.9     0.0\n"
               "      900 node                 20   20.2    100   0.0     5.0\n"
               "Objects\n"
               "   SELF% TOTAL% SAMPLES OBJECT                   COMMAND\n"
               "    43.0   43.0      40 /usr/lib/libz.so.1       nginx\n"
               "     0.0   75.3       0 /usr/sbin/nginx          nginx\n"
               "Sampled instructions\n"
               "  not available\n"
               "\n");
    forge_text(pane, &look, FORMAT_CSV,
               "table,time,stack,samples\n"
               "cpu,2026-09-21T14:13:21.000Z,nginx;main;ngx_worker_process_cycle;epoll_wait;do_epoll_wait_[k],5\n"
               "cpu,2026-09-21T14:13:21.000Z,nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate,40\n"
               "cpu,2026-09-21T14:13:21.000Z,nginx;main;ngx_worker_process_cycle;ngx_http_process_request;writev;do_"
               "writev_[k];tcp_sendmsg_[k],25\n"
               "cpu,2026-09-21T14:13:21.000Z,node;[broken stack];[unknown],1\n"
               "cpu,2026-09-21T14:13:21.000Z,node;start;Parser.parse_[j];Parser.next_[j],14\n"
               "cpu,2026-09-21T14:13:21.000Z,\"node;start;std::map<int, std::string>::find(int const&)\",5\n"
               "cpu,2026-09-21T14:13:21.000Z,sh;a,1\n"
               "cpu,2026-09-21T14:13:21.000Z,sh;b,1\n"
               "cpu,2026-09-21T14:13:21.000Z,sh;c,1\n"
               "table,time,symbol,dso,comm,self_pct,total_pct,samples\n"
               "symbols,2026-09-21T14:13:21.000Z,deflate,/usr/lib/libz.so.1,nginx,43,43,40\n"
               "symbols,2026-09-21T14:13:21.000Z,tcp_sendmsg,[kernel],nginx,26.9,26.9,25\n"
               "symbols,2026-09-21T14:13:21.000Z,Parser.next,[JIT],node,15.1,15.1,14\n"
               "symbols,2026-09-21T14:13:21.000Z,main,/usr/sbin/nginx,nginx,0,75.3,0\n"
               "table,time,pid,comm,samples,cpu_pct,user_pct,kernel_pct,broken_pct\n"
               "profile_processes,2026-09-21T14:13:21.000Z,812,nginx,70,70.7,57.1,42.9,0\n"
               "profile_processes,2026-09-21T14:13:21.000Z,900,node,20,20.2,100,0,5\n"
               "table,time,dso,comm,self_pct,total_pct,samples\n"
               "objects,2026-09-21T14:13:21.000Z,/usr/lib/libz.so.1,nginx,43,43,40\n"
               "objects,2026-09-21T14:13:21.000Z,/usr/sbin/nginx,nginx,0,75.3,0\n"
               "table,time,name,value\n"
               "series,2026-09-21T14:13:21.000Z,profile_samples_per_s,99\n"
               "series,2026-09-21T14:13:21.000Z,profile_broken_pct,5\n"
               "series,2026-09-21T14:13:21.000Z,profile_frequency_hz,99\n"
               "table,time,severity,text,fix\n");
    forge_text(
        pane, &look, FORMAT_JSON,
        "{\"ktop\":\"1\",\"schema\":1,\"host\":\"h\",\"kernel\":\"k\",\"time\":\"2026-09-21T14:13:21.000Z\",\"interval_"
        "s\":1,\"pane\":\"profile\",\"lost_events\":0,\"intervals_s\":{\"profile\":1},\"series\":{\"profile_samples_"
        "per_s\":99,\"profile_broken_pct\":5,\"profile_frequency_hz\":99},\"tables\":{\"symbols\":[{\"symbol\":"
        "\"deflate\",\"dso\":\"/usr/lib/"
        "libz.so.1\",\"comm\":\"nginx\",\"self_pct\":43,\"total_pct\":43,\"samples\":40},{\"symbol\":\"tcp_sendmsg\","
        "\"dso\":\"[kernel]\",\"comm\":\"nginx\",\"self_pct\":26.9,\"total_pct\":26.9,\"samples\":25},{\"symbol\":"
        "\"Parser.next\",\"dso\":\"[JIT]\",\"comm\":\"node\",\"self_pct\":15.1,\"total_pct\":15.1,\"samples\":14},{"
        "\"symbol\":\"main\",\"dso\":\"/usr/sbin/"
        "nginx\",\"comm\":\"nginx\",\"self_pct\":0,\"total_pct\":75.3,\"samples\":0}],\"profile_processes\":[{\"pid\":"
        "812,\"comm\":\"nginx\",\"samples\":70,\"cpu_pct\":70.7,\"user_pct\":57.1,\"kernel_pct\":42.9,\"broken_pct\":0}"
        ",{\"pid\":900,\"comm\":\"node\",\"samples\":20,\"cpu_pct\":20.2,\"user_pct\":100,\"kernel_pct\":0,\"broken_"
        "pct\":5}],\"objects\":[{\"dso\":\"/usr/lib/"
        "libz.so.1\",\"comm\":\"nginx\",\"self_pct\":43,\"total_pct\":43,\"samples\":40},{\"dso\":\"/usr/sbin/"
        "nginx\",\"comm\":\"nginx\",\"self_pct\":0,\"total_pct\":75.3,\"samples\":0}]},\"histograms\":{},\"trees\":{"
        "\"cpu\":[\"nginx;main;ngx_worker_process_cycle;epoll_wait;do_epoll_"
        "wait_[k] 5\",\"nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate "
        "40\",\"nginx;main;ngx_worker_process_cycle;ngx_http_process_request;writev;do_writev_[k];tcp_sendmsg_[k] "
        "25\",\"node;[broken stack];[unknown] 1\",\"node;start;Parser.parse_[j];Parser.next_[j] "
        "14\",\"node;start;std::map<int, std::string>::find(int const&) 5\",\"sh;a 1\",\"sh;b 1\",\"sh;c "
        "1\"]},\"events\":[],\"notes\":[]}\n");
    forge_text(pane, &look, FORMAT_FOLDED,
               "nginx;main;ngx_worker_process_cycle;epoll_wait;do_epoll_wait_[k] 5\n"
               "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate 40\n"
               "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;writev;do_writev_[k];tcp_sendmsg_[k] 25\n"
               "node;[broken stack];[unknown] 1\n"
               "node;start;Parser.parse_[j];Parser.next_[j] 14\n"
               "node;start;std::map<int, std::string>::find(int const&) 5\n"
               "sh;a 1\n"
               "sh;b 1\n"
               "sh;c 1\n");
    forge_look(&look, frames, 10); // a frame alone, whatever came before it
    forge_text(pane, &look, FORMAT_FOLDED,
               "a\\e[2Jnew\\xff;b;c\\td 1\n"
               "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate 20\n"
               "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;writev;do_writev_[k];tcp_sendmsg_[k] 20\n"
               "node;start;Parser.parse_[j];Parser.next_[j] 54\n"
               "node;start;std::map<int, std::string>::find(int const&) 5\n");
    pane_set_filter(pane, "pid=900");
    forge_text(pane, &look, FORMAT_FOLDED,
               "node;start;Parser.parse_[j];Parser.next_[j] 54\n"
               "node;start;std::map<int, std::string>::find(int const&) 5\n");
    pane_free(pane);
}

// A section that a frame repeats was written with the frame before.
static void repeated(void **state) {
    (void)state;
    struct look look;
    struct frame *again = forge_frame(2);
    const struct frame *both[] = {frames[0], again};
    frame_add_section(again, section_ref(frames[0]->sections[0]), FORGE_SECOND);
    again->repeated[0] = true;
    struct pane *pane = forge_pane(&look, both, 2, "");
    forge_text(pane, &look, FORMAT_FOLDED, "");
    forge_expect(pane, &look, 60, 9, false,
                 "─ Flame graph ──────── last 2.0 s, 93 samples  stale 1.0 s ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)                             ▏node        ▏…\n"
                 "▏main                                        ▏start      ▏…\n"
                 "▏ngx_worker_process_cycle                    ▏Parser…▏st…▏\n"
                 "all\n"
                 "100.0% of all  93 samples, 0 self\n"
                 "▸Flame graph   Symbols   Processes   Sub-second heat map\n"
                 "! profile is stale: its data is 1.0 s old\n");
    pane_free(pane);
    frame_unref(again);
}

static void nothing(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, &frames[3], 1, "");
    forge_expect(pane, &look, 60, 9, false,
                 "samples/s       99  broken %       5.0  frequency     99Hz\n"
                 "─ ▸ Flame graph ─────────────────────────────── last 1.0 s ─\n"
                 " no sample: every CPU was idle\n"
                 "─ Symbols ────────────────── of this frame alone; 1-3 of 4 ─\n"
                 "▼SELF% TOTAL% SAMPLES SYMBOL\n"
                 "  43.0   43.0      40 deflate\n"
                 "  26.9   26.9      25 tcp_sendmsg\n"
                 "  15.1   15.1      14 Parser.next\n"
                 "▸Flame graph  •Symbols   Processes   Sub-second heat map\n");
    forge_text(pane, &look, FORMAT_FOLDED, "");
    pane_free(pane);
}

// Names of any bytes, on any size of screen.
static void hostile(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&look, frames, FRAMES, "");
    for (int width = 0; width < 90; width += 1 + width / 7)
        for (int height = 0; height < 40; height += 3) {
            struct grid *grid = grid_new(width, height, height % 2);
            pane_draw(pane, &look, grid_area(grid));
            for (int i = 0; i < width * height; i++)
                assert_true(grid->cells[i].ch == 0 || grid->cells[i].ch >= ' ');
            grid_free(grid);
        }
    press(pane, &look, "=");
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

// Key k: blocked time as times, with a choice of its own.
static void offcpu(void **state) {
    (void)state;
    struct frame *frame = forge_frame(1);
    frame_add_section(frame,
                      forge_offcpu(1, NGINX "l:epoll_wait//usr/lib/libc.so.6;k:do_epoll_wait/[kernel] 900000\n" NGINX
                                            "l:read//usr/lib/libc.so.6;k:io_schedule/[kernel] 100000"),
                      0);
    const struct frame *shown = frame;
    const char *names[8];
    struct look look;
    struct pane *pane = forge_pane(&look, &shown, 1, "");
    assert_int_equal(pane_needs(pane, false, names, 0, 8), 1); // it costs nothing until it is shown
    assert_int_equal(pane_needs(pane, true, names, 0, 8), 1);
    press(pane, &look, "k");
    assert_int_equal(pane_needs(pane, false, names, 0, 8), 2);
    assert_string_equal(names[1], "offcpu");
    press(pane, &look, "=");
    forge_expect(pane, &look, 80, 12, false,
                 "─ Off-CPU flame graph ─────────────────────────────── last 1.0 s, 1.0s blocked ─\n"
                 "▏all\n"
                 "▏nginx (PID 812)\n"
                 "▏main\n"
                 "▏ngx_worker_process_cycle\n"
                 "▏epoll_wait                                                             ▏read\n"
                 "▏do_epoll_wait                                                          ▏io_sch…\n"
                 "all\n"
                 "100.0% of all  1.0s blocked, 0us self         program   library   kernel   JIT\n"
                 "\n"
                 "\n"
                 " Flame graph  ▸Off-CPU flame graph   Symbols   Processes         o next  = back\n");
    press(pane, &look, "=k");
    assert_int_equal(pane_needs(pane, false, names, 0, 8), 1);
    pane_free(pane);
    pane = pane_new(&view_profile);
    pane_show(pane, "cpu"); // has no key that shows it
    pane_show(pane, "none");
    pane_show(pane, "offcpu");
    assert_int_equal(pane_needs(pane, true, names, 0, 8), 2);
    assert_int_equal(pane_needs(pane, false, names, 0, 8), 2);
    forge_text(
        pane, &look, FORMAT_CSV,
        "table,time,stack,samples\n"
        "table,time,stack,us\n"
        "offcpu,2026-09-21T14:13:21.000Z,nginx;main;ngx_worker_process_cycle;epoll_wait;do_epoll_wait_[k],900000\n"
        "offcpu,2026-09-21T14:13:21.000Z,nginx;main;ngx_worker_process_cycle;read;io_schedule_[k],100000\n"
        "table,time,name,value\n"
        "series,2026-09-21T14:13:21.000Z,offcpu_stacks_per_s,7\n"
        "table,time,severity,text,fix\n");
    pane_free(pane);
    frame_unref(shown);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens), cmocka_unit_test(files),   cmocka_unit_test(repeated),
        cmocka_unit_test(nothing), cmocka_unit_test(hostile), cmocka_unit_test(offcpu),
    };
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
