// The profile as pprof reads it: the protocol buffer of github.com/google/pprof/proto/profile.proto, compressed with
// gzip. A location for each function; the process is the outermost one.
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "model/mem.h"
#include "views/flame/export.h"

// Field numbers of profile.proto.
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING_TABLE = 6,
    PROFILE_TIME_NANOS = 9,
    PROFILE_DURATION_NANOS = 10,
    PROFILE_COMMENT = 13,
    VALUE_TYPE_TYPE = 1,
    VALUE_TYPE_UNIT = 2,
    SAMPLE_LOCATION_ID = 1,
    SAMPLE_VALUE = 2,
    LOCATION_ID = 1,
    LOCATION_LINE = 4,
    LINE_FUNCTION_ID = 1,
    FUNCTION_ID = 1,
    FUNCTION_NAME = 2,
    FUNCTION_SYSTEM_NAME = 3,
    FUNCTION_FILENAME = 4,
};
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };
// Strings that are always there, at these places of the table; those of the functions follow.
enum { STRING_EMPTY, STRING_UNIT, STRING_COUNT, STRING_COMMENT, STRINGS };

// A message that grows.
struct message {
    unsigned char *bytes;
    size_t n, capacity;
};

static void put_bytes(struct message *message, const void *bytes, size_t n) {
    if (message->n + n > message->capacity) {
        message->capacity = 2 * (message->n + n) + 64;
        message->bytes = xrealloc(message->bytes, message->capacity);
    }
    if (n)
        memcpy(message->bytes + message->n, bytes, n);
    message->n += n;
}

static void put_varint(struct message *message, uint64_t value) {
    unsigned char bytes[10];
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (unsigned char)(value | 0x80);
    bytes[n++] = (unsigned char)value;
    put_bytes(message, bytes, n);
}

static void put_number(struct message *message, unsigned field, uint64_t value) {
    put_varint(message, field << 3 | WIRE_VARINT);
    put_varint(message, value);
}

static void put_block(struct message *message, unsigned field, const void *bytes, size_t n) {
    put_varint(message, field << 3 | WIRE_BYTES);
    put_varint(message, n);
    put_bytes(message, bytes, n);
}

// Empties `inner` for the next one.
static void put_message(struct message *message, unsigned field, struct message *inner) {
    put_block(message, field, inner->bytes, inner->n);
    inner->n = 0;
}

static void put_string(struct message *profile, const char *text) {
    put_block(profile, PROFILE_STRING_TABLE, text, strlen(text));
}

struct pprof {
    const struct flame_export *export;
    struct flame_functions functions;
    struct message profile, inner, list;
};

static void put_samples(struct pprof *self) {
    const struct fold_node *nodes = self->export->fold->nodes;

    for (uint32_t i = self->export->zoom; i < self->export->end; i++) {
        if (!nodes[i].self || !i)
            continue;
        for (uint32_t at = i; at; at = nodes[at].parent) // the leaf first
            put_varint(&self->list, self->functions.of_node[at] + 1);
        put_message(&self->inner, SAMPLE_LOCATION_ID, &self->list);
        put_varint(&self->list, nodes[i].self);
        put_message(&self->inner, SAMPLE_VALUE, &self->list);
        put_message(&self->profile, PROFILE_SAMPLE, &self->inner);
    }
}

// IDs count from 1. Function i has its name at STRINGS + 2 * i of the string table, and its file after it.
static void put_functions(struct pprof *self) {
    for (uint32_t i = 0; i < self->functions.n; i++) {
        put_number(&self->list, LINE_FUNCTION_ID, i + 1);
        put_number(&self->inner, LOCATION_ID, i + 1);
        put_message(&self->inner, LOCATION_LINE, &self->list);
        put_message(&self->profile, PROFILE_LOCATION, &self->inner);
        put_number(&self->inner, FUNCTION_ID, i + 1);
        put_number(&self->inner, FUNCTION_NAME, STRINGS + 2 * (uint64_t)i);
        put_number(&self->inner, FUNCTION_SYSTEM_NAME, STRINGS + 2 * (uint64_t)i);
        put_number(&self->inner, FUNCTION_FILENAME, STRINGS + 2 * (uint64_t)i + 1);
        put_message(&self->profile, PROFILE_FUNCTION, &self->inner);
    }
}

static void put_strings(struct pprof *self) {
    bool ns = !strcmp(self->export->unit, "ns"), time = ns || !strcmp(self->export->unit, "us");
    const char *const always[STRINGS] = {"", time ? "time" : self->export->unit,
                                         ns     ? "nanoseconds"
                                         : time ? "microseconds"
                                                : "count",
                                         self->export->what};
    char text[EXPORT_TEXT_MAX];

    for (int i = 0; i < STRINGS; i++)
        put_string(&self->profile, always[i]);
    for (uint32_t i = 0; i < self->functions.n; i++) {
        const struct fold_node *node = &self->export->fold->nodes[self->functions.node[i]];
        flame_export_name(node, text, sizeof(text));
        put_string(&self->profile, text);
        flame_export_object(node, text, sizeof(text));
        put_string(&self->profile, text);
    }
}

static void *gzip_alloc(void *opaque, uInt n, uInt size) {
    (void)opaque;
    return xcalloc(n, size);
}

static void gzip_free(void *opaque, void *memory) {
    (void)opaque;
    free(memory);
}

static void write_gzip(const struct message *message, FILE *out) {
    z_stream stream = {.next_in = message->bytes, .zalloc = gzip_alloc, .zfree = gzip_free};
    unsigned char bytes[16 << 10];
    size_t left = message->n;
    // 16: gzip. It can only run out of memory, and then xcalloc() ends the program.
    int status = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);

    while (status == Z_OK) {
        if (!stream.avail_in && left) {
            stream.avail_in = left < (1u << 30) ? (uInt)left : 1u << 30;
            left -= stream.avail_in;
        }
        stream.next_out = bytes;
        stream.avail_out = sizeof(bytes);
        status = deflate(&stream, left ? Z_NO_FLUSH : Z_FINISH);
        fwrite(bytes, 1, sizeof(bytes) - stream.avail_out, out);
    }
    deflateEnd(&stream);
}

void flame_export_pprof(const struct flame_export *export, FILE *out) {
    struct pprof self = {.export = export, .functions = flame_functions_new(export)};
    uint64_t length = (uint64_t)(export->seconds * 1e9);

    put_number(&self.inner, VALUE_TYPE_TYPE, STRING_UNIT);
    put_number(&self.inner, VALUE_TYPE_UNIT, STRING_COUNT);
    put_message(&self.profile, PROFILE_SAMPLE_TYPE, &self.inner);
    put_samples(&self);
    put_functions(&self);
    put_strings(&self);
    put_number(&self.profile, PROFILE_TIME_NANOS, (uint64_t) export->end_s * 1000000000 - length);
    put_number(&self.profile, PROFILE_DURATION_NANOS, length);
    put_number(&self.profile, PROFILE_COMMENT, STRING_COMMENT);
    write_gzip(&self.profile, out);
    flame_functions_free(&self.functions);
    free(self.profile.bytes);
    free(self.inner.bytes);
    free(self.list.bytes);
}
