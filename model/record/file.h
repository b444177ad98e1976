// A recording as a file or a stream: a header of 12 bytes ("ktoprec\n" and the format version), then records. Each
// record has its own header of 12 bytes (mark, type, length) and one zstd frame with zstd's content checksum; it is
// written with one write(). The first record is the origin, the last one the end mark; those between are frames. See
// encode.h for their content. Little-endian.
#ifndef MODEL_RECORD_FILE_H
#define MODEL_RECORD_FILE_H

#include <sys/types.h>

#include "model/record/decode.h"

#define RECORD_HEAD_SIZE 12

// ---- writing ----

struct packer;
struct packer *packer_new(void);
void packer_free(struct packer *packer);
// Appends the head of the file, or a record with that content (its first byte is the type). False: longer than
// RECORD_RAW_MAX.
void pack_head(struct sink *out);
bool pack_record(struct packer *packer, const struct sink *content, struct sink *out);
bool record_head_ok(const uint8_t *head, size_t size); // whether a file begins like a recording

// ---- reading ----

struct reader;

enum read_result {
    READ_FRAME,
    READ_END,     // of the recording; see reader_problem
    READ_STOPPED, // stop_fd became readable
};

// Reads from fd (closed by reader_free). stop_fd: stops reading while it is readable; -1: none.
struct reader *reader_new(int take_fd, int stop_fd, const struct frame *schema);
void reader_free(struct reader *reader);
void reader_stop(struct reader *reader); // from any thread: READ_STOPPED from now on
// Reads the origin, waiting for it. False: not a recording, or READ_STOPPED: see reader_problem.
bool reader_open(struct reader *reader);
const struct origin *reader_origin(const struct reader *reader); // NULL before reader_open
// The next frame, owned by the caller.
enum read_result reader_next(struct reader *reader, const struct frame **frame);
// Why the recording is incomplete: one sentence, with the last frame and the byte. "": it is complete.
const char *reader_problem(const struct reader *reader);
uint64_t reader_left_out(const struct reader *reader); // frames that the writer left out, up to here
size_t reader_unknown(const struct reader *reader);    // columns and tables that this program lacks

#endif
