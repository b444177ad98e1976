// Completes a section with the schema of its collector. Independent of the individual collectors.
#include "collectors/schema.h"

#include <math.h>
#include <string.h>

static struct table *table_empty(const struct table_def *def) {
    struct table_builder *builder = table_builder_new(def);
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static bool has_series(const struct section *section, const struct series_def *wanted) {
    for (size_t i = 0; i < section_n_series(section); i++) {
        const struct series_def *def;
        section_series_at(section, i, &def);
        if (!strcmp(def->name, wanted->name))
            return true;
    }
    return false;
}

void section_complete(struct section *section, const struct collector *collector) {
    // Usually the set is complete; names are compared only if it is not.
    if (section_n_series(section) < collector->n_series)
        for (size_t i = 0; i < collector->n_series; i++)
            if (!has_series(section, &collector->series[i]))
                section_series(section, &collector->series[i], NAN);
    for (size_t i = 0; collector->tables && collector->tables[i]; i++)
        if (!section_find_table(section, collector->tables[i]->name))
            section_table(section, table_empty(collector->tables[i]));
    for (size_t i = 0; collector->hists && collector->hists[i]; i++)
        if (!section_find_hists(section, collector->hists[i]->name))
            section_hists(section, hist_set_new(collector->hists[i]));
    for (size_t i = 0; collector->streams && collector->streams[i]; i++)
        if (!section_find_stream(section, collector->streams[i]->name, NULL))
            section_stream(section, table_empty(collector->streams[i]), 0);
}
