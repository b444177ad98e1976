// Pairing of entries and returns on forged records: what counts as one call, by whom, with which error and time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>

#include "tests/unit/forge_syscalls.h"

// Numbers of this machine's own table.
#define NR(name_) syscalls_number_of(SYSCALLS_MACHINE, #name_)

static uint32_t lookups;

static void identify(void *ctx, int32_t tid, struct syscalls_process *process, char *comm) {
    (void)ctx;
    lookups++;
    process->pid = tid / 10 * 10; // threads 101 ... 109 are of process 100
    process->wanted = tid < 900;
    process->abi = tid >= 800 && tid < 900 ? SYSCALLS_ABI_32 : SYSCALLS_ABI_NATIVE;
    strcpy(process->comm, "program");
    strcpy(comm, "thread");
}

static bool all_gone(void *ctx, int32_t tid) {
    (void)ctx;
    (void)tid;
    return false;
}

static struct syscalls_pair *pair_new(void) {
    const struct syscalls_hooks hooks = {.identify = identify};
    lookups = 0;
    return syscalls_pair_new(&forge_layout, &hooks, FORGE_CPUS);
}

// What was counted for the thread and call; an empty one when nothing was.
static struct syscalls_cell cell_of(const struct syscalls_pair *pair, int32_t tid, int32_t id) {
    for (uint32_t i = 0; i < pair->n_cells; i++)
        if (pair->threads[pair->cells[i].owner & 0x3fffffff].tid == tid && pair->cells[i].id == id)
            return pair->cells[i];
    return (struct syscalls_cell){0};
}

static uint32_t errors_of(const struct syscalls_pair *pair, int32_t tid, int32_t id, uint32_t error) {
    for (uint32_t i = 0; i < pair->n_errors; i++) {
        const struct syscalls_cell *cell = &pair->cells[pair->errors[i].cell];
        if (pair->threads[cell->owner & 0x3fffffff].tid == tid && cell->id == id && pair->errors[i].error == error)
            return pair->errors[i].count;
    }
    return 0;
}

static const struct syscalls_process *process_of(const struct syscalls_pair *pair, int32_t tid) {
    for (uint32_t i = 0; i < pair->n_threads; i++)
        if (pair->threads[i].tid == tid)
            return &pair->processes[pair->threads[i].process];
    return NULL;
}

static void plain_calls(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    forge_enter(&page, 0, 101, NR(read), 3);
    forge_enter(&page, 50, 102, NR(read), 4);
    forge_exit(&page, 50, 101, NR(read), 10); // 100
    forge_enter(&page, 10, 101, NR(read), 3);
    forge_exit(&page, 300, 101, NR(read), -EAGAIN); // 300
    forge_exit(&page, 40, 102, NR(read), -EINTR);   // 400
    forge_enter(&page, 1, 101, NR(close), 3);
    forge_exit(&page, 7, 101, NR(close), 0);
    assert_int_equal(forge_take(pair, 0, &page), 8);
    struct syscalls_cell cell = cell_of(pair, 101, NR(read));
    assert_int_equal(cell.calls, 2);
    assert_int_equal(cell.errors, 1);
    assert_int_equal(cell.total_ns, 400);
    assert_int_equal(cell.min_ns, 100);
    assert_int_equal(cell.max_ns, 300);
    assert_int_equal(cell.call->buckets[hist_bucket(100)], 1);
    assert_int_equal(cell.call->buckets[hist_bucket(300)], 1);
    assert_int_equal(cell.call->buckets[hist_bucket(400)], 1); // of all threads
    assert_int_equal(errors_of(pair, 101, NR(read), EAGAIN), 1);
    assert_int_equal(errors_of(pair, 102, NR(read), EINTR), 1);
    assert_int_equal(cell_of(pair, 101, NR(close)).max_ns, 7);
    assert_int_equal(pair->unpaired, 0);
    assert_int_equal(lookups, 2);
    assert_int_equal(process_of(pair, 102)->pid, 100);
    syscalls_pair_clear(pair);
    assert_int_equal(cell_of(pair, 101, NR(read)).calls, 0);
    forge_start(&page, 5000);
    forge_enter(&page, 0, 101, NR(read), 3);
    forge_exit(&page, 20, 101, NR(read), 1);
    forge_take(pair, 1, &page);
    cell = cell_of(pair, 101, NR(read));
    assert_int_equal(cell.calls, 1); // nothing of the interval before
    assert_int_equal(cell.errors, 0);
    assert_int_equal(cell.call->buckets[hist_bucket(20)], 1);
    assert_int_equal(cell.call->buckets[hist_bucket(300)], 0);
    syscalls_pair_free(pair);
}

// Entry on one CPU, return on another; and a call that ends in the next interval.
static void moves(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    forge_enter(&page, 0, 101, NR(read), 3);
    forge_enter(&page, 0, 201, NR(write), 3);
    forge_take(pair, 0, &page);
    syscalls_pair_settle(pair);
    syscalls_pair_clear(pair);
    syscalls_pair_tidy(pair, NULL);
    forge_start(&page, 9000);
    forge_exit(&page, 0, 101, NR(read), 3);
    forge_take(pair, 2, &page);
    assert_int_equal(cell_of(pair, 101, NR(read)).total_ns, 8000);
    assert_int_equal(cell_of(pair, 201, NR(write)).calls, 0);
    syscalls_pair_free(pair);
}

// The kernel begins an interrupted call again: one call, from its first entry.
static void begun_again(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    forge_enter(&page, 0, 101, NR(read), 3);
    forge_exit(&page, 100, 101, NR(read), -512); // no handler: a stop and a continue
    forge_enter(&page, 100, 101, NR(read), 3);
    forge_exit(&page, 100, 101, NR(read), 1);
    forge_enter(&page, 0, 102, NR(nanosleep), 7);
    forge_exit(&page, 100, 102, NR(nanosleep), -516);
    forge_enter(&page, 100, 102, NR(restart_syscall), 7);
    forge_exit(&page, 100, 102, NR(restart_syscall), -516); // and again
    forge_enter(&page, 100, 102, NR(restart_syscall), 7);
    forge_exit(&page, 100, 102, NR(restart_syscall), 0);
    forge_take(pair, 0, &page);
    assert_int_equal(cell_of(pair, 101, NR(read)).calls, 1);
    assert_int_equal(cell_of(pair, 101, NR(read)).total_ns, 300);
    assert_int_equal(cell_of(pair, 101, NR(read)).errors, 0);
    assert_int_equal(cell_of(pair, 102, NR(nanosleep)).calls, 1);
    assert_int_equal(cell_of(pair, 102, NR(nanosleep)).total_ns, 500);
    assert_int_equal(cell_of(pair, 102, NR(restart_syscall)).calls, 0);
    assert_int_equal(pair->unpaired, 0);
    syscalls_pair_free(pair);
}

// A handler runs in between: its sigreturn tells whether the program sees EINTR.
static void handlers(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    for (int restarts = 0; restarts < 2; restarts++) {
        forge_enter(&page, 0, 101, NR(read), 3);
        forge_exit(&page, 100, 101, NR(read), -512);
        forge_enter(&page, 10, 101, NR(write), 1); // the handler's
        forge_exit(&page, 10, 101, NR(write), 1);
        forge_enter(&page, 10, 101, NR(rt_sigreturn), 0);
        forge_exit(&page, 10, 101, -1, restarts ? NR(read) : -EINTR);
        if (restarts) {
            forge_enter(&page, 10, 101, NR(read), 3);
            forge_exit(&page, 50, 101, NR(read), 5);
        }
        // A signal while the program runs interrupts no call.
        forge_enter(&page, 10, 101, NR(rt_sigreturn), 0);
        forge_exit(&page, 10, 101, -1, -EINTR);
    }
    forge_take(pair, 0, &page);
    struct syscalls_cell cell = cell_of(pair, 101, NR(read));
    assert_int_equal(cell.calls, 2);
    assert_int_equal(cell.errors, 1);
    assert_int_equal(cell.min_ns, 100); // up to the signal
    assert_int_equal(cell.max_ns, 200); // begun again
    assert_int_equal(errors_of(pair, 101, NR(read), EINTR), 1);
    assert_int_equal(cell_of(pair, 101, NR(write)).calls, 2);
    assert_int_equal(cell_of(pair, 101, NR(rt_sigreturn)).calls, 4);
    assert_int_equal(cell_of(pair, 101, NR(rt_sigreturn)).errors, 0);
    assert_int_equal(pair->unpaired, 0);
    syscalls_pair_free(pair);
}

static void making_and_ending(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    forge_enter(&page, 0, 100, NR(clone), 0);
    forge_newtask(&page, 5, 100, 300, 0); // a process
    forge_exit(&page, 5, 300, NR(clone), 0);
    forge_exit(&page, 5, 100, NR(clone), 300);
    forge_enter(&page, 1, 300, NR(clone), 0);
    forge_newtask(&page, 5, 300, 301, CLONE_THREAD); // a thread of it
    forge_exit(&page, 5, 301, NR(clone), 0);
    forge_exit(&page, 5, 300, NR(clone), 301);
    forge_enter(&page, 1, 300, NR(execve), 0);
    forge_rename(&page, 1, 300, "other");
    forge_exit(&page, 9, 300, NR(execve), 0);
    forge_enter(&page, 1, 301, NR(exit), 0);
    forge_enter(&page, 1, 300, NR(exit_group), 0);
    forge_take(pair, 0, &page);
    assert_int_equal(lookups, 1); // events identified 300 and 301
    assert_int_equal(process_of(pair, 300)->pid, 300);
    assert_int_equal(process_of(pair, 301)->pid, 300);
    assert_string_equal(process_of(pair, 301)->comm, "other");
    assert_int_equal(cell_of(pair, 100, NR(clone)).calls, 1);
    assert_int_equal(cell_of(pair, 300, NR(clone)).calls + cell_of(pair, 300, NR(clone)).untimed, 1);
    assert_int_equal(cell_of(pair, 301, NR(clone)).calls + cell_of(pair, 301, NR(clone)).untimed, 0);
    assert_int_equal(cell_of(pair, 300, NR(execve)).max_ns, 10);
    syscalls_pair_settle(pair);
    assert_int_equal(cell_of(pair, 301, NR(exit)).untimed, 1);
    assert_int_equal(cell_of(pair, 300, NR(exit_group)).untimed, 1);
    syscalls_pair_settle(pair);
    assert_int_equal(cell_of(pair, 300, NR(exit_group)).untimed, 1);
    assert_int_equal(pair->unpaired, 0);
    syscalls_pair_clear(pair);
    syscalls_pair_tidy(pair, NULL);
    assert_null(process_of(pair, 300));
    assert_null(process_of(pair, 301));
    assert_int_equal(process_of(pair, 100)->pid, 100);
    syscalls_pair_free(pair);
}

// A return whose entry was before the stream or in a gap counts, without a time.
static void unpaired(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    const uint64_t args[6] = {1, 2, 3};
    syscalls_pair_before(pair, 102, NR(ppoll), args, 500);
    forge_start(&page, 1000);
    forge_exit(&page, 0, 101, NR(read), -EBADF);
    forge_exit(&page, 0, 102, NR(ppoll), 1);
    forge_enter(&page, 10, 101, NR(write), 0);
    forge_take(pair, 0, &page);
    syscalls_pair_gap(pair, 1500);
    forge_start(&page, 2000);
    forge_exit(&page, 0, 101, NR(write), 1);
    forge_enter(&page, 10, 101, NR(write), 0);
    forge_exit(&page, 10, 101, NR(write), 1);
    forge_take(pair, 0, &page);
    assert_int_equal(cell_of(pair, 101, NR(read)).untimed, 1);
    assert_int_equal(cell_of(pair, 101, NR(read)).calls, 0);
    assert_int_equal(errors_of(pair, 101, NR(read), EBADF), 1);
    assert_int_equal(cell_of(pair, 102, NR(ppoll)).untimed, 1);
    assert_int_equal(cell_of(pair, 101, NR(write)).untimed, 1);
    assert_int_equal(cell_of(pair, 101, NR(write)).calls, 1);
    assert_int_equal(cell_of(pair, 101, NR(write)).max_ns, 10);
    assert_int_equal(pair->unpaired, 3);
    syscalls_pair_free(pair);
}

static void others_tables(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    forge_enter(&page, 0, 950, NR(read), 0); // not wanted
    forge_exit(&page, 5, 950, NR(read), 0);
    forge_enter(&page, 0, 801, 3, 0); // 32-bit: read of i386
    forge_exit(&page, 5, 801, 3, 0);
    forge_enter(&page, 0, 101, 100000, 0); // a number that there is not
    forge_exit(&page, 5, 101, 100000, -ENOSYS);
    forge_enter(&page, 0, 101, 0x7ffffff0, 0);
    forge_exit(&page, 5, 101, 0x7ffffff0, -ENOSYS);
    forge_take(pair, 0, &page);
    assert_int_equal(cell_of(pair, 950, NR(read)).calls, 0);
    assert_int_equal(cell_of(pair, 801, 3).call->abi, SYSCALLS_ABI_32);
    assert_int_equal(cell_of(pair, 801, 3).call->number, 3);
    assert_int_equal(cell_of(pair, 101, 100000).call->number, SYSCALLS_NUMBERS - 1);
    assert_int_equal(cell_of(pair, 101, 100000).errors, 1);
    if (SYSCALLS_MACHINE == SYSCALLS_X86_64) { // an exec of a 32-bit program, and back
        forge_start(&page, 2000);
        forge_enter(&page, 0, 101, NR(execve), 0);
        forge_exit(&page, 9, 101, 11, 0);
        forge_enter(&page, 0, 101, 20, 0);
        forge_exit(&page, 5, 101, 20, 101);
        forge_enter(&page, 0, 101, 11, 0);
        forge_exit(&page, 7, 101, NR(execve), 0);
        forge_enter(&page, 0, 101, 20, 0);
        forge_exit(&page, 5, 101, 20, 101);
        forge_take(pair, 0, &page);
        assert_int_equal(cell_of(pair, 101, NR(execve)).max_ns, 9);
        assert_int_equal(cell_of(pair, 101, 11).max_ns, 7);
        uint32_t native = 0, other = 0;
        for (uint32_t i = 0; i < pair->n_cells; i++)
            if (pair->cells[i].id == 20)
                *(pair->cells[i].call->abi == SYSCALLS_ABI_32 ? &other : &native) += (uint32_t)pair->cells[i].calls;
        assert_int_equal(native, 1);
        assert_int_equal(other, 1);
    }
    syscalls_pair_free(pair);
}

// ktop's own threads, known before their events or found out in the middle of a call, and what they make.
static void own_threads(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    syscalls_pair_own(pair, 501);
    assert_int_equal(lookups, 0); // no lookup needed
    forge_start(&page, 1000);
    forge_exit(&page, 0, 501, NR(read), 0); // the kernel left its entry out
    forge_enter(&page, 5, 501, NR(read), 3);
    forge_enter(&page, 5, 101, NR(read), 3);
    forge_newtask(&page, 5, 501, 502, CLONE_VM | CLONE_THREAD);
    forge_newtask(&page, 5, 501, 600, 0);
    forge_rename(&page, 5, 502, "ktop-lists");
    forge_enter(&page, 5, 502, NR(close), 3);
    forge_enter(&page, 5, 600, NR(close), 3);
    forge_exit(&page, 5, 101, NR(read), 0);
    forge_enter(&page, 5, 701, NR(read), 3); // a thread that is still unknown
    assert_int_equal(forge_take(pair, 0, &page), 3);
    syscalls_pair_own(pair, 701);
    syscalls_pair_gap(pair, 1500);
    forge_start(&page, 2000);
    forge_exit(&page, 5, 701, NR(read), 0);
    forge_exit(&page, 5, 502, NR(close), 0);
    forge_enter(&page, 5, 600, NR(exit), 0);
    assert_int_equal(forge_take(pair, 1, &page), 0);
    syscalls_pair_settle(pair);
    assert_int_equal(pair->own, 10);
    assert_int_equal(pair->unpaired, 0);
    assert_int_equal(pair->n_cells, 1); // the read of 101
    // A number that is used again is its new owner's.
    syscalls_pair_clear(pair);
    syscalls_pair_tidy(pair, all_gone);
    syscalls_pair_tidy(pair, all_gone);
    assert_non_null(process_of(pair, 501)); // its last events may not have been read yet
    syscalls_pair_tidy(pair, all_gone);
    assert_null(process_of(pair, 501));
    syscalls_pair_own(pair, 501);
    forge_start(&page, 3000);
    forge_newtask(&page, 5, 101, 501, 0);
    forge_enter(&page, 5, 501, NR(close), 3);
    forge_exit(&page, 5, 501, NR(close), 0);
    assert_int_equal(forge_take(pair, 0, &page), 3);
    assert_int_equal(cell_of(pair, 501, NR(close)).calls, 1);
    assert_int_equal(process_of(pair, 501)->pid, 501);
    assert_false(pair->processes[SYSCALLS_OWN].wanted);
    assert_true(pair->processes[SYSCALLS_OTHERS].wanted);
    syscalls_pair_free(pair);
}

// Bytes that make no sense are left out, and nothing is read past their end.
static void damaged(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    forge_event(&page, 0, 1, FORGE_ENTER);
    forge_event(&page, 0, 4, FORGE_EXIT);
    forge_event(&page, 0, 2, FORGE_NEWTASK);
    forge_event(&page, 0, 2, FORGE_RENAME);
    forge_event(&page, 0, 2, 7777);
    forge_enter(&page, 0, 101, NR(read), 0);
    forge_exit(&page, 5, 101, NR(read), 0);
    assert_int_equal(forge_take(pair, 0, &page), 7);
    assert_int_equal(pair->damaged, 5);
    assert_int_equal(cell_of(pair, 101, NR(read)).calls, 1);
    syscalls_pair_free(pair);
}

// More threads, calls and errors than there is room for: what is there stays right, the rest is counted.
static void full(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    for (int32_t tid = 1; tid <= 40000; tid++) {
        forge_start(&page, 1000);
        for (int i = 0; i < 5; i++) {
            forge_enter(&page, 0, tid << 8, NR(read) + i, 0); // other PIDs than the wanted ones' limit
            forge_exit(&page, 5, tid << 8, NR(read) + i, -1 - i);
        }
        pair->hooks.identify = NULL;
        forge_take(pair, 0, &page);
    }
    assert_true(pair->left_out > 0);
    uint64_t calls = 0;
    for (uint32_t i = 0; i < pair->n_cells; i++)
        calls += pair->cells[i].calls;
    assert_int_equal(calls, pair->n_cells);
    // Of threads without room both events are left out, of calls without a cell one note is made.
    uint64_t threads_out = (40000 - pair->n_threads) * 10ull;
    assert_int_equal(calls + (pair->left_out - threads_out), pair->n_threads * 5ull);
    syscalls_pair_clear(pair);
    syscalls_pair_tidy(pair, NULL);
    syscalls_pair_free(pair);
}

static void slowest(void **state) {
    (void)state;
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    forge_start(&page, 1000);
    for (uint32_t i = 1; i <= 30; i++) {
        forge_enter(&page, 1, 101, NR(read), i);
        forge_exit(&page, i * 7 % 31 * 10, 101, NR(read), 0); // 10 ... 300, each once
    }
    forge_take(pair, 0, &page);
    const struct syscalls_call *call = cell_of(pair, 101, NR(read)).call;
    uint64_t sum = 0;
    assert_int_equal(call->n_slow, SYSCALLS_SLOWEST);
    for (uint32_t i = 0; i < call->n_slow; i++) {
        sum += call->slow[i].latency_ns;
        assert_int_equal(call->slow[i].latency_ns, call->slow[i].args[0] * 7 % 31 * 10);
        assert_string_equal(call->slow[i].comm, "thread");
    }
    assert_int_equal(sum, 300 + 290 + 280 + 270);
    syscalls_pair_free(pair);
}

// The failures that are kept of a thread, call and error, by their first arguments, oldest first: "1 2 3".
static const char *kept(const struct syscalls_pair *pair, int32_t tid, int32_t id, uint32_t error) {
    static char text[128];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < pair->n_errors; i++) {
        const struct syscalls_error *entry = &pair->errors[i];
        const struct syscalls_cell *cell = &pair->cells[entry->cell];
        if (pair->threads[cell->owner & 0x3fffffff].tid != tid || cell->id != id || entry->error != error ||
            !entry->failures)
            continue;
        const struct syscalls_failures *failures = &pair->failures[entry->failures - 1];
        assert_ptr_equal(failures->call, cell->call);
        for (uint32_t k = 0; k < failures->n; k++) {
            const struct syscalls_single *at =
                &failures->at[(failures->next + SYSCALLS_FAILED - failures->n + k) % SYSCALLS_FAILED];
            assert_int_equal(at->result, -(int64_t)error);
            assert_int_equal(at->tid, tid);
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu", k ? " " : "",
                                     (unsigned long long)at->args[0]);
        }
    }
    return text;
}

static void fails(struct forge *page, int32_t tid, int32_t id, uint64_t arg, uint32_t error) {
    forge_enter(page, 1, tid, id, arg);
    forge_exit(page, 9, tid, id, -(int64_t)error);
}

// The latest calls that failed, a bounded number in each window of time.
static void failures(void **state) {
    (void)state;
    enum { WINDOW = 1 << SYSCALLS_FAILED_WINDOW_BITS };
    struct syscalls_pair *pair = pair_new();
    struct forge page;
    for (uint64_t window = 1; window <= 4; window++) {
        forge_start(&page, window * WINDOW);
        for (uint64_t i = 1; i <= 6; i++)
            fails(&page, 101, NR(openat), window * 10 + i, ENOENT);
        fails(&page, 101, NR(openat), window, EACCES);
        fails(&page, 102, NR(openat), window, ENOENT);
        forge_enter(&page, 1, 101, NR(openat), 99);
        forge_exit(&page, 5, 101, NR(openat), 3);       // this one did not
        forge_exit(&page, 5, 103, NR(openat), -ENOENT); // with unknown arguments
        forge_take(pair, 0, &page);
    }
    assert_int_equal(errors_of(pair, 101, NR(openat), ENOENT), 24);
    assert_string_equal(kept(pair, 101, NR(openat), ENOENT), "31 32 33 34 41 42 43 44");
    assert_string_equal(kept(pair, 101, NR(openat), EACCES), "1 2 3 4");
    assert_string_equal(kept(pair, 102, NR(openat), ENOENT), "1 2 3 4");
    assert_string_equal(kept(pair, 103, NR(openat), ENOENT), "");
    assert_int_equal(pair->n_unread, 4 * 6);
    syscalls_pair_clear(pair);
    assert_int_equal(pair->n_unread, 0);
    // So many in all; half of them are for what has none yet. A CPU that is behind does not begin a window again.
    for (int cpu = 0; cpu < 2; cpu++) {
        for (uint64_t i = 0; i < 10; i++) {
            forge_start(&page, (9 - (uint64_t)cpu) * WINDOW + i * 1000);
            for (int32_t tid = 101; tid < 110; tid++)
                fails(&page, tid, NR(read), i, EBADF);
            forge_take(pair, (uint32_t)cpu, &page);
        }
    }
    assert_int_equal(pair->failed_in_window, SYSCALLS_FAILED_WINDOW_ALL / 2);
    assert_string_equal(kept(pair, 101, NR(read), EBADF), "0 1 2 3");
    assert_string_equal(kept(pair, 109, NR(read), EBADF), "0 1 2");
    for (int32_t tid = 201; tid < 300; tid++) {
        forge_start(&page, 9ull * WINDOW + (uint32_t)tid * 1000);
        fails(&page, tid, NR(write), 7, EBADF);
        forge_take(pair, 0, &page);
    }
    assert_string_equal(kept(pair, 201, NR(write), EBADF), "7");
    assert_string_equal(kept(pair, 299, NR(write), EBADF), "");
    assert_int_equal(pair->failed_in_window, SYSCALLS_FAILED_WINDOW_ALL);
    assert_int_equal(pair->n_unread, SYSCALLS_FAILED_WINDOW_ALL);
    syscalls_pair_free(pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_calls),       cmocka_unit_test(moves),
        cmocka_unit_test(begun_again),       cmocka_unit_test(handlers),
        cmocka_unit_test(making_and_ending), cmocka_unit_test(unpaired),
        cmocka_unit_test(others_tables),     cmocka_unit_test(own_threads),
        cmocka_unit_test(damaged),           cmocka_unit_test(full),
        cmocka_unit_test(slowest),           cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
