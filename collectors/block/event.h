// Block events: records of the kernel's block tracepoints, decoded with field offsets resolved once. Kernel source:
// include/trace/events/block.h. No state, no allocation; any thread may call.
#ifndef COLLECTORS_BLOCK_EVENT_H
#define COLLECTORS_BLOCK_EVENT_H

#include "collectors/kernel/tracefs/format.h"

enum block_kind {
    BLOCK_START,  // block_io_start (since 6.5): a request was allocated for a bio: its arrival
    BLOCK_INSERT, // block_rq_insert: inserted into the I/O scheduler, if the queue has one
    BLOCK_ISSUE,
    BLOCK_REQUEUE,
    BLOCK_MERGE, // merged into a neighbouring request, and gone
    BLOCK_ERROR, // block_rq_error (since 5.18)
    BLOCK_COMPLETE,
    BLOCK_BIO_QUEUE,    // block_bio_queue: a bio entered the block layer; total time starts
    BLOCK_BIO_COMPLETE, // completed without a request (the bios of a request complete with it)
    BLOCK_SPLIT,        // too long: the first `sectors` are sent, the rest follows
    BLOCK_BACKMERGE,    // bio merged behind a request
    BLOCK_FRONTMERGE,   // bio merged before a request
    BLOCK_REMAP, // a bio for a partition, traced before cgroup throttling (the queue event follows it), or a bio that a
                 // disk (dm, md, multipath head) sends to another disk
    BLOCK_WB_BEGIN, // writeback_single_inode_start: what this thread submits now belongs to `cgroup`
    BLOCK_WB_END,   // writeback_single_inode
    BLOCK_THREAD,   // task_newtask of a thread: tid and comm are the creator's, `bytes` is the new TID
    BLOCK_KINDS,
};
extern const char *const block_event_names[BLOCK_KINDS];   // tracepoint names
extern const char *const block_event_systems[BLOCK_KINDS]; // "block", "writeback", "task"
bool block_event_needed(enum block_kind kind);             // issue and complete; the others are optional

enum block_op { BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_DISCARD, BLOCK_OTHER, BLOCK_OPS };
extern const char *const block_op_names[BLOCK_OPS]; // "R" "W" "F" "D" "N"

#define BLOCK_RWBS 11 // op and flags with a NUL: 6.18 has 10 bytes, older kernels 8
#define BLOCK_COMM 16 // TASK_COMM_LEN
#define BLOCK_NO_SECTOR UINT64_MAX

struct block_event {
    uint64_t ts, sector; // 512-byte sectors; BLOCK_NO_SECTOR when a flush completes
    uint32_t dev;        // the kernel's dev_t: major << 20 | minor
    uint32_t sectors;    // of this event: fewer than the request's for a partial completion
    uint32_t bytes;      // from the event, or sectors * 512; BLOCK_THREAD: the new TID
    int32_t tid, error;  // error: 0 or -errno
    uint32_t old_dev;    // BLOCK_REMAP: device before the remap; other kinds: 0, or the path (match.c)
    uint64_t cgroup;     // writeback events: inode number of the cgroup directory
    uint64_t old_sector; // BLOCK_REMAP: sector on old_dev
    uint8_t kind, rwbs_size;
    const char *rwbs; // in the record: op and flags, at most rwbs_size bytes, NUL-padded
    const char *comm; // in the record: BLOCK_COMM bytes of the current task; NULL: not in the event
};

struct block_format {
    bool present;
    uint16_t id;
    uint32_t end; // a shorter record is damaged
    struct format_field tid, dev, sector, sectors, bytes, error, rwbs, comm, cgroup, old_dev, old_sector;
};

// For the fast decoder, for formats that start like those of all known kernels: only the fields that differ.
struct block_layout {
    uint32_t end;                                 // UINT32_MAX: use block_event_decode_any
    uint16_t rwbs_size, rwbs, bytes, error, comm; // offsets; 0: no such field
};
// Offsets common to these formats.
enum { BLOCK_AT_TID = 4, BLOCK_AT_DEV = 8, BLOCK_AT_SECTOR = 16, BLOCK_AT_SECTORS = 24 };
struct block_formats {
    struct block_format kinds[BLOCK_KINDS];
    struct block_layout layouts[BLOCK_KINDS + 1]; // the last one: other events
    uint8_t by_id[1 << 16];                       // kind by common_type; BLOCK_KINDS: another event
};

#define BLOCK_FIELDS 11
// Field list of a kind for format_read; block_format_take stores the offsets found.
void block_format_fields(enum block_kind kind, struct format_field fields[BLOCK_FIELDS]);
void block_format_take(struct block_format *format, const struct format_field *fields, uint16_t id);
// Parses a format file. Returns 0, or -errno as format_parse.
int block_format_parse(struct block_format *format, enum block_kind kind, const char *text, size_t length,
                       const char **missing);
// Builds by_id and the layouts, once all formats are set.
void block_formats_index(struct block_formats *formats);

// A table look-up: the operation is unpredictable, so a branch would often be mispredicted.
static inline enum block_op block_op_of(const char *rwbs) {
    // Counted down from BLOCK_OTHER, the default (N: passthrough; Z: zone operations). DE is a secure erase.
    static const uint8_t below_other[32] = {['R' & 31] = BLOCK_OTHER - BLOCK_READ,
                                            ['W' & 31] = BLOCK_OTHER - BLOCK_WRITE,
                                            ['D' & 31] = BLOCK_OTHER - BLOCK_DISCARD,
                                            ['F' & 31] = BLOCK_OTHER - BLOCK_FLUSH};
    enum block_op op = (enum block_op)(BLOCK_OTHER - below_other[rwbs[0] & 31]);
    if (__builtin_expect(op == BLOCK_FLUSH && rwbs[1] == 'W', 0)) // FF: a flush; FW: a write with preflush
        return BLOCK_WRITE;
    return op;
}

// N and Z: write zeroes is N; zone append is N before 6.18, ZA since. Both are writes, as in the kernel's accounting. A
// passthrough command has no length at issue and no sector at completion. A zone operation (N, since 6.18 Z and a
// letter) has no length.
static inline bool block_is_n_or_z(const char *rwbs) {
    return rwbs[0] == 'N' || rwbs[0] == 'Z';
}
static inline enum block_op block_event_op(const struct block_event *event) {
    enum block_op op = block_op_of(event->rwbs);
    if (__builtin_expect(op == BLOCK_OTHER, 0) && block_is_n_or_z(event->rwbs) && event->sectors &&
        event->sector != BLOCK_NO_SECTOR)
        return BLOCK_WRITE;
    return op;
}

// ---- decoding: inline, so that only the fields used are loaded ----

static inline uint32_t block_load32(const uint8_t *record, uint16_t offset) {
    uint32_t value;
    memcpy(&value, record + offset, sizeof(value));
    return value;
}

// Kind of a record; BLOCK_KINDS: another event.
static inline uint8_t block_kind_of(const struct block_formats *formats, const uint8_t *record, uint32_t size) {
    uint16_t id;
    if (size < sizeof(id))
        return BLOCK_KINDS;
    memcpy(&id, record, sizeof(id));
    return formats->by_id[id];
}

// Whether block_event_at can read it.
static inline bool block_event_plain(const struct block_formats *formats, uint8_t kind, uint32_t size) {
    return __builtin_expect(size >= formats->layouts[kind].end, 1);
}
// With a constant kind the compiler removes the tests for its fields.
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

// Slow decoder: rare events and unusual formats. False: another event, or the record is too short.
bool block_event_decode_any(const struct block_formats *formats, uint8_t kind, uint64_t ts, const uint8_t *record,
                            uint32_t size, struct block_event *out);

// False: another event, or the record is too short.
static inline bool block_event_decode(const struct block_formats *formats, uint64_t ts, const uint8_t *record,
                                      uint32_t size, struct block_event *out) {
    uint8_t kind = block_kind_of(formats, record, size);
    if (!block_event_plain(formats, kind, size))
        return block_event_decode_any(formats, kind, ts, record, size, out);
    *out = block_event_at(formats, kind, ts, record);
    return true;
}

// Operation and flags in one byte: the keys of histograms.
enum { BLOCK_FUA = 1, BLOCK_AHEAD = 2, BLOCK_SYNC = 4, BLOCK_META = 8, BLOCK_FLAGS = 16 };
#define BLOCK_KEYS (8 * BLOCK_FLAGS)
static inline uint8_t block_key_of(const char *rwbs, uint8_t op) {
    unsigned flags = 0, i = rwbs[0] == 'F' && (rwbs[1] == 'W' || rwbs[1] == 'F') ? 2 : rwbs[0] != 0;
    if (__builtin_expect(rwbs[0] == 'Z', 0)) // zone operation: ZA, ZC, ZF, ZO, ZR; ZRA resets all zones
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
