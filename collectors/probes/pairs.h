// Lost returns: matches the returns of functions with their entries, per thread, by the stack pointer. Stacks grow
// down: when a thread enters a function at a stack pointer, all its calls at the same one or below have returned; at a
// return, the outermost call at or below the stack pointer is the one that returns. What else has ended was lost: by
// the kernel's limits (maxactive, 64 nested uretprobes), which it does not count on every kernel.
//
// Kernels that randomize the kernel's stack at each system call (RANDOMIZE_KSTACK_OFFSET) make a new call look like a
// nested one at times: a lost return of a kernel function is then noticed at one of the next calls.
//
// Fixed memory, no allocation after pairs_new. One thread owns it.
#ifndef COLLECTORS_PROBES_PAIRS_H
#define COLLECTORS_PROBES_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define PAIRS_MAX 16     // functions
#define PAIRS_DEEP 128   // nested calls of one function in one thread; outer ones are forgotten
#define PAIRS_SLOTS 2048 // threads in functions; the one that was used longest ago is forgotten

struct pairs;
struct pairs *pairs_new(void);
void pairs_free(struct pairs *pairs); // NULL is allowed
void pairs_enter(struct pairs *pairs, uint32_t function, int32_t tid, uint64_t stack);
void pairs_leave(struct pairs *pairs, uint32_t function, int32_t tid, uint64_t stack);
// Events were lost: calls that are in flight are forgotten, the counts stay.
void pairs_gap(struct pairs *pairs);
uint64_t pairs_lost(const struct pairs *pairs,
                    uint32_t function); // since pairs_new; less if such a return comes after all
uint64_t pairs_in_flight(const struct pairs *pairs, uint32_t function); // entered, neither returned nor lost

#endif
