// Memory of the model: every byte that frames hold is counted, so that the history can be bounded in bytes and ktop can
// report its cost. Running out of memory ends the program (after mem_on_failure's hook restored the terminal).
#ifndef MODEL_MEM_H
#define MODEL_MEM_H

#include <stddef.h>

// Zeroed memory, counted. Never NULL. Free with mem_free and the same size.
void *mem_alloc(size_t size);
void mem_free(void *memory, size_t size);

// Accounts: each history has one, so that two histories in one process (a live one and a replay, two hosts) never evict
// each other's frames. A block belongs to the account that its thread charged at allocation, whichever thread frees it.
// Threads charge the process's own account (NULL) by default.
struct mem_account;
struct mem_account *mem_account_new(void);
void mem_account_close(struct mem_account *account);         // blocks may outlive it
struct mem_account *mem_charge(struct mem_account *account); // for this thread; returns the previous account
size_t mem_account_used(const struct mem_account *account);  // bytes now held, by all threads

// Bytes now held in the process's own account.
size_t mem_used(void);

// Like malloc/realloc/strdup, not counted, never NULL; free with free().
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *memory, size_t size);
char *xstrdup(const char *string);

// Prints why the program ends, a line, once: threads that run out of memory while it ends print no second reason.
// Returns when the first one is printed.
void mem_end_reason(const char *line);

// Called once, by the thread that ran out, before the program aborts.
void mem_on_failure(void (*hook)(void));

#endif
