// Formats and records of the presets' events, captured on five kernels (tests/data/events-*): fields that moved between
// kernels are read where they are.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/events/flows.h"
#include "collectors/kernel/groups/group_field.h"
#include "collectors/kernel/tracefs/event_text.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/ring_page.h"
#include "tests/unit/forge_files.h"
#include "tests/unit/model_test.h"

#define PAGE 4096
#define EVENTS_MAX 16

static const char *const kernels[] = {"5.10", "6.1", "6.12", "6.18", "6.1-arm64"};

struct captured {
    char text[64 * 1024];
    size_t n;
    struct {
        char system[32], name[48];
        const char *format;
        size_t length;
        struct event_format *parsed;
    } events[EVENTS_MAX];
};

static size_t file_read(const char *kernel, const char *name, void *out, size_t size) {
    char path[256];
    snprintf(path, sizeof(path), "tests/data/events-%s/%s", kernel, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t n = fread(out, 1, size, file);
    fclose(file);
    return n;
}

// "== system:event" before each format.
static void load(struct captured *captured, const char *kernel) {
    *captured = (struct captured){.n = 0};
    size_t length = file_read(kernel, "formats", captured->text, sizeof(captured->text) - 1);
    assert_true(length > 4000);
    for (char *at = captured->text, *next; at; at = next) {
        char *begin = strchr(at, '\n') + 1;
        next = strstr(begin, "\n== ");
        next = next ? next + 1 : NULL;
        assert_true(captured->n < EVENTS_MAX);
        assert_int_equal(
            sscanf(at, "== %31[^:]:%47s", captured->events[captured->n].system, captured->events[captured->n].name), 2);
        captured->events[captured->n].format = begin;
        captured->events[captured->n].length = next ? (size_t)(next - begin) : strlen(begin);
        captured->events[captured->n].parsed =
            event_format_new(begin, captured->events[captured->n].length, captured->events[captured->n].system);
        assert_non_null(captured->events[captured->n].parsed);
        captured->n++;
    }
}

static void unload(struct captured *captured) {
    for (size_t i = 0; i < captured->n; i++)
        event_format_unref(captured->events[i].parsed);
}

static size_t event_of(const struct captured *captured, const char *name) {
    for (size_t i = 0; i < captured->n; i++)
        if (!strcmp(captured->events[i].name, name))
            return i;
    fail_msg("%s was not captured", name);
    return 0;
}

// The events of both CPUs' first pages as text, a line each: "name fields".
static void records(const struct captured *captured, const char *kernel, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (int cpu = 0; cpu < 2; cpu++) {
        static uint8_t bytes[PAGE] __attribute__((aligned(8)));
        char name[16];
        struct ring_page page;
        int64_t missed;
        snprintf(name, sizeof(name), "cpu%d.raw", cpu);
        if (file_read(kernel, name, bytes, PAGE) != PAGE)
            continue;
        ring_page_load(&page, bytes, PAGE, 16, &missed);
        while (ring_page_next(&page)) {
            uint16_t id;
            memcpy(&id, page.data, 2);
            for (size_t i = 0; i < captured->n; i++) {
                if (event_format_id(captured->events[i].parsed) != id)
                    continue;
                const struct text *text = event_format_text(captured->events[i].parsed, page.data, page.size);
                used +=
                    (size_t)snprintf(out + used, size - used, "%s %s\n", captured->events[i].name, text_bytes(text));
                text_unref(text);
                assert_true(used < size);
            }
        }
        assert_false(page.damaged);
    }
}

static void known_records(void **state) {
    (void)state;
    static struct captured captured;
    static char text[64 * 1024], about[1024], expected[128];
    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        load(&captured, kernels[k]);
        records(&captured, kernels[k], text, sizeof(text));
        about[file_read(kernels[k], "about", about, sizeof(about) - 1)] = '\0';
        const char *to = strstr(about, "SIGUSR1 to PID ");
        assert_non_null(to);
        snprintf(expected, sizeof(expected),
                 "signal_generate sig=10 (SIGUSR1) errno=0 code=0 comm=busybox pid=%d grp=1 res=0",
                 atoi(to + strlen("SIGUSR1 to PID ")));
        if (!strstr(text, "sched_process_exec filename=/bin/busybox pid=") || !strstr(text, expected) ||
            !strstr(text, "sched_process_exit comm=busybox pid=") ||
            !strstr(text, "dport=5001 saddr=127.0.0.1 daddr=127.0.0.1") ||
            !strstr(text, "oldstate=TCP_SYN_SENT newstate=TCP_ESTABLISHED"))
            fail_msg("%s: \"%s\" is not in:\n%s", kernels[k], expected, text);
        unload(&captured);
    }
}

// The fields that groups, connections and the event path use.
static void fields(void **state) {
    (void)state;
    static const struct {
        const char *event, *field;
        bool number;
    } wanted[] = {{"sched_process_exec", "filename", false},
                  {"sched_process_exit", "comm", false},
                  {"sched_switch", "prev_state", true},
                  {"sched_switch", "next_pid", true},
                  {"sched_waking", "target_cpu", true},
                  {"signal_generate", "sig", true},
                  {"inet_sock_set_state", "newstate", true},
                  {"tcp_retransmit_skb", "dport", true},
                  {"mark_victim", "pid", true},
                  {"module_load", "name", false},
                  {"sys_enter", "id", true}};
    static struct captured captured;
    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        load(&captured, kernels[k]);
        for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
            size_t at = event_of(&captured, wanted[i].event);
            struct group_field field = {.kind = 0};
            char why[256] = "";
            snprintf(field.name, sizeof(field.name), "%s", wanted[i].field);
            if (group_field_resolve(&field, captured.events[at].format, captured.events[at].length, wanted[i].event,
                                    wanted[i].number, why, sizeof(why)))
                fail_msg("%s: %s: %s", kernels[k], wanted[i].event, why);
        }
        unload(&captured);
    }
}

static void connections(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"sock", "inet_sock_set_state"}, {"tcp", "tcp_receive_reset"}, {"tcp", "tcp_retransmit_skb"}};
    static struct captured captured;
    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        char root[] = "/tmp/ktop-formats-XXXXXX", path[256];
        struct choice choice = {.n = 3};
        struct stream_event stream[3] = {{.present = false}};
        load(&captured, kernels[k]);
        assert_non_null(mkdtemp(root));
        for (int i = 0; i < 3; i++) {
            size_t at = event_of(&captured, names[i][1]);
            char *format = strndup(captured.events[at].format, captured.events[at].length);
            snprintf(choice.events[i].system, sizeof(choice.events[i].system), "%s", names[i][0]);
            snprintf(choice.events[i].name, sizeof(choice.events[i].name), "%s", names[i][1]);
            stream[i].present = true;
            snprintf(path, sizeof(path), "events/%s/%s/format", names[i][0], names[i][1]);
            forge_file(root, path, format);
            free(format);
        }
        struct flows *flows = flows_open(&choice, stream, root);
        assert_non_null(flows);
        for (size_t i = 0; i < 3; i++)
            assert_true(flows_takes(flows, i));
        flows_close(flows);
        snprintf(path, sizeof(path), "rm -r %s", root);
        assert_int_equal(system(path), 0);
        unload(&captured);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_records), cmocka_unit_test(fields),
                                       cmocka_unit_test(connections)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
