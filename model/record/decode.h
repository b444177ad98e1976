// Bytes of a recording back to frames. The bytes are untrusted: every count is checked against the bytes left before
// memory is allocated for it, and an error leaves no partial frame.
#ifndef MODEL_RECORD_DECODE_H
#define MODEL_RECORD_DECODE_H

#include "model/record/encode.h"

struct decoder;

// `schema`: a frame with every definition of this program (NULL: none), of which a reference is held. Frames are mapped
// to these; a definition that the recording lacks is present without data, as in a live frame.
struct decoder *decoder_new(const struct frame *schema);
void decoder_free(struct decoder *decoder);

struct decoded {
    enum record_type type;
    const struct frame *frame; // RECORD_KEY, RECORD_DELTA: owned by the caller
    uint64_t left_out, frames; // frames missing before this one; RECORD_END: of the whole recording
};
// False: damaged. A delta before the first key frame is damaged as well.
bool decoder_take(struct decoder *decoder, const uint8_t *bytes, size_t size, struct decoded *out);
const struct origin *decoder_origin(const struct decoder *decoder); // NULL before its record
size_t decoder_unknown(const struct decoder *decoder);              // columns and tables that this program lacks

#endif
