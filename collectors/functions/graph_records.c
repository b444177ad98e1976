// Records of the function graph tracer; see the header.
#include "collectors/functions/graph_records.h"

static void names_set(struct graph_records *records) {
    static const char *const entry[] = {"func", "depth", "common_pid"};
    static const char *const exits[] = {"func", "depth", "common_pid", "calltime", "rettime"};
    *records = (struct graph_records){.entry_id = 0};
    for (size_t i = 0; i < GRAPH_ENTRY_FIELDS; i++)
        records->entry[i].name = entry[i];
    for (size_t i = 0; i < GRAPH_EXIT_FIELDS; i++)
        records->exit[i].name = exits[i];
}

static void ends_set(struct graph_records *records) {
    records->entry_end = format_end(records->entry, GRAPH_ENTRY_FIELDS);
    records->exit_end = format_end(records->exit, GRAPH_EXIT_FIELDS);
}

int graph_records_read(struct graph_records *records, const char *where, const char **missing) {
    names_set(records);
    int error = format_read(where, "ftrace", "funcgraph_entry", records->entry, GRAPH_ENTRY_FIELDS, &records->entry_id,
                            missing);
    if (!error)
        error = format_read(where, "ftrace", "funcgraph_exit", records->exit, GRAPH_EXIT_FIELDS, &records->exit_id,
                            missing);
    ends_set(records);
    return error;
}

int graph_records_parse(struct graph_records *records, const char *entry, const char *exit) {
    names_set(records);
    int error =
        format_parse(entry, strlen(entry), "ftrace", records->entry, GRAPH_ENTRY_FIELDS, &records->entry_id, NULL);
    if (!error)
        error = format_parse(exit, strlen(exit), "ftrace", records->exit, GRAPH_EXIT_FIELDS, &records->exit_id, NULL);
    ends_set(records);
    return error;
}

void graph_records_take(const struct graph_records *records, const struct ring_event *event, struct graph_tree *tree) {
    struct graph_record record = {.ts = event->ts, .cpu = event->cpu};
    uint16_t id;
    memcpy(&id, event->data, 2);
    if (id == records->entry_id && event->size >= records->entry_end) {
        record.function = format_u64(event->data, &records->entry[GRAPH_ENTRY_FUNC]);
        record.depth = (uint32_t)format_u64(event->data, &records->entry[GRAPH_ENTRY_DEPTH]);
        record.tid = (int32_t)format_u64(event->data, &records->entry[GRAPH_ENTRY_PID]);
        graph_tree_entry(tree, &record);
    } else if (id == records->exit_id && event->size >= records->exit_end) {
        record.function = format_u64(event->data, &records->exit[GRAPH_EXIT_FUNC]);
        record.depth = (uint32_t)format_u64(event->data, &records->exit[GRAPH_EXIT_DEPTH]);
        record.tid = (int32_t)format_u64(event->data, &records->exit[GRAPH_EXIT_PID]);
        uint64_t begin = format_u64(event->data, &records->exit[GRAPH_EXIT_BEGIN]);
        uint64_t end = format_u64(event->data, &records->exit[GRAPH_EXIT_END]);
        graph_tree_exit(tree, &record, end > begin ? end - begin : 0);
    }
}
