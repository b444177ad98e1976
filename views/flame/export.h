// What the files of the flame graph part are written from: the folded tree of the span, with the filter and the chosen
// kinds of frames. A zoomed frame limits a file to the stacks that pass through it. Of a difference, B is written; only
// the picture compares it with A.
#ifndef VIEWS_FLAME_EXPORT_H
#define VIEWS_FLAME_EXPORT_H

#include "views/flame/fold.h"
#include "views/flame/span.h"

struct flame_export {
    const struct fold *fold;
    uint32_t zoom, end; // the zoomed node, and the one after its descendants
    uint64_t total;     // samples: of the zoomed node, more than 0
    const char *unit;   // "samples"
    bool root_below, difference;
    bool cold;         // off-CPU time is added
    double seconds;    // length of the span
    int64_t end_s;     // when it ended, since 1970
    const char *title; // "Flame graph, kernel frames"
    const char *what;  // host, kernel, span, filter, version: one line
    const struct write_info *info;
};

// The functions and processes of the nodes, each once.
struct flame_functions {
    uint32_t n;
    uint32_t *of_node; // by node of the fold
    uint32_t *node;    // by function: a node that it is the name of
};
struct flame_functions flame_functions_new(const struct flame_export *export);
void flame_functions_free(struct flame_functions *functions);
// Of a node: as files name it, escaped; and its file, "[kernel]", or "" for none and for a process.
void flame_export_name(const struct fold_node *node, char *out, size_t size);
void flame_export_object(const struct fold_node *node, char *out, size_t size);

#define EXPORT_TEXT_MAX (16 << 10) // a name of 4 KiB, escaped

void flame_export_folded(const struct flame_export *export, FILE *out);     // export.c
void flame_export_svg(const struct flame_export *export, FILE *out);        // export_svg.c
void flame_export_speedscope(const struct flame_export *export, FILE *out); // export_speedscope.c
void flame_export_pprof(const struct flame_export *export, FILE *out);      // export_pprof.c
// export_script.c: sample by sample, of the frames of the span. False: there are none.
bool flame_export_script(struct part_context *ctx, const struct write_info *info, FILE *out);

extern const char flame_svg_script[]; // export_svg_script.c

#endif
