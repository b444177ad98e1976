// The profile in the file format of speedscope: https://www.speedscope.app/file-format-schema.json, type "sampled".
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/flame/export.h"

// `text` is escaped, and so valid UTF-8.
static void put_string(const char *text, FILE *out) {
    struct json_object *string = json_object_new_string(text);

    fputs(json_object_to_json_string_ext(string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), out);
    json_object_put(string);
}

static void put_frames(const struct flame_export *export, const struct flame_functions *functions, FILE *out) {
    char text[EXPORT_TEXT_MAX];

    fputs("\"shared\":{\"frames\":[", out);
    for (uint32_t i = 0; i < functions->n; i++) {
        const struct fold_node *node = &export->fold->nodes[functions->node[i]];
        fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
        flame_export_name(node, text, sizeof(text));
        put_string(text, out);
        flame_export_object(node, text, sizeof(text));
        if (*text) {
            fputs(",\"file\":", out);
            put_string(text, out);
        }
        fputc('}', out);
    }
    fputs("]}", out);
}

static void put_stack(const struct flame_export *export, const struct flame_functions *functions, uint32_t node,
                      FILE *out) {
    const struct fold_node *nodes = export->fold->nodes;
    uint32_t depth = nodes[node].depth, *path = xcalloc(depth + 1, sizeof(*path));

    for (uint32_t i = depth; i-- > 0; node = nodes[node].parent)
        path[i] = functions->of_node[node];
    for (uint32_t i = 0; i < depth; i++)
        fprintf(out, "%c%" PRIu32, i ? ',' : '[', path[i]);
    fputc(']', out);
    free(path);
}

void flame_export_speedscope(const struct flame_export *export, FILE *out) {
    struct flame_functions functions = flame_functions_new(export);
    const struct fold_node *nodes = export->fold->nodes;
    const char *before = "";

    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":", out);
    char exporter[64];
    snprintf(exporter, sizeof(exporter), "ktop %s", export->info->version);
    put_string(exporter, out);
    fputs(",\"name\":", out);
    put_string(export->what, out);
    fputs(",\"activeProfileIndex\":0,\n", out);
    put_frames(export, &functions, out);
    fputs(",\n\"profiles\":[{\"type\":\"sampled\",\"name\":", out);
    put_string(export->title, out);
    fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64 ",\n\"samples\":[",
            !strcmp(export->unit, "us")   ? "microseconds"
            : !strcmp(export->unit, "ns") ? "nanoseconds"
                                          : "none",
            export->total);
    for (uint32_t i = export->zoom; i < export->end; i++) {
        if (!nodes[i].self || !i)
            continue;
        fputs(before, out);
        before = ",\n";
        put_stack(export, &functions, i, out);
    }
    fputs("],\n\"weights\":[", out);
    before = "";
    for (uint32_t i = export->zoom; i < export->end; i++) {
        if (!nodes[i].self || !i)
            continue;
        fprintf(out, "%s%" PRIu64, before, nodes[i].self);
        before = ",";
    }
    fputs("]}]}\n", out);
    flame_functions_free(&functions);
}
