// Counted memory of the model, and the exit when it runs out. Must never call back into the model.
#include "model/mem.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// An account lives until its owner has closed it and its last block is freed.
struct mem_account {
    atomic_size_t used, refs; // refs: the owner and every block
};

// Precedes each block, so that any thread can return it to the account that was charged.
union block {
    struct mem_account *account;
    uint64_t align;
};

static struct mem_account process = {.refs = 1};
static _Thread_local struct mem_account *current = &process;
static _Atomic(void (*)(void)) failure_hook;

void mem_on_failure(void (*hook)(void)) {
    atomic_store(&failure_hook, hook);
}

void mem_end_reason(const char *line) {
    static atomic_int reasons, printed;
    if (atomic_fetch_add(&reasons, 1)) {
        while (!atomic_load(&printed))
            sched_yield();
        return;
    }
    ssize_t ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
    atomic_store(&printed, 1);
}

static _Noreturn void out_of_memory(void) {
    static const char message[] =
        "ktop: out of memory: free some, or raise the limit (ulimit -v, or memory.max of the cgroup)\n";
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    static _Thread_local bool mine; // the hook itself may run out of memory
    if (atomic_flag_test_and_set(&taken) && !mine)
        for (;;)
            pause(); // another thread is already ending the process
    void (*hook)(void) = mine ? NULL : atomic_load(&failure_hook);
    mine = true;
    if (hook)
        hook();
    mem_end_reason(message);
    _exit(1); // an orderly exit would need memory; the guard cleans the kernel
}

void *mem_alloc(size_t size) {
    union block *block = calloc(1, sizeof(*block) + size);
    if (!block)
        out_of_memory();
    block->account = current;
    // Relaxed: plain sums that order nothing. A block is freed after the owner's close or keeps the account alive.
    atomic_fetch_add_explicit(&current->used, size, memory_order_relaxed);
    if (current != &process)
        atomic_fetch_add_explicit(&current->refs, 1, memory_order_relaxed);
    return block + 1;
}

static void account_unref(struct mem_account *account) {
    // Release by all, acquire by the last, which frees it.
    if (account != &process && atomic_fetch_sub_explicit(&account->refs, 1, memory_order_acq_rel) == 1)
        free(account);
}

void mem_free(void *memory, size_t size) {
    if (!memory)
        return;
    union block *block = (union block *)memory - 1;
    struct mem_account *account = block->account;
    atomic_fetch_sub_explicit(&account->used, size, memory_order_relaxed);
    free(block);
    account_unref(account);
}

size_t mem_used(void) {
    return mem_account_used(&process);
}

struct mem_account *mem_account_new(void) {
    struct mem_account *account = xcalloc(1, sizeof(*account));
    atomic_init(&account->refs, 1);
    return account;
}

void mem_account_close(struct mem_account *account) {
    if (account)
        account_unref(account);
}

struct mem_account *mem_charge(struct mem_account *account) {
    struct mem_account *before = current;
    current = account ? account : &process;
    return before;
}

size_t mem_account_used(const struct mem_account *account) {
    return atomic_load_explicit(&(account ? (struct mem_account *)account : &process)->used, memory_order_relaxed);
}

void *xmalloc(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *xcalloc(size_t n, size_t size) {
    void *memory = calloc(n ? n : 1, size ? size : 1);
    if (!memory)
        out_of_memory();
    return memory;
}

void *xrealloc(void *memory, size_t size) {
    void *larger = realloc(memory, size ? size : 1);
    if (!larger)
        out_of_memory();
    return larger;
}

char *xstrdup(const char *string) {
    size_t size = strlen(string) + 1;
    return memcpy(xmalloc(size), string, size);
}
