// Block events: what the kernel's block tracepoints say, decoded from raw records with offsets resolved once.
// Kernel source: include/trace/events/block.h. No state, no allocation: any thread.
#ifndef COLLECTORS_BLOCK_EVENT_H
#define COLLECTORS_BLOCK_EVENT_H

#include "collectors/format.h"

enum block_kind {
    BLOCK_START,  // block_io_start (6.5 and later): a request was made for a bio: its arrival
    BLOCK_INSERT, // block_rq_insert: it went into the I/O scheduler's queue, where there is a scheduler
    BLOCK_ISSUE,
    BLOCK_REQUEUE,
    BLOCK_MERGE, // it was merged into a neighbour and is no more
    BLOCK_ERROR, // block_rq_error (5.18 and later): the kernel reports a failure to the log
    BLOCK_COMPLETE,
    BLOCK_BIO_QUEUE,    // a bio came to the block layer: what its submitter waits for begins
    BLOCK_BIO_COMPLETE, // it ended without a request (requests tell the end of their bios themselves)
    BLOCK_SPLIT,        // it was too long: `sectors` of it go first, the rest follows
    BLOCK_BACKMERGE,    // it joined a request that ends where it begins
    BLOCK_FRONTMERGE,   // … that begins where it ends
    BLOCK_REMAP,        // a bio for a partition: told before a control group's throttling, the queue event after it
    BLOCK_WB_BEGIN,     // writeback_single_inode_start: what this thread submits now belongs to `cgroup`
    BLOCK_WB_END,       // writeback_single_inode
    BLOCK_KINDS,
};
extern const char *const block_event_names[BLOCK_KINDS];   // of the tracepoints
extern const char *const block_event_systems[BLOCK_KINDS]; // "block", "writeback"
bool block_event_needed(enum block_kind kind);             // issue and complete; the others where they exist

enum block_op { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_DISCARD, BLOCK_OTHER, BLOCK_OPS };
extern const char *const block_op_names[BLOCK_OPS]; // "R" "W" "F" "D" "N"

#define BLOCK_RWBS 12 // room for op and flags with a NUL: 6.18 has 10 bytes, older kernels 8
#define BLOCK_COMM 16 // TASK_COMM_LEN
#define BLOCK_NO_SECTOR UINT64_MAX

struct block_event {
    uint64_t ts, sector; // 512-byte sectors; BLOCK_NO_SECTOR in the completion of a flush
    uint32_t dev;        // kernel's dev_t: major << 20 | minor
    uint32_t sectors;    // of this event: a partial completion has fewer than the request
    uint32_t bytes;      // as the event says, or sectors * 512
    int32_t tid, error;  // error: 0 or -errno
    uint32_t old_dev;    // of BLOCK_REMAP: what it was for
    uint64_t cgroup;     // of the writeback events: inode number of the control group's directory
    uint8_t kind, op, rwbs_size;
    const char *rwbs; // in the record: op and flags, rwbs_size bytes at most, NUL-padded
    const char *comm; // in the record: BLOCK_COMM bytes of the task that runs; NULL where the event has none
};

struct block_format {
    bool present;
    uint16_t id;
    uint32_t end; // a shorter record is damaged
    struct format_field tid, dev, sector, sectors, bytes, error, rwbs, comm, cgroup, old_dev;
};

// The same for the decoder, of formats whose numbers have the sizes that all known kernels give them. A field that the
// event has not is read at offset 0 and masked away: no branch to be guessed wrong.
struct block_layout {
    bool plain; // else the decoder takes the format
    uint8_t rwbs_size;
    uint16_t end, tid, dev, sector, sectors, bytes, error, rwbs, comm; // comm 0: none
    uint32_t bytes_mask, error_mask;
};
struct block_formats {
    struct block_format kinds[BLOCK_KINDS];
    struct block_layout layouts[BLOCK_KINDS];
    uint16_t low_id;     // ids are looked up as by_id[id - low_id]
    uint8_t by_id[8192]; // kind + 1; 0: none of ours
};

// From the text of a format file; the second reads it from tracefs. 0, or -errno as in format_parse.
int block_format_parse(struct block_format *format, enum block_kind kind, const char *text, size_t length,
                       const char **missing);
int block_format_read(struct block_format *format, enum block_kind kind, const char *dir, const char **missing);
// After the formats are there: the table of ids. An event whose id lies too far off is then not present; -ERANGE when
// it is needed.
int block_formats_index(struct block_formats *formats);

// False when the record is none of ours or too short.
bool block_event_decode(const struct block_formats *formats, uint64_t ts, const uint8_t *record, uint32_t size,
                        struct block_event *out);

// By a table: what comes next is anybody's guess, and a branch would be guessed wrong.
static inline enum block_op block_op_of(const char *rwbs) {
    // Counted down from BLOCK_OTHER, which all others are (N: passed through from a program or driver; Z: zones); DE is
    // a secure erase.
    static const uint8_t below_other[32] = {['R' & 31] = BLOCK_OTHER - BLOCK_READ,
                                            ['W' & 31] = BLOCK_OTHER - BLOCK_WRITE,
                                            ['D' & 31] = BLOCK_OTHER - BLOCK_DISCARD,
                                            ['F' & 31] = BLOCK_OTHER - BLOCK_FLUSH};
    enum block_op op = (enum block_op)(BLOCK_OTHER - below_other[rwbs[0] & 31]);
    if (__builtin_expect(op == BLOCK_FLUSH && rwbs[1] == 'W', 0)) // FF: a flush itself; FW: a write that flushes first
        return BLOCK_WRITE;
    return op;
}

// Operation and flags in one small number: the keys of histograms.
enum { BLOCK_FUA = 1, BLOCK_AHEAD = 2, BLOCK_SYNC = 4, BLOCK_META = 8, BLOCK_FLAGS = 16 };
#define BLOCK_KEYS (8 * BLOCK_FLAGS)
static inline uint8_t block_key_of(const char *rwbs, uint8_t op) {
    unsigned flags = 0, i = rwbs[0] == 'F' && (rwbs[1] == 'W' || rwbs[1] == 'F') ? 2 : rwbs[0] != 0;
    for (; i < BLOCK_RWBS && rwbs[i]; i++)
        flags |= rwbs[i] == 'F'   ? BLOCK_FUA
                 : rwbs[i] == 'A' ? BLOCK_AHEAD
                 : rwbs[i] == 'S' ? BLOCK_SYNC
                 : rwbs[i] == 'M' ? BLOCK_META
                                  : 0u;
    return (uint8_t)(flags << 3 | op);
}
static inline uint8_t block_key_op(uint8_t key) {
    return key & 7;
}
// "R", "RA", "WSM": flags in the kernel's order.
void block_key_name(uint8_t key, char out[8]);

#endif
