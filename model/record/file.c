// The container. A reader uses a record only when it is complete and its checksum is right.
#include "model/record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "model/mem.h"

#define MAGIC "ktoprec\n"
#define VERSION 1
#define MARK 0x4345524bu // "KREC"
#define LEVEL 3

static void le32_put(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t le32_get(const uint8_t *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

// ---- writing ----

struct packer {
    ZSTD_CCtx *zstd;
};

struct packer *packer_new(void) {
    struct packer *packer = xcalloc(1, sizeof(*packer));
    packer->zstd = ZSTD_createCCtx();
    if (packer->zstd) {
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_checksumFlag, 1);
        ZSTD_CCtx_setParameter(packer->zstd, ZSTD_c_compressionLevel, LEVEL);
    }
    return packer;
}

void packer_free(struct packer *packer) {
    if (packer)
        ZSTD_freeCCtx(packer->zstd);
    free(packer);
}

void pack_head(struct sink *out) {
    uint8_t head[RECORD_HEAD_SIZE] = MAGIC;
    le32_put(head + 8, VERSION);
    put_bytes(out, head, sizeof head);
}

bool record_head_ok(const uint8_t *head, size_t size) {
    return size >= 8 && !memcmp(head, MAGIC, 8);
}

bool pack_record(struct packer *packer, const struct sink *content, struct sink *out) {
    size_t bound = ZSTD_compressBound(content->n);
    if (content->n > RECORD_RAW_MAX || !packer->zstd)
        return false;
    uint8_t *head = sink_room(out, RECORD_HEAD_SIZE + bound);
    size_t size = ZSTD_compress2(packer->zstd, head + RECORD_HEAD_SIZE, bound, content->bytes, content->n);
    if (ZSTD_isError(size))
        return false;
    le32_put(head, MARK);
    le32_put(head + 4, content->bytes[0]);
    le32_put(head + 8, (uint32_t)size);
    out->n += RECORD_HEAD_SIZE + size;
    return true;
}

// ---- reading ----

struct reader {
    int fd, stop_fd;
    int stop_pipe[2]; // reader_stop writes to it
    struct decoder *decoder;
    ZSTD_DCtx *zstd;
    struct sink packed, content;
    uint64_t offset; // bytes read
    uint64_t frames, last_number, left_out;
    bool ended;
    char problem[300];
};

struct reader *reader_new(int take_fd, int stop_fd, const struct frame *schema) {
    struct reader *reader = xcalloc(1, sizeof(*reader));
    reader->fd = take_fd;
    reader->stop_fd = stop_fd;
    if (pipe2(reader->stop_pipe, O_CLOEXEC | O_NONBLOCK))
        reader->stop_pipe[0] = reader->stop_pipe[1] = -1;
    reader->decoder = decoder_new(schema);
    reader->zstd = ZSTD_createDCtx();
    return reader;
}

void reader_free(struct reader *reader) {
    if (!reader)
        return;
    close(reader->fd);
    for (int i = 0; i < 2; i++)
        if (reader->stop_pipe[i] >= 0)
            close(reader->stop_pipe[i]);
    decoder_free(reader->decoder);
    ZSTD_freeDCtx(reader->zstd);
    sink_free(&reader->packed);
    sink_free(&reader->content);
    free(reader);
}

void reader_stop(struct reader *reader) {
    ssize_t ignored = write(reader->stop_pipe[1], "", 1);
    (void)ignored;
}

const struct origin *reader_origin(const struct reader *reader) {
    return decoder_origin(reader->decoder);
}

const char *reader_problem(const struct reader *reader) {
    return reader->problem;
}

uint64_t reader_left_out(const struct reader *reader) {
    return reader->left_out;
}

size_t reader_unknown(const struct reader *reader) {
    return decoder_unknown(reader->decoder);
}

enum got { GOT_ALL, GOT_NONE, GOT_PART, GOT_STOPPED, GOT_ERROR };

// `size` bytes to the end of `packed`.
static enum got read_more(struct reader *reader, size_t size) {
    size_t want = size;
    while (size) {
        struct pollfd fds[] = {
            {reader->fd, POLLIN, 0}, {reader->stop_fd, POLLIN, 0}, {reader->stop_pipe[0], POLLIN, 0}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return GOT_ERROR;
        if (fds[1].revents || fds[2].revents)
            return GOT_STOPPED;
        if (!fds[0].revents)
            continue;
        // A corrupt length must not allocate memory: at most 1 MiB more than has been read.
        size_t step = size < (1u << 20) ? size : 1u << 20;
        ssize_t n = read(reader->fd, sink_room(&reader->packed, step), step);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return GOT_ERROR;
        if (n == 0)
            return size == want ? GOT_NONE : GOT_PART;
        if (n > 0) {
            reader->packed.n += (size_t)n;
            reader->offset += (uint64_t)n;
            size -= (size_t)n;
        }
    }
    return GOT_ALL;
}

static enum read_result __attribute__((format(printf, 2, 3))) end(struct reader *reader, const char *format, ...) {
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    reader->ended = true;
    snprintf(reader->problem, sizeof reader->problem, "%s; %llu frames were read, the last is frame %llu", what,
             (unsigned long long)reader->frames, (unsigned long long)reader->last_number);
    return READ_END;
}

static enum read_result end_of(struct reader *reader, enum got got, uint64_t at) {
    if (got == GOT_STOPPED)
        return READ_STOPPED;
    if (got == GOT_ERROR)
        return end(reader, "it cannot be read at byte %llu: %s", (unsigned long long)at, strerror(errno));
    if (got == GOT_NONE && !reader->packed.n)
        return end(reader, "it ends at byte %llu without an end mark: its writer was killed, or still records",
                   (unsigned long long)at);
    return end(reader, "it is cut within the record at byte %llu", (unsigned long long)at);
}

// Reads one record into `content`, complete and with a correct checksum; else returns the kind of end.
static enum read_result record_read(struct reader *reader) {
    uint64_t at = reader->offset;
    reader->packed.n = 0;
    enum got got = read_more(reader, RECORD_HEAD_SIZE);
    if (got != GOT_ALL)
        return end_of(reader, got, at);
    uint32_t type = le32_get(reader->packed.bytes + 4), length = le32_get(reader->packed.bytes + 8);
    if (le32_get(reader->packed.bytes) != MARK || !length || length > ZSTD_compressBound(RECORD_RAW_MAX))
        return end(reader, "it is damaged at byte %llu", (unsigned long long)at);
    got = read_more(reader, length);
    if (got == GOT_NONE)
        got = GOT_PART;
    if (got != GOT_ALL)
        return end_of(reader, got, at);
    const uint8_t *packed = reader->packed.bytes + RECORD_HEAD_SIZE;
    unsigned long long size = ZSTD_getFrameContentSize(packed, length);
    if (size == 0 || size > RECORD_RAW_MAX || ZSTD_findFrameCompressedSize(packed, length) != length)
        return end(reader, "it is damaged at byte %llu", (unsigned long long)at);
    reader->content.n = 0;
    sink_room(&reader->content, size);
    size_t n = ZSTD_decompressDCtx(reader->zstd, reader->content.bytes, size, packed, length);
    if (ZSTD_isError(n) || n != size || reader->content.bytes[0] != type)
        return end(reader, "it is damaged at byte %llu", (unsigned long long)at);
    reader->content.n = n;
    return READ_FRAME;
}

bool reader_open(struct reader *reader) {
    struct decoded decoded;
    enum got got = read_more(reader, RECORD_HEAD_SIZE);
    if (got == GOT_STOPPED)
        return false;
    if (got != GOT_ALL || !record_head_ok(reader->packed.bytes, reader->packed.n)) {
        snprintf(reader->problem, sizeof reader->problem, "%s",
                 got == GOT_NONE    ? "it is empty"
                 : got == GOT_ERROR ? strerror(errno)
                                    : "it is not a ktop recording");
        return false;
    }
    if (le32_get(reader->packed.bytes + 8) != VERSION) {
        snprintf(reader->problem, sizeof reader->problem,
                 "its format is version %u, this ktop reads version %d: use the ktop that wrote it",
                 le32_get(reader->packed.bytes + 8), VERSION);
        return false;
    }
    if (record_read(reader) != READ_FRAME)
        return false;
    if (decoder_take(reader->decoder, reader->content.bytes, reader->content.n, &decoded) &&
        decoded.type == RECORD_ORIGIN)
        return true;
    if (decoded.type != RECORD_ORIGIN && decoded.type != RECORD_END)
        frame_unref(decoded.frame);
    end(reader, "it is damaged at byte %d", RECORD_HEAD_SIZE);
    return false;
}

enum read_result reader_next(struct reader *reader, const struct frame **frame) {
    struct decoded decoded;
    uint64_t at = reader->offset;
    *frame = NULL;
    if (reader->ended)
        return READ_END;
    enum read_result result = record_read(reader);
    if (result != READ_FRAME)
        return result;
    if (!decoder_take(reader->decoder, reader->content.bytes, reader->content.n, &decoded) ||
        decoded.type == RECORD_ORIGIN)
        return end(reader, "it is damaged at byte %llu", (unsigned long long)at);
    reader->left_out += decoded.type == RECORD_END ? 0 : decoded.left_out;
    if (decoded.type == RECORD_END) {
        reader->left_out = decoded.left_out;
        reader->ended = true;
        return READ_END;
    }
    reader->frames++;
    reader->last_number = decoded.frame->number;
    *frame = decoded.frame;
    return READ_FRAME;
}
