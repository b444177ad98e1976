// The words at the right end of a table's title (see the header). To keep the filter readable on 80 columns, they give
// up in this order: which rows, the column names in the filter, the end of the filter.
#include "views/table_status.h"

#include <string.h>

#include "views/escape.h"

// The total; for a stream that was too long, also which of its events were kept.
static void describe_all(const struct part_context *ctx, const struct rows *rows, char *out, size_t size) {
    const struct table_spec *spec = ctx->part->spec;
    unsigned long long of = rows->n_all + rows->left_out;

    if (rows->n_aside)
        snprintf(out, size, "newest %zu + %zu %s of %llu", rows->n_all - rows->n_aside, rows->n_aside, spec->aside, of);
    else
        snprintf(out, size, "%zu", rows->n_all);
}

static void counts(const struct part_context *ctx, const struct rows *rows, long top, int page, char *out,
                   size_t size) {
    const struct table_spec *spec = ctx->part->spec;
    long n_rows = (long)rows->n, last = top + page < n_rows ? top + page : n_rows;
    size_t n = 0;
    char all[96];

    describe_all(ctx, rows, all, sizeof(all));
    if (rows->n < rows->n_all)
        n = (size_t)snprintf(out, size, "%zu of %s", rows->n, all);
    else if (n_rows > page)
        n = (size_t)snprintf(out, size, "%ld-%ld of %s", top + 1, last, all);
    else if (rows->n_aside)
        n = (size_t)snprintf(out, size, "%s", all);
    if (rows->left_out && !rows->n_aside && n < size)
        snprintf(out + n, size - n, "%s%llu %s not kept", n ? ", " : "", (unsigned long long)rows->left_out,
                 spec->left_out ? spec->left_out : "older");
}

// The filter without column names where the value suffices: "fio, R, 1ms..2ms, error!=EIO".
static void brief_filter(const struct part_context *ctx, const char *filter, char *out, size_t size) {
    char term[4 * FILTER_SIZE];
    struct filter parsed;
    size_t used = 0;

    escape_text(filter, strlen(filter), out, size);
    if (!filter_parse(filter, ctx->look->frame, &parsed))
        return;
    for (size_t i = 0; i < parsed.n && used < size; i++) {
        filter_term_shown(&parsed, i, true, term, sizeof(term));
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", term);
    }
}

// The longest variant that fits; else the last one, cut.
static void add_filter(struct part_context *ctx, const struct rows *rows, const char *text, char *out, size_t size) {
    char filter[4 * FILTER_SIZE], brief[4 * FILTER_SIZE], all[160], part[64], few[64], total[24];
    const struct { const char *before, *filter; } ways[] = {{all, filter}, {part, filter}, {part, brief}, {few, brief}};
    size_t i = 0, n = sizeof(ways) / sizeof(ways[0]);

    escape_text(text, strlen(text), filter, sizeof(filter));
    brief_filter(ctx, text, brief, sizeof(brief));
    snprintf(all, sizeof(all), "%s%sfilter ", out, out[0] ? ", " : "");
    snprintf(few, sizeof(few), rows->left_out ? "%zu of %zu kept: " : "%zu of %zu: ", rows->n, rows->n_all);
    unit_format(UNIT_COUNT, (double)(rows->n_all + rows->left_out), total, sizeof(total));
    snprintf(part, sizeof(part), "%s", few);
    if (rows->left_out)
        snprintf(part, sizeof(part), "%zu of %zu kept of %s: ", rows->n, rows->n_all, total);
    while (i < n - 1 && text_width(ways[i].before) + text_width(ways[i].filter) > ctx->room)
        i++;
    int room = ctx->room - text_width(ways[i].before);
    if (room >= 8 && text_width(ways[i].filter) > room) {
        escape_fit(brief, room, filter, sizeof(filter));
        snprintf(out, size, "%s%s", few, filter);
    } else {
        snprintf(out, size, "%s%s", ways[i].before, ways[i].filter);
    }
    snprintf(ctx->brief, sizeof(ctx->brief), "filtered"); // the last line shows it
}

void table_status(struct part_context *ctx, const struct rows *rows, long top, int page, char *out, size_t size) {
    const char *filter = pane_filter(ctx->pane, ctx->part),
               *legend = ((const struct table_spec *)ctx->part->spec)->legend;
    char own[160] = "";

    counts(ctx, rows, top, page, own, sizeof(own));
    snprintf(out, size, "%s", own);
    if (filter[0] && !rows->unfiltered)
        add_filter(ctx, rows, filter, out, size);
    if (legend && text_width(legend) + (out[0] ? 2 + text_width(out) : 0) <= ctx->room) {
        char rest[160];
        snprintf(rest, sizeof(rest), "%s", out);
        snprintf(out, size, "%s%s%s", legend, rest[0] ? "; " : "", rest);
    }
}
