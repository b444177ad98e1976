// Names of tracepoints for the prompt: the word at the end of a specification, outside of its filter.
#include <stdlib.h>
#include <string.h>

#include "collectors/events/choice.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/name_list.h"
#include "model/mem.h"

static void *names_open(const struct collect_options *options) {
    (void)options;
    return xcalloc(1, sizeof(struct name_set *));
}

static void names_close(void *state) {
    name_set_free(*(struct name_set **)state);
    free(state);
}

static const struct name_set *names_read(struct name_set **set) {
    const char *dir = *set ? NULL : tracing_dir(NULL, NULL);
    struct tracepoints list;
    if (dir && !tracepoints_read(&list, dir)) {
        *set = name_set_new();
        for (size_t i = 0; i < list.n; i++)
            name_set_add(*set, list.names[i], strlen(list.names[i]));
        name_set_seal(*set);
        tracepoints_free(&list);
    }
    return *set;
}

static void names_complete(void *state, const char *text, struct name_list *out) {
    const char *blank = strrchr(text, ' ');
    const struct name_set *set = names_read(state);
    out->from = blank ? (size_t)(blank + 1 - text) : 0;
    if (!set || strstr(text, " if ") || strstr(text, " by ") || strchr(text + out->from, '['))
        return;
    out->what = "tracepoints";
    name_matches_find(&out->matches, text + out->from, &set, 1);
}

const struct name_source tracepoint_names = {names_open, names_complete, names_close};
