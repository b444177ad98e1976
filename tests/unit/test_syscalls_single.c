// Rows of single calls from forged records: one for each call, and those that have none counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "collectors/syscalls/single.h"
#include "model/mem.h"
#include "tests/unit/forge_syscalls.h"

static void identify(void *ctx, int32_t tid, struct syscalls_process *process, char *comm) {
    (void)ctx;
    process->pid = tid;
    process->wanted = true;
    strcpy(process->comm, "program");
    strcpy(comm, "thread");
}

// Calls that began at the same time in several threads, each among the slowest and failed: a row each, in the order of
// the threads.
static void same_time(void **state) {
    (void)state;
    enum { THREADS = 3 };
    const struct syscalls_hooks hooks = {.identify = identify};
    const int32_t number = syscalls_number_of(SYSCALLS_MACHINE, "close");
    struct syscalls_pair *pair = syscalls_pair_new(&forge_layout, &hooks, FORGE_CPUS);
    struct syscalls_args *args = syscalls_args_new(NULL, "/nonexistent");
    struct forge page;
    forge_start(&page, 1000);
    for (int32_t i = 0; i < THREADS; i++)
        forge_enter(&page, 0, 100 + i, number, 3);
    for (int32_t i = 0; i < THREADS; i++)
        forge_exit(&page, 10, 100 + i, number, -EBADF);
    assert_int_equal(forge_take(pair, 0, &page), 2 * THREADS);
    const struct text *name = text_from("close");
    const struct text **names = xcalloc(pair->n_calls, sizeof(*names));
    for (uint32_t i = 0; i < pair->n_calls; i++)
        names[i] = name;
    struct syscalls_fill fill = {.pair = pair, .args = args, .seconds = 1, .scale = 1, .calls = THREADS + 2};
    struct section *section = section_new("syscalls", 0, 1);
    syscalls_single_fill(&fill, names, section);
    uint64_t left_out = 0;
    const struct table *rows = section_find_stream(section, syscalls_slow_table.name, &left_out);
    assert_int_equal((int)table_rows(rows), THREADS);
    assert_int_equal(left_out, 2);
    const union cell *row;
    size_t at = 0;
    for (int32_t i = 0; (row = table_next(rows, &at)); i++)
        assert_int_equal(row[SYSCALLS_S_TID].num, 100 + i);
    section_unref(section);
    free(names);
    text_unref(name);
    syscalls_args_free(args);
    syscalls_pair_free(pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
