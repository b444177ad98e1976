// Counted memory of the model, and the one way out when there is none left. Must never call back into the model.
#include "model/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_size_t used;
static _Atomic(void (*)(void)) failure_hook;

void mem_on_failure(void (*hook)(void)) {
    atomic_store(&failure_hook, hook);
}

static _Noreturn void out_of_memory(void) {
    // Taken by exchange: a second thread that runs out, or the hook itself, must not run it again.
    void (*hook)(void) = atomic_exchange(&failure_hook, NULL);
    if (hook)
        hook();
    static const char message[] =
        "ktop: out of memory: free some, or let it have more (ulimit -v, the cgroup's limit)\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);
    (void)ignored;
    _exit(1); // nothing of what is left could be trusted to end in order; the guard cleans the kernel
}

void *mem_alloc(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        out_of_memory();
    // A plain sum that nothing is ordered by.
    atomic_fetch_add_explicit(&used, size, memory_order_relaxed);
    return memory;
}

void mem_free(void *memory, size_t size) {
    if (!memory)
        return;
    atomic_fetch_sub_explicit(&used, size, memory_order_relaxed);
    free(memory);
}

size_t mem_used(void) {
    return atomic_load_explicit(&used, memory_order_relaxed);
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
