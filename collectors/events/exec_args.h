// Arguments of programs that are started: perf samples each sched:sched_process_exec with the new program's stack, to
// which the kernel has just written the arguments. The program has not run yet, so they are what execve(2) was given,
// also if it exits at once. In one exec of four the sample ends at a page between pointers and strings that the kernel
// has not used: then /proc/PID/cmdline is read, some 100 us later; its mm->arg_start shows that it is the same program.
// One thread owns it. Kernel sources: fs/binfmt_elf.c (create_elf_tables: the stack), fs/proc/array.c (arg_start).
#ifndef COLLECTORS_EVENTS_EXEC_ARGS_H
#define COLLECTORS_EVENTS_EXEC_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/text.h"

// Of each sample. The kernel leaves a random gap of up to 8 KiB before the strings. Longer arguments end in " ...".
#define EXEC_STACK_BYTES 20480

struct exec_args;

// `id`: of the tracepoint. 0 or -errno.
int exec_args_open(uint16_t id, struct exec_args **out);
void exec_args_close(struct exec_args *args); // NULL is allowed
void exec_args_drain(struct exec_args *args); // soon after exec_args_fd is readable
int exec_args_fd(const struct exec_args *args);
void exec_args_follow(struct exec_args *args); // once per interval: CPUs that came or went
// The arguments of the program that the thread started at that time (CLOCK_MONOTONIC), or NULL: its sample was lost, it
// ended before they were read, or it is more than 4,096 programs ago. Borrowed until the next drain.
const struct text *exec_args_find(const struct exec_args *args, int32_t tid, uint64_t ns);
uint64_t exec_args_lost(const struct exec_args *args); // samples, since it was opened

// The stack of a new program, from its stack pointer `sp` up: argc, pointers, strings. word: 4 or 8 bytes. Arguments
// with blanks, quotes or nothing are quoted as in a shell. *whole: all are there. NULL: no argument is.
const struct text *exec_args_text(const uint8_t *stack, size_t size, uint64_t sp, unsigned word, bool *whole);
// The same from the bytes of /proc/PID/cmdline.
const struct text *exec_args_cmdline(const char *bytes, size_t size);

#endif
