// Writing and reading of plain values. See bytes.h.
#include "model/record/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

// The first byte of a number; from NUM_WHOLE on an integer in zigzag form.
enum { NUM_NAN, NUM_RAW, NUM_WHOLE };
#define WHOLE_MAX 4503599627370496.0 // 2^52: exact in a double, and its zigzag form in 64 bits

void sink_free(struct sink *sink) {
    free(sink->bytes);
    *sink = (struct sink){0};
}

uint8_t *sink_room(struct sink *sink, size_t size) {
    if (sink->capacity - sink->n < size) {
        while (sink->capacity - sink->n < size)
            sink->capacity = sink->capacity ? sink->capacity * 2 : 4096;
        sink->bytes = xrealloc(sink->bytes, sink->capacity);
    }
    return sink->bytes + sink->n;
}

void put_bytes(struct sink *sink, const void *bytes, size_t size) {
    if (size)
        memcpy(sink_room(sink, size), bytes, size);
    sink->n += size;
}

void put_u8(struct sink *sink, uint8_t value) {
    put_bytes(sink, &value, 1);
}

void put_uint(struct sink *sink, uint64_t value) {
    uint8_t *at = sink_room(sink, 10);
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        at[n++] = (uint8_t)(value | 0x80);
    at[n++] = (uint8_t)value;
    sink->n += n;
}

void put_int(struct sink *sink, int64_t value) {
    put_uint(sink, ((uint64_t)value << 1) ^ (value < 0 ? ~0ull : 0));
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void put_num(struct sink *sink, double value) {
    if (isnan(value)) {
        put_uint(sink, NUM_NAN);
    } else if (fabs(value) < WHOLE_MAX && value == floor(value) && !(value == 0 && signbit(value))) {
        int64_t whole = (int64_t)value;
        put_uint(sink, (((uint64_t)whole << 1) ^ (whole < 0 ? ~0ull : 0)) + NUM_WHOLE);
    } else {
        uint64_t bits = bits_of(value);
        uint8_t raw[8];
        put_uint(sink, NUM_RAW);
        for (int i = 0; i < 8; i++)
            raw[i] = (uint8_t)(bits >> (8 * i));
        put_bytes(sink, raw, sizeof raw);
    }
}

void put_string(struct sink *sink, const char *string) {
    size_t length = string ? strlen(string) : 0;
    put_uint(sink, string ? length + 1 : 0);
    put_bytes(sink, string, length);
}

const uint8_t *get_bytes(struct byte_reader *in, size_t size) {
    if (in->bad || (size_t)(in->end - in->at) < size) {
        in->bad = true;
        return NULL;
    }
    in->at += size;
    return in->at - size;
}

uint8_t get_u8(struct byte_reader *in) {
    const uint8_t *at = get_bytes(in, 1);
    return at ? *at : 0;
}

uint64_t get_uint(struct byte_reader *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = get_u8(in);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->bad = true;
    return 0;
}

static int64_t unzigzag(uint64_t value) {
    return (int64_t)((value >> 1) ^ (~(value & 1) + 1));
}

int64_t get_int(struct byte_reader *in) {
    return unzigzag(get_uint(in));
}

double get_num(struct byte_reader *in) {
    uint64_t head = get_uint(in), bits = 0;
    double value;
    if (head == NUM_NAN)
        return NAN;
    if (head >= NUM_WHOLE)
        return (double)unzigzag(head - NUM_WHOLE);
    const uint8_t *raw = get_bytes(in, 8);
    for (int i = 0; raw && i < 8; i++)
        bits |= (uint64_t)raw[i] << (8 * i);
    memcpy(&value, &bits, sizeof value);
    return value;
}

size_t get_count(struct byte_reader *in, size_t max) {
    uint64_t n = get_uint(in);
    if (in->bad || n > max || n > (size_t)(in->end - in->at)) {
        in->bad = true;
        return 0;
    }
    return (size_t)n;
}

char *get_string(struct byte_reader *in, size_t max) {
    uint64_t size = get_uint(in);
    if (in->bad || !size)
        return NULL;
    const uint8_t *bytes = size - 1 <= max ? get_bytes(in, (size_t)size - 1) : NULL;
    if (!bytes || memchr(bytes, 0, (size_t)size - 1)) {
        in->bad = true;
        return NULL;
    }
    char *string = xcalloc((size_t)size, 1);
    memcpy(string, bytes, (size_t)size - 1);
    return string;
}
