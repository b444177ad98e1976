// Frames as bytes: the content of the records of a recording (model/record/file.h wraps them).
//
// A key frame stands alone. Every other frame refers to the one before it for what did not change: whole sections, and
// the chunks of tables that both share, of which only changed cells are written. Names and texts are written once
// between two key frames. Columns of text that are formatted on demand are formatted here.
#ifndef MODEL_RECORD_ENCODE_H
#define MODEL_RECORD_ENCODE_H

#include "model/frame.h"
#include "model/record/bytes.h"

// First byte of the content, and type of the record.
enum record_type { RECORD_ORIGIN = 'O', RECORD_KEY = 'K', RECORD_DELTA = 'D', RECORD_END = 'E' };

// The form of a chunk of rows.
enum chunk_tag { CHUNK_NONE, CHUNK_SAME, CHUNK_CHANGED, CHUNK_NEW };

#define RECORD_KEY_EVERY 64 // frames
// Limits that a reader enforces and a writer keeps.
#define RECORD_RAW_MAX ((size_t)256 << 20)   // bytes of one record's content
#define RECORD_TEXTS_MAX ((size_t)512 << 20) // bytes of texts between two key frames
#define RECORD_TEXT_COST 64                  // of each text, beside its bytes
#define RECORD_CELLS_MAX ((size_t)512 << 20) // bytes of the cells and buckets of one frame

struct encoder;

struct encoder *encoder_new(void);
void encoder_free(struct encoder *encoder);
void encode_origin(const struct origin *origin, struct sink *out);
// `left_out`: number of missing frames before it. Keeps a reference to the frame until the next one.
enum record_type encode_frame(struct encoder *encoder, const struct frame *frame, uint64_t left_out, struct sink *out);
void encode_end(uint64_t frames, uint64_t left_out, struct sink *out);

#endif
