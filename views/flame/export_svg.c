// The flame graph as a self-contained SVG document. Names come from any program: every text goes through xml_write(),
// and the script has no text of a profile in it; it reads names only as text of the document.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/flame/export.h"
#include "views/flame/names.h"
#include "views/grid.h"
#include "views/view.h"
#include "views/xml.h"

#define LEFT 10
#define WIDTH 1180 // of the frames
#define TOP 76
#define ROW 17
#define BELOW 40
#define CHAR_WIDTH 7.25 // of the monospace font at 12 pixels
#define TEXT_LEAST 3    // characters that a frame has room for, or it has no text
#define SHARES 50000    // a frame of fewer samples than one in so many of all is left out

struct svg {
    const struct flame_export *export;
    FILE *out;
    uint32_t rows;
    uint64_t *next; // by node: where its next child begins, in samples
};

static double share(uint64_t part, uint64_t all) {
    return all ? 100.0 * (double)part / (double)all : 0;
}

// ---- a frame ----

static const char *class_of(enum role role) {
    switch (role) {
    case ROLE_FLAME_USER:
        return "u";
    case ROLE_FLAME_LIBRARY:
        return "l";
    case ROLE_FLAME_KERNEL:
        return "k";
    case ROLE_FLAME_JIT:
        return "j";
    case ROLE_FLAME_MORE:
        return "m";
    case ROLE_FLAME_LESS:
        return "s";
    case ROLE_FLAME_OFF_CPU:
        return "o";
    case ROLE_DIM:
        return "b";
    default:
        return "p";
    }
}

static double change_of(const struct fold *fold, const struct fold_node *node) {
    return share(node->total, fold->nodes[0].total) - share(node->base_total, fold->base_total);
}

static void name_of(const struct fold *fold, uint32_t i, char *out, size_t size) {
    if (i)
        flame_export_name(&fold->nodes[i], out, size);
    else
        snprintf(out, size, "all");
}

// "1 sample"
static int unit_length(const struct flame_export *export, uint64_t weight) {
    return (int)strlen(export->unit) - (weight == 1 && !strcmp(export->unit, "samples"));
}

// The hover text; its first line is the whole name, which the script searches.
static void put_title(const struct svg *svg, uint32_t i) {
    const struct flame_export *export = svg->export;
    const struct fold *fold = export->fold;
    const struct fold_node *node = &fold->nodes[i];
    const char *kind = flame_kind_word(node->name);
    char text[EXPORT_TEXT_MAX];

    fputs("<title>", svg->out);
    name_of(fold, i, text, sizeof(text));
    xml_write(text, svg->out);
    flame_object(node, true, text, sizeof(text));
    if (i && (*kind || *text)) {
        fprintf(svg->out, "\n%s%s", kind, *kind && *text ? ": " : "");
        xml_write(text, svg->out);
    }
    fprintf(svg->out, "\n%" PRIu64 " %.*s, %.2f%% of all, %" PRIu64 " self", node->total,
            unit_length(export, node->total), export->unit, share(node->total, fold->nodes[0].total), node->self);
    if (export->cold)
        fprintf(svg->out, "\n%" PRIu64 " us on CPU, %" PRIu64 " us off CPU", node->total - node->base_total,
                node->base_total);
    if (export->difference)
        fprintf(svg->out, "\nA %.2f%%, B %.2f%%: %+.2f points", share(node->base_total, fold->base_total),
                share(node->total, fold->nodes[0].total), change_of(fold, node));
    fputs("</title>", svg->out);
}

static void put_label(const struct svg *svg, uint32_t i, double x, double y, double width) {
    char name[EXPORT_TEXT_MAX], text[WIDTH * 4];
    int room = (int)((width - 6) / CHAR_WIDTH);

    fprintf(svg->out, "<text x=\"%.2f\" y=\"%.1f\">", x + 3, y + 12.5);
    if (room >= TEXT_LEAST) {
        name_of(svg->export->fold, i, name, sizeof(name));
        flame_short(name, room, text, sizeof(text));
        xml_write(text, svg->out);
    }
    fputs("</text>", svg->out);
}

// `start` and `total` in samples. data-f: both and the depth, for the script.
static void put_frame(const struct svg *svg, uint32_t i, uint64_t start, uint64_t total, bool above) {
    const struct flame_export *export = svg->export;
    const struct fold_node *node = &export->fold->nodes[i];
    bool cold = export->cold && 2 * (double)node->base_total >= (double)node->total;
    enum role role = export->difference ? flame_change_role(change_of(export->fold, node) / 100)
                     : cold             ? ROLE_FLAME_OFF_CPU
                                        : flame_role(node->name, node->depth);
    uint32_t row = export->root_below ? svg->rows - 1 - node->depth : node->depth;
    double scale = (double)WIDTH / (double)export->total, y = TOP + (double)row * ROW;
    double x = LEFT + (double)start * scale, width = (double)total * scale;

    fprintf(svg->out, "<g class=\"%s%s\" data-f=\"%" PRIu64 " %" PRIu64 " %" PRIu32 "\">", class_of(role),
            above ? " above" : "", start, total, node->depth);
    put_title(svg, i);
    fprintf(svg->out, "<rect x=\"%.3f\" y=\"%.1f\" width=\"%.3f\" height=\"%d\"/>", x, y, width, ROW - 1);
    put_label(svg, i, x, y, width);
    fputs("</g>\n", svg->out);
}

// ---- the document ----

static bool is_shown(const struct flame_export *export, uint32_t i) {
    uint64_t total = export->fold->nodes[i].total;
    return total && (double)total * SHARES >= (double)export->total;
}

static void put_frames(struct svg *svg) {
    const struct flame_export *export = svg->export;
    const struct fold_node *nodes = export->fold->nodes;
    uint32_t depth = nodes[export->zoom].depth, *above = xcalloc(depth + 1, sizeof(*above));

    for (uint32_t at = export->zoom, n = depth; n-- > 0;)
        above[n] = at = nodes[at].parent;
    for (uint32_t i = 0; i < depth; i++)
        put_frame(svg, above[i], 0, export->total, true);
    free(above);
    for (uint32_t i = export->zoom; i < export->end; i++) {
        uint64_t start = i > export->zoom ? svg->next[nodes[i].parent] : 0;
        svg->next[i] = start;
        if (i > export->zoom)
            svg->next[nodes[i].parent] += nodes[i].total;
        if (is_shown(export, i))
            put_frame(svg, i, start, nodes[i].total, false);
    }
}

static void put_text(const struct svg *svg, const char *attributes, const char *text) {
    fprintf(svg->out, "<text %s>", attributes);
    xml_write(text, svg->out);
    fputs("</text>\n", svg->out);
}

static void put_legend(const struct svg *svg) {
    static const struct {
        const char *class, *word;
        bool difference;
    } legend[] = {{"u", "program", false},       {"l", "library", false},         {"k", "kernel", false},
                  {"j", "JIT", false},           {"m", "more in B than A", true}, {"s", "less in B than A", true},
                  {"o", "mostly off-CPU", false}};
    int x = LEFT;

    for (size_t i = 0; i < sizeof(legend) / sizeof(legend[0]); i++) {
        if (legend[i].difference != svg->export->difference || (*legend[i].class == 'o' && !svg->export->cold))
            continue;
        fprintf(svg->out,
                "<g class=\"%s\"><rect x=\"%d\" y=\"52\" width=\"12\" height=\"12\"/></g>"
                "<text class=\"note\" x=\"%d\" y=\"62\">%s</text>\n",
                legend[i].class, x, x + 17, legend[i].word);
        x += legend[i].difference ? 150 : 80;
    }
}

static void put_head(const struct svg *svg, int height) {
    fprintf(svg->out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>",
            WIDTH + 2 * LEFT, height, WIDTH + 2 * LEFT, height);
    xml_write(svg->export->title, svg->out);
    fputs("</title>\n<style>"
          "text{font:12px monospace;fill:#111;white-space:pre}.head{font:bold 18px sans-serif}"
          ".note{font:12px sans-serif;fill:#555}.button{font:bold 12px sans-serif;fill:#0050a0;cursor:pointer}"
          "#graph text{pointer-events:none}#graph g{cursor:pointer}#graph rect{stroke:#fff;stroke-width:.4}"
          ".p rect{fill:#d0d0d0}.u rect{fill:#87d7ff}.l rect{fill:#b7dbff}.k rect{fill:#ff9a9a}.j rect{fill:#b5dc8c}"
          ".b rect{fill:#e8e8e8}.m rect{fill:#ff8787}.s rect{fill:#87afff}.o rect{fill:#005faf}.o text{fill:#fff}"
          "#graph g:hover rect{stroke:#000;stroke-width:1}#graph .above{opacity:.5}#graph .found rect{fill:#e600e6}"
          "#graph .found text{fill:#fff}#graph .away{display:none}"
          "</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
          svg->out);
    put_text(svg, "class=\"head\" x=\"10\" y=\"26\"", svg->export->title);
    put_text(svg, "class=\"note\" x=\"10\" y=\"44\"", svg->export->what);
    put_legend(svg);
}

static uint32_t rows_of(const struct flame_export *export) {
    uint32_t deepest = 0;

    for (uint32_t i = export->zoom; i < export->end; i++)
        if (is_shown(export, i) && export->fold->nodes[i].depth > deepest)
            deepest = export->fold->nodes[i].depth;
    return deepest + 1;
}

void flame_export_svg(const struct flame_export *export, FILE *out) {
    struct svg svg = {.export = export, .out = out, .rows = rows_of(export)};
    int bottom = TOP + (int)svg.rows * ROW;
    char attributes[96];

    svg.next = xcalloc(export->fold->n, sizeof(*svg.next));
    put_head(&svg, bottom + BELOW);
    fprintf(
        out,
        "<text id=\"reset\" class=\"button\" x=\"%d\" y=\"62\" text-anchor=\"end\" display=\"none\">Reset zoom</text>\n"
        "<text id=\"search\" class=\"button\" x=\"%d\" y=\"62\" text-anchor=\"end\" display=\"none\">Search</text>\n",
        LEFT + WIDTH - 70, LEFT + WIDTH);
    fprintf(out, "<g id=\"graph\" data-left=\"%d\" data-width=\"%d\" data-char=\"%.2f\" data-least=\"%d\">\n", LEFT,
            WIDTH, CHAR_WIDTH, TEXT_LEAST);
    put_frames(&svg);
    fputs("</g>\n", out);
    snprintf(attributes, sizeof(attributes), "id=\"details\" x=\"%d\" y=\"%d\"", LEFT, bottom + 24);
    put_text(&svg, attributes, "");
    snprintf(attributes, sizeof(attributes), "id=\"matched\" x=\"%d\" y=\"26\" text-anchor=\"end\"", LEFT + WIDTH);
    put_text(&svg, attributes, "");
    fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", flame_svg_script);
    free(svg.next);
}
