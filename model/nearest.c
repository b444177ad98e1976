// Nearest name by edit distance.
#include "model/nearest.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

// Damerau-Levenshtein distance (optimal string alignment), case ignored. The second name counts up to 63 bytes.
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strnlen(b, 63), before[64], row[64], last[64];
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    memcpy(last, row, sizeof last);
    for (size_t i = 1; a[i - 1]; i++) {
        memcpy(before, last, sizeof before);
        memcpy(last, row, sizeof last);
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = last[j - 1] + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            best = best < last[j] + 1 ? best : last[j] + 1;
            best = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[n];
}

const char *name_nearest(const char *word, const char *const *names) {
    const char *nearest = NULL;
    size_t length = strlen(word), best = SIZE_MAX;
    if (!length)
        return NULL;
    for (; *names; names++) {
        // A prefix counts as near: "cpu" for "cpu_pct", "task" for "tasks".
        size_t distance = !strncasecmp(word, *names, length) ? 1 : 2 * edit_distance(word, *names);
        if (distance < best)
            best = distance, nearest = *names;
    }
    return best <= 2 + length * 2 / 3 ? nearest : NULL;
}
