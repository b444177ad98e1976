// Names of the user code of stacks that the kernel recorded as addresses: mappings of the process, then symbols
// (collectors/kernel/symbols/). /proc/PID/maps is read in threads of their own, soon after a process is first seen,
// since it may exit. One thread calls these functions.
#ifndef COLLECTORS_USER_STACKS_H
#define COLLECTORS_USER_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "model/text.h"

#define USER_STACKS_FRAMES 16 // of one stack; more are left out

struct user_stacks;
struct user_stacks *user_stacks_new(const char *proc);         // "/proc", or a test's; NULL: no threads can be started
void user_stacks_free(struct user_stacks *stacks);             // NULL is allowed; texts may outlive it
void user_stacks_see(struct user_stacks *stacks, int32_t pid); // soon after its first event
void user_stacks_begin(struct user_stacks *stacks);            // of an interval: unknown mappings are read again
// The functions, innermost first: "work < main < __libc_start_call_main [libc.so.6]". exact: how many addresses, from
// the first one, are not those after a call. Symbols come with time: the text is made when it is drawn or written.
// NULL: no address.
const struct text *user_stacks_text(struct user_stacks *stacks, int32_t pid, const uint64_t *addresses, size_t n,
                                    size_t exact);
// Waits until what was asked for is looked up, for a short time: a batch writes each frame once.
void user_stacks_wait(struct user_stacks *stacks);

#endif
