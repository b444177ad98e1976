// Resolving fields of trace events once. It runs when a collector opens, never per event; libtraceevent does the
// parsing, and nothing of its handle outlives a call.
#include "collectors/kernel/tracefs/format.h"

#include <errno.h>
#include <event-parse.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

long format_file(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t used = 0;
    long result;
    for (;;) {
        ssize_t n = read(fd, out + used, size - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            result = -errno;
            break;
        }
        used += (size_t)n;
        if (n == 0 || used == size - 1) {
            result = used == size - 1 ? -EFBIG : (long)used;
            break;
        }
    }
    close(fd);
    out[used] = 0;
    return result;
}

static bool field_fill(struct format_field *out, struct tep_event *event) {
    const struct tep_format_field *found = tep_find_any_field(event, out->name);
    out->offset = out->size = 0;
    out->is_signed = out->is_dynamic = false;
    if (!found)
        return false;
    out->offset = (uint16_t)found->offset;
    out->size = (uint16_t)found->size;
    out->is_signed = found->flags & TEP_FIELD_IS_SIGNED;
    out->is_dynamic = found->flags & TEP_FIELD_IS_DYNAMIC;
    return true;
}

int format_parse(const char *text, size_t length, const char *system, struct format_field *fields, size_t n,
                 uint16_t *id, const char **missing) {
    struct tep_handle *tep = tep_alloc();
    struct tep_event *event = NULL;
    int error = 0;
    if (!tep)
        return -ENOMEM;
    // If libtraceevent cannot parse the print format, the fields are still valid.
    tep_parse_event(tep, text, length, system);
    event = tep_get_first_event(tep); // owned by the handle
    if (!event || event->id <= 0) {
        error = -EINVAL;
        goto out;
    }
    *id = (uint16_t)event->id;
    for (size_t i = 0; i < n; i++) {
        if (field_fill(&fields[i], event) || fields[i].optional)
            continue;
        if (missing)
            *missing = fields[i].name;
        error = -ENOENT;
        goto out;
    }
out:
    tep_free(tep);
    return error;
}

int format_read(const char *dir, const char *system, const char *event, struct format_field *fields, size_t n,
                uint16_t *id, const char **missing) {
    char path[512], text[16384];
    snprintf(path, sizeof(path), "%s/events/%s/%s/format", dir, system, event);
    long length = format_file(path, text, sizeof(text));
    if (length < 0)
        return (int)length;
    return format_parse(text, (size_t)length, system, fields, n, id, missing);
}

uint32_t format_page_header(const char *text, size_t length) {
    // "field: char data; offset:16; size:4080; signed:0;": the last field is the events' position.
    const char *data = memmem(text, length, "data;", 5);
    const char *offset = data ? memmem(data, length - (size_t)(data - text), "offset:", 7) : NULL;
    unsigned long value = offset ? strtoul(offset + 7, NULL, 10) : 0;
    return value == 12 || value == 16 ? (uint32_t)value : 0;
}

uint32_t format_end(const struct format_field *fields, size_t n) {
    uint32_t end = 0;
    for (size_t i = 0; i < n; i++)
        if (fields[i].offset + fields[i].size > end)
            end = fields[i].offset + fields[i].size;
    return end;
}
