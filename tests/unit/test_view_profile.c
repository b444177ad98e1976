// The pane profile on literal screens: the flame graph over a span of frames, its keys, and what it writes.
#include "tests/unit/forge_profile_frames.h"

#define FRAMES 12
static const struct frame *frames[FRAMES];

extern const struct view view_profile;

static const char stacks[] = "nginx/812;u:main//usr/sbin/nginx;u:ngx_worker_process_cycle//usr/sbin/nginx;"
                             "u:ngx_http_process_request//usr/sbin/nginx;l:deflate//usr/lib/libz.so.1 40\n"
                             "nginx/812;u:main//usr/sbin/nginx;u:ngx_worker_process_cycle//usr/sbin/nginx;"
                             "u:ngx_http_process_request//usr/sbin/nginx;l:writev//usr/lib/libc.so.6;"
                             "k:do_writev/[kernel];k:tcp_sendmsg/[kernel] 25\n"
                             "nginx/812;u:main//usr/sbin/nginx;u:ngx_worker_process_cycle//usr/sbin/nginx;"
                             "l:epoll_wait//usr/lib/libc.so.6;k:do_epoll_wait/[kernel] 5\n"
                             "node/900;u:start//usr/bin/node;j:Parser.parse;j:Parser.next 14\n"
                             "node/900;u:start//usr/bin/node;u:std::map<int, std::string>::find(int const&)//usr/bin/node 5\n"
                             "node/900;!:[broken stack];? 1\n"
                             "sh/950;u:a//bin/sh 1\nsh/950;u:b//bin/sh 1\nsh/950;u:c//bin/sh 1\n"
                             "swapper/0;k:do_idle/[kernel] 60";
static const char symbols[] = "deflate|/usr/lib/libz.so.1|nginx|43|43|40\n"
                              "tcp_sendmsg|[kernel]|nginx|26.9|26.9|25\n"
                              "Parser.next|[JIT]|node|15.1|15.1|14\nmain|/usr/sbin/nginx|nginx|0|75.3|0";
static const char processes[] = "812|nginx|70|70.7|57.1|42.9|0\n900|node|20|20.2|100|0|5";

static int frames_make(void **state) {
    (void)state;
    forge_names = name_table_new();
    for (uint64_t i = 0; i < FRAMES; i++)
        frames[i] = forge_profile(i + 1, i == 5 ? NULL : stacks, symbols, processes);
    return 0;
}

static int frames_drop(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    name_table_unref(forge_names);
    return 0;
}

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_profile);
    forge_look(&look, frames, FRAMES);
    forge_expect(pane, &look, 80, 24, false, "");
    forge_expect(pane, &look, 200, 50, false, "");
    forge_key(pane, &look, 'i', true);
    forge_expect(pane, &look, 80, 24, true, "");
    pane_free(pane);
}

static void press(struct pane *pane, const struct look *look, const char *keys) {
    static const struct {
        char letter;
        int key;
    } names[] = {{'v', KEY_VIEW_DOWN}, {'^', KEY_VIEW_UP},    {'<', KEY_VIEW_LEFT},
                 {'>', KEY_VIEW_RIGHT}, {'$', KEY_VIEW_ENTER}, {'!', KEY_VIEW_BACK}};
    for (; *keys; keys++) {
        int key = *keys;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            key = names[i].letter == *keys ? names[i].key : key;
        forge_key(pane, look, key, true);
    }
}

static void sandwich(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_profile);
    forge_look(&look, frames, FRAMES);
    forge_expect(pane, &look, 80, 24, false, "");
    press(pane, &look, "vvvvvv"); // writev
    forge_expect(pane, &look, 80, 24, false, "");
    press(pane, &look, "c");
    forge_expect(pane, &look, 80, 24, false, "");
    press(pane, &look, "^");
    forge_expect(pane, &look, 80, 24, false, "");
    press(pane, &look, "$");
    forge_expect(pane, &look, 80, 24, false, "");
    press(pane, &look, "!!$");
    forge_expect(pane, &look, 80, 24, false, "");
    pane_free(pane);
}

static void files(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_profile);
    forge_look(&look, frames, 1);
    forge_text(pane, &look, FORMAT_TEXT, "");
    forge_text(pane, &look, FORMAT_CSV, "");
    forge_text(pane, &look, FORMAT_JSON, "");
    forge_text(pane, &look, FORMAT_FOLDED, "");
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens), cmocka_unit_test(sandwich),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
