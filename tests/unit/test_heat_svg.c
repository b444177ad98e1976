// The heat map as SVG: what it holds, with device names made to break it, and that an XML parser takes it.
#include "tests/unit/screens.h"

#include <errno.h>

#include "tests/unit/forge_io.h"

extern const struct view view_disk, view_network;

#define HOSTILE "a<b>&\"'\x1b[31m\xff]]><script>"

static const struct write_info info = {.version = "1", .host = "h<o>&st", .kernel = "6.1"};

#define FRAMES 30
static const struct frame *frames[FRAMES];

static int setup(void **state) {
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++) {
        struct frame *frame = forge_frame(i + 1);
        struct section *section = forge_section("block", i + 1);
        struct hist_set *latency = hist_set_new(real_hist("io_latency"));
        forge_hist(latency, HOSTILE, "R", (struct forge_run[]){{200000, 50}, {30000000, i % 5 ? 0 : 2}, {0, 0}});
        section_hists(section, latency);
        frame_add_section(frame, section, 0);
        frames[i] = frame;
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static char *picture(struct pane *pane, const struct look *look, int status) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct part_file *file = pane_file(pane, "a.b.svg");
    assert_non_null(file);
    assert_string_equal(file->what, "heat map");
    assert_int_equal(pane_write_file(pane, look, file, &info, out), status);
    fclose(out);
    return text;
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void expect_xml(const char *text) {
    // The parser and what the document must have, cell by cell.
    static const char script[] =
        "python3 -c \"\n"
        "import sys, xml.etree.ElementTree as E\n"
        "r = E.parse(sys.stdin.buffer).getroot()\n"
        "s = '{http://www.w3.org/2000/svg}'\n"
        "assert r.tag == s + 'svg', r.tag\n"
        "assert r.find(s + 'title').text.startswith('Service time, device a<b>&'), r.find(s + 'title').text\n"
        "tips = [c.find(s + 'title').text for c in r.iter(s + 'rect') if c.find(s + 'title') is not None]\n"
        "assert len(tips) == 36, len(tips)\n"
        "assert any('2 of 52' in t for t in tips), tips[0]\n"
        "assert not [e for e in r.iter() if e.tag == s + 'script']\n"
        "\"";
    if (system("python3 -c '' >/dev/null 2>&1")) {
        print_message("no python3: the document was not parsed\n");
        skip();
    }
    FILE *parser = popen(script, "w");
    assert_non_null(parser);
    fputs(text, parser);
    assert_int_equal(pclose(parser), 0);
}

static void whole_document(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, frames, FRAMES);
    forge_key(pane, &look, 'v', true); // the hostile one is in the title
    char *text = picture(pane, &look, 0);
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    assert_int_equal(count(text, "<script"), 0);
    assert_int_equal(count(text, "http"), 1); // the name space: nothing is loaded from anywhere
    assert_non_null(strstr(text, "h&lt;o&gt;&amp;st, Linux 6.1, to 2026-09-21 14:13:50"));
    assert_non_null(strstr(text, ">-10s</text>"));
    assert_non_null(strstr(text, ">median</text>"));
    expect_xml(text);
    free(text);
    pane_free(pane);
}

static void nothing_to_draw(void **state) {
    (void)state;
    struct look look;
    const struct frame *bare = forge_frame(1);
    struct pane *pane = pane_new(&view_disk), *other = pane_new(&view_network);
    forge_look(&look, &bare, 1);
    char *text = picture(pane, &look, -ENODATA);
    assert_string_equal(text, "");
    free(text);
    const struct part_file *files[PANE_FILES_MAX];
    assert_int_equal(pane_files(other, files), 0);
    assert_null(pane_file(other, "a.svg"));
    assert_null(pane_file(pane, "svg"));
    assert_null(pane_file(pane, "a.svg.txt"));
    forge_look(&look, NULL, 0);
    free(picture(pane, &look, -ENODATA));
    pane_free(pane);
    pane_free(other);
    frame_unref(bare);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_document), cmocka_unit_test(nothing_to_draw)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
