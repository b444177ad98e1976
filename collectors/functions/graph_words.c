// The user's choice of a call graph, as text. Looks at nothing but the text.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/choice_error.h"
#include "collectors/functions/graph.h"

// "10ms". 0: it is none.
static uint64_t time_parse(const char *word) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    double value = strtod(word, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (!strcmp(end, units[i].name) && value >= 1 / units[i].ns && value * units[i].ns < 1e18)
            return (uint64_t)(value * units[i].ns);
    return 0;
}

static bool names_take(const char *word, char *out, size_t size) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.*?[]-,";
    return *word && strlen(word) < size && strspn(word, allowed) == strlen(word) && word[strspn(word, ",")] &&
           strcpy(out, word);
}

// The word at `at`, and the text after it and the blanks behind.
static const char *word_take(const char *at, char *word, size_t size) {
    size_t length = strcspn(at, " \t\n");
    snprintf(word, size, "%.*s", (int)length, at);
    return at + length + strspn(at + length, " \t\n");
}

int graph_words_parse(struct graph_words *words, const char *text, struct choice_error *error) {
    static const char names[] = "expected functions of the kernel: names or globs, separated by commas";
    char word[1100];
    const char *at = text + strspn(text, " \t\n");
    *words = (struct graph_words){.depth = 0};
    if (*at == '!') {
        words->forced = true;
        at += 1 + strspn(at + 1, " \t\n");
    }
    const char *next = word_take(at, word, sizeof(word));
    if (!names_take(word, words->functions, sizeof(words->functions)))
        return choice_refuse(error, -EINVAL, at - text, "%s", names);
    if (!strcmp(word, "*"))
        words->functions[0] = '\0';
    while (*(at = next)) {
        char *end;
        next = word_take(at, word, sizeof(word));
        if (!strncmp(word, "depth=", 6)) {
            unsigned long depth = strtoul(word + 6, &end, 10);
            if (*end || !depth || depth > GRAPH_DEPTH_MAX || word[6] == '-')
                return choice_refuse(error, -EINVAL, at + 6 - text, "expected a depth of 1 to 64");
            words->depth = (uint32_t)depth;
        } else if (!strncmp(word, "without=", 8)) {
            if (!names_take(word + 8, words->notrace, sizeof(words->notrace)))
                return choice_refuse(error, -EINVAL, at + 8 - text, "%s", names);
        } else if (!strncmp(word, "start=", 6)) {
            if (!names_take(word + 6, words->start, sizeof(words->start)))
                return choice_refuse(error, -EINVAL, at + 6 - text, "%s", names);
        } else if (!strncmp(word, "stop=", 5)) {
            if (!names_take(word + 5, words->stop, sizeof(words->stop)))
                return choice_refuse(error, -EINVAL, at + 5 - text, "%s", names);
        } else if (word[0] == '>') {
            const char *time = at + 1;
            if (!word[1]) {
                time = next;
                next = word_take(next, word + 1, sizeof(word) - 1);
            }
            words->slow_ns = time_parse(word + 1);
            if (!words->slow_ns)
                return choice_refuse(error, -EINVAL, time - text, "expected a time after >: 10ms, 250us");
        } else {
            return choice_refuse(error, -EINVAL, at - text,
                                 "expected depth=N, without=FUNCTION, start=FUNCTION, stop=FUNCTION or > TIME");
        }
    }
    return 0;
}
