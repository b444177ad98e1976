#include "collectors/probes/profile.h"

#include <stdio.h>
#include <string.h>

bool probe_profile_find(const char *text, const char *event, uint64_t *missed) {
    int found = 0;
    for (const char *line = text; *line;) {
        char name[128];
        unsigned long long hits, lost;
        size_t length = strcspn(line, "\n");
        if (sscanf(line, " %127s %llu %llu", name, &hits, &lost) == 3 && !strcmp(name, event)) {
            *missed = lost;
            found++;
        }
        line += length + (line[length] == '\n');
    }
    return found == 1;
}
