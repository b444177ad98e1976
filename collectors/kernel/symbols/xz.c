// Unpacking with bounded memory: a few KiB of xz can stand for gigabytes.
#include "collectors/kernel/symbols/xz.h"

#include <lzma.h>
#include <stdlib.h>

#include "model/mem.h"

uint8_t *xz_unpack(const uint8_t *bytes, size_t size, size_t *unpacked) {
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, XZ_MEMORY_MAX, 0) != LZMA_OK)
        return NULL;
    size_t capacity = 64u << 10;
    uint8_t *out = xmalloc(capacity);
    stream.next_in = bytes;
    stream.avail_in = size;
    lzma_ret result = LZMA_OK;
    while (result == LZMA_OK) {
        if (stream.total_out == capacity) {
            if (capacity >= XZ_OUTPUT_MAX)
                break;
            capacity *= 2;
            out = xrealloc(out, capacity);
        }
        stream.next_out = out + stream.total_out;
        stream.avail_out = capacity - stream.total_out;
        result = lzma_code(&stream, LZMA_FINISH);
    }
    *unpacked = stream.total_out;
    lzma_end(&stream);
    if (result == LZMA_STREAM_END)
        return out;
    free(out);
    return NULL;
}
