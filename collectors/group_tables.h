// Groups and latencies of events as tables, histograms and columns of a list: the largest keys of an interval, the rest
// as one row "others". Each collector that has them defines its own tables with these columns.
#ifndef COLLECTORS_GROUP_TABLES_H
#define COLLECTORS_GROUP_TABLES_H

#include "collectors/event_names.h"
#include "collectors/kernel/groups/group.h"
#include "model/columns.h"
#include "model/section.h"

enum { G_EVENT, G_KEY, G_KEY2, G_COUNT, G_RATE, G_VALUE, G_SUM, G_AVG, G_MIN, G_MAX, G_ALL };
enum { L_PAIR, L_KEY, L_COUNT, L_RATE, L_AVG, L_MAX, L_OPEN, L_REPLACED, L_ALL };

// Columns of the two tables, with their first one; events: "Events", event: "event".
#define GROUPS_COLUMNS(event, events)                                                                                  \
    {                                                                                                                  \
        [G_EVENT] = event,                                                                                             \
        [G_KEY] = TEXT_COLUMN("key", "KEY", 15,                                                                        \
                              .help = "Value of the first field of --group; others: all keys that have no row."),      \
        [G_KEY2] = TEXT_COLUMN("key2", "KEY2", 8, .help = "Value of the second field of --group; -: one field."),      \
        [G_COUNT] =                                                                                                    \
            NUMBER_COLUMN("count", "COUNT", UNIT_COUNT, 8, .merge = MERGE_SUM, .help = events " in the interval."),    \
        [G_RATE] = COLUMN_PER_S(.help = events " per second."),                                                        \
        [G_VALUE] =                                                                                                    \
            TEXT_COLUMN("value_field", "VALUE", 10, .help = "The number field whose values are summed (of FIELD)."),   \
        [G_SUM] = NUMBER_COLUMN("sum", "SUM", UNIT_COUNT, 8, .merge = MERGE_SUM,                                       \
                                .help = "Sum of the values in the interval."),                                         \
        [G_AVG] = NUMBER_COLUMN("avg", "AVG", UNIT_COUNT, 8, .help = "Average of the values."),                        \
        [G_MIN] = NUMBER_COLUMN("min", "MIN", UNIT_COUNT, 8, .merge = MERGE_MIN, .help = "Smallest value."),           \
        [G_MAX] = NUMBER_COLUMN("max", "MAX", UNIT_COUNT, 8, .merge = MERGE_MAX, .help = "Largest value."),            \
    }
#define LATENCIES_COLUMNS(pair, event)                                                                                 \
    {                                                                                                                  \
        [L_PAIR] = pair,                                                                                               \
        [L_KEY] = TEXT_COLUMN("key", "KEY", 10,                                                                        \
                              .help = "Value of the field that both " event "s share; all: every key; others: all "    \
                                      "keys that have no row."),                                                       \
        [L_COUNT] = NUMBER_COLUMN("count", "COUNT", UNIT_COUNT, 8, .merge = MERGE_SUM,                                 \
                                  .help = "Pairs whose second " event " is in the interval."),                         \
        [L_RATE] = COLUMN_PER_S(.help = "Pairs per second."),                                                          \
        [L_AVG] = NUMBER_COLUMN("avg_us", "AVG", UNIT_US, 7,                                                           \
                                .help = "Average time from the first to the second " event "."),                       \
        [L_MAX] = NUMBER_COLUMN("max_us", "MAX", UNIT_US, 7, .merge = MERGE_MAX,                                       \
                                .help = "Longest time from the first to the second " event "."),                       \
        [L_OPEN] = NUMBER_COLUMN("open", "OPEN", UNIT_COUNT, 7,                                                        \
                                 .help = "First " event "s that wait for their second one at the end of the "          \
                                         "interval."),                                                                 \
        [L_REPLACED] = NUMBER_COLUMN("unfinished", "UNFIN", UNIT_COUNT, 7, .merge = MERGE_SUM,                         \
                                     .help = "First " event "s that a later one with the same key replaced, or "       \
                                             "whose second " event " may have been lost."),                            \
    }
// Of a list of the events.
#define GROUP_KEY_COLUMN TEXT_COLUMN("key", "KEY", 16, .help = "First field of --group, or the field of --latency.")
#define GROUP_KEY2_COLUMN TEXT_COLUMN("key2", "KEY2", 16, .help = "Second field of --group.")
#define GROUP_VALUE_COLUMN NUMBER_COLUMN("value", "VALUE", UNIT_COUNT, 8, .help = "Number field of --group (of FIELD).")
#define GROUP_LATENCY_COLUMN COLUMN_LATENCY_US(.help = "From the first event of --latency to this one.")

struct group_tables {
    const struct table_def *groups, *latencies;
    const struct hist_def *values, *latency;
};
struct groups_namer { // of threads, for the key comm
    struct event_names *names;
    const struct collect_options *options;
};
// The keys of a record in its group, and the value; NULL and NAN: none. Texts are the caller's.
void event_groups_row(const struct event_groups *groups, size_t event, const struct group_record *record,
                      const struct groups_namer *namer, const struct text *keys[2], double *value);
// Adds the tables, histograms and notes of the interval and starts the next one. groups NULL: empty tables.
void event_groups_fill(struct event_groups *groups, const struct group_tables *tables, double scale, double seconds,
                       const struct groups_namer *namer, struct section *out);

#endif
