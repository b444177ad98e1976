// Writes the map as a picture. Every text goes through xml_write(): thread and device names are untrusted.
#include "views/hist/heat_svg.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "views/write.h"
#include "views/xml.h"

#define SVG_WIDTH 1200
#define SVG_COLUMNS 150
#define SVG_ROWS 40
#define SVG_TICKS 16

// Position of the map and size of its cells.
struct svg {
    double left, top, width, height, cell_width, cell_height;
};

// From pale yellow over orange and red to near black: lightness alone gives the order, for colour-blind readers and in
// print.
static void heat_colour(uint8_t heat, char out[8]) {
    static const uint8_t stops[][3] = {{255, 243, 178}, {254, 190, 90}, {240, 100, 50}, {180, 20, 60}, {50, 0, 50}};
    double at = (heat - HEAT_LOW) / (255.0 - HEAT_LOW) * 4;
    int i = at >= 4 ? 3 : at < 0 ? 0 : (int)at;
    double part = at - i;
    int rgb[3];
    for (int k = 0; k < 3; k++)
        rgb[k] = (int)lround(stops[i][k] + part * (stops[i + 1][k] - stops[i][k]));
    snprintf(out, 8, "#%02x%02x%02x", rgb[0] & 0xff, rgb[1] & 0xff, rgb[2] & 0xff);
}

static void text_at(FILE *out, double x, double y, const char *class, const char *anchor, const char *text) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    xml_write(text, out);
    fputs("</text>\n", out);
}

static void write_head(struct part_context *ctx, const struct hist_def *def, const struct write_info *info,
                       double height, FILE *out) {
    const struct hist_select *select = ctx->state;
    char title[256], chosen[160], when[64], line[512];
    hist_select_text(select, def, chosen, sizeof chosen);
    snprintf(title, sizeof title, "%s%s%s", def->title, chosen[0] ? ", " : "", chosen);
    struct tm tm;
    localtime_r(&ctx->look->frame->wall.tv_sec, &tm);
    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S %z", &tm);
    snprintf(line, sizeof line, "%s, Linux %s, to %s; ktop %s", info->host, info->kernel, when, info->version);
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
            "font-family=\"sans-serif\">\n<title>",
            SVG_WIDTH, height, SVG_WIDTH, height);
    xml_write(title, out);
    fputs("</title>\n<style>.t{font-size:18px;font-weight:bold}.s{font-size:12px;fill:#555}.l{font-size:11px;fill:#333}"
          ".a{stroke:#888;stroke-width:1;fill:none}.q{stroke-width:1.5;fill:none}</style>\n"
          "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          out);
    text_at(out, 20, 28, "t", "start", title);
    text_at(out, 20, 46, "s", "start", line);
}

static void write_axes(const struct heat_data *data, const struct hist_def *def, const struct svg *svg, FILE *out) {
    struct heat_tick ticks[SVG_TICKS];
    double bottom = svg->top + svg->height, right = svg->left + svg->width;
    int every = data->rows > 24 ? 2 : 1;
    char text[64];
    fprintf(out, "<rect class=\"a\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", svg->left, svg->top,
            svg->width, svg->height);
    for (int i = 0; i <= data->rows; i += every) {
        double y = bottom - i * svg->cell_height;
        hist_scale_edge(&data->scale, def, i, text);
        fprintf(out, "<path class=\"a\" d=\"M%.1f %.1fh-4\"/>\n", svg->left, y);
        text_at(out, svg->left - 7, y + 4, "l", "end", text);
    }
    int n = heat_ticks(data, data->columns > 12 ? data->columns / 12 : 1, ticks, SVG_TICKS);
    for (int i = 0; i < n; i++) {
        double x = svg->left + (ticks[i].column + 1) * svg->cell_width;
        fprintf(out, "<path class=\"a\" d=\"M%.1f %.1fv4\"/>\n", x, bottom);
        text_at(out, x, bottom + 17, "l", "middle", ticks[i].text);
    }
    const struct frame *last = data->column[data->columns - 1].frame;
    clock_write(last->wall.tv_sec, text);
    text_at(out, right, bottom + 17, "l", "end", text);
}

static void write_cells(const struct heat_data *data, const struct hist_def *def, const struct svg *svg, FILE *out) {
    double log_most = log(data->most);
    for (int column = 0; column < data->columns; column++) {
        const struct frame *frame = data->column[column].frame;
        const uint32_t *counts = heat_counts(data, column);
        char clock[CLOCK_SIZE];
        if (!frame)
            continue;
        uint64_t total = heat_total(data, column);
        clock_write(frame->wall.tv_sec, clock);
        for (int row = 0; row < data->rows; row++) {
            char low[16], high[16], colour[8], tip[128];
            if (!counts[row])
                continue;
            heat_colour(heat_of(counts[row], log_most), colour);
            hist_scale_edge(&data->scale, def, row, low);
            hist_scale_edge(&data->scale, def, row + 1, high);
            snprintf(tip, sizeof tip, "%s  %s - %s: %u of %llu (%.1f%%)", clock, low, high, counts[row],
                     (unsigned long long)total, 100.0 * counts[row] / (double)total);
            fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>",
                    svg->left + column * svg->cell_width, svg->top + svg->height - (row + 1) * svg->cell_height,
                    svg->cell_width, svg->cell_height, colour);
            xml_write(tip, out);
            fputs("</title></rect>\n", out);
        }
    }
}

// A line through the rows of the quantile, interrupted at columns without one.
static void write_quantile(const struct heat_data *data, const struct svg *svg, double q, const char *colour,
                           FILE *out) {
    bool down = false;
    fprintf(out, "<path class=\"q\" stroke=\"%s\" d=\"M0 0", colour);
    for (int column = 0; column < data->columns; column++) {
        int row = data->column[column].frame ? heat_quantile_row(data, column, q) : -1;
        if (row >= 0)
            fprintf(out, "%c%.2f %.2fh%.2f", down ? 'L' : 'M', svg->left + column * svg->cell_width,
                    svg->top + svg->height - (row + 0.5) * svg->cell_height, svg->cell_width);
        down = row >= 0;
    }
    fputs("\"/>\n", out);
}

static void write_legend(const struct heat_data *data, const struct svg *svg, FILE *out) {
    double y = svg->top + svg->height + 34, x = svg->left;
    double log_most = log(data->most);
    uint32_t last = 0;
    for (int i = 0; i <= 6; i++) {
        uint32_t count = (uint32_t)lround(exp(log_most * i / 6));
        char colour[8], text[24];
        if (count == last)
            continue;
        last = count;
        heat_colour(heat_of(count, log_most), colour);
        unit_format(UNIT_COUNT, count, text, sizeof text);
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", x, y, colour);
        text_at(out, x + 18, y + 11, "l", "start", text);
        x += 70;
    }
    text_at(out, x, y + 11, "s", "start", "a cell");
    fprintf(out, "<path class=\"q\" stroke=\"#0060c0\" d=\"M%.1f %.1fh24\"/>\n", x + 60, y + 7);
    text_at(out, x + 88, y + 11, "l", "start", "median");
    fprintf(out, "<path class=\"q\" stroke=\"#008060\" d=\"M%.1f %.1fh24\"/>\n", x + 150, y + 7);
    text_at(out, x + 178, y + 11, "l", "start", "99th percentile");
}

bool heat_svg_write(struct part_context *ctx, struct heat_data *data, const struct hist_def *def,
                    const struct write_info *info, FILE *out) {
    size_t n = ctx->look->n_window;
    if (!ctx->look->frame)
        return false;
    // One column per frame, until columns get too narrow for a pointer.
    heat_load(ctx, data, def, n && n < SVG_COLUMNS && !data->group ? (int)n : SVG_COLUMNS, SVG_ROWS);
    if (!data->rows || !data->column[data->columns - 1].frame)
        return false;
    struct svg svg = {.left = 80, .top = 62, .width = SVG_WIDTH - 100.0};
    svg.cell_width = svg.width / data->columns;
    svg.cell_height = data->rows > 20 ? 12 : 24;
    svg.height = svg.cell_height * data->rows;
    write_head(ctx, def, info, svg.top + svg.height + 62, out);
    write_cells(data, def, &svg, out);
    const struct hist_select *select = ctx->state;
    const struct hist_measure *measure = hist_select_measure(select, ctx->part->spec);
    if (!measure || !measure->linear || measure->table) { // quantiles of offsets have no meaning
        write_quantile(data, &svg, 0.5, "#0060c0", out);
        write_quantile(data, &svg, 0.99, "#008060", out);
    }
    write_axes(data, def, &svg, out);
    write_legend(data, &svg, out);
    fputs("</svg>\n", out);
    return true;
}
