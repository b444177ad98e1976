// Recordings: every shape there and back, what a reader does with cut and damaged ones, and with those of another
// version.
#include "tests/unit/model_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/mem.h"
#include "model/record/file.h"
#include "model/record/recorder.h"

static const struct series_def load_def = {"load_1", "load", "", UNIT_NONE};
static const struct series_def new_def = {"new_series", "new", "", UNIT_COUNT};
static const struct column task_columns[] = {{.name = "pid", .title = "PID", .help = "", .unit = UNIT_ID},
                                             {.name = "comm", .title = "COMM", .help = "", .type = COLUMN_TEXT},
                                             {.name = "cpu_pct", .title = "CPU%", .help = "", .unit = UNIT_PCT},
                                             {.name = "future", .title = "FUTURE", .help = ""}};
// The recording has one column more than the program that reads it, in another place, and lacks one.
static const struct column less_columns[] = {{.name = "cpu_pct", .title = "CPU%", .help = "", .unit = UNIT_PCT},
                                             {.name = "missing", .title = "MISSING", .help = "", .type = COLUMN_TEXT},
                                             {.name = "comm", .title = "COMM", .help = "", .type = COLUMN_TEXT},
                                             {.name = "pid", .title = "PID", .help = "", .unit = UNIT_ID}};
static const struct table_def tasks_def = {
    .name = "tasks", .help = "", .columns = task_columns, .n_columns = 4, .n_keys = 1};
static const struct table_def less_def = {
    .name = "tasks", .help = "", .columns = less_columns, .n_columns = 4, .n_keys = 1};
static const struct table_def events_def = {.name = "events", .help = "", .columns = task_columns, .n_columns = 3};
static const struct hist_def hist_def = {.name = "io_latency",
                                         .title = "",
                                         .help = "",
                                         .unit_name = "us",
                                         .divisor = 1000,
                                         .keys = &task_columns[1],
                                         .n_keys = 1};
static const struct tree_def stacks_def = {"cpu", "CPU", "", "samples"};

static void row(struct table_builder *builder, double pid, const struct text *take_comm, double pct, double future) {
    uint32_t slot = table_builder_add(builder);
    table_builder_set_num(builder, slot, 0, pid);
    table_builder_set_text(builder, slot, 1, take_comm);
    table_builder_set_num(builder, slot, 2, pct);
    if (!isnan(future))
        table_builder_set_num(builder, slot, 3, future);
}

static struct table *seal(struct table_builder *builder) {
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static struct hist_set *hists_make(void) {
    struct hist_set *set = hist_set_new(&hist_def);
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    for (uint64_t v = 1; v < UINT64_MAX / 3; v *= 3)
        hist_acc_add(acc, v);
    union cell key = TEXT("R"), none = {.text = NULL};
    hist_set_add(set, &key, hist_seal(acc));
    hist_acc_clear(acc);
    hist_set_add(set, &none, hist_seal(acc));
    free(acc);
    return set;
}

// The name of one node is found late: with the third frame.
static struct tree *tree_make(struct name_table *names, uint64_t number) {
    struct tree_builder *builder = tree_builder_new(&stacks_def, names);
    if (number == 3)
        name_table_set(names, 1, text_from("work"));
    tree_builder_add(builder, (const uint32_t[]){0, 1}, 2, 10);
    tree_builder_add(builder, (const uint32_t[]){0, 2}, 2, 20);
    tree_builder_add(builder, (const uint32_t[]){2}, 1, 0);
    struct tree *tree = tree_builder_seal(builder);
    tree_builder_free(builder);
    return tree;
}

static struct name_table *names_make(void) {
    struct name_table *names = name_table_new();
    name_table_add(names, text_from("main"));
    name_table_add(names, NULL);
    name_table_add(names, text_from("idle"));
    return names;
}

// Rows that live over the frames, and shapes that do not.
struct forge {
    struct table_builder *tasks;
    const struct table_def *made; // of a table defined at run time
    struct name_table *names;
    const struct section *still;
    const struct origin *origin;
};

static struct forge forge_new(void) {
    static const struct column columns[] = {
        {.name = "field", .title = "FIELD", .help = "of a tracepoint", .unit = UNIT_BYTES, .width = 9},
        {.name = "text", .title = "TEXT", .help = "", .type = COLUMN_TEXT, .ascending = true}};
    struct forge forge = {.tasks = table_builder_new(&tasks_def)};
    forge.made = table_def_new(
        &(struct table_def){.name = "sched_switch", .help = "", .columns = columns, .n_columns = 2, .n_keys = 1});
    forge.names = names_make();
    forge.origin = origin_new(&(struct origin){"box", "1234", "6.18.0", "0.1.0", 8});
    for (int i = 0; i < 40; i++)
        row(forge.tasks, i, text_printf("task-%d", i), i / 3.0, i % 2 ? NAN : i);
    row(forge.tasks, -1, text_new("a\0b\xff\x1b", 5), INFINITY, -0.0);
    row(forge.tasks, 1e300, text_from(""), -INFINITY, 4503599627370497.0);
    row(forge.tasks, NAN, NULL, NAN, -123456789);
    struct section *still = section_new("still", 0, 1);
    section_series(still, &load_def, 0.25);
    forge.still = still;
    return forge;
}

static void forge_free(struct forge *forge) {
    table_builder_free(forge->tasks);
    table_def_unref(forge->made);
    section_unref(forge->still);
    name_table_unref(forge->names);
    origin_unref(forge->origin);
}

static struct frame *forge_frame(struct forge *forge, uint64_t number) {
    uint64_t begin = number * 1000000000;
    struct frame *frame =
        frame_new(number, begin, begin + 1000400000, (struct timespec){1769860800 + (time_t)number, 123456789});
    frame->origin = origin_ref(forge->origin);
    struct section *section = section_new("tasks", begin, begin + 1000000000);
    section_set_state(section, SECTION_DEGRADED);
    section_note(section, SEVERITY_WARNING, "cpu_pct", "a note", NULL);
    section_note(section, SEVERITY_INFO, NULL, "another", "its fix");
    section_series(section, &new_def, (double)number + 0.5);
    section_events(section, 12345, number == 2);
    section_cost(section, 777);
    // A row goes, one comes, one changes.
    table_builder_remove(forge->tasks, (uint32_t)number % 40);
    row(forge->tasks, 1000 + (double)number, text_from("new"), 1, NAN);
    table_builder_set_num(forge->tasks, 20, 2, (double)number);
    section_table(section, table_builder_seal(forge->tasks));
    section_hists(section, hists_make());
    section_tree(section, tree_make(forge->names, number));
    struct table_builder *builder = table_builder_new(&events_def);
    row(builder, 7, text_from("event"), 0.125, NAN);
    section_stream(section, seal(builder), 99);
    builder = table_builder_new(forge->made);
    uint32_t slot = table_builder_add(builder);
    table_builder_set_num(builder, slot, 0, 4096);
    table_builder_set_text(builder, slot, 1, text_from("prev=a next=b"));
    section_table(section, seal(builder));
    frame_add_section(frame, section, number == 3 ? 1500000000 : 0);
    frame_add_section(frame, section_ref(forge->still), 0);
    frame->repeated[1] = number > 1;
    return frame;
}

static struct frame *schema_make(const struct table_def *tasks) {
    struct frame *schema = frame_new(0, 0, 0, (struct timespec){0});
    struct section *section = section_new("tasks", 0, 0), *still = section_new("still", 0, 0);
    section_series(section, &new_def, NAN);
    section_series(still, &load_def, NAN);
    section_table(section, seal(table_builder_new(tasks)));
    section_hists(section, hist_set_new(&hist_def));
    struct name_table *names = names_make();
    section_tree(section, tree_make(names, 0));
    name_table_unref(names);
    section_stream(section, seal(table_builder_new(&events_def)), 0);
    frame_add_section(schema, section, 0);
    frame_add_section(schema, still, 0);
    return schema;
}

// All of a frame as bytes that refer to nothing else.
static struct sink whole(const struct frame *frame) {
    struct encoder *encoder = encoder_new();
    struct sink sink = {0};
    encode_frame(encoder, frame, 0, &sink);
    encoder_free(encoder);
    return sink;
}

static void same_frame(const struct frame *a, const struct frame *b) {
    struct sink one = whole(a), two = whole(b);
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.bytes, two.bytes, one.n);
    sink_free(&one);
    sink_free(&two);
}

static void pack(struct packer *packer, struct sink *content, struct sink *out) {
    assert_true(pack_record(packer, content, out));
    content->n = 0;
}

// A recording of frames 1 to n.
static struct sink recording(struct forge *forge, uint64_t n) {
    struct sink out = {0}, content = {0};
    struct packer *packer = packer_new();
    struct encoder *encoder = encoder_new();
    pack_head(&out);
    encode_origin(forge->origin, &content);
    pack(packer, &content, &out);
    for (uint64_t number = 1; number <= n; number++) {
        struct frame *frame = forge_frame(forge, number);
        encode_frame(encoder, frame, 0, &content);
        pack(packer, &content, &out);
        frame_unref(frame);
    }
    encode_end(n, 0, &content);
    pack(packer, &content, &out);
    encoder_free(encoder);
    packer_free(packer);
    sink_free(&content);
    return out;
}

static struct reader *reader_of(const void *bytes, size_t size, const struct frame *schema) {
    int fd = memfd_create("recording", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, size), size);
    lseek(fd, 0, SEEK_SET);
    return reader_new(fd, -1, schema);
}

static void there_and_back(void **state) {
    (void)state;
    size_t before = mem_used();
    struct forge forge = forge_new(), again = forge_new();
    struct sink bytes = recording(&forge, 150); // more than two key frames
    struct frame *schema = schema_make(&tasks_def);
    struct reader *reader = reader_of(bytes.bytes, bytes.n, schema);
    const struct frame *frame, *last = NULL, *first = NULL;
    assert_true(reader_open(reader));
    assert_string_equal(reader_origin(reader)->host, "box");
    for (uint64_t number = 1; number <= 150; number++) {
        assert_int_equal(reader_next(reader, &frame), READ_FRAME);
        struct frame *want = forge_frame(&again, number);
        same_frame(frame, want);
        assert_string_equal(frame->origin->kernel, "6.18.0");
        assert_int_equal(frame->origin->cpus, 8);
        const struct table_def *made = table_def(frame_table(frame, "sched_switch"));
        assert_non_null(made->count);
        assert_string_equal(made->columns[0].help, "of a tracepoint");
        assert_int_equal(made->columns[0].unit, UNIT_BYTES);
        assert_ptr_equal(table_def(frame_table(frame, "tasks")), &tasks_def);
        frame_unref(want);
        frame_unref(last);
        last = frame;
        const struct tree *tree = frame_tree(frame, "cpu");
        if (number == 1)
            first = frame_ref(frame);
        // The late name shows in the first frame too, and trees of different key frames have the same names.
        assert_text(tree_node_text(frame_tree(first, "cpu"), 3), number < 3 ? "" : "work");
        struct tree *sum = tree_merge((const struct tree *[]){frame_tree(first, "cpu"), tree}, 2);
        assert_non_null(sum);
        assert_int_equal(tree_nodes(sum), tree_nodes(tree));
        tree_free(sum);
    }
    assert_int_equal(reader_next(reader, &frame), READ_END);
    assert_string_equal(reader_problem(reader), "");
    assert_int_equal(reader_unknown(reader), 0);
    reader_free(reader);
    frame_unref(last); // outlive their reader
    frame_unref(first);
    frame_unref(schema);
    sink_free(&bytes);
    forge_free(&forge);
    forge_free(&again);
    assert_int_equal(mem_used(), before);
}

static void idle_tasks_are_cheap(void **state) {
    (void)state;
    struct forge forge = forge_new();
    for (int i = 0; i < 10000; i++)
        row(forge.tasks, 5000 + i, text_printf("idle-%d", i), 0.1 * i, i);
    struct encoder *encoder = encoder_new();
    struct packer *packer = packer_new();
    struct sink content = {0}, out = {0};
    size_t sizes[2];
    for (uint64_t number = 1; number <= 2; number++) {
        struct frame *frame = forge_frame(&forge, number);
        encode_frame(encoder, frame, 0, &content);
        out.n = 0;
        pack(packer, &content, &out);
        sizes[number - 1] = out.n;
        frame_unref(frame);
    }
    assert_true(sizes[0] > 20000);
    assert_true(sizes[1] < 1000);
    encoder_free(encoder);
    packer_free(packer);
    sink_free(&content);
    sink_free(&out);
    forge_free(&forge);
}

static void another_version(void **state) {
    (void)state;
    struct forge forge = forge_new();
    struct sink bytes = recording(&forge, 3);
    struct frame *schema = schema_make(&less_def);
    struct reader *reader = reader_of(bytes.bytes, bytes.n, schema);
    const struct frame *frame;
    assert_true(reader_open(reader));
    assert_int_equal(reader_next(reader, &frame), READ_FRAME);
    const struct table *tasks = frame_table(frame, "tasks");
    assert_ptr_equal(table_def(tasks), &less_def);
    size_t cursor = 0;
    const union cell *cells = table_next(tasks, &cursor);
    assert_number(cells[3].num, 0);
    assert_text(cells[2].text, "task-0");
    assert_null(cells[1].text); // the recording lacks it
    assert_number(cells[0].num, 0);
    assert_int_equal(reader_unknown(reader), 1); // "future"
    frame_unref(frame);
    // The frame after it refers to the rows of the one before.
    assert_int_equal(reader_next(reader, &frame), READ_FRAME);
    assert_int_equal(table_rows(frame_table(frame, "tasks")), 43);
    frame_unref(frame);
    reader_free(reader);
    frame_unref(schema);

    // A program that knows nothing of it: only what was defined at run time is there.
    reader = reader_of(bytes.bytes, bytes.n, NULL);
    assert_true(reader_open(reader));
    assert_int_equal(reader_next(reader, &frame), READ_FRAME);
    assert_null(frame_table(frame, "tasks"));
    assert_non_null(frame_table(frame, "sched_switch"));
    assert_true(isnan(frame_series(frame, "load_1", NULL)));
    frame_unref(frame);
    reader_free(reader);
    sink_free(&bytes);
    forge_free(&forge);
}

// What a reader gets of these bytes: the number of frames; problem is filled.
static uint64_t read_sum; // over the content of the frames

static size_t read_all(const void *bytes, size_t size, const struct frame *schema, char *problem, size_t room) {
    read_sum = 0;
    struct reader *reader = reader_of(bytes, size, schema);
    const struct frame *frame;
    size_t n = 0;
    if (reader_open(reader))
        while (reader_next(reader, &frame) == READ_FRAME) {
            assert_int_equal(frame->number, ++n);
            struct sink content = whole(frame);
            for (size_t i = 0; i < content.n; i++)
                read_sum = (read_sum ^ content.bytes[i]) * 0x100000001b3ull;
            sink_free(&content);
            frame_unref(frame);
        }
    snprintf(problem, room, "%s", reader_problem(reader));
    reader_free(reader);
    return n;
}

static void cut(void **state) {
    (void)state;
    struct forge forge = forge_new();
    struct sink bytes = recording(&forge, 3);
    struct frame *schema = schema_make(&tasks_def);
    char problem[300];
    size_t seen = 0;
    for (size_t size = 0; size < bytes.n; size++) {
        size_t n = read_all(bytes.bytes, size, schema, problem, sizeof problem);
        assert_true(n >= seen && n <= 3); // never fewer of more bytes
        assert_true(problem[0]);
        seen = n;
    }
    assert_int_equal(seen, 3);
    assert_int_equal(read_all(bytes.bytes, bytes.n, schema, problem, sizeof problem), 3);
    assert_string_equal(problem, "");
    frame_unref(schema);
    sink_free(&bytes);
    forge_free(&forge);
}

static void damaged(void **state) {
    (void)state;
    struct forge forge = forge_new();
    struct sink bytes = recording(&forge, 2);
    struct frame *schema = schema_make(&tasks_def);
    char problem[300];
    size_t unseen = 0;
    read_all(bytes.bytes, bytes.n, schema, problem, sizeof problem);
    uint64_t sum = read_sum;
    for (size_t i = 0; i < bytes.n; i++)
        for (uint8_t bit = 1; bit; bit = (uint8_t)(bit << 1)) {
            bytes.bytes[i] ^= bit;
            size_t n = read_all(bytes.bytes, bytes.n, schema, problem, sizeof problem);
            assert_true(n <= 2);
            if (n == 2 && !problem[0]) { // zstd ignores some bits: the content is the same
                assert_true(read_sum == sum);
                unseen++;
            }
            bytes.bytes[i] ^= bit;
        }
    assert_true(unseen < bytes.n / 20);
    frame_unref(schema);
    sink_free(&bytes);
    forge_free(&forge);
}

// Content that a checksum would not stop: each byte of each record changed and cut.
static void hostile(void **state) {
    (void)state;
    struct forge forge = forge_new();
    struct frame *schema = schema_make(&tasks_def), *frames[2] = {forge_frame(&forge, 1), forge_frame(&forge, 2)};
    struct encoder *encoder = encoder_new();
    struct sink content[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++)
        encode_frame(encoder, frames[i], 0, &content[i]);
    static const uint8_t values[] = {0, 1, 2, 3, 0x7f, 0x80, 0xff};
    for (int which = 0; which < 2; which++)
        for (size_t i = 0; i < content[which].n; i++)
            for (size_t v = 0; v <= sizeof values; v++) {
                struct decoder *decoder = decoder_new(schema);
                struct decoded decoded;
                uint8_t old = content[which].bytes[i];
                if (which)
                    assert_true(decoder_take(decoder, content[0].bytes, content[0].n, &decoded));
                if (which)
                    frame_unref(decoded.frame);
                if (v < sizeof values)
                    content[which].bytes[i] = values[v];
                bool good =
                    decoder_take(decoder, content[which].bytes, v < sizeof values ? content[which].n : i, &decoded);
                assert_true(!good || v < sizeof values);
                if (good && decoded.frame) {
                    struct sink again = whole(decoded.frame); // all of it can be walked
                    sink_free(&again);
                    frame_unref(decoded.frame);
                }
                content[which].bytes[i] = old;
                decoder_free(decoder);
            }
    encoder_free(encoder);
    for (int i = 0; i < 2; i++) {
        frame_unref(frames[i]);
        sink_free(&content[i]);
    }
    frame_unref(schema);
    forge_free(&forge);
}

// ---- the writer's thread ----

static void wait_done(struct recorder *recorder) {
    struct pollfd fd = {recorder_fd(recorder), POLLIN, 0};
    assert_int_equal(poll(&fd, 1, 10000), 1);
}

static void writer(void **state) {
    (void)state;
    char why[200], path[] = "/tmp/test_record.XXXXXX";
    struct forge forge = forge_new();
    struct stat status;
    int error;
    close(mkstemp(path));
    chmod(path, 0644);
    int fd = recorder_file(path, why, sizeof why); // empty: taken
    assert_true(fd >= 0);
    struct recorder *recorder = recorder_start(fd, forge.origin, 3, &error);
    assert_non_null(recorder);
    for (uint64_t number = 1; number <= 5; number++) {
        struct frame *frame = forge_frame(&forge, number);
        recorder_put(recorder, frame);
        frame_unref(frame);
    }
    wait_done(recorder);
    recorder_stop(recorder, 1000);
    assert_int_equal(recorder_state(recorder).frames, 3);
    assert_int_equal(recorder_state(recorder).error, 0);
    recorder_free(recorder);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    struct frame *schema = schema_make(&tasks_def);
    struct reader *reader = reader_new(open(path, O_RDONLY | O_CLOEXEC), -1, schema);
    const struct frame *frame;
    assert_true(reader_open(reader));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(reader_next(reader, &frame), READ_FRAME);
        frame_unref(frame);
    }
    assert_int_equal(reader_next(reader, &frame), READ_END);
    assert_string_equal(reader_problem(reader), "");
    reader_free(reader);
    frame_unref(schema);

    fd = recorder_file(path, why, sizeof why); // a recording: replaced
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "precious", 8), 8);
    close(fd);
    assert_int_equal(recorder_file(path, why, sizeof why), -1);
    assert_non_null(strstr(why, "not a ktop recording"));
    char link[40];
    snprintf(link, sizeof link, "%s.l", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(recorder_file(link, why, sizeof why), -1);
    unlink(link);
    assert_int_equal(recorder_file("/tmp", why, sizeof why), -1);
    assert_int_equal(recorder_file("/no/such/folder", why, sizeof why), -1);
    unlink(path);
    forge_free(&forge);
}

// A reader that does not read: nothing waits, frames are left out and counted, and the end still comes.
static void slow_reader(void **state) {
    (void)state;
    struct forge forge = forge_new();
    int fds[2], error;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    fcntl(fds[1], F_SETPIPE_SZ, 4096);
    struct recorder *recorder = recorder_start(fds[1], forge.origin, 0, &error);
    for (uint64_t number = 1; number <= 200; number++) {
        struct frame *frame = forge_frame(&forge, number);
        recorder_put(recorder, frame);
        frame_unref(frame);
    }
    assert_true(recorder_state(recorder).left_out >= 200 - RECORDER_QUEUE - 10);
    // Then it reads: what was left out is in the file.
    struct frame *schema = schema_make(&tasks_def);
    struct reader *reader = reader_new(fds[0], -1, schema);
    const struct frame *frame;
    assert_true(reader_open(reader));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(reader_next(reader, &frame), READ_FRAME);
        frame_unref(frame);
    }
    usleep(100000);
    struct frame *late = forge_frame(&forge, 500);
    recorder_put(recorder, late);
    frame_unref(late);
    uint64_t number = 0;
    while (number != 500) {
        assert_int_equal(reader_next(reader, &frame), READ_FRAME);
        number = frame->number;
        frame_unref(frame);
    }
    assert_int_equal(reader_left_out(reader), recorder_state(recorder).left_out);
    recorder_stop(recorder, 50);
    recorder_free(recorder);
    reader_free(reader);

    // One that never reads, and one that goes away.
    for (int closes = 0; closes < 2; closes++) {
        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        fcntl(fds[1], F_SETPIPE_SZ, 4096);
        recorder = recorder_start(fds[1], forge.origin, 0, &error);
        if (closes)
            close(fds[0]);
        for (uint64_t n = 1; n <= 20; n++) {
            struct frame *one = forge_frame(&forge, n);
            recorder_put(recorder, one);
            frame_unref(one);
        }
        if (closes)
            wait_done(recorder);
        recorder_stop(recorder, 50);
        wait_done(recorder);
        assert_int_equal(recorder_state(recorder).error, closes ? EPIPE : EINTR);
        recorder_stop(recorder, 1000);
        recorder_free(recorder);
        if (!closes)
            close(fds[0]);
    }
    frame_unref(schema);
    forge_free(&forge);
}

static void full_disk(void **state) {
    (void)state;
    struct forge forge = forge_new();
    int error;
    struct recorder *recorder = recorder_start(open("/dev/full", O_WRONLY | O_CLOEXEC), forge.origin, 0, &error);
    wait_done(recorder);
    assert_int_equal(recorder_state(recorder).error, ENOSPC);
    recorder_stop(recorder, 1000);
    recorder_free(recorder);
    forge_free(&forge);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),  cmocka_unit_test(idle_tasks_are_cheap),
        cmocka_unit_test(another_version), cmocka_unit_test(cut),
        cmocka_unit_test(damaged),         cmocka_unit_test(hostile),
        cmocka_unit_test(writer),          cmocka_unit_test(slow_reader),
        cmocka_unit_test(full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
