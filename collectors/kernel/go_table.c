// See the header. Numbers are in the byte order of this machine: of other files nothing is read.
#include "collectors/kernel/go_table.h"

#include <string.h>

struct fields { // after the first eight bytes, a pointer wide each
    const uint8_t *bytes;
    size_t size;
    unsigned width;
    bool good;
};

static uint64_t field(struct fields *fields, unsigned index) {
    size_t at = 8 + (size_t)index * fields->width;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    fields->good &= at + fields->width <= fields->size;
    if (fields->good && fields->width == sizeof(wide))
        memcpy(&wide, fields->bytes + at, sizeof(wide));
    else if (fields->good)
        memcpy(&narrow, fields->bytes + at, sizeof(narrow));
    return wide + narrow;
}

bool go_head_parse(const uint8_t *bytes, size_t size, uint64_t text, struct go_head *out) {
    uint32_t magic;
    *out = (struct go_head){0};
    if (size < 8 || bytes[4] || bytes[5] || (bytes[7] != 4 && bytes[7] != 8))
        return false;
    memcpy(&magic, bytes, sizeof(magic));
    struct fields fields = {.bytes = bytes, .size = size, .width = bytes[7], .good = true};
    out->quantum = bytes[6];
    out->pointer = out->word = bytes[7];
    out->count = field(&fields, 0);
    switch (magic) {
    case 0xfffffff1: // 1.20
    case 0xfffffff0: // 1.18
        out->word = 4;
        out->text = field(&fields, 2);
        out->text = out->text ? out->text : text;
        out->names = field(&fields, 3);
        out->steps = field(&fields, 6);
        out->functions = out->entries = field(&fields, 7);
        out->flags_at = magic == 0xfffffff1 ? 41 : 37;
        break;
    case 0xfffffffa: // 1.16
        out->names = field(&fields, 2);
        out->steps = field(&fields, 5);
        out->functions = out->entries = field(&fields, 6);
        out->flags_at = 41;
        break;
    case 0xfffffffb: // 1.2
        out->entries = 8 + (uint64_t)out->pointer;
        break;
    default:
        return false;
    }
    return fields.good;
}
