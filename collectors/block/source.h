// Where block events come from: a tracefs instance of ktop's own with the events of the block layer switched on, and
// the pipes that read its buffers. One thread owns a source.
#ifndef COLLECTORS_BLOCK_SOURCE_H
#define COLLECTORS_BLOCK_SOURCE_H

#include "collectors/block/event.h"
#include "collectors/collector.h"
#include "collectors/kernel/tracefs/ring_pipe.h"
#include "collectors/kernel/tracefs/trace_clock.h"

struct block_source {
    char instance[256];
    bool created;
    struct block_formats formats; // of the events that are there, and could be switched on
    struct ring_pipe *pipe;
    struct trace_clock clock; // of the events; block_source_open has read it
};

// Everything in the kernel that the collector needs; undone by block_source_close, whatever it returns: 0, or -errno;
// then *step, a constant, and detail say what failed. name: of the instance, after ktop's own prefix.
int block_source_open(struct block_source *source, const char *name, const struct test_options *test, const char **step,
                      char *detail, size_t size);
void block_source_close(struct block_source *source);
// Records the events of that kind (enum block_kind), which is present, or no more.
int block_source_switch(const struct block_source *source, int kind, bool on);
// Why it could not be opened, and what to do.
void block_source_explain(int error, const char *step, const char *detail, char *reason, size_t reason_size, char *fix,
                          size_t fix_size);

#endif
