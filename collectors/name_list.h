// Lists of names for a prompt: what the text typed so far may go on with. Reading names may block (/proc, files of
// programs), so a lister has a thread of its own ("ktop-names"), which answers the latest text only. What it read is
// kept until the lister is freed.
#ifndef COLLECTORS_NAME_LIST_H
#define COLLECTORS_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/name_match.h"

struct collect_options;

struct name_list {
    uint64_t version; // of the text
    // The bytes of the text that a name replaces: from there to its end.
    size_t from;
    const char *what; // "functions": what `matches` counts; NULL: the text cannot be completed there
    struct name_matches matches;
    char reason[256]; // why nothing was found; "": what->matches says it
};
void name_list_free(struct name_list *list);

// Where names come from; one for each kind of choice.
struct name_source {
    void *(*open)(const struct collect_options *options);
    void (*complete)(void *state, const char *text, struct name_list *out); // sets all but the version; may block
    void (*close)(void *state);
};
extern const struct name_source tracepoint_names, function_names, probe_names;

struct name_lister;
// NULL: no thread can be had, or too many hang. `options` must outlive the process's threads. One thread calls these:
struct name_lister *name_lister_new(const struct name_source *source, const struct collect_options *options);
int name_lister_fd(const struct name_lister *lister); // readable when an answer is there
void name_lister_ask(struct name_lister *lister, uint64_t version, const char *text);
bool name_lister_take(struct name_lister *lister, struct name_list *out); // false: none. Free it with name_list_free
void name_lister_free(struct name_lister *lister);                        // never waits; NULL is allowed

#endif
