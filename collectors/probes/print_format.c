#include "collectors/probes/print_format.h"

#include <stdio.h>
#include <string.h>

#include "collectors/probes/define.h"

static void cut(char *text, const char *what) {
    char *at = strstr(text, what);
    if (at)
        memmove(at, at + strlen(what), strlen(at + strlen(what)) + 1);
}

static void cut_first(char *text, const char *const *whats) {
    for (; *whats; whats++)
        if (strstr(text, *whats)) {
            cut(text, *whats);
            return;
        }
}

size_t print_format_clean(char *text, size_t length) {
    static const char *const values[] = {"(%lx <- %lx) ", "(%lx) ", "(%lx <- %lx)", "(%lx)", NULL};
    static const char *const ips[] = {", REC->__probe_func, REC->__probe_ret_ip", ", REC->__probe_ip", NULL};
    static const char *const added[] = {PROBE_STACK, PROBE_CALLER};
    static const char *const formats[] = {"0x%Lx", "0x%llx", "0x%lx", "%Lu", "%llu", "%lu", "%Lx", "%llx", "%lx"};
    char *print = strstr(text, "print fmt: ");
    if (!print)
        return length;
    cut_first(print, values);
    cut_first(print, ips);
    for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
        char text[64];
        for (size_t k = 0; k < sizeof(formats) / sizeof(formats[0]); k++) {
            snprintf(text, sizeof(text), "%s=%s", added[i], formats[k]);
            cut(print, text);
        }
        snprintf(text, sizeof(text), ", REC->%s", added[i]);
        cut(print, text);
    }
    return strlen(text);
}
