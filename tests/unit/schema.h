// The definitions that the program itself uses, by name: frames made by hand have the columns of the real ones.
#ifndef TESTS_SCHEMA_H
#define TESTS_SCHEMA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/collector.h"
#include "model/health.h"

static inline const struct table_def *table_among(const struct table_def *const *tables, const char *name) {
    for (size_t i = 0; tables && tables[i]; i++)
        if (!strcmp(tables[i]->name, name))
            return tables[i];
    return NULL;
}

// A table or a stream.
static inline const struct table_def *def_of(const char *name) {
    static const struct table_def *const of_model[] = {&health_collectors_table, &health_history_table, NULL};
    const struct table_def *found = table_among(of_model, name);

    for (size_t i = 0; !found && collectors[i]; i++) {
        found = table_among(collectors[i]->tables, name);
        if (!found)
            found = table_among(collectors[i]->streams, name);
    }
    if (!found)
        fail_msg("no table %s", name);
    return found;
}

static inline const struct hist_def *real_hist(const char *name) {
    for (size_t i = 0; collectors[i]; i++)
        for (size_t h = 0; collectors[i]->hists && collectors[i]->hists[h]; h++)
            if (!strcmp(collectors[i]->hists[h]->name, name))
                return collectors[i]->hists[h];
    fail_msg("no histogram %s", name);
    return NULL;
}

static inline const struct series_def *real_series(const char *name) {
    for (size_t i = 0; collectors[i]; i++)
        for (size_t s = 0; s < collectors[i]->n_series; s++)
            if (!strcmp(collectors[i]->series[s].name, name))
                return &collectors[i]->series[s];
    fail_msg("no series %s", name);
    return NULL;
}

#endif
