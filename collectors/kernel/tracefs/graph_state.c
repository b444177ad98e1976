// The global state of the function graph tracer; see the header. Never writes a file that has its default.
#include "collectors/kernel/tracefs/graph_state.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"

// The beginning of a file that may be long (set_graph_function): "" without contents. 0 or -errno.
static int head_read(const char *where, const char *file, char *out, size_t size) {
    char path[768];
    out[0] = '\0';
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", where, file) >= sizeof(path))
        return -ENAMETOOLONG;
    long length = format_file(path, out, size);
    out[strcspn(out, "\n")] = '\0';
    return length < 0 && length != -EFBIG ? (int)length : 0;
}

// ---- what is in use ----

struct global {
    // Its default; "#": a comment, which the kernel shows for an empty list of functions; "cpus": all CPUs.
    const char *file, *value;
    bool top;            // of the top-level buffer only
    bool never;          // ktop never changes it
    const char *release; // how to release it
};
static const struct global globals[] = {
    {"set_graph_function", "#", false, false, "echo > set_graph_function"},
    {"set_graph_notrace", "#", false, false, "echo > set_graph_notrace"},
    {"max_graph_depth", "0", false, false, "echo 0 > max_graph_depth"},
    {"current_tracer", "nop", true, true, "echo nop > current_tracer"},
    {"set_ftrace_pid", "no pid", true, false, "echo > set_ftrace_pid"},
    {"set_ftrace_notrace_pid", "no pid", true, false, "echo > set_ftrace_notrace_pid"},
    {"set_ftrace_filter", "#", true, true, "echo > set_ftrace_filter"},
    {"set_ftrace_notrace", "#", true, true, "echo > set_ftrace_notrace"},
    {"set_event", "", true, true, "echo > set_event"},
    {"tracing_on", "1", true, false, "echo 1 > tracing_on"},
    {"tracing_cpumask", "cpus", true, false, "write the mask of all CPUs to tracing_cpumask"},
};
#define GLOBALS (sizeof(globals) / sizeof(globals[0]))

// The mask has a bit for each CPU number up to the highest possible one.
static bool has_all_cpus(const char *mask) {
    int bits = 0;
    for (; *mask; mask++)
        if (isxdigit((unsigned char)*mask))
            bits += __builtin_popcount((unsigned)strtoul((const char[]){*mask, '\0'}, NULL, 16));
    return bits >= sysconf(_SC_NPROCESSORS_CONF);
}

static int all_cpus_set(const char *where) {
    char possible[256], list[32];
    if (format_file("/sys/devices/system/cpu/possible", possible, sizeof(possible)) <= 0)
        return -ENODATA;
    possible[strcspn(possible, "\n")] = '\0';
    const char *last = possible + strlen(possible);
    while (last > possible && isdigit((unsigned char)last[-1]))
        last--;
    snprintf(list, sizeof(list), "0-%.20s", last);
    return instance_cpus_set(where, list);
}

static bool is_default(const struct global *global, const char *text) {
    if (!strcmp(global->value, "cpus"))
        return has_all_cpus(text);
    return global->value[0] == '#' ? text[0] == '#' || !text[0] : !strcmp(text, global->value);
}

// The tracer of another instance would obey ktop's filters.
static bool instance_uses(const char *where, const char *name) {
    char file[320], text[64];
    snprintf(file, sizeof(file), "instances/%.255s/current_tracer", name);
    return !head_read(where, file, text, sizeof(text)) && !strcmp(text, "function_graph");
}

static int other_user(const char *where, const char *own, char *reason, size_t reason_size) {
    char path[768], text[64];
    snprintf(path, sizeof(path), "%s/instances", where);
    DIR *dir = opendir(path);
    int error = 0;
    struct dirent *entry;
    while (dir && !error && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || (own && !strcmp(entry->d_name, own)))
            continue;
        if (graph_state_is_mark(entry->d_name) || instance_uses(where, entry->d_name)) {
            snprintf(reason, reason_size, "the function graph tracer is in use by the instance %.100s", entry->d_name);
            error = -EBUSY;
        }
    }
    if (dir)
        closedir(dir);
    if (!error && !head_read(where, "current_tracer", text, sizeof(text)) && !strcmp(text, "function_graph")) {
        snprintf(reason, reason_size, "the function graph tracer is in use by another tool (current_tracer)");
        error = -EBUSY;
    }
    return error;
}

// Setting a tracer empties the buffer.
static uint64_t top_entries(const char *where) {
    uint64_t sum = 0;
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
        char file[64], text[64];
        snprintf(file, sizeof(file), "per_cpu/cpu%ld/stats", cpu);
        if (!head_read(where, file, text, sizeof(text)) && !strncmp(text, "entries:", 8))
            sum += strtoull(text + 8, NULL, 10);
    }
    return sum;
}

// Commands are listed behind the filter: "vfs_read:traceon:unlimited". True with the first one, as "vfs_read:traceon".
static bool command_read(const char *where, char *out, size_t size) {
    char path[768], text[4096];
    snprintf(path, sizeof(path), "%s/set_ftrace_filter", where);
    if (format_file(path, text, sizeof(text)) <= 0)
        return false;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *command = *line == '#' ? NULL : strstr(line, ":trace"),
             *count = command ? strchr(command + 1, ':') : NULL;
        if (!count)
            continue;
        *count = '\0';
        return (size_t)snprintf(out, size, "%s", line) < size;
    }
    return false;
}

int graph_state_unused(const char *where, bool top, const char *own, char *reason, size_t reason_size, char *fix,
                       size_t fix_size) {
    char text[256];
    int error = other_user(where, own, reason, reason_size);
    if (error) {
        snprintf(fix, fix_size, "end the other tool, or set its current_tracer to nop");
        return error;
    }
    for (size_t i = 0; i < GLOBALS; i++) {
        const struct global *global = &globals[i];
        if (global->top && !top)
            continue;
        error = head_read(where, global->file, text, sizeof(text));
        if (error == -ENOENT && strcmp(global->file, "set_graph_function") != 0) // of a later kernel
            continue;
        if (error)
            return error;
        if (is_default(global, text))
            continue;
        snprintf(reason, reason_size, "%s is in use: it has \"%.60s\"", global->file, text);
        snprintf(fix, fix_size, "end the tool that uses it, or in %s: %s", where, global->release);
        return -EBUSY;
    }
    if (top && command_read(where, text, sizeof(text))) {
        snprintf(reason, reason_size, "set_ftrace_filter is in use: it has \"%.60s\"", text);
        snprintf(fix, fix_size, "end the tool that uses it, or in %s: echo '!%.100s' >> set_ftrace_filter", where,
                 text);
        return -EBUSY;
    }
    uint64_t entries = top ? top_entries(where) : 0;
    if (entries) {
        snprintf(reason, reason_size, "the top-level trace buffer has %llu events of another tool",
                 (unsigned long long)entries);
        snprintf(fix, fix_size, "read them, then in %s: echo > trace", where);
        return -EBUSY;
    }
    return 0;
}

uint32_t graph_state_top_kib(const char *where) {
    char text[64];
    if (head_read(where, "buffer_size_kb", text, sizeof(text)))
        return 0;
    // "7 (expanded: 1408)": the size of its first use, which a smaller one would take from a later tool.
    const char *expanded = strstr(text, "expanded: ");
    return (uint32_t)strtoul(expanded ? expanded + strlen("expanded: ") : text, NULL, 10);
}

// ---- writing ----

int graph_list_write(const char *where, const char *file, const char *words, bool clear, char *refused, size_t size) {
    char path[768];
    int error = 0;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", where, file) >= sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC | (clear ? O_TRUNC : 0));
    if (fd < 0)
        return -errno;
    for (const char *at = words; !error && *(at += strspn(at, " ,\n"));) {
        char word[256];
        size_t length = strcspn(at, " ,\n");
        int n = snprintf(word, sizeof(word), "%.*s\n", (int)length, at);
        if (n >= (int)sizeof(word))
            error = -ENAMETOOLONG;
        else if (write(fd, word, (size_t)n) < 0)
            error = -errno;
        if (error)
            snprintf(refused, size, "%.*s", (int)length, at);
        at += length;
    }
    // A list of functions takes effect here; its errors are those of the words.
    if (close(fd) && !error)
        error = -errno;
    return error;
}

int graph_state_set(const char *where, const struct graph_filters *filters, char *refused, size_t size) {
    char depth[16];
    int error = 0;
    if (filters->functions && *filters->functions)
        error = graph_list_write(where, "set_graph_function", filters->functions, true, refused, size);
    if (!error && filters->notrace && *filters->notrace)
        error = graph_list_write(where, "set_graph_notrace", filters->notrace, true, refused, size);
    snprintf(depth, sizeof(depth), "%u", filters->depth);
    if (!error && filters->depth) {
        error = instance_write(where, "max_graph_depth", depth);
        if (error)
            snprintf(refused, size, "max_graph_depth");
    }
    return error;
}

int graph_command_set(const char *dir, const char *functions, const char *command, char *refused, size_t size) {
    int error = 0;
    for (const char *at = functions; !error && *(at += strspn(at, ","));) {
        char line[320], part[8];
        size_t length = strcspn(at, ",");
        snprintf(line, sizeof(line), "%.*s:%s", (int)length, at, command);
        error = graph_list_write(dir, "set_ftrace_filter", line, false, part, sizeof(part));
        if (error)
            snprintf(refused, size, "%.*s", (int)length, at);
        at += length;
    }
    return error;
}

// ---- restoring ----

// The part of a name after "ktop-PID-START-", NULL: none.
static const char *use_of(const char *name) {
    for (int part = 0; name && part < 3; part++) {
        name = strchr(name, '-');
        name += name != NULL;
    }
    return name;
}

bool graph_state_is_mark(const char *name) {
    const char *use = strncmp(name, "ktop-", 5) ? NULL : use_of(name);
    if (!use || strncmp(use, GRAPH_INSTANCE, strlen(GRAPH_INSTANCE)) != 0)
        return false;
    use += strlen(GRAPH_INSTANCE);
    return !*use || *use == '.' || !strncmp(use, "-top_", 5);
}

static int tracer_off(const char *dir) {
    char text[64];
    int error = head_read(dir, "current_tracer", text, sizeof(text));
    if (error == -ENOENT)
        return 0;
    if (error || strcmp(text, "function_graph") != 0)
        return error;
    instance_write(dir, "tracing_on", "0");
    return instance_write(dir, "current_tracer", "nop");
}

#define COMMANDS_MAX 1024 // a glob becomes a command for each function

static int commands_remove(const char *where) {
    char command[320], line[330], part[8];
    int error = 0;
    for (int i = 0; i < COMMANDS_MAX && !error && command_read(where, command, sizeof(command)); i++) {
        snprintf(line, sizeof(line), "!%s", command);
        error = graph_list_write(where, "set_ftrace_filter", line, false, part, sizeof(part));
    }
    return error;
}

static int global_restore(const char *where, const struct global *global) {
    char text[256], refused[8];
    int error = head_read(where, global->file, text, sizeof(text));
    if (error || is_default(global, text))
        return error == -ENOENT ? 0 : error;
    if (global->value[0] == '#' || !strcmp(global->value, "no pid"))
        return graph_list_write(where, global->file, "", true, refused, sizeof(refused));
    if (!strcmp(global->value, "cpus"))
        return all_cpus_set(where);
    return instance_write(where, global->file, global->value);
}

int graph_state_restore(const char *where, const char *name) {
    char path[768];
    const char *use = use_of(name);
    bool top = use && !strncmp(use, GRAPH_TOP_INSTANCE, strlen(GRAPH_TOP_INSTANCE));
    snprintf(path, sizeof(path), "%s/instances/%s", where, name);
    int error = tracer_off(top ? where : path);
    if (error) // without its filters the tracer would record the whole kernel
        return error;
    for (size_t i = 0; i < GLOBALS; i++) {
        const struct global *global = &globals[i];
        if ((global->top && !top) || global->never)
            continue;
        int failed = global_restore(where, global);
        error = error ? error : failed;
    }
    if (top) { // an instance takes its commands along
        int failed = commands_remove(where);
        error = error ? error : failed;
    }
    uint32_t kib = top ? (uint32_t)strtoul(use + strlen(GRAPH_TOP_INSTANCE), NULL, 10) : 0;
    if (top && kib && !error) {
        char value[16];
        graph_list_write(where, "trace", "", true, value, sizeof(value)); // the records of functions
        snprintf(value, sizeof(value), "%u", kib);
        if (graph_state_top_kib(where) != kib)
            error = instance_write(where, "buffer_size_kb", value);
    }
    return error;
}
