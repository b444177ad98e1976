// The set of tasks and the pool of names against simple models, over many random additions and removals.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/tasks/set.h"

static uint32_t seed = 12345;

static uint32_t rnd(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static void set_finds_what_is_there(void **state) {
    (void)state;
    enum { KEYS = 4000 };
    static struct task *model[KEYS * 2 + 1]; // key -KEYS … KEYS
    struct names *names = names_new();
    struct tasks_set *set = tasks_set_new(names);
    size_t count = 0;
    for (int round = 0; round < 60000; round++) {
        int key = (int)rnd(KEYS * 2 + 1) - KEYS;
        struct task **at = &model[key + KEYS];
        if (!key)
            continue;
        assert_ptr_equal(tasks_set_find(set, key), *at);
        if (!*at) {
            *at = tasks_set_add(set, key);
            (*at)->comm = names_get(names, "x", 1);
            assert_int_equal((*at)->tid, abs(key));
            count++;
        } else if (rnd(3) == 0) {
            tasks_set_move(set, *at, rnd(2) ? TASKS_IDLE : TASKS_ACTIVE);
        } else {
            if (rnd(2)) { // ended: no longer found, the PID may be reused
                tasks_set_move(set, *at, TASKS_ENDED);
                assert_null(tasks_set_find(set, key));
            }
            tasks_set_drop(set, *at);
            *at = NULL;
            count--;
        }
        assert_int_equal(tasks_set_count(set, TASKS_ACTIVE) + tasks_set_count(set, TASKS_IDLE), count);
    }
    for (int key = -KEYS; key <= KEYS; key++)
        assert_ptr_equal(tasks_set_find(set, key), model[key + KEYS]);
    for (int list = 0; list < TASK_LISTS; list++)
        for (size_t i = 0; i < tasks_set_count(set, list); i++)
            assert_int_equal(tasks_set_at(set, list, i)->index, i);
    tasks_set_free(set);
    assert_int_equal(names_count(names), 0);
    names_free(names);
}

static void names_are_shared(void **state) {
    (void)state;
    struct names *names = names_new();
    struct name *a = names_get(names, "same", 4), *b = names_get(names, "same", 4);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, names_get(names, "sam", 3));
    enum { N = 3000 };
    static struct name *held[N];
    for (int round = 0; round < 40000; round++) {
        uint32_t i = rnd(N);
        char text[64];
        int len = snprintf(text, sizeof(text), "name\n%u\x1b", i / 2); // two of each
        if (held[i]) {
            assert_string_equal(text_bytes(held[i]->text), text);
            names_release(names, held[i]);
            held[i] = NULL;
        } else {
            held[i] = names_get(names, text, (size_t)len);
            if (held[i ^ 1])
                assert_ptr_equal(held[i], held[i ^ 1]);
        }
    }
    names_free(names);
}

static void users_come_from_the_file(void **state) {
    (void)state;
    char path[] = "/tmp/test_tasks_passwd.XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "root:x:0:0::/root:/bin/sh\n# comment\nbroken\nzed:x:70000:1::/:/x\nann:x:1000:1::/:/x\n"
                               "second:x:1000:1::/:/x\n:x:5:5::/:/\n+::::::\n";
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    struct names *names = names_new();
    names_users_refresh(names, path);
    assert_string_equal(text_bytes(names_user(names, 0)->text), "root");
    assert_string_equal(text_bytes(names_user(names, 1000)->text), "ann");
    assert_string_equal(text_bytes(names_user(names, 70000)->text), "zed");
    assert_string_equal(text_bytes(names_user(names, 5)->text), "5");
    assert_string_equal(text_bytes(names_user(names, 4294967294u)->text), "4294967294");
    names_free(names);
    unlink(path);
}

// Users of a directory in the file: 50,000 in random order, each a second time under another name.
static void many_users_are_sorted(void **state) {
    (void)state;
    enum { USERS = 50000 };
    char path[] = "/tmp/test_tasks_passwd.XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    for (int twice = 0; twice < 2; twice++)
        for (unsigned i = 0; i < USERS; i++) {
            unsigned uid = (i * 7919u) % USERS; // each once
            fprintf(file, "%c%u:x:%u:100::/:/x\n", twice ? 'z' : 'a', uid, uid);
        }
    fclose(file);
    struct names *names = names_new();
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    names_users_refresh(names, path);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    for (unsigned uid = 0; uid < USERS; uid += 37) {
        char text[16];
        snprintf(text, sizeof(text), "a%u", uid);
        assert_string_equal(text_bytes(names_user(names, uid)->text), text);
    }
    // About 30 ms; with insertion sort more than 10 s.
    assert_in_range(end.tv_sec - begin.tv_sec, 0, 3);
    names_free(names);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_finds_what_is_there),
        cmocka_unit_test(names_are_shared),
        cmocka_unit_test(users_come_from_the_file),
        cmocka_unit_test(many_users_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
