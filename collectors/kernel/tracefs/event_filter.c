// Filters; see the header.
#include "collectors/kernel/tracefs/event_filter.h"

#include <stdio.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"

// The file repeats the filter; then "   ^", then "parse_error: Field not found".
bool event_filter_error(const char *text, char *sentence, size_t size, int32_t *place) {
    const char *word = strstr(text, "parse_error: ");
    *place = -1;
    if (!word)
        return false;
    word += strlen("parse_error: ");
    snprintf(sentence, size, "%.*s", (int)strcspn(word, "\n"), word);
    for (const char *line = text; line && line < word; line = strchr(line, '\n'), line += line ? 1 : 0) {
        size_t blanks = strspn(line, " ");
        if (line[blanks] == '^')
            *place = (int32_t)blanks;
    }
    return true;
}

int event_filter_set(const char *instance, const char *system, const char *event, const char *filter, char *words,
                     size_t size, int32_t *place) {
    char file[256], path[768], content[4096];
    snprintf(file, sizeof(file), "events/%s/%s/filter", system, event);
    int result = instance_write(instance, file, filter);
    if (!result)
        return 0;
    snprintf(path, sizeof(path), "%s/%s", instance, file);
    if (format_file(path, content, sizeof(content)) <= 0 || !event_filter_error(content, words, size, place)) {
        *place = -1;
        snprintf(words, size, "%s", strerror(-result));
    }
    if (*place > (int32_t)strlen(filter))
        *place = (int32_t)strlen(filter);
    return result;
}
