// Where the samples of an interval were: the sampled instruction of each, as an offset in its object. A sample is one
// look-up in a hash table of integers; an address is resolved once per interval. Bounded: when the table is full, the
// addresses with the fewest samples are dropped, and their samples counted. One thread owns it.
#ifndef COLLECTORS_PROFILE_ADDRESSES_H
#define COLLECTORS_PROFILE_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ADDRESSES_MAX 16384  // of an interval
#define ADDRESSES_SHOWN 2048 // rows of the table

struct symbols_object;

struct address {
    uint32_t process, leaf; // IDs of names
    uint64_t ip;
    // Resolved once: the object and the offset as in symbols_user(); of the kernel (object NULL) the address.
    struct symbols_object *object;
    uint64_t offset;
    pid_t pid;
    uint32_t samples;
    bool kernel;
};

struct addresses;
struct addresses *addresses_new(void);
void addresses_free(struct addresses *addresses);
// Counts a sample. True: the address is new, and `*out` is to be resolved.
bool addresses_add(struct addresses *addresses, uint32_t process, uint32_t leaf, uint64_t ip, struct address **out);
// Most samples first; valid until the next addresses_add. *dropped: samples of addresses that are not in it.
const struct address *addresses_sorted(struct addresses *addresses, size_t *n, uint64_t *dropped);
void addresses_clear(struct addresses *addresses);

#endif
