// The origin of frames: one machine, one boot, one ktop. Immutable, reference-counted, shared by all frames of a run.
#ifndef MODEL_ORIGIN_H
#define MODEL_ORIGIN_H

#include <stdint.h>

struct origin {
    const char *host, *boot_id, *kernel; // strings as the machine reports them: escape them before they are shown
    const char *version;                 // of the ktop that made the frames
    uint32_t cpus;
};

struct origin *origin_new(const struct origin *values); // strings are copied; NULL becomes ""
const struct origin *origin_ref(const struct origin *origin);
void origin_unref(const struct origin *origin);

#endif
