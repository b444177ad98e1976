// From samples to paths of name IDs: the process, its user frames from the outermost to the innermost, then kernel
// frames likewise. Addresses are looked up once: a cache maps (address, state of the mappings) to IDs. One thread owns
// it.
#ifndef COLLECTORS_PROFILE_STACKS_H
#define COLLECTORS_PROFILE_STACKS_H

#include "collectors/kernel/symbols/symbols.h"
#include "collectors/profile/maps.h"
#include "collectors/profile/record.h"

#define STACKS_PATH_MAX 1024 // IDs of one path; kernel.perf_event_max_stack is 127 by default

struct stacks_frame {
    uint64_t ip;
    bool exact; // an instruction's; else a return address, which may be the first of the next function
};
// What else can walk a user stack: from the copy of it in a sample, and from the user frames of the kernel's callchain,
// leaf first. Returns how many frames it put into `frames`, leaf first; 0: the callchain is better. *whole: the last
// one is where the thread began; *cut: the copy ended before.
struct stacks_unwinder {
    size_t (*walk)(void *context, struct space *space, const struct profile_sample *sample, const uint64_t *chain,
                   size_t n_chain, struct stacks_frame *frames, size_t max, bool *whole, bool *cut);
    // From the callchain and registers without a copy of the stack: as above. *incomplete: callers are missing in it.
    size_t (*chain)(void *context, struct space *space, const struct profile_sample *sample, const uint64_t *chain,
                    size_t n_chain, struct stacks_frame *frames, size_t max, bool *incomplete);
    void *context;
};

struct stacks;
// max_stack: of the callchains. `unwinder` may be NULL. NULL with errno: symbols cannot be had.
struct stacks *stacks_new(struct space_maps *maps, struct name_table *names, uint32_t max_stack,
                          const struct stacks_unwinder *unwinder);
void stacks_free(struct stacks *stacks);
struct symbols *stacks_symbols(const struct stacks *stacks);
uint32_t stacks_last_name(const struct stacks *stacks); // the highest ID of a process: how full the name table is

struct stacks_path {
    uint32_t ids[STACKS_PATH_MAX];
    size_t n, n_user; // n_user: of them user frames, marks included
    bool whole;       // the unwind tables say that the outermost one has no caller
    bool incomplete;  // the callchain is known to lack user frames
    uint64_t leaf;    // address of the innermost frame
    bool leaf_kernel;
};
// The path of a sample of `space`.
void stacks_path(struct stacks *stacks, struct space *space, pid_t tid, const struct profile_sample *sample,
                 struct stacks_path *out);
// Where an address of user code is: the object and the offset, as in symbols_user(). False: no mapping is known there.
bool stacks_place(struct stacks *stacks, struct space *space, pid_t tid, uint64_t ip, struct symbols_object **object,
                  uint64_t *offset);
uint32_t stacks_process(struct stacks *stacks, struct space *space); // what the paths of its samples begin with
// A name that is no address's; each call gives a new ID.
uint32_t stacks_name(struct stacks *stacks, const char *symbol, enum name_kind kind, const char *object);
// Kernel code came or went.
void stacks_ksymbol(struct stacks *stacks, const struct profile_record *record);
// Once per interval: after files were read, addresses of one function get one ID.
void stacks_refresh(struct stacks *stacks);

#endif
