// Files of the flame graph: their samples add up to the tree, they have the zoom and the filter, other programs'
// parsers take them, and names made to break them do not.
#include "tests/unit/forge_profile_frames.h"

#include <errno.h>
#include <unistd.h>
#include <zlib.h>

// A tag, an end of CDATA, a script, an escape sequence, invalid UTF-8, U+FFFE, a ';'.
#define EVIL "a<b>&\"']]><script>alert(1)</script>\x1b[31m\xff\xef\xbf\xbe;\n"

static const struct write_info info = {.version = "1", .host = "h<o>&st", .kernel = "6.1"};

static char *file_of(struct pane *pane, const struct look *look, const char *name, size_t *length) {
    const struct part_file *file = pane_file(pane, name);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(file);
    assert_int_equal(pane_write_file(pane, look, file, &info, out), 0);
    fclose(out);
    *length = size;
    return text;
}

// The pane of the first 7 frames, drawn: 525 samples.
static struct pane *graph(struct look *look) {
    struct pane *pane = forge_pane(look, frames, 7, "");
    forge_draw(pane, look);
    return pane;
}

// Runs a Python program on the file's bytes. False: there is no python3.
static bool python(const char *program, const char *bytes, size_t n) {
    char name[] = "/tmp/ktop-test-XXXXXX", command[256];
    int fd = mkstemp(name);
    FILE *script = fdopen(fd, "w");

    fputs(program, script);
    fclose(script);
    if (system("python3 -c '' >/dev/null 2>&1")) {
        unlink(name);
        return false;
    }
    snprintf(command, sizeof(command), "python3 %s", name);
    FILE *pipe = popen(command, "w");
    assert_non_null(pipe);
    fwrite(bytes, 1, n, pipe);
    int status = pclose(pipe);
    unlink(name);
    assert_int_equal(status, 0);
    return true;
}

static void need(bool parsed) {
    if (parsed)
        return;
    print_message("no python3: the document was not parsed\n");
    skip();
}

// ---- folded ----

static uint64_t folded_sum(const char *text) {
    uint64_t sum = 0;

    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        const char *count = end;
        while (count > text && count[-1] != ' ')
            count--;
        sum += strtoull(count, NULL, 10);
    }
    return sum;
}

static void folded(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look);
    size_t n;
    char *text = file_of(pane, &look, "x.folded", &n);
    assert_int_equal(folded_sum(text), 525); // of the span, not of the frame alone
    assert_non_null(strstr(text, "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate 200\n"));
    assert_non_null(strstr(text, "node;start;Parser.parse_[j];Parser.next_[j] 70\n"));
    free(text);
    press(pane, &look, "vv>v$"); // node, start: zoomed
    text = file_of(pane, &look, "x.folded", &n);
    assert_string_equal(text, "node;start;Parser.parse_[j];Parser.next_[j] 70\n"
                              "node;start;std::map<int, std::string>::find(int const&) 25\n");
    free(text);
    press(pane, &look, "!");
    pane_set_filter(pane, "tcp_sendmsg");
    text = file_of(pane, &look, "x.folded", &n);
    assert_string_equal(text,
                        "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;writev;do_writev_[k];tcp_sendmsg_"
                        "[k] 125\n");
    free(text);
    pane_free(pane);
}

// ---- SVG ----

static void svg(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look);
    size_t n;
    char *text = file_of(pane, &look, "ktop.svg", &n);
    bool parsed = python(
        "import sys, xml.etree.ElementTree as E\n"
        "r = E.parse(sys.stdin.buffer).getroot()\n"
        "s = '{http://www.w3.org/2000/svg}'\n"
        "assert r.find(s + 'title').text == 'Flame graph', r.find(s + 'title').text\n"
        "graph = next(g for g in r.iter(s + 'g') if g.get('id') == 'graph')\n"
        "frames = []\n"
        "for g in graph:\n"
        "    start, total, depth = map(int, g.get('data-f').split())\n"
        "    rect = g.find(s + 'rect')\n"
        "    x, width = float(rect.get('x')), float(rect.get('width'))\n"
        "    assert abs(width - 1180 * total / 525) < 0.01 and abs(x - 10 - 1180 * start / 525) < 0.01, (x, width)\n"
        "    title = g.find(s + 'title').text.split('\\n')\n"
        "    frames.append((title[0], start, total, depth, float(rect.get('y')), g.get('class')))\n"
        "    assert '%d samples, %.2f%% of all' % (total, 100 * total / 525) in title[-1], title\n"
        "assert len(frames) == 24, len(frames)\n"
        "assert frames[0][:4] == ('all', 0, 525, 0), frames[0]\n"
        "deflate = [f for f in frames if f[0] == 'deflate']\n"
        "assert [f[2:4] for f in deflate] == [(200, 5)] and deflate[0][5] == 'l', deflate\n"
        "stack = []\n" // a frame is within its parent, after its siblings
        "for name, start, total, depth, y, _ in frames:\n"
        "    del stack[depth:]\n"
        "    assert len(stack) == depth and y == 76 + 17 * depth, (name, y)\n"
        "    if stack:\n"
        "        assert stack[-1][0] <= start and start + total <= stack[-1][1], name\n"
        "        stack[-1][0] = start + total\n"
        "    stack.append([start, start + total])\n",
        text, n);
    free(text);
    press(pane, &look, "i^^>^$"); // the root at the bottom; node, start: zoomed
    text = file_of(pane, &look, "ktop.svg", &n);
    assert_non_null(strstr(text, "zoomed; 95 samples;"));
    assert_null(strstr(text, "deflate"));
    parsed &= python("import sys, xml.etree.ElementTree as E\n"
                     "s = '{http://www.w3.org/2000/svg}'\n"
                     "graph = next(g for g in E.parse(sys.stdin.buffer).getroot().iter(s + 'g') if g.get('id'))\n"
                     "found = [(g.find(s + 'title').text.split()[0], g.get('data-f'), 'above' in g.get('class'),\n"
                     "          float(g.find(s + 'rect').get('width'))) for g in graph]\n"
                     "assert found[:3] == [('all', '0 95 0', True, 1180), ('node', '0 95 1', True, 1180),\n"
                     "                     ('start', '0 95 2', False, 1180)], found\n"
                     "y = [float(g.find(s + 'rect').get('y')) for g in graph]\n"
                     "assert y[0] > y[1] > y[2] > y[3] == 76 + 17, y\n",
                     text, n);
    free(text);
    pane_free(pane);
    need(parsed);
}

// A frame of every kind with a hostile name.
static struct pane *evil_pane(struct look *look, const struct frame **frame) {
    struct name_table *names = name_table_new();
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    static const enum name_kind kinds[] = {NAME_PLAIN, NAME_USER, NAME_LIBRARY, NAME_KERNEL, NAME_JIT, NAME_INLINE};
    char longest[5000];
    uint32_t ids[7];

    for (size_t i = 0; i < 6; i++)
        ids[i] = name_table_add(names, name_pack(EVIL, kinds[i], i ? EVIL : "42"));
    memset(longest, '<', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    ids[6] = name_table_add(names, name_pack(longest, NAME_USER, ""));
    tree_builder_add(builder, ids, 7, 3);
    tree_builder_add(builder, ids, 2, UINT64_C(4000000000));
    struct frame *made = forge_frame(1);
    struct section *section = forge_section("profile", 1);
    section_tree(section, tree_builder_seal(builder));
    frame_add_section(made, section, 0);
    tree_builder_free(builder);
    name_table_unref(names);
    *frame = made;
    forge_look(look, frame, 1);
    return pane_new(&view_profile);
}

static size_t count(const char *text, const char *what) {
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void hostile(void **state) {
    (void)state;
    struct look look;
    const struct frame *frame;
    struct pane *pane = evil_pane(&look, &frame);
    size_t n;
    // Frames of less than 1/50,000 of the samples are left out: the two of 4,000,000,003 samples and the root stay.
    char *text = file_of(pane, &look, "evil.svg", &n);
    assert_int_equal(count(text, "data-f=\""), 3);
    assert_int_equal(count(text, "<script"), 1);
    assert_int_equal(count(text, "]]>"), 1);
    assert_int_equal(count(text, "http"), 1); // the name space: nothing is loaded from anywhere
    assert_non_null(strstr(text, "h&lt;o&gt;&amp;st"));
    for (const char *c = text; *c; c++)
        assert_true((unsigned char)*c >= 0x20 || *c == '\n');
    bool parsed = python("import sys, xml.etree.ElementTree as E\n"
                         "s = '{http://www.w3.org/2000/svg}'\n"
                         "r = E.parse(sys.stdin.buffer).getroot()\n"
                         "names = [t.text.split('\\n')[0] for t in r.iter(s + 'title')]\n"
                         "evil = 'a<b>&\"\\']]><script>alert(1)</script>\\\\e[31m\\\\xff\\\\ufffe;\\\\n'\n"
                         "assert names == ['Flame graph', 'all', evil, evil], names\n"
                         "assert len(list(r.iter(s + 'script'))) == 1\n",
                         text, n);
    free(text);
    text = file_of(pane, &look, "evil.json", &n);
    parsed &= python("import sys, json\n"
                     "d = json.loads(sys.stdin.buffer.read().decode('utf-8', 'strict'))\n"
                     "assert sorted(d['profiles'][0]['weights']) == [3, 4000000000]\n"
                     "assert len(d['shared']['frames']) == 7\n"
                     "assert '<script>' in d['shared']['frames'][0]['name']\n",
                     text, n);
    free(text);
    text = file_of(pane, &look, "evil.folded", &n);
    assert_int_equal(folded_sum(text), UINT64_C(4000000003));
    assert_int_equal(count(text, "\n"), 2);
    free(text);
    free(file_of(pane, &look, "evil.pb.gz", &n));
    text = file_of(pane, &look, "evil.perf", &n);
    assert_int_equal(count(text, "\n\n"), 2); // an event each, with a period
    assert_non_null(strstr(text, ": 4000000000 cpu:\n"));
    free(text);
    pane_free(pane);
    frame_unref(frame);
    need(parsed);
}

// ---- speedscope ----

// What file-format-schema.json requires of a file, of frames and of a profile of type "sampled".
static void speedscope(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look);
    size_t n;
    char *text = file_of(pane, &look, "x.json", &n);
    bool parsed = python(
        "import sys, json\n"
        "d = json.load(sys.stdin)\n"
        "assert d['$schema'] == 'https://www.speedscope.app/file-format-schema.json' and d['exporter'] == 'ktop 1'\n"
        "allowed = {'$schema', 'exporter', 'name', 'activeProfileIndex', 'shared', 'profiles'}\n"
        "assert not set(d) - allowed, set(d)\n"
        "frames = d['shared']['frames']\n"
        "assert all(type(f['name']) is str and set(f) <= {'name', 'file', 'line', 'col'} for f in frames)\n"
        "keys = [(f['name'], f.get('file')) for f in frames]\n"
        "assert len(set(keys)) == len(keys) and ('deflate', '/usr/lib/libz.so.1') in keys, keys\n"
        "assert ('tcp_sendmsg', '[kernel]') in keys and ('nginx', None) in keys, keys\n"
        "p, = d['profiles']\n"
        "assert set(p) == {'type', 'name', 'unit', 'startValue', 'endValue', 'samples', 'weights'}, set(p)\n"
        "assert p['type'] == 'sampled' and p['unit'] in ('none', 'nanoseconds', 'microseconds', 'milliseconds',\n"
        "                                                'seconds', 'bytes')\n"
        "assert len(p['samples']) == len(p['weights']) and p['startValue'] == 0\n"
        "assert sum(p['weights']) == p['endValue'] == 525\n"
        "stacks = {';'.join(frames[i]['name'] for i in s): w for s, w in zip(p['samples'], p['weights'])}\n"
        "assert len(stacks) == len(p['samples'])\n"
        "assert stacks['nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate'] == 200, stacks\n"
        "assert stacks['swapper;do_idle'] == 60\n",
        text, n);
    free(text);
    pane_free(pane);
    need(parsed);
}

// ---- pprof ----

struct field {
    unsigned number;
    uint64_t value;    // of a varint; of bytes: their length
    const char *bytes; // NULL: a varint
};

static uint64_t varint(const char **at, const char *end) {
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert_true(*at < end && shift < 64);
        unsigned char byte = (unsigned char)*(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static bool next_field(const char **at, const char *end, struct field *field) {
    if (*at == end)
        return false;
    uint64_t key = varint(at, end);
    *field = (struct field){.number = (unsigned)(key >> 3)};
    assert_true((key & 7) == 0 || (key & 7) == 2);
    field->value = varint(at, end);
    if ((key & 7) == 2) {
        assert_true(field->value <= (uint64_t)(end - *at));
        field->bytes = *at;
        *at += field->value;
    }
    return true;
}

// The value of a message's number field, or of its first packed value.
static uint64_t value_of(const struct field *message, unsigned number) {
    struct field field;

    for (const char *at = message->bytes; next_field(&at, message->bytes + message->value, &field);)
        if (field.number == number) {
            const char *packed = field.bytes;
            return packed ? varint(&packed, packed + field.value) : field.value;
        }
    return 0;
}

struct decoded {
    struct field strings[100], functions[100], samples[100];
    uint64_t line_function[100]; // by location ID
    size_t n_strings, n_functions, n_samples, n_locations;
    uint64_t sample_type, unit, duration, time;
};

static void decode_location(struct decoded *decoded, const struct field *location) {
    struct field field;

    assert_int_equal(value_of(location, 1), ++decoded->n_locations);
    for (const char *at = location->bytes; next_field(&at, location->bytes + location->value, &field);)
        if (field.number == 4)
            decoded->line_function[decoded->n_locations] = value_of(&field, 1);
}

static void decode(struct decoded *decoded, const char *bytes, size_t n) {
    struct field field;

    for (const char *at = bytes; next_field(&at, bytes + n, &field);)
        switch (field.number) {
        case 1:
            decoded->sample_type = value_of(&field, 1);
            decoded->unit = value_of(&field, 2);
            break;
        case 2:
            decoded->samples[decoded->n_samples++] = field;
            break;
        case 4:
            decode_location(decoded, &field);
            break;
        case 5:
            decoded->functions[decoded->n_functions++] = field;
            assert_int_equal(value_of(&field, 1), decoded->n_functions);
            break;
        case 6:
            decoded->strings[decoded->n_strings++] = field;
            break;
        case 9:
            decoded->time = field.value;
            break;
        case 10:
            decoded->duration = field.value;
            break;
        default:
            assert_int_equal(field.number, 13);
        }
}

static void check_string(const struct decoded *decoded, uint64_t i, const char *expected) {
    assert_true(i < decoded->n_strings);
    assert_int_equal(decoded->strings[i].value, strlen(expected));
    assert_memory_equal(decoded->strings[i].bytes, expected, strlen(expected));
}

// What gzip compressed; the caller's.
static char *inflated(const char *bytes, size_t n, size_t *length) {
    char *text = xmalloc(1 << 20);
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)n, .next_out = (Bytef *)text, .avail_out = 1 << 20};

    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    *length = stream.total_out;
    inflateEnd(&stream);
    return text;
}

static void pprof(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look);
    struct decoded decoded = {0};
    uint64_t sum = 0;
    size_t n;
    char *packed = file_of(pane, &look, "x.pb.gz", &n), *bytes = inflated(packed, n, &n);

    decode(&decoded, bytes, n);
    check_string(&decoded, 0, "");
    check_string(&decoded, decoded.sample_type, "samples");
    check_string(&decoded, decoded.unit, "count");
    assert_int_equal(decoded.duration, 7 * FORGE_SECOND);
    assert_int_equal(decoded.time, (FORGE_TIME + UINT64_C(7)) * FORGE_SECOND - 7 * FORGE_SECOND);
    assert_int_equal(decoded.n_functions, decoded.n_locations);
    bool found = false;
    for (size_t i = 0; i < decoded.n_samples; i++) {
        sum += value_of(&decoded.samples[i], 2);
        if (value_of(&decoded.samples[i], 2) != 200)
            continue;
        uint64_t leaf = value_of(&decoded.samples[i], 1); // the first location
        const struct field *function = &decoded.functions[decoded.line_function[leaf] - 1];
        check_string(&decoded, value_of(function, 2), "deflate");
        check_string(&decoded, value_of(function, 4), "/usr/lib/libz.so.1");
        found = true;
    }
    assert_true(found);
    assert_int_equal(sum, 525);
    free(packed);
    free(bytes);
    pane_free(pane);
}

// ---- perf script ----

// Counts what stackcollapse-perf.pl counts: events by stack, of period 1 where none is given.
static uint64_t script_sum(const char *text, const char *stack) {
    char line[512], frames[2048] = "", comm[64] = "";
    uint64_t sum = 0, period = 0;
    int n;

    for (; sscanf(text, "%511[^\n]%n", line, &n) == 1 || *text == '\n'; text += n + (text[n] == '\n')) {
        if (*text == '\n') {
            snprintf(line, sizeof(line), "%s%s", comm, frames);
            sum += !stack || !strcmp(line, stack) ? period : 0;
            frames[0] = '\0';
            n = 0;
        } else if (line[0] == '\t') {
            char symbol[256], before[1024];
            unsigned long long address;
            const char *object = strrchr(line, '(');
            assert_non_null(object);
            assert_int_equal(sscanf(line, "%llx %255[^\n]", &address, symbol), 2);
            *strrchr(symbol, '(') = '\0';
            symbol[strlen(symbol) - 1] = '\0';
            snprintf(before, sizeof(before), "%.1000s", frames);
            snprintf(frames, sizeof(frames), ";%s%s", symbol, before);
        } else {
            int pid, tid, cpu, used = 0;
            double time;
            assert_int_equal(sscanf(line, "%63s %d/%d [%d] %lf: %n", comm, &pid, &tid, &cpu, &time, &used), 5);
            period = 1;
            if (sscanf(line + used, "%llu", (unsigned long long *)&period) == 1)
                used += (int)strcspn(line + used, " ") + 1;
            assert_true(line[strlen(line) - 1] == ':' && !strchr(line + used, ' '));
        }
    }
    return sum;
}

static void script(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look);
    size_t n;
    char *text = file_of(pane, &look, "x.perf", &n);
    assert_int_equal(script_sum(text, NULL), 525);
    assert_int_equal(script_sum(text, "nginx;main;ngx_worker_process_cycle;ngx_http_process_request;deflate"), 200);
    assert_int_equal(script_sum(text, "node;start;Parser.parse;Parser.next"), 70);
    // 20 samples of the stream are of nginx, at 405 ms of each second; one is of node, at 70 ms of the first.
    const char *at = strstr(text, "nginx 812/812 [000] 1790000000.405000: cpu:\n");
    assert_non_null(at);
    assert_memory_equal(strchr(at, '\n') + 1, "\t               0 ", 18);
    assert_non_null(strstr(text, "node 900/900 [000] 1790000000.070000: cpu:\n"));
    assert_non_null(strstr(text, "\t               0 tcp_sendmsg ([kernel.kallsyms])\n"
                                 "\t               0 do_writev ([kernel.kallsyms])\n"
                                 "\t               0 writev (/usr/lib/libc.so.6)\n"));
    assert_non_null(strstr(text, " Parser.next (/tmp/perf-900.map)\n"));
    double before = 0, time;
    for (at = text; (at = strstr(at, "] ")); at += 2) {
        if (sscanf(at, "] %lf: cpu:\n", &time) != 1)
            continue;
        assert_true(time >= before);
        before = time;
    }
    free(text);
    press(pane, &look, "vv>v$"); // node, start
    text = file_of(pane, &look, "x.perf", &n);
    assert_int_equal(script_sum(text, NULL), 95);
    free(text);
    pane_free(pane);
}

// Two processes of one name, an address without a symbol; no stream.
static void script_processes(void **state) {
    (void)state;
    struct look look;
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("profile", 1);
    struct name_table *names = name_table_new();
    section_tree(section, forge_tree_of(names, "sh/7;u:main//bin/sh 1\nsh/8;l:[libc.so.6+0x1f0]//lib/libc.so.6 1"));
    section_table(section, forge_table(def_of("symbols"), ""));
    frame_add_section(frame, section, 0);
    const struct frame *shown = frame;
    struct pane *pane = forge_pane(&look, &shown, 1, "");
    size_t n;
    char *text = file_of(pane, &look, "x.perf", &n);
    assert_string_equal(text,
                        "sh 7/7 [000] 1790000000.250000: cpu:\n\t               0 main (/bin/sh)\n\n"
                        "sh 8/8 [000] 1790000000.750000: cpu:\n\t             1f0 [unknown] (/lib/libc.so.6)\n\n");
    free(text);
    forge_draw(pane, &look);
    press(pane, &look, "vv$"); // both are one frame
    text = file_of(pane, &look, "x.perf", &n);
    assert_int_equal(script_sum(text, NULL), 2);
    free(text);
    press(pane, &look, "v$"); // the library
    text = file_of(pane, &look, "x.perf", &n);
    assert_int_equal(script_sum(text, "sh;[unknown]"), 1);
    assert_int_equal(script_sum(text, NULL), 1);
    free(text);
    pane_free(pane);
    frame_unref(shown);
    name_table_unref(names);
}

// ---- which files ----

static void formats(void **state) {
    (void)state;
    static const char *const suffixes[] = {".svg", ".folded", ".json", ".pb.gz", ".perf", ".annotate.txt"};
    struct look look;
    struct pane *pane = pane_new(&view_profile);
    const struct part_file *files[PANE_FILES_MAX];
    char *text;
    size_t size;

    assert_int_equal(pane_files(pane, files), 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(files[i]->suffix, suffixes[i]);
        FILE *out = open_memstream(&text, &size);
        forge_look(&look, NULL, 0);
        assert_int_equal(pane_write_file(pane, &look, files[i], &info, out), -ENODATA);
        forge_look(&look, &frames[3], 1); // nothing ran
        assert_int_equal(pane_write_file(pane, &look, files[i], &info, out), -ENODATA);
        fclose(out);
        assert_string_equal(text, "");
        free(text);
    }
    assert_null(pane_file(pane, "x.pb"));
    assert_null(pane_file(pane, "x.csv"));
    pane_free(pane);
}

// The picture of a difference says how the share of a frame changed.
static void difference(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = graph(&look);
    size_t n;

    press(pane, &look, "ss"); // the whole history
    forge_key(pane, &look, 'A', true);
    forge_look(&look, frames, FRAMES);
    forge_draw(pane, &look);
    forge_key(pane, &look, 'B', true);
    char *text = file_of(pane, &look, "x.svg", &n);
    assert_non_null(strstr(text, "<title>Difference</title>"));
    assert_non_null(strstr(text, "more in B than A"));
    const char *node = strstr(text, "<title>Parser.parse\n");
    assert_non_null(node);
    assert_memory_equal(strchr(node, '\n'),
                        "\nJIT\n448 samples, 36.57% of all, 0 self\nA 13.33%, B 36.57%: +23.24 points<", 73);
    free(text);
    pane_free(pane);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folded),     cmocka_unit_test(svg),    cmocka_unit_test(hostile),
        cmocka_unit_test(speedscope), cmocka_unit_test(pprof),  cmocka_unit_test(formats),
        cmocka_unit_test(difference), cmocka_unit_test(script), cmocka_unit_test(script_processes)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
