// Formats of block events; the slow decoder.
#include "collectors/block/event.h"

const char *const block_event_names[BLOCK_KINDS] = {
    [BLOCK_START] = "block_io_start",
    [BLOCK_INSERT] = "block_rq_insert",
    [BLOCK_ISSUE] = "block_rq_issue",
    [BLOCK_REQUEUE] = "block_rq_requeue",
    [BLOCK_MERGE] = "block_rq_merge",
    [BLOCK_ERROR] = "block_rq_error",
    [BLOCK_COMPLETE] = "block_rq_complete",
    [BLOCK_BIO_QUEUE] = "block_bio_queue",
    [BLOCK_BIO_COMPLETE] = "block_bio_complete",
    [BLOCK_SPLIT] = "block_split",
    [BLOCK_BACKMERGE] = "block_bio_backmerge",
    [BLOCK_FRONTMERGE] = "block_bio_frontmerge",
    [BLOCK_REMAP] = "block_bio_remap",
    [BLOCK_WB_BEGIN] = "writeback_single_inode_start",
    [BLOCK_WB_END] = "writeback_single_inode",
    [BLOCK_THREAD] = "task_newtask",
};
const char *const block_event_systems[BLOCK_KINDS] = {
    "block", "block", "block", "block", "block", "block",     "block",     "block",
    "block", "block", "block", "block", "block", "writeback", "writeback", "task",
};
const char *const block_op_names[BLOCK_OPS] = {"R", "W", "F", "D", "N"};

bool block_event_needed(enum block_kind kind) {
    return kind == BLOCK_ISSUE || kind == BLOCK_COMPLETE;
}

enum { F_TID, F_DEV, F_SECTOR, F_SECTORS, F_RWBS, F_BYTES, F_ERROR, F_COMM, F_CGROUP, F_OLD_DEV, F_OLD_SECTOR, F_ALL };
_Static_assert(F_ALL == BLOCK_FIELDS, "room for the fields of an event");
static const struct format_field wanted[F_ALL] = {
    [F_TID] = {.name = "common_pid"},
    [F_DEV] = {.name = "dev"},
    [F_SECTOR] = {.name = "sector"},
    [F_SECTORS] = {.name = "nr_sector"},
    [F_RWBS] = {.name = "rwbs"},
    [F_BYTES] = {.name = "bytes", .optional = true},
    [F_ERROR] = {.name = "error", .optional = true},
    [F_COMM] = {.name = "comm", .optional = true},
    [F_CGROUP] = {.name = "cgroup_ino", .optional = true},
    [F_OLD_DEV] = {.name = "old_dev", .optional = true},
    [F_OLD_SECTOR] = {.name = "old_sector", .optional = true},
};

void block_format_fields(enum block_kind kind, struct format_field fields[BLOCK_FIELDS]) {
    memcpy(fields, wanted, sizeof(wanted));
    if (kind == BLOCK_SPLIT)
        fields[F_SECTORS].name = "new_sector"; // the decoder makes it a length
    if (kind < BLOCK_WB_BEGIN)
        return;
    for (int i = F_DEV; i < F_ALL; i++)
        fields[i] = (struct format_field){.name = "-", .optional = true};
    if (kind == BLOCK_THREAD) {
        fields[F_BYTES] = (struct format_field){.name = "pid"};
        fields[F_COMM] = wanted[F_COMM];
    } else
        fields[F_CGROUP] = (struct format_field){.name = "cgroup_ino"};
}

void block_format_take(struct block_format *format, const struct format_field *fields, uint16_t id) {
    format->present = true;
    format->id = id;
    format->end = format_end(fields, F_ALL);
    format->tid = fields[F_TID];
    format->dev = fields[F_DEV];
    format->sector = fields[F_SECTOR];
    format->sectors = fields[F_SECTORS];
    format->rwbs = fields[F_RWBS];
    format->bytes = fields[F_BYTES];
    format->error = fields[F_ERROR];
    format->comm = fields[F_COMM];
    format->cgroup = fields[F_CGROUP];
    format->old_dev = fields[F_OLD_DEV];
    format->old_sector = fields[F_OLD_SECTOR];
    // 5.10's block_rq_complete has an "error" field as well. Ignore a comm that is not an array of BLOCK_COMM bytes.
    if (format->comm.size != BLOCK_COMM || format->comm.is_dynamic)
        format->comm.size = 0;
    if (format->rwbs.size > BLOCK_RWBS - 1)
        format->rwbs.size = BLOCK_RWBS - 1;
}

int block_format_parse(struct block_format *format, enum block_kind kind, const char *text, size_t length,
                       const char **missing) {
    struct format_field fields[F_ALL];
    uint16_t id;
    block_format_fields(kind, fields);
    int error = format_parse(text, length, block_event_systems[kind], fields, F_ALL, &id, missing);
    if (!error)
        block_format_take(format, fields, id);
    return error;
}

static bool stands_at(const struct format_field *field, uint16_t offset, uint16_t size) {
    return field->offset == offset && field->size == size;
}

// Whether the other fields are where all known kernels have them. The fast decoder reads the fields of the three
// frequent kinds without a check.
static bool has_the_rest(const struct block_format *format, enum block_kind kind) {
    if (kind == BLOCK_BIO_QUEUE)
        return !format->bytes.size && !format->error.size && format->comm.size && format->rwbs.size >= 8;
    if (kind == BLOCK_ISSUE)
        return format->bytes.size == 4 && !format->error.size && format->rwbs.size >= 8;
    if (kind == BLOCK_COMPLETE)
        return !format->bytes.size && format->error.size == 4 && format->rwbs.size >= 8;
    return (!format->bytes.size || format->bytes.size == 4) && (!format->error.size || format->error.size == 4);
}

static void layout_take(struct block_layout *layout, const struct block_format *format, enum block_kind kind) {
    bool plain = kind != BLOCK_SPLIT && kind != BLOCK_REMAP && kind < BLOCK_WB_BEGIN &&
                 stands_at(&format->tid, BLOCK_AT_TID, 4) && stands_at(&format->dev, BLOCK_AT_DEV, 4) &&
                 stands_at(&format->sector, BLOCK_AT_SECTOR, 8) && stands_at(&format->sectors, BLOCK_AT_SECTORS, 4) &&
                 has_the_rest(format, kind);
    layout->end = plain ? format->end : UINT32_MAX;
    layout->rwbs_size = format->rwbs.size;
    layout->rwbs = format->rwbs.offset;
    layout->bytes = format->bytes.size ? format->bytes.offset : 0;
    layout->error = format->error.size ? format->error.offset : 0;
    layout->comm = format->comm.size ? format->comm.offset : 0;
}

void block_formats_index(struct block_formats *formats) {
    memset(formats->by_id, BLOCK_KINDS, sizeof(formats->by_id));
    for (int kind = 0; kind <= BLOCK_KINDS; kind++)
        formats->layouts[kind].end = UINT32_MAX;
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        if (!formats->kinds[kind].present)
            continue;
        formats->by_id[formats->kinds[kind].id] = (uint8_t)kind;
        layout_take(&formats->layouts[kind], &formats->kinds[kind], (enum block_kind)kind);
    }
}

bool block_event_decode_any(const struct block_formats *formats, uint8_t kind, uint64_t ts, const uint8_t *record,
                            uint32_t size, struct block_event *out) {
    if (kind == BLOCK_KINDS || size < formats->kinds[kind].end)
        return false;
    const struct block_format *format = &formats->kinds[kind];
    out->ts = ts;
    out->kind = kind;
    out->tid = (int32_t)format_u64(record, &format->tid);
    out->dev = (uint32_t)format_u64(record, &format->dev);
    out->sector = format_u64(record, &format->sector);
    out->sectors = (uint32_t)format_u64(record, &format->sectors);
    out->bytes = format->bytes.size ? (uint32_t)format_u64(record, &format->bytes) : out->sectors * 512;
    if (kind == BLOCK_SPLIT)
        out->sectors = (uint32_t)(format_u64(record, &format->sectors) - out->sector);
    out->old_dev = kind == BLOCK_REMAP ? (uint32_t)format_u64(record, &format->old_dev) : 0;
    out->old_sector = kind == BLOCK_REMAP ? format_u64(record, &format->old_sector) : 0;
    out->cgroup = format->cgroup.size ? format_u64(record, &format->cgroup) : 0;
    out->error = (int32_t)format_u64(record, &format->error);
    out->rwbs = (const char *)record + format->rwbs.offset;
    out->rwbs_size = (uint8_t)format->rwbs.size;
    out->comm = format->comm.size ? (const char *)record + format->comm.offset : NULL;
    return true;
}

void block_key_name(uint8_t key, char out[8]) {
    static const char letters[] = "FASM";
    size_t n = 0;
    out[n++] = block_op_names[block_key_op(key)][0];
    for (int i = 0; i < 4; i++)
        if (key >> 3 >> i & 1)
            out[n++] = letters[i];
    out[n] = 0;
}
