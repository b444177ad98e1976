// The user's choice of a call graph, as text. Looks at nothing but the text.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/choice_error.h"
#include "collectors/functions/graph.h"
#include "collectors/functions/spec.h"

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
    enum { LISTS = 3 };
    const struct {
        const char *word;
        char *out;
        size_t size;
    } lists[LISTS] = {{"without=", words->notrace, sizeof(words->notrace)},
                      {"start=", words->start, sizeof(words->start)},
                      {"stop=", words->stop, sizeof(words->stop)}};
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
        size_t list = 0;
        next = word_take(at, word, sizeof(word));
        while (list < LISTS && strncmp(word, lists[list].word, strlen(lists[list].word)) != 0)
            list++;
        if (!strncmp(word, "depth=", 6)) {
            unsigned long depth = strtoul(word + 6, &end, 10);
            if (*end || !depth || depth > GRAPH_DEPTH_MAX || word[6] == '-')
                return choice_refuse(error, -EINVAL, at + 6 - text, "expected a depth of 1 to 64");
            words->depth = (uint32_t)depth;
        } else if (list < LISTS) {
            const char *value = word + strlen(lists[list].word);
            if (!names_take(value, lists[list].out, lists[list].size))
                return choice_refuse(error, -EINVAL, at + (value - word) - text, "%s", names);
        } else if (word[0] == '>') {
            const char *time = at + 1;
            if (!word[1]) {
                time = next;
                next = word_take(next, word + 1, sizeof(word) - 1);
            }
            double ns = function_time_parse(word + 1);
            if (!(ns >= 1) || ns >= 1e18)
                return choice_refuse(error, -EINVAL, time - text, "expected a time after >: 10ms, 250us");
            words->slow_ns = (uint64_t)ns;
        } else {
            return choice_refuse(error, -EINVAL, at - text,
                                 "expected depth=N, without=FUNCTION, start=FUNCTION, stop=FUNCTION or > TIME");
        }
    }
    return 0;
}
