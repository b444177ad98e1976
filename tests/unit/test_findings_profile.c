// Functions in findings, on forged frames: the sentence, and when a sampling is requested, ends, and is not requested.
#include "tests/unit/model_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/findings_private.h"
#include "model/mem.h"
#include "tests/unit/forge_flame.h"

#define SECOND 1000000000ull

static const struct column task_columns[] = {{.name = "pid"},
                                             {.name = "comm", .type = COLUMN_TEXT},
                                             {.name = "state", .type = COLUMN_TEXT},
                                             {.name = "cpu_pct"}};
static const struct table_def tasks_def = {.name = "tasks", .columns = task_columns, .n_columns = 4, .n_keys = 1};
static const struct series_def cpus_online = {.name = "cpus_online"}, idle = {.name = "cpu_idle_pct"},
                               some = {.name = "cpu_some_pct"};

static struct findings *findings;
static struct name_table *names;
static size_t memory;

struct task {
    double pid;
    const char *comm;
};

// What one frame has: the tasks that use a CPU each, and the section of the collector.
struct moment {
    struct task tasks[12];
    bool saturated;
    const char *stacks; // NULL: the collector does not run
    const char *refused;
};

static struct section *forge_system(uint64_t number, const struct moment *moment) {
    struct section *section = section_new("system", number * SECOND, (number + 1) * SECOND);
    struct table_builder *rows = table_builder_new(&tasks_def);
    size_t n = 0;
    for (; n < 12 && moment->tasks[n].comm; n++) {
        uint32_t slot = table_builder_add(rows);
        table_builder_set_num(rows, slot, 0, moment->tasks[n].pid);
        table_builder_set_text(rows, slot, 1, text_from(moment->tasks[n].comm));
        table_builder_set_text(rows, slot, 2, text_from("R"));
        table_builder_set_num(rows, slot, 3, 99);
    }
    section_set_state(section, SECTION_OK);
    section_series(section, &cpus_online, 4);
    section_series(section, &idle, moment->saturated ? 0 : 100 - 25 * (double)(n < 3 ? n : 3));
    section_series(section, &some, moment->saturated ? 90 : 0);
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}

static struct section *forge_samples(uint64_t number, const struct moment *moment) {
    struct section *section = section_new("profile", number * SECOND, (number + 1) * SECOND);
    if (moment->stacks) {
        section_set_state(section, SECTION_OK);
        section_tree(section, forge_tree_of(names, moment->stacks));
        section_cost(section, 5000000);
    }
    if (moment->refused) {
        section_set_state(section, SECTION_UNAVAILABLE);
        section_note(section, SEVERITY_WARNING, NULL, moment->refused, NULL);
    }
    return section;
}

static char evidence[768], pane[16], kind[32];
static size_t n_findings;

// The frame of that number; the first finding is in `evidence`, `pane` and `kind`. Returns the lease in seconds.
static uint64_t step(uint64_t number, const struct moment *moment) {
    struct frame *frame =
        frame_new(number, number * SECOND, (number + 1) * SECOND, (struct timespec){.tv_sec = (time_t)number});
    frame_add_section(frame, forge_system(number, moment), 0);
    frame_add_section(frame, forge_samples(number, moment), 0);
    struct section *section = findings_section(findings, frame, NULL);
    const struct table *table = section_find_table(section, "findings");
    size_t cursor = 0;
    const union cell *row = table_next(table, &cursor);
    n_findings = table_rows(table);
    snprintf(evidence, sizeof evidence, "%s",
             row ? text_bytes(row[table_column(&findings_table, "evidence")].text) : "");
    snprintf(pane, sizeof pane, "%s", row ? text_bytes(row[table_column(&findings_table, "pane")].text) : "");
    snprintf(kind, sizeof kind, "%s", row ? text_bytes(row[table_column(&findings_table, "kind")].text) : "");
    section_unref(section);
    frame_unref(frame);
    assert_int_equal(findings_lease(findings) % SECOND, 0);
    return findings_lease(findings) / SECOND;
}

static int begin(void **state) {
    (void)state;
    memory = mem_used();
    findings = findings_new();
    names = name_table_new();
    return 0;
}

static int end(void **state) {
    (void)state;
    findings_free(findings);
    name_table_unref(names);
    return mem_used() == memory ? 0 : -1;
}

#define SERVER "server/42;u:main//usr/bin/server;"
#define HOG                                                                                                            \
    {                                                                                                                  \
        { 42, "server" }                                                                                               \
    }
static const char hot_stacks[] =
    SERVER "l:json_parse//usr/lib/libjson.so 40\n" SERVER
           "u:handle//usr/bin/server;l:json_parse//usr/lib/libjson.so 30\n" SERVER
           "l:read//usr/lib/libc.so.6;k:do_read/[kernel];k:copy_page/[kernel] 20\n" SERVER "u:log//usr/bin/server 10\n"
           "other/43;u:spin//usr/bin/other 100\n"
           "42/44;u:not_it//usr/bin/other 500";
#define PLAIN "server (pid 42) uses 99 % of one CPU"
#define HOT PLAIN "; 70 % of its CPU time is in json_parse (libjson.so) and 20 % in copy_page (kernel)"

// The finding of the server is known from frame 4 on.
static void sample_server(void) {
    const struct moment quiet = {.tasks = HOG}, sampled = {.tasks = HOG, .stacks = hot_stacks};
    assert_int_equal(step(1, &quiet), 0); // may be a burst
    assert_int_equal(step(2, &quiet), 5); // shown since the end of frame 2, at 3 s: for two seconds
    assert_string_equal(evidence, PLAIN);
    assert_string_equal(pane, "tasks");
    assert_int_equal(step(3, &sampled), 5); // half of it
    assert_string_equal(evidence, PLAIN);
    assert_int_equal(step(4, &sampled), 0);
}

static void sentence(void **state) {
    (void)state;
    sample_server();
    assert_string_equal(kind, "runaway_task");
    assert_string_equal(evidence, HOT "; 200 samples");
    assert_string_equal(pane, "profile");
    const struct moment quiet = {.tasks = HOG};
    for (uint64_t number = 5; number < 300; number++) { // once, however long it lasts
        assert_int_equal(step(number, &quiet), 0);
        if (number == 13)
            assert_string_equal(evidence, HOT "; 200 samples");
        if (number == 14)
            assert_string_equal(evidence, HOT "; 200 samples 10 s ago");
        if (number == 244)
            assert_string_equal(evidence, HOT "; 200 samples 4 min ago");
    }
}

static void costs(void **state) {
    (void)state;
    char words[256];
    const struct moment quiet = {.tasks = HOG}, sampled = {.tasks = HOG, .stacks = hot_stacks};
    step(1, &quiet);
    assert_false(findings_lease_words(findings, 2 * SECOND, words, sizeof words));
    step(2, &quiet);
    assert_true(findings_lease_words(findings, 3 * SECOND, words, sizeof words));
    assert_string_equal(words, "samples for 2 s for a finding (runaway_task, server (pid 42))");
    step(3, &sampled);
    step(4, &sampled);
    assert_true(findings_lease_words(findings, 5 * SECOND, words, sizeof words));
    assert_string_equal(words, "sampled 2.0 s for a finding (runaway_task, server (pid 42)): 0.50 % of one CPU");
    assert_true(findings_lease_words(findings, 45 * SECOND, words, sizeof words));
    assert_string_equal(words,
                        "sampled 2.0 s for a finding (runaway_task, server (pid 42)) 40 s ago: 0.50 % of one CPU");
}

// Another process is sampled again, but not sooner than ten seconds after the last sampling began.
static void another_culprit(void **state) {
    (void)state;
    sample_server();
    const struct moment quiet = {.tasks = {{77, "late"}}},
                        sampled = {.tasks = {{77, "late"}},
                                   .stacks = "late/77;u:spin//usr/bin/late 99\nlate/78;u:x//y 7"};
    for (uint64_t number = 5; number < 12; number++)
        assert_int_equal(step(number, &quiet), 0);
    assert_string_equal(evidence, "late (pid 77) uses 99 % of one CPU");
    assert_int_equal(step(12, &quiet), 15);
    step(13, &sampled);
    assert_int_equal(step(14, &sampled), 0);
    assert_string_equal(evidence,
                        "late (pid 77) uses 99 % of one CPU; 100 % of its CPU time is in spin (late); 198 samples");
    // The same PID is another program now.
    const struct moment renamed = {.tasks = {{77, "exec"}}};
    for (uint64_t number = 15; number < 22; number++)
        assert_int_equal(step(number, &renamed), 0);
    assert_int_equal(step(22, &renamed), 25);
    assert_string_equal(evidence, "exec (pid 77) uses 99 % of one CPU");
}

// A process that the last sampling had seen needs no other one.
static void look_back(void **state) {
    (void)state;
    sample_server();
    const struct moment quiet = {.tasks = {{43, "other"}}};
    assert_int_equal(step(5, &quiet), 0);
    assert_int_equal(step(6, &quiet), 0);
    for (uint64_t number = 7; number < 30; number++) {
        assert_int_equal(step(number, &quiet), 0);
        if (number == 8)
            assert_string_equal(
                evidence, "other (pid 43) uses 99 % of one CPU; 100 % of its CPU time is in spin (other); 200 samples");
    }
}

// After a minute without the culprit it is a new incident.
static void incident_over(void **state) {
    (void)state;
    sample_server();
    const struct moment calm = {.tasks = {{0}}}, quiet = {.tasks = HOG};
    for (uint64_t number = 5; number < 30; number++)
        assert_int_equal(step(number, &calm), 0);
    assert_int_equal(n_findings, 0);
    for (uint64_t number = 30; number < 33; number++)
        assert_int_equal(step(number, &quiet), 0);
    assert_string_equal(evidence, HOT "; 200 samples 28 s ago");
    for (uint64_t number = 33; number < 95; number++)
        assert_int_equal(step(number, &calm), 0);
    assert_int_equal(step(95, &quiet), 0);
    assert_int_equal(step(96, &quiet), 99);
    assert_string_equal(evidence, PLAIN);
}

// A culprit that changes with every frame is not sampled: the result would be of none of them.
static void changing(void **state) {
    (void)state;
    for (uint64_t number = 1; number < 40; number++) {
        char comm[16];
        snprintf(comm, sizeof comm, "job-%d", (int)number);
        const struct moment quiet = {.tasks = {{100, comm}}};
        assert_int_equal(step(number, &quiet), 0);
    }
    assert_int_equal(n_findings, 1);
}

// A collector that gives nothing does not run on, and is tried three times.
static void no_samples(void **state) {
    (void)state;
    const struct moment quiet = {.tasks = HOG}, few = {.tasks = HOG, .stacks = SERVER "u:x//y 3"};
    step(1, &quiet);
    assert_int_equal(step(2, &quiet), 5);
    for (uint64_t number = 3; number < 6; number++)
        assert_int_equal(step(number, &quiet), 5);
    assert_int_equal(step(6, &quiet), 0);
    assert_string_equal(evidence, PLAIN);
    assert_string_equal(pane, "tasks");
    for (uint64_t number = 7; number < 12; number++)
        assert_int_equal(step(number, &quiet), 0);
    unsigned samplings = 0;
    uint64_t before = 0;
    for (uint64_t number = 12; number < 100; number++) {
        uint64_t lease = step(number, &few);
        samplings += lease && !before;
        before = lease;
    }
    assert_int_equal(samplings, 3);
    assert_string_equal(evidence, PLAIN);
}

static void not_permitted(void **state) {
    (void)state;
    const struct moment quiet = {.tasks = HOG}, refused = {.tasks = HOG, .refused = "perf_event_paranoid is 3"};
    char words[256];
    step(1, &quiet);
    assert_int_equal(step(2, &quiet), 5);
    assert_int_equal(step(3, &refused), 0);
    assert_string_equal(evidence, PLAIN);
    assert_int_equal(n_findings, 1); // no word of the collector
    findings_lease_words(findings, 4 * SECOND, words, sizeof words);
    assert_string_equal(words, "no samples for a finding (runaway_task, server (pid 42)): perf_event_paranoid is 3");
    for (uint64_t number = 4; number < 63; number++) {
        assert_int_equal(step(number, &quiet), 0);
        assert_int_equal(n_findings, 1);
    }
    assert_int_equal(step(63, &quiet), 66);
}

// A long frame would show a finding about the collector at once.
static void not_permitted_long(void **state) {
    (void)state;
    for (uint64_t number = 1; number < 4; number++) {
        const struct moment moment = {.tasks = HOG, .refused = number == 2 ? "perf_event_paranoid is 3" : NULL};
        struct frame *frame = frame_new(number, number * 10 * SECOND, (number + 1) * 10 * SECOND, (struct timespec){0});
        frame_add_section(frame, forge_system(number, &moment), 0);
        frame_add_section(frame, forge_samples(number, &moment), 0);
        struct section *section = findings_section(findings, frame, NULL);
        assert_int_equal(table_rows(section_find_table(section, "findings")), 1);
        assert_int_equal(findings_lease(findings), number == 1 ? 22 * SECOND : 0);
        section_unref(section);
        frame_unref(frame);
    }
}

// A collector that a pane runs and that is refused is reported as ever.
static void refused_for_a_pane(void **state) {
    (void)state;
    const struct moment refused = {.tasks = {{0}}, .refused = "perf_event_paranoid is 3"};
    step(1, &refused);
    step(2, &refused);
    assert_string_equal(kind, "collector_unavailable");
}

static void not_wanted(void **state) {
    (void)state;
    const struct moment sampled = {.tasks = HOG, .stacks = hot_stacks};
    findings_no_profile(findings);
    for (uint64_t number = 1; number < 30; number++)
        assert_int_equal(step(number, &sampled), 0);
    assert_string_equal(evidence, PLAIN);
}

// All tasks of the name count, not the heaviest alone.
static void by_name(void **state) {
    (void)state;
    static const char stacks[] = "cc1/50;u:parse//usr/lib/cc1 40\ncc1/51;u:parse//usr/lib/cc1 20\n"
                                 "cc1/51;u:fold//usr/lib/cc1;k:clear_page/[kernel] 20\nserver/42;u:x//y 400";
    const struct moment quiet = {.tasks = {{50, "cc1"}, {51, "cc1"}, {52, "cc1"}, {42, "server"}}, .saturated = true};
    struct moment sampled = quiet;
    sampled.stacks = stacks;
    step(1, &quiet);
    assert_int_equal(step(2, &quiet), 5);
    step(3, &sampled);
    step(4, &sampled);
    assert_string_equal(kind, "cpu_saturated");
    const char *tail = strstr(evidence, "(PSI some)");
    assert_non_null(tail);
    assert_string_equal(tail, "(PSI some); 75 % of their CPU time is in parse (cc1) and 25 % in clear_page (kernel); "
                              "160 samples");
}

// One long frame has all that is needed, and the pieces of many short ones add up.
static void intervals(void **state) {
    (void)state;
    for (uint64_t tenths = 1; tenths <= 100; tenths *= 100) {
        struct findings *own = findings_new();
        uint64_t ns = tenths * SECOND / 10, frames = 0;
        for (uint64_t number = 1, known = 0; !known && number < 100; number++) {
            const struct moment moment = {.tasks = HOG, .stacks = findings_lease(own) ? hot_stacks : NULL};
            struct frame *frame = frame_new(number, number * ns, (number + 1) * ns, (struct timespec){0});
            frame_add_section(frame, forge_system(number, &moment), 0);
            struct section *samples =
                section_new("profile", number * ns, number * ns + (ns < 2 * SECOND ? ns : 2 * SECOND));
            section_set_state(samples, moment.stacks ? SECTION_OK : SECTION_STARTING);
            if (moment.stacks)
                section_tree(samples, forge_tree_of(names, moment.stacks));
            frame_add_section(frame, samples, 0);
            struct section *section = findings_section(own, frame, NULL);
            size_t cursor = 0;
            const union cell *row = table_next(section_find_table(section, "findings"), &cursor);
            known = row && strstr(text_bytes(row[table_column(&findings_table, "evidence")].text), "json_parse");
            frames = number;
            section_unref(section);
            frame_unref(frame);
        }
        assert_int_equal(frames, tenths == 1 ? 2 + 17 : 1 + 1);
        assert_int_equal(findings_lease(own), 0);
        findings_free(own);
    }
}

// ---- words ----

static void expect_words(const char *stacks, const char *expected) {
    struct tree *tree = forge_tree_of(names, stacks);
    struct hot hot;
    char words[352];
    hot_find(tree, &(struct culprit){.pid = 1}, false, &hot);
    hot_words(&hot, words, sizeof words);
    assert_string_equal(words, expected);
    tree_free(tree);
}

static void words(void **state) {
    (void)state;
    // No symbols: the address names its file.
    expect_words("a/1;l:[libx.so+0x12ab]//usr/lib/libx.so 60\na/1;l:[libx.so+0x99]//usr/lib/libx.so 40",
                 "60 % of its CPU time is in [libx.so+0x12ab]");
    expect_words("a/1;k:nft_do_chain/[nf_tables] 60\na/1;j:Parser.next 40",
                 "60 % of its CPU time is in nft_do_chain (kernel module nf_tables) and 40 % in Parser.next (JIT)");
    expect_words("a/1;u:std::map<int, std::string>::find(int const&)//usr/bin/a 9\na/1;k:x/[kernel] 1",
                 "90 % of its CPU time is in std::map<>::find() (a) and 10 % in x (kernel)");
    // What is missing, and a thread without frames, are no functions, but time.
    expect_words("a/1 20\na/1;!:[broken stack] 40\na/1;? 20\na/1;u:f//usr/bin/a 20",
                 "20 % of its CPU time is in f (a)");
    expect_words("a/1;u:f//b;u:g//b 4\na/1;u:[unknown] 48\na/1;!:[broken stack] 48",
                 "48 % of its CPU time is in [unknown]");
    expect_words("a/1;u:f//b 4\na/1;k:g/[kernel] 3\na/1;!:[cut stack] 93", "no function uses 5 % of its CPU time");
    expect_words("a/1;u:an_extremely_long_name_of_a_function_that_some_generator_has_made_up_for_us//b 1",
                 "100 % of its CPU time is in an_extremely_long_name_of_a_function_that_some_generator_has_mad... (b)");
    expect_words(
        "a/1;u:\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4z\xc3\xa4//b 1",
        "100 % of its CPU time is in \xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
        "\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4z... (b)");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(sentence),           TEST(costs),         TEST(another_culprit),
        TEST(look_back),          TEST(incident_over), TEST(changing),
        TEST(no_samples),         TEST(not_permitted), TEST(refused_for_a_pane),
        TEST(not_permitted_long), TEST(not_wanted),    TEST(by_name),
        TEST(intervals),          TEST(words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
