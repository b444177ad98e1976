// The file formats of the flame graph, a row each in flame_files, and what they share.
#include "views/flame/export.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/flame/names.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

// ---- functions ----

struct named {
    const struct text *name;
    uint32_t node;
};

// In any order in which equal names, as they are folded, are neighbours.
static int by_name(const void *a, const void *b) {
    const struct text *x = ((const struct named *)a)->name, *y = ((const struct named *)b)->name;
    size_t stem_x = x ? fold_address_stem(x) : 0, stem_y = y ? fold_address_stem(y) : 0;
    const char *symbol_x = flame_symbol(x), *symbol_y = flame_symbol(y);
    size_t n_x = stem_x ? stem_x : strlen(symbol_x), n_y = stem_y ? stem_y : strlen(symbol_y);

    if ((stem_x > 0) != (stem_y > 0))
        return stem_x ? 1 : -1;
    if (n_x != n_y)
        return n_x < n_y ? -1 : 1;
    int order = memcmp(symbol_x, symbol_y, n_x);
    if (order)
        return order;
    if (name_kind(x) != name_kind(y))
        return name_kind(x) < name_kind(y) ? -1 : 1;
    return !x || !y || name_kind(x) == NAME_PLAIN ? 0 : strcmp(name_object(x), name_object(y));
}

struct flame_functions flame_functions_new(const struct flame_export *export) {
    const struct fold *fold = export->fold;
    struct flame_functions functions = {.of_node = xcalloc(fold->n, sizeof(uint32_t)),
                                        .node = xcalloc(fold->n, sizeof(uint32_t))};
    struct named *named = xcalloc(fold->n, sizeof(*named));

    for (uint32_t i = 1; i < fold->n; i++)
        named[i - 1] = (struct named){fold->nodes[i].name, i};
    qsort(named, fold->n - 1, sizeof(*named), by_name);
    for (uint32_t i = 0; i + 1 < fold->n; i++) {
        if (!i || by_name(&named[i - 1], &named[i]))
            functions.node[functions.n++] = named[i].node;
        functions.of_node[named[i].node] = functions.n - 1;
    }
    free(named);
    return functions;
}

void flame_functions_free(struct flame_functions *functions) {
    free(functions->of_node);
    free(functions->node);
}

void flame_export_name(const struct fold_node *node, char *out, size_t size) {
    char shown[EXPORT_TEXT_MAX / 4];

    flame_shown(node->name, shown, sizeof(shown));
    escape_text(shown, strlen(shown), out, size);
}

void flame_export_object(const struct fold_node *node, char *out, size_t size) {
    const char *object = node->name && name_kind(node->name) != NAME_PLAIN ? name_object(node->name) : "";

    escape_text(object, strlen(object), out, size);
}

void flame_export_folded(const struct flame_export *export, FILE *out) {
    for (uint32_t i = export->zoom; i < export->end; i++) {
        if (!export->fold->nodes[i].self || !i)
            continue;
        flame_stack_write(export->fold, i, false, out);
        fputc('\n', out);
    }
}

// ---- what is written ----

#define WHAT_MAX (FILTER_SIZE + 512)

static void what_is_shown(const struct part_context *ctx, const struct write_info *info, uint64_t samples, char *out,
                          size_t size) {
    const struct flame_spec *spec = ctx->part->spec;
    const struct flame_state *self = ctx->state;
    const char *filter = pane_filter(ctx->pane, ctx->part);
    char span[128], when[64], text[WHAT_MAX];
    struct tm tm;

    flame_span_text(&self->choice, span, sizeof(span));
    localtime_r(&ctx->look->frame->wall.tv_sec, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S %z", &tm);
    snprintf(text, sizeof(text), "%s, Linux %s, %s%s; %llu %s%s%s; %s; ktop %s", info->host, info->kernel, span,
             self->zoom.n ? ", zoomed" : "", (unsigned long long)samples, spec->unit, filter[0] ? "; filter: " : "",
             filter, when, info->version);
    escape_text(text, strlen(text), out, size);
}

static bool export_as(struct part_context *ctx, const struct write_info *info, FILE *out,
                      void (*write)(const struct flame_export *, FILE *)) {
    const struct flame_spec *spec = ctx->part->spec;
    struct flame_state *self = ctx->state;
    const struct fold *fold = ctx->look->frame ? flame_fold(ctx) : NULL;
    char title[128], what[4 * WHAT_MAX];
    uint32_t zoom = fold ? fold_find(fold, self->zoom.names, self->zoom.n) : 0;
    bool any = fold && fold->nodes[zoom].total;

    if (any) {
        bool difference = flame_is_difference(&self->choice);
        part_title(ctx, title, sizeof(title));
        what_is_shown(ctx, info, fold->nodes[zoom].total, what, sizeof(what));
        struct flame_export export = {
            .fold = fold,
            .zoom = zoom,
            .end = fold_after(fold, zoom),
            .total = fold->nodes[zoom].total,
            .unit = spec->unit,
            .root_below = self->root_below,
            .difference = difference,
            .cold = spec->cold,
            .seconds = difference ? self->choice.mark[1].seconds : self->choice.merged.seconds,
            .end_s = difference ? self->choice.mark[1].end_s : ctx->look->frame->wall.tv_sec,
            .title = title,
            .what = what,
            .info = info,
        };
        write(&export, out);
    }
    return any;
}

static bool write_svg(struct part_context *ctx, const struct write_info *info, FILE *out) {
    return export_as(ctx, info, out, flame_export_svg);
}

static bool write_folded(struct part_context *ctx, const struct write_info *info, FILE *out) {
    return export_as(ctx, info, out, flame_export_folded);
}

static bool write_speedscope(struct part_context *ctx, const struct write_info *info, FILE *out) {
    return export_as(ctx, info, out, flame_export_speedscope);
}

static bool write_pprof(struct part_context *ctx, const struct write_info *info, FILE *out) {
    return export_as(ctx, info, out, flame_export_pprof);
}

const struct part_file flame_files[] = {
    {".svg", "flame graph", write_svg},
    {".folded", "call paths", write_folded},
    {".json", "speedscope", write_speedscope},
    {".pb.gz", "pprof", write_pprof},
    {".perf", "perf script", flame_export_script},
    {0},
};
