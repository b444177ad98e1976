// The parts that show groups and latencies (--group, --latency) of a list of events: tables, heat map and histogram.
// Both panes that have them give the names of their tables (collectors/group_tables.h).
#ifndef VIEWS_PART_GROUPS_H
#define VIEWS_PART_GROUPS_H

#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/part_table.h"

// event: the name of the column with the event; hit: the word for one; of: what groups go by.
#define GROUPS_SPEC(table, event, hit, of)                                                                             \
    {                                                                                                                  \
        .source = {.tables = {table}, .sort = "count"},                                                                \
        .shown = event " key key2 count sum avg per_s value_field min max", .opens = "events",                         \
        .opens_by = event " key key2",                                                                                 \
        .opens_none = "no " hit " with this key is kept: the newest 2,000 of each interval are", .optional = true,     \
        .empty = "no " hit " was counted by its " of,                                                                  \
    }
#define LATENCIES_SPEC(table, hit)                                                                                     \
    {                                                                                                                  \
        .source = {.tables = {table}, .sort = "count"}, .shown = "pair key count avg_us max_us open unfinished per_s", \
        .opens = "events", .opens_by = "key",                                                                          \
        .opens_none = "no " hit " with this key is kept: the newest 2,000 of each interval are", .optional = true,     \
        .empty = "no latency is measured",                                                                             \
    }
#define GROUP_MEASURES(latency, values)                                                                                \
    { {.set = latency, .column = "latency_us"}, {.set = values, .noun = "Value", .column = "value"}, {0}, }
#define GROUP_HISTS_SPEC(sets_, measures_)                                                                             \
    { .sets = sets_, .measures = measures_, .optional = true, .list = "events" }

#define GROUP_PARTS(groups_table, groups, latencies_table, latencies, heat_name, hist_name, hists)                     \
    {.kind = &part_table, .name = groups_table, .title = "Groups", .spec = &(groups), .min_height = 4, .weight = 3},   \
        {.kind = &part_table,                                                                                          \
         .name = latencies_table,                                                                                      \
         .title = "Latencies",                                                                                         \
         .spec = &(latencies),                                                                                         \
         .min_height = 4,                                                                                              \
         .weight = 3},                                                                                                 \
        {.kind = &part_heat,                                                                                           \
         .name = heat_name,                                                                                            \
         .title = "Heat map",                                                                                          \
         .spec = &(hists),                                                                                             \
         .min_height = 8,                                                                                              \
         .weight = 2,                                                                                                  \
         .toggle = 'y',                                                                                                \
         .toggle_help = "heat map of latencies and values (--latency, --group)"},                                      \
    {                                                                                                                  \
        .kind = &part_hist, .name = hist_name, .title = "Histogram", .spec = &(hists), .min_height = 6, .weight = 2,   \
        .toggle = 'Y', .toggle_help = "histogram of latencies and values (--latency, --group)"                         \
    }

#endif
