// Frames of the collector `profile` made by hand: a web server and a JIT for seven seconds, then more of the JIT; the
// tables of symbols and of processes; samples that come in stripes. Included once, by the test.
#ifndef TESTS_UNIT_FORGE_PROFILE_FRAMES_H
#define TESTS_UNIT_FORGE_PROFILE_FRAMES_H

#include "tests/unit/forge_flame.h"
#include "tests/unit/screens.h"

#define FRAMES 14
static const struct frame *frames[FRAMES];
static struct name_table *forge_names;

extern const struct view view_profile;

#define NGINX "nginx/812;u:main//usr/sbin/nginx;u:ngx_worker_process_cycle//usr/sbin/nginx;"
#define NODE "node/900;u:start//usr/bin/node;"

static const char stacks_before[] =
    NGINX "u:ngx_http_process_request//usr/sbin/nginx;l:deflate//usr/lib/libz.so.1 40\n" NGINX
          "u:ngx_http_process_request//usr/sbin/nginx;l:writev//usr/lib/libc.so.6;"
          "k:do_writev/[kernel];k:tcp_sendmsg/[kernel] 25\n" NGINX
          "l:epoll_wait//usr/lib/libc.so.6;k:do_epoll_wait/[kernel] 5\n" NODE "j:Parser.parse;j:Parser.next 14\n" NODE
          "u:std::map<int, std::string>::find(int const&)//usr/bin/node 5\n"
          "node/900;!:[broken stack];? 1\n"
          "sh/950;u:a//bin/sh 1\nsh/950;u:b//bin/sh 1\nsh/950;u:c//bin/sh 1";
static const char stacks_idle[] = "swapper/0;k:do_idle/[kernel] 60";
static const char stacks_after[] =
    NGINX "u:ngx_http_process_request//usr/sbin/nginx;l:deflate//usr/lib/libz.so.1 20\n" NGINX
          "u:ngx_http_process_request//usr/sbin/nginx;l:writev//usr/lib/libc.so.6;"
          "k:do_writev/[kernel];k:tcp_sendmsg/[kernel] 20\n" NODE "j:Parser.parse;j:Parser.next 54\n" NODE
          "u:std::map<int, std::string>::find(int const&)//usr/bin/node 5\n"
          "a\x1b[2Jnew\xff/77;u:b;c\td//x\ry 1";

// The first or last node that has samples itself; the root if there is none.
static inline uint32_t forge_node(const struct tree *tree, bool last) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < tree_nodes(tree) && (last || !found); i++)
        found = tree_node(tree, i)->self ? i : found;
    return found;
}

// 20 samples of the first stack at the same time of every second, and one of the last stack that wanders.
static inline struct table *forge_samples(uint64_t number, const struct tree *tree) {
    const struct table_def *def = def_of("profile_samples");
    struct table_builder *builder = table_builder_new(def);

    for (int i = 0; i < 21; i++) {
        uint32_t slot = table_builder_add(builder);
        double second = (double)FORGE_TIME + (double)number - 1;
        double at = i < 20 ? 0.405 + 0.0001 * i : (double)(number * 70 % 1000) / 1000;
        table_builder_set_num(builder, slot, (uint16_t)table_column(def, "time_s"), second + at);
        table_builder_set_num(builder, slot, (uint16_t)table_column(def, "pid"), i < 20 ? 812 : 900);
        table_builder_set_num(builder, slot, (uint16_t)table_column(def, "path"), forge_node(tree, i == 20));
    }
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

// `names` of all frames is one table, as of one session.
static inline const struct frame *forge_profile(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("profile", number);
    static const char *const series[] = {"profile_samples_per_s", "profile_broken_pct", "profile_frequency_hz"};
    static const double values[] = {99, 5, 99};

    for (int i = 0; i < 3; i++)
        section_series(section, real_series(series[i]), values[i]);
    // In frame 4 nothing ran.
    struct tree *tree = forge_tree_of(forge_names, number == 4   ? ""
                                                   : number == 6 ? stacks_idle
                                                   : number <= 7 ? stacks_before
                                                                 : stacks_after);
    struct table *samples = forge_samples(number, tree);
    section_tree(section, tree);
    section_table(section, forge_table(def_of("symbols"), "deflate|/usr/lib/libz.so.1|nginx|43|43|40\n"
                                                          "tcp_sendmsg|[kernel]|nginx|26.9|26.9|25\n"
                                                          "Parser.next|[JIT]|node|15.1|15.1|14\n"
                                                          "main|/usr/sbin/nginx|nginx|0|75.3|0"));
    section_table(section, forge_table(def_of("objects"), "/usr/lib/libz.so.1|nginx|43|43|40\n"
                                                          "/usr/sbin/nginx|nginx|0|75.3|0"));
    section_table(section, forge_table(def_of("profile_processes"), "812|nginx|70|70.7|57.1|42.9|0\n"
                                                                    "900|node|20|20.2|100|0|5"));
    section_stream(section, samples, 0);
    frame_add_section(frame, section, 0);
    return frame;
}

static inline int frames_make(void **state) {
    (void)state;
    forge_names = name_table_new();
    for (uint64_t i = 0; i < FRAMES; i++)
        frames[i] = forge_profile(i + 1);
    return 0;
}

static inline int frames_drop(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    name_table_unref(forge_names);
    return 0;
}

// Keys by letter: v ^ < > the arrows, $ Enter, ! Esc; each must be used.
static inline void press(struct pane *pane, const struct look *look, const char *keys) {
    static const struct {
        char letter;
        int key;
    } names[] = {{'v', KEY_VIEW_DOWN},  {'^', KEY_VIEW_UP},    {'<', KEY_VIEW_LEFT},
                 {'>', KEY_VIEW_RIGHT}, {'$', KEY_VIEW_ENTER}, {'!', KEY_VIEW_BACK}};

    for (; *keys; keys++) {
        int key = *keys;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            key = names[i].letter == *keys ? names[i].key : key;
        forge_key(pane, look, key, true);
    }
}

// The pane on these frames after these keys.
static inline struct pane *forge_pane(struct look *look, const struct frame **which, size_t n, const char *keys) {
    struct pane *pane = pane_new(&view_profile);

    forge_look(look, which, n);
    press(pane, look, keys);
    return pane;
}

static inline void forge_draw(struct pane *pane, const struct look *look) {
    struct grid *grid = grid_new(80, 24, false);

    pane_draw(pane, look, grid_area(grid));
    grid_free(grid);
}

// The section of the collector `offcpu`, with stacks as text whose counts are microseconds.
static inline struct section *forge_offcpu(uint64_t number, const char *lines) {
    static const struct tree_def def = {.name = "offcpu", .title = "", .help = "", .unit_name = "us"};
    struct tree_builder *builder = tree_builder_new(&def, forge_names);
    struct section *section = forge_section("offcpu", number);
    char *copy = xstrdup(lines), *save;

    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        forge_stack(builder, forge_names, line);
    free(copy);
    section_series(section, real_series("offcpu_stacks_per_s"), 7);
    section_tree(section, tree_builder_seal(builder));
    tree_builder_free(builder);
    return section;
}

#endif
