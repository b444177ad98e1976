// Writes a tree to files: folded stacks, JSON, CSV, and as text with shares. Files have the samples of their frame,
// each once: a section that a frame repeats was written with the frame before.
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/flame/names.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"
#include "views/write.h"

#define TEXT_LINES 40
#define TEXT_WIDTH 100
#define INDENT_MAX 40

struct written {
    struct tree *owned[2];
    struct fold *fold; // NULL: nothing to write
};

// In files. What is added of two trees has the name of its part.
static const char *tree_name(const struct part_context *ctx) {
    const struct flame_spec *spec = ctx->part->spec;
    return spec->cold ? ctx->part->name : spec->tree;
}

static struct written written_open(struct part_context *ctx) {
    const struct flame_spec *spec = ctx->part->spec;
    const struct flame_state *self = ctx->state;
    struct written written = {0};
    struct flame_trees trees;
    struct fold_filter filter;
    char text[FILTER_SIZE];

    flame_frame_trees(ctx->look, spec, &trees);
    memcpy(written.owned, trees.owned, sizeof(written.owned));
    flame_filter(&self->choice, pane_filter(ctx->pane, ctx->part), ctx->look, text, &filter);
    filter.addresses = true;
    flame_filter_trees(spec, &trees, &filter);
    if ((trees.tree || trees.base) && !isnan(trees.scale))
        written.fold = fold_new(trees.tree, trees.base, &filter);
    return written;
}

static void written_close(struct written *written) {
    fold_free(written->fold);
    tree_free(written->owned[0]);
    tree_free(written->owned[1]);
}

// ---- stacks ----

void flame_write_folded(struct part_context *ctx, FILE *out) {
    struct written written = written_open(ctx);

    for (uint32_t i = 1; written.fold && i < written.fold->n; i++) {
        if (!written.fold->nodes[i].self)
            continue;
        flame_stack_write(written.fold, i, true, out);
        fputc('\n', out);
    }
    written_close(&written);
}

struct json_stacks {
    struct json_stream stream;
    struct written written;
};

static void stacks_to_json(struct json_stream *stream, FILE *out) {
    struct json_stacks *self = (struct json_stacks *)stream;
    const struct fold *fold = self->written.fold;
    const char *before = "[";

    for (uint32_t i = 1; fold && i < fold->n; i++) {
        char *text = NULL;
        size_t size;
        FILE *stack = fold->nodes[i].self ? open_memstream(&text, &size) : NULL;
        if (!stack)
            continue;
        flame_stack_write(fold, i, true, stack);
        fclose(stack);
        struct json_object *string = json_object_new_string_len(text, (int)size);
        fputs(before, out);
        fputs(json_object_to_json_string_ext(string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), out);
        before = ",";
        json_object_put(string);
        free(text);
    }
    fputs(*before == '[' ? "[]" : "]", out);
}

static void stacks_free(struct json_object *array, void *userdata) {
    struct json_stacks *self = userdata;

    (void)array;
    written_close(&self->written);
    free(self);
}

void flame_write_json(struct part_context *ctx, struct json_object *pane) {
    struct json_stacks *self = xcalloc(1, sizeof(*self));
    struct json_object *array = json_object_new_array();

    self->stream.write = stacks_to_json;
    self->written = written_open(ctx);
    json_object_set_userdata(array, self, stacks_free);
    json_object_object_add(json_group(pane, "trees"), tree_name(ctx), array);
}

void flame_write_csv(struct part_context *ctx, FILE *out) {
    const struct flame_spec *spec = ctx->part->spec;
    struct written written = written_open(ctx);

    if (csv_wants_header(ctx)) {
        csv_begin_header(out);
        fprintf(out, ",stack,%s", spec->unit);
        csv_end(out);
    }
    for (uint32_t i = 1; written.fold && i < written.fold->n; i++) {
        char *text = NULL;
        size_t size;
        FILE *stack = written.fold->nodes[i].self ? open_memstream(&text, &size) : NULL;
        if (!stack)
            continue;
        flame_stack_write(written.fold, i, true, stack);
        fclose(stack);
        *strrchr(text, ' ') = '\0'; // the count has a column of its own
        csv_begin(ctx, tree_name(ctx), out);
        csv_string(text, out);
        csv_number(UNIT_COUNT, (double)written.fold->nodes[i].self, out);
        csv_end(out);
        free(text);
    }
    written_close(&written);
}

// ---- text ----

static int by_total(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

// The samples that a node has at least to be among the largest, about TEXT_LINES of them.
static uint64_t least_samples(const struct fold *fold) {
    uint64_t *totals = xcalloc(fold->n, sizeof(*totals)), least = 1;

    for (uint32_t i = 0; i < fold->n; i++)
        totals[i] = fold->nodes[i].total;
    qsort(totals, fold->n, sizeof(*totals), by_total);
    if (fold->n > TEXT_LINES)
        least = totals[TEXT_LINES - 1] + (totals[TEXT_LINES - 1] == totals[TEXT_LINES]);
    free(totals);
    // A program with one deep stack has all of its frames in the same samples: they are worth their lines.
    uint64_t percent = fold->nodes[0].total / 100;
    return least > fold->nodes[0].total / 2 ? percent : least < percent ? percent : least;
}

static void write_node(const struct fold *fold, uint32_t i, FILE *out) {
    const struct fold_node *node = &fold->nodes[i];
    double all = (double)fold->nodes[0].total;
    int indent = node->depth < INDENT_MAX ? (int)node->depth : INDENT_MAX;
    char name[4 * TEXT_WIDTH], object[64];

    flame_short(i ? flame_symbol(node->name) : "all", TEXT_WIDTH - 20 - indent, name, sizeof(name));
    flame_object(node, false, object, sizeof(object));
    fprintf(out, "  %5.1f%% %5.1f%%  %*s%s", 100.0 * (double)node->total / all, 100.0 * (double)node->self / all,
            indent, "", name);
    if (*object && object[0] != '[' && indent + text_width(name) + text_width(object) + 22 <= TEXT_WIDTH)
        fprintf(out, "  (%s)", object);
    fputc('\n', out);
}

void flame_write_text(struct part_context *ctx, FILE *out) {
    const struct flame_spec *spec = ctx->part->spec;
    struct written written = written_open(ctx);
    const struct fold *fold = written.fold;

    if (!fold || !fold->nodes[0].total) {
        const char *unmeasured = part_unmeasured(ctx->part, ctx->look);
        fprintf(out, "  %s\n", unmeasured ? unmeasured : spec->empty);
    } else {
        uint64_t least = least_samples(fold), hidden = 0;
        char weight[64];
        flame_weight(spec, fold->nodes[0].total, weight, sizeof(weight));
        fprintf(out, "  TOTAL%%  SELF%%  %s\n", weight);
        for (uint32_t i = 0; i < fold->n;) {
            bool shown = fold->nodes[i].total >= least;
            if (shown)
                write_node(fold, i, out);
            else
                hidden++;
            i = shown ? i + 1 : fold_after(fold, i);
        }
        if (hidden)
            fprintf(out, "  %llu branches below %.1f%% are not shown\n", (unsigned long long)hidden,
                    100.0 * (double)least / (double)fold->nodes[0].total);
    }
    written_close(&written);
}
