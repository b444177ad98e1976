#include "tui/option_values.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

bool value_size(const char *value, double *bytes) {
    static const char suffixes[] = "KMGT";
    char *end;
    *bytes = strtod(value, &end);
    if (end != value && *end) {
        const char *suffix = strchr(suffixes, toupper((unsigned char)*end));
        for (long i = 0; suffix && i <= suffix - suffixes; i++)
            *bytes *= 1024;
        end += suffix ? 1 : 0;
    }
    return isdigit((unsigned char)*value) && !*end;
}

bool value_cpus(const char *value, char *why, size_t size) {
    const char *at = value;
    long most = sysconf(_SC_NPROCESSORS_CONF);
    for (bool more = true; more; at++) {
        char *end;
        long first = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1, last = first;
        if (first >= 0 && *end == '-')
            last = isdigit((unsigned char)end[1]) ? strtol(end + 1, &end, 10) : -1;
        if (first < 0 || last < first || (*end && *end != ',')) {
            snprintf(why, size, "expected CPU numbers, for example 0,2-5");
            return false;
        }
        if (last >= most) {
            snprintf(why, size, "this machine has the CPUs 0 to %ld", most - 1);
            return false;
        }
        at = end;
        more = *end == ',';
    }
    return true;
}

bool option_line_add(char **list, const char *value) {
    size_t used = *list ? strlen(*list) : 0, length = strlen(value);
    if (!length || strchr(value, '\n'))
        return false;
    *list = xrealloc(*list, used + length + 2);
    snprintf(*list + used, length + 2, "%s%s", used ? "\n" : "", value);
    return true;
}
