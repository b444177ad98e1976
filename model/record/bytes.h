// Bytes of a recording: little-endian, LEB128 for integers. Reading never passes the end: the first error sets `bad`,
// and everything after it reads as 0.
#ifndef MODEL_RECORD_BYTES_H
#define MODEL_RECORD_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink {
    uint8_t *bytes;
    size_t n, capacity;
};

void sink_free(struct sink *sink);
uint8_t *sink_room(struct sink *sink, size_t size); // for `size` more bytes at the end; does not change n
void put_bytes(struct sink *sink, const void *bytes, size_t size);
void put_u8(struct sink *sink, uint8_t value);
void put_uint(struct sink *sink, uint64_t value);
void put_int(struct sink *sink, int64_t value);
void put_num(struct sink *sink, double value);          // NAN: one byte; small whole numbers: few
void put_string(struct sink *sink, const char *string); // may be NULL

struct byte_reader {
    const uint8_t *at, *end;
    bool bad;
};

uint8_t get_u8(struct byte_reader *in);
uint64_t get_uint(struct byte_reader *in);
int64_t get_int(struct byte_reader *in);
double get_num(struct byte_reader *in);
// The number of items that follow, each at least one byte long: bad if above the bytes left, or above max.
size_t get_count(struct byte_reader *in, size_t max);
const uint8_t *get_bytes(struct byte_reader *in, size_t size); // NULL when bad
// A copy to free(), or NULL. Bad if longer than max or with a NUL in it.
char *get_string(struct byte_reader *in, size_t max);

#endif
