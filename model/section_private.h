// The storage of a section, for the code that builds it and the recording format.
#ifndef MODEL_SECTION_PRIVATE_H
#define MODEL_SECTION_PRIVATE_H

#include <stdatomic.h>

#include "model/section.h"

// A growing array of counted memory.
struct list {
    void *items;
    size_t n, capacity;
};

struct series {
    const struct series_def *def;
    double value;
};

struct stream {
    struct table *events;
    uint64_t left_out;
};

struct section {
    atomic_uint refs;
    enum section_state state;
    uint64_t begin_ns, end_ns, seen, lost, cpu_ns;
    const struct text *collector;
    struct list notes, series, tables, hists, trees, streams;
};

#endif
