// Event formats of this kernel, from the `format` files of tracefs, parsed with libtraceevent.
// Formats move between kernels (6.12 adds ioprio to the block events, 6.18 widens rwbs), so every offset is resolved
// once, when a collector opens, and an event costs only loads. Kernel document: Documentation/trace/events.rst.
#ifndef COLLECTORS_FORMAT_H
#define COLLECTORS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A field that a decoder needs: the caller sets name (and `optional`), the rest is filled in.
// common_flags: the byte at this offset of every record, and bits of it (kernel: include/linux/trace_events.h).
#define EVENT_FLAGS_OFFSET 2
#define COMMON_PID_OFFSET 4
enum { EVENT_FLAG_HARDIRQ = 0x08, EVENT_FLAG_SOFTIRQ = 0x10, EVENT_FLAG_NMI = 0x40 };

struct format_field {
    const char *name;
    bool optional; // absent fields have size 0 and read as 0
    uint16_t offset, size;
    bool is_signed, is_dynamic; // dynamic (__data_loc): the 4 bytes at offset are length << 16 | offset in the record
};

// Parses the text of a format file. Fills the fields and the event's ID. 0; -EINVAL when the text is malformed;
// -ENOENT when a field that is not optional is missing (*missing: its name; may be NULL).
int format_parse(const char *text, size_t length, const char *system, struct format_field *fields, size_t n,
                 uint16_t *id, const char **missing);
// The same from tracefs (or an instance): DIR/events/SYSTEM/EVENT/format. -errno of the file when it cannot be read.
int format_read(const char *dir, const char *system, const char *event, struct format_field *fields, size_t n,
                uint16_t *id, const char **missing);
// The size of a sub-buffer's header, from the text of events/header_page: where the events start. 0 when unreadable.
uint32_t format_page_header(const char *text, size_t length);

#define FORMAT_BYTES_MAX (64u * 1024) // of a format file
// A whole small file into a NUL-terminated buffer: length or -errno (-EFBIG when it does not fit).
long format_file(const char *path, char *out, size_t size);

// The value of a number field, host byte order. No check: the caller has compared the record's size with format_end.
static inline uint64_t format_u64(const uint8_t *record, const struct format_field *field) {
    uint64_t v8;
    uint32_t v4;
    uint16_t v2;
    switch (field->size) {
    case 8:
        memcpy(&v8, record + field->offset, 8);
        return v8;
    case 4:
        memcpy(&v4, record + field->offset, 4);
        return field->is_signed ? (uint64_t)(int64_t)(int32_t)v4 : v4;
    case 2:
        memcpy(&v2, record + field->offset, 2);
        return field->is_signed ? (uint64_t)(int64_t)(int16_t)v2 : v2;
    case 1:
        return record[field->offset];
    default:
        return 0;
    }
}
// The smallest record size that contains all fields.
uint32_t format_end(const struct format_field *fields, size_t n);

#endif
