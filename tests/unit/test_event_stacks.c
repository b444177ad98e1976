// Stacks of events: forged records of two CPUs and an interrupt are attached to the right events; names of the test's
// own functions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/event_stacks.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/user_stacks.h"
#include "tests/unit/model_test.h"

#define EVENT_ID 900
#define KERNEL_ID 4
#define USER_ID 13

static char root[64];

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void format_put(const char *name, int id, const char *fields) {
    char path[128], text[1024];
    snprintf(path, sizeof(path), "events/ftrace/%s/format", name);
    snprintf(text, sizeof(text),
             "name: %s\nID: %d\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
             "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
             "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n%s\nprint fmt: \"\"\n",
             name, id, fields);
    put(path, text);
}

struct forged {
    uint8_t bytes[96];
    struct ring_event event;
};

static struct ring_event *forge(struct forged *forged, uint16_t id, uint16_t cpu, uint8_t flags, int32_t tid) {
    memset(forged, 0, sizeof(*forged));
    memcpy(forged->bytes, &id, 2);
    forged->bytes[EVENT_FLAGS_OFFSET] = flags;
    memcpy(forged->bytes + COMMON_PID_OFFSET, &tid, 4);
    forged->event = (struct ring_event){.cpu = cpu, .data = forged->bytes, .size = 80};
    return &forged->event;
}

static void happens(struct event_stacks *stacks, struct kept *kept, uint16_t cpu, uint8_t flags, int32_t tid) {
    struct forged forged;
    const struct ring_event *event = forge(&forged, EVENT_ID, cpu, flags, tid);
    assert_false(event_stacks_record(stacks, event));
    kept_put(kept, 1, cpu, 0, event->data, 16);
    event_stacks_event(stacks, event, tid, kept);
}

static void stack(struct event_stacks *stacks, uint16_t id, uint16_t cpu, uint8_t flags, int32_t tid, uint64_t first) {
    struct forged forged;
    const struct ring_event *event = forge(&forged, id, cpu, flags, tid);
    memcpy(forged.bytes + 16, &first, 8);
    assert_true(event_stacks_record(stacks, event));
}

static void attached(void **state) {
    (void)state;
    char command[128];
    uint64_t addresses[USER_STACK_FRAMES], cursor = 0;
    strcpy(root, "/tmp/ktop-stacks-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("options/stacktrace", "1\n");
    put("options/userstacktrace", "1\n");
    format_put("kernel_stack", KERNEL_ID,
               "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
               "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n");
    format_put("user_stack", USER_ID,
               "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n"
               "\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n");
    struct event_stacks *stacks = event_stacks_open(root, root, 2);
    assert_non_null(stacks);
    assert_true(event_stacks_has(stacks, KEPT_KERNEL_STACK) && event_stacks_has(stacks, KEPT_USER_STACK));
    struct kept *kept = kept_new();
    happens(stacks, kept, 0, 0, 7);
    happens(stacks, kept, 1, 0, 8);
    happens(stacks, kept, 0, EVENT_FLAG_HARDIRQ, 7);
    stack(stacks, USER_ID, 1, 0, 8, 0x1008);
    stack(stacks, KERNEL_ID, 0, EVENT_FLAG_HARDIRQ, 7, 0x9);
    stack(stacks, KERNEL_ID, 0, 0, 7, 0x7);
    stack(stacks, USER_ID, 0, 0, 7, 0x1007);
    stack(stacks, USER_ID, 1, 0, 9, 0x1009); // of another thread: its event was not recorded
    const struct kept_record *first = kept_next(kept, &cursor), *second = kept_next(kept, &cursor),
                             *third = kept_next(kept, &cursor);
    assert_int_equal(event_stacks_user(stacks, kept, first, addresses), 1);
    assert_int_equal(addresses[0], 0x1007);
    assert_int_equal(event_stacks_user(stacks, kept, second, addresses), 1);
    assert_int_equal(addresses[0], 0x1008);
    assert_int_equal(event_stacks_user(stacks, kept, third, addresses), 0);
    assert_null(event_stacks_text(stacks, kept, second));
    const struct text *text = event_stacks_text(stacks, kept, first), *other = event_stacks_text(stacks, kept, third);
    assert_string_equal(text_bytes(text), "0x6");
    assert_string_equal(text_bytes(other), "0x8");
    // The next interval: a stack of an event of the last one is attached to none.
    assert_true(event_stacks_awaited(stacks)); // the kernel's stack of thread 8, the other one of the interrupt
    event_stacks_clear(stacks);
    assert_false(event_stacks_awaited(stacks));
    kept_clear(kept);
    happens(stacks, kept, 1, 0, 8);
    stack(stacks, USER_ID, 0, 0, 7, 0x1007);
    assert_true(event_stacks_awaited(stacks));
    cursor = 0;
    assert_int_equal(event_stacks_user(stacks, kept, kept_next(kept, &cursor), addresses), 0);
    stack(stacks, KERNEL_ID, 1, 0, 8, 0x9);
    assert_true(event_stacks_awaited(stacks)); // that of the program
    stack(stacks, USER_ID, 1, 0, 8, 0x1009);
    assert_false(event_stacks_awaited(stacks));
    event_stacks_free(stacks);
    text_unref(text); // texts outlive it
    text_unref(other);
    kept_free(kept);
    put("options/stacktrace", "0\n");
    put("options/userstacktrace", "0\n");
    assert_null(event_stacks_open(root, root, 2));
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

__attribute__((noinline)) int probed_function(int number) {
    __asm__ volatile("" : "+r"(number));
    return number + 1;
}

static void names(void **state) {
    (void)state;
    struct user_stacks *stacks = user_stacks_new("/proc");
    assert_non_null(stacks);
    const uint64_t begin = (uintptr_t)probed_function;
    const uint64_t addresses[] = {begin, begin + 1, 16};
    const struct text *text;
    bool named = false;
    // Mappings and symbols are read in other threads.
    for (int tries = 0; tries < 2000 && !named; tries++) {
        user_stacks_begin(stacks);
        user_stacks_see(stacks, getpid());
        text = user_stacks_text(stacks, getpid(), addresses, 3, 1);
        user_stacks_wait(stacks);
        named = !strcmp(text_bytes(text), "probed_function < probed_function < 0x10");
        text_unref(text);
        if (!named)
            usleep(5000);
    }
    assert_true(named);
    text = user_stacks_text(stacks, 0x7ffffff0, addresses, 1, 1); // no such process
    assert_null(user_stacks_text(stacks, getpid(), addresses, 0, 0));
    user_stacks_free(stacks);
    char expected[32];
    snprintf(expected, sizeof(expected), "0x%llx", (unsigned long long)begin);
    assert_string_equal(text_bytes(text), expected);
    text_unref(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attached), cmocka_unit_test(names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
