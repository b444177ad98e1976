// Block events: what the kernel's block tracepoints say, decoded from raw records with offsets resolved once.
// Kernel source: include/trace/events/block.h. No state, no allocation: any thread.
#ifndef COLLECTORS_BLOCK_EVENT_H
#define COLLECTORS_BLOCK_EVENT_H

#include "collectors/kernel/tracefs/format.h"

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
    BLOCK_REMAP,        // a bio for a partition: told before a control group's throttling, the queue event after it; or
                        // one that a disk (dm, md, a head of several paths) sends on to another one
    BLOCK_WB_BEGIN,     // writeback_single_inode_start: what this thread submits now belongs to `cgroup`
    BLOCK_WB_END,       // writeback_single_inode
    BLOCK_THREAD,       // task_newtask, of threads only: this one, of that name, made the thread that `bytes` says
    BLOCK_KINDS,
};
extern const char *const block_event_names[BLOCK_KINDS];   // of the tracepoints
extern const char *const block_event_systems[BLOCK_KINDS]; // "block", "writeback", "task"
bool block_event_needed(enum block_kind kind);             // issue and complete; the others where they exist

enum block_op { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_DISCARD, BLOCK_OTHER, BLOCK_OPS };
extern const char *const block_op_names[BLOCK_OPS]; // "R" "W" "F" "D" "N"

#define BLOCK_RWBS 11 // room for op and flags with a NUL: 6.18 has 10 bytes, older kernels 8
#define BLOCK_COMM 16 // TASK_COMM_LEN
#define BLOCK_NO_SECTOR UINT64_MAX

struct block_event {
    uint64_t ts, sector; // 512-byte sectors; BLOCK_NO_SECTOR in the completion of a flush
    uint32_t dev;        // kernel's dev_t: major << 20 | minor
    uint32_t sectors;    // of this event: a partial completion has fewer than the request
    uint32_t bytes;      // as the event says, or sectors * 512; of BLOCK_THREAD: the new thread
    int32_t tid, error;  // error: 0 or -errno
    uint32_t old_dev;    // of BLOCK_REMAP: what it was for; 0: of another kind (match.c has the path there)
    uint64_t cgroup;     // of the writeback events: inode number of the control group's directory
    uint64_t old_sector; // of BLOCK_REMAP: where it was there
    uint8_t kind, rwbs_size;
    const char *rwbs; // in the record: op and flags, rwbs_size bytes at most, NUL-padded
    const char *comm; // in the record: BLOCK_COMM bytes of the task that runs; NULL where the event has none
};

struct block_format {
    bool present;
    uint16_t id;
    uint32_t end; // a shorter record is damaged
    struct format_field tid, dev, sector, sectors, bytes, error, rwbs, comm, cgroup, old_dev, old_sector;
};

// The same for the quick decoder, of formats that begin as all known kernels' do: only what differs between them.
struct block_layout {
    uint32_t end;                                 // UINT32_MAX: block_event_decode_any knows the way
    uint16_t rwbs_size, rwbs, bytes, error, comm; // offsets; 0: it has none
};
// Where these numbers stand in such a record.
enum { BLOCK_AT_TID = 4, BLOCK_AT_DEV = 8, BLOCK_AT_SECTOR = 16, BLOCK_AT_SECTORS = 24 };
struct block_formats {
    struct block_format kinds[BLOCK_KINDS];
    struct block_layout layouts[BLOCK_KINDS + 1]; // the last one: of no event of ours
    uint8_t by_id[1 << 16];                       // kind, by common_type; BLOCK_KINDS: none of ours
};

#define BLOCK_FIELDS 11
// The fields that are wanted of such an event, for format_read; and what they say once they are found.
void block_format_fields(enum block_kind kind, struct format_field fields[BLOCK_FIELDS]);
void block_format_take(struct block_format *format, const struct format_field *fields, uint16_t id);
// From the text of a format file. 0, or -errno as in format_parse.
int block_format_parse(struct block_format *format, enum block_kind kind, const char *text, size_t length,
                       const char **missing);
// After the formats are there: the table of ids, and the layouts.
void block_formats_index(struct block_formats *formats);

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

// The same with what has no letter of its own: writing zeroes is N, appending to a zone was N before 6.18 and is ZA
// since then. Both write, and the kernel counts them so. A command that a program or driver passed through has no
// length when it is issued, and no sector when it ends; what is done to a zone (N, since 6.18 Z and another letter) has
// no length.
static inline bool block_no_letter(const char *rwbs) {
    return rwbs[0] == 'N' || rwbs[0] == 'Z';
}
static inline enum block_op block_event_op(const struct block_event *event) {
    enum block_op op = block_op_of(event->rwbs);
    if (__builtin_expect(op == BLOCK_OTHER, 0) && block_no_letter(event->rwbs) && event->sectors &&
        event->sector != BLOCK_NO_SECTOR)
        return BLOCK_WRITE;
    return op;
}

// ---- decoding: inline, so that of an event only what is asked for is loaded ----

static inline uint32_t block_load32(const uint8_t *record, uint16_t offset) {
    uint32_t value;
    memcpy(&value, record + offset, sizeof(value));
    return value;
}

// The kind of a record; BLOCK_KINDS: none of ours.
static inline uint8_t block_kind_of(const struct block_formats *formats, const uint8_t *record, uint32_t size) {
    uint16_t id;
    if (size < sizeof(id))
        return BLOCK_KINDS;
    memcpy(&id, record, sizeof(id));
    return formats->by_id[id];
}

// Whether block_event_at may read it.
static inline bool block_event_plain(const struct block_formats *formats, uint8_t kind, uint32_t size) {
    return __builtin_expect(size >= formats->layouts[kind].end, 1);
}
// Which kinds have which fields is known when the kind is, and costs nothing then.
static inline __attribute__((always_inline)) struct block_event
block_event_at(const struct block_formats *formats, uint8_t kind, uint64_t ts, const uint8_t *record) {
    const struct block_layout *layout = &formats->layouts[kind];
    struct block_event event = {.ts = ts, .kind = kind};
    event.tid = (int32_t)block_load32(record, BLOCK_AT_TID);
    event.dev = block_load32(record, BLOCK_AT_DEV);
    memcpy(&event.sector, record + BLOCK_AT_SECTOR, sizeof(event.sector));
    event.sectors = block_load32(record, BLOCK_AT_SECTORS);
    bool bytes = kind != BLOCK_BIO_QUEUE && kind != BLOCK_COMPLETE && layout->bytes;
    event.bytes = bytes ? block_load32(record, layout->bytes) : event.sectors * 512;
    bool error = kind != BLOCK_BIO_QUEUE && kind != BLOCK_ISSUE && layout->error;
    event.error = error ? (int32_t)block_load32(record, layout->error) : 0;
    event.rwbs = (const char *)record + layout->rwbs;
    event.rwbs_size = (uint8_t)layout->rwbs_size;
    event.comm = layout->comm ? (const char *)record + layout->comm : NULL;
    return event;
}

// The others: rare events, formats that are not as ever, what is none of ours or too short (false).
bool block_event_decode_any(const struct block_formats *formats, uint8_t kind, uint64_t ts, const uint8_t *record,
                            uint32_t size, struct block_event *out);

// False when the record is none of ours or too short.
static inline bool block_event_decode(const struct block_formats *formats, uint64_t ts, const uint8_t *record,
                                      uint32_t size, struct block_event *out) {
    uint8_t kind = block_kind_of(formats, record, size);
    if (!block_event_plain(formats, kind, size))
        return block_event_decode_any(formats, kind, ts, record, size, out);
    *out = block_event_at(formats, kind, ts, record);
    return true;
}

// Operation and flags in one small number: the keys of histograms.
enum { BLOCK_FUA = 1, BLOCK_AHEAD = 2, BLOCK_SYNC = 4, BLOCK_META = 8, BLOCK_FLAGS = 16 };
#define BLOCK_KEYS (8 * BLOCK_FLAGS)
static inline uint8_t block_key_of(const char *rwbs, uint8_t op) {
    unsigned flags = 0, i = rwbs[0] == 'F' && (rwbs[1] == 'W' || rwbs[1] == 'F') ? 2 : rwbs[0] != 0;
    if (__builtin_expect(rwbs[0] == 'Z', 0)) // what is done to the zone: ZA, ZC, ZF, ZO, ZR; ZRA to all of them
        i = rwbs[1] == 'R' && rwbs[2] == 'A' ? 3 : rwbs[1] ? 2 : 1;
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
