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

static bool line_read(const char *path, char *out, size_t size) {
    FILE *in = fopen(path, "re");
    bool good = in && fgets(out, (int)size, in);
    if (in)
        fclose(in);
    out[good ? strcspn(out, "\n") : 0] = '\0';
    return good;
}

// "2" or "2-5", and the text after it; NULL: neither.
static const char *range_take(const char *at, long *first, long *last) {
    char *end;
    if (!isdigit((unsigned char)*at))
        return NULL;
    *first = *last = strtol(at, &end, 10);
    if (*end != '-')
        return end;
    if (!isdigit((unsigned char)end[1]))
        return NULL;
    *last = strtol(end + 1, &end, 10);
    return end;
}

// The first CPU of the range that is not in the kernel's list; -1: all are.
static long cpu_not_in(const char *list, long first, long last) {
    long from, to;
    while (first <= last && (list = range_take(list, &from, &to))) {
        if (first < from)
            break;
        first = first <= to ? to + 1 : first;
        list += *list == ',';
    }
    return first <= last ? first : -1;
}

// Why these CPUs cannot be chosen. False: they can.
static bool range_refused(long first, long last, char *why, size_t size) {
    char possible[4096] = "", online[4096] = "";
    long from, to, most = sysconf(_SC_NPROCESSORS_CONF) - 1;
    line_read("/sys/devices/system/cpu/possible", possible, sizeof possible);
    for (const char *at = possible; (at = range_take(at, &from, &to)); at += *at == ',')
        most = to;
    if (last < first)
        snprintf(why, size, "the range %ld-%ld is reversed: write %ld-%ld", first, last, last, first);
    else if (last > most)
        snprintf(why, size, "this machine has the CPUs 0 to %ld", most);
    else if (line_read("/sys/devices/system/cpu/online", online, sizeof online) &&
             (first = cpu_not_in(online, first, last)) >= 0)
        snprintf(why, size, "CPU %ld is offline: leave it out; %s are online", first, online);
    else
        return false;
    return true;
}

bool value_cpus(const char *value, char *why, size_t size) {
    const char *at = value;
    for (bool more = true; more; at++) {
        long first, last;
        at = range_take(at, &first, &last);
        if (!at || (*at && *at != ',')) {
            snprintf(why, size, "expected CPU numbers, for example 0,2-5");
            return false;
        }
        if (range_refused(first, last, why, size))
            return false;
        more = *at == ',';
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
