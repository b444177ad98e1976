// Counted memory: exact, and from many threads; and the way out when there is none.
#include "tests/unit/model_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/mem.h"

static void counts(void **state) {
    (void)state;
    size_t before = mem_used();
    unsigned char *memory = mem_alloc(1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(memory[i], 0);
    assert_int_equal(mem_used(), before + 1000);
    void *none = mem_alloc(0);
    assert_non_null(none);
    mem_free(none, 0);
    mem_free(memory, 1000);
    mem_free(NULL, 12);
    assert_int_equal(mem_used(), before);
    char *copy = xstrdup("abc");
    copy = xrealloc(copy, 100);
    assert_string_equal(copy, "abc");
    free(copy);
    free(xcalloc(0, 0));
    free(xmalloc(0));
    assert_int_equal(mem_used(), before); // not counted
}

static void *churn(void *argument) {
    (void)argument;
    for (int i = 0; i < 2000; i++)
        mem_free(mem_alloc((size_t)i), (size_t)i);
    return NULL;
}

static void threads(void **state) {
    (void)state;
    size_t before = mem_used();
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&all[i], NULL, churn, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    assert_int_equal(mem_used(), before);
}

static void give_back(void) {
    _exit(42);
}

// The sanitizers' allocators give NULL as libc's does, instead of ending the program themselves.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "allocator_may_return_null=1";
}

static void out_of_memory(void **state) {
    (void)state;
    pid_t child = fork();
    if (!child) {
        mem_on_failure(give_back);
        volatile size_t much = (size_t)1 << 60;
        mem_alloc(much);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(threads),
                                       cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
