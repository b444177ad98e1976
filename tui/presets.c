#include "tui/presets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/nearest.h"

// code 0, -1 and -6: kill(2), sigqueue(3) and tgkill(2); positive codes are the kernel's own signals.
const struct preset presets[] = {
    {"exec", "Programs that are started: file, arguments, PID", "sched:sched_process_exec"},
    {"open", "Files that are opened: whole path, flags, result", "call:open\ncall:openat\ncall:openat2\ncall:creat"},
    {"mount", "File systems that are mounted and unmounted, by the old and the new system calls",
     "call:mount\ncall:umount2\ncall:pivot_root\ncall:open_tree\ncall:move_mount\ncall:fsopen\ncall:fsconfig\n"
     "call:fsmount\ncall:fspick\ncall:mount_setattr"},
    {"exit", "Threads that exit", "sched:sched_process_exit"},
    {"kill", "Signals that processes send: sender, receiver, signal, result",
     "signal:signal_generate if code == 0 || code == -1 || code == -6"},
    {"signal", "Signals that are delivered, with the handler's address", "signal:signal_deliver"},
    {"tcpretrans", "TCP segments that are sent again: addresses, ports, state, count per connection",
     "tcp:tcp_retransmit_skb"},
    {"tcplife", "TCP connections: addresses, ports, duration, how they ended",
     "sock:inet_sock_set_state if protocol == 6\ntcp:tcp_receive_reset"},
    {"oom", "Processes that the kernel kills for lack of memory", "oom:mark_victim"},
    {"module", "Kernel modules that are loaded and unloaded", "module:module_load\nmodule:module_free"},
    {"marker", "Lines that programs write to trace_marker", "ftrace:print"},
    {"biosnoop", "Block I/O: issue and completion, device, sector, size",
     "block:block_rq_issue\nblock:block_rq_complete"},
    {NULL, NULL, NULL},
};

static void append(char **text, const char *line) {
    size_t used = *text ? strlen(*text) : 0, length = strlen(line);
    *text = xrealloc(*text, used + length + 2);
    snprintf(*text + used, length + 2, "%s%s", used ? "\n" : "", line);
}

static const struct preset *built_in(const char *name) {
    for (const struct preset *preset = presets; preset->name; preset++)
        if (!strcmp(preset->name, name))
            return preset;
    return NULL;
}

static void unknown(const struct preset_files *files, const char *name, char *error, size_t size) {
    const char *names[PRESETS_MAX + 32];
    size_t n = 0;
    char all[256] = "";
    for (const struct preset *preset = presets; preset->name; preset++) {
        names[n++] = preset->name;
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", *all ? ", " : "", preset->name);
    }
    for (size_t i = 0; files && i < files->n; i++)
        names[n++] = files->entries[i].name;
    names[n] = NULL;
    const char *nearest = name_nearest(name, names);
    if (nearest)
        snprintf(error, size, "unknown preset; did you mean %s?", nearest);
    else
        snprintf(error, size, "unknown preset: expected %s, or a preset of a file in /etc/ktop/presets.d", all);
}

static int preset_add(const struct preset_files *files, const char *name, char **text, char *error, size_t size) {
    const struct preset_entry *entry = files ? preset_files_find(files, name) : NULL;
    const struct preset *preset = built_in(name);
    for (size_t i = 0; entry && i < entry->n_events; i++)
        append(text, entry->events[i]);
    if (!entry && preset)
        append(text, preset->events);
    if (entry || preset)
        return 0;
    unknown(files, name, error, size);
    return -ENOENT;
}

int presets_add(const struct preset_files *files, const char *names, char **text, char *error, size_t size) {
    char *copy = xstrdup(names), *rest = copy, *name;
    int result = 0;
    while (!result && (name = strsep(&rest, ",")))
        result = preset_add(files, name, text, error, size);
    free(copy);
    return result;
}

void presets_list(const struct preset_files *files, FILE *out) {
    for (const struct preset *preset = presets; preset->name; preset++)
        if (!files || !preset_files_find(files, preset->name))
            fprintf(out, "%-12s %s\n", preset->name, preset->help);
    for (size_t i = 0; files && i < files->n; i++)
        fprintf(out, "%-12s %s\n", files->entries[i].name, files->entries[i].help);
}
