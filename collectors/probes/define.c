// Definitions of probes; see the header.
#include "collectors/probes/define.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

#define LOG_MAX (256u << 10)
#define MAXACTIVE_MAX 4096u // of the kernel
#define MAXACTIVE_MIN 64u
#if defined(__aarch64__)
#define RETURN_ADDRESS "%x30"
#else
#define RETURN_ADDRESS "+0($stack)"
#endif

// ---- the command ----

static void put(struct probe_command *command, const char *text, size_t length, int32_t place) {
    for (size_t i = 0; i < length && command->length + 2 < sizeof(command->text); i++) {
        bool blank = text[i] == ' ' || text[i] == '\t';
        // The kernel splits at blanks, and its caret counts one between two words.
        if (blank && command->length && command->text[command->length - 1] == ' ')
            continue;
        command->places[command->length] = (int16_t)(place < 0 ? -1 : place + (int32_t)i);
        command->text[command->length++] = blank ? ' ' : text[i];
    }
    command->text[command->length] = '\0';
}

// All of the text at one place.
static void put_at(struct probe_command *command, const char *text, size_t place) {
    size_t from = command->length;
    put(command, text, strlen(text), -1);
    for (size_t i = from; i < command->length; i++)
        command->places[i] = (int16_t)place;
}

bool probe_has_caller(const struct probe *probe) {
    const struct probe_spec *spec = &probe->spec;
    return probe->with_caller && spec->kind == PROBE_USER && !spec->returns && spec->symbol[0] && !spec->offset;
}

void probe_command_make(struct probe_command *command, const struct probe *probe, const char *path,
                        const struct probe_site *site, bool entry, uint32_t maxactive) {
    static const char types[] = {[PROBE_KERNEL] = 'p',   [PROBE_USER] = 'p',       [PROBE_USDT] = 'p',
                                 [PROBE_FUNCTION] = 'f', [PROBE_TRACEPOINT] = 't', [PROBE_EVENT] = 'e'};
    const struct probe_spec *spec = &probe->spec;
    bool returns = spec->returns && !entry, by_letter = spec->kind == PROBE_KERNEL || spec->kind == PROBE_USER;
    char text[PROBE_PATH_MAX + 128];
    command->length = 0;
    snprintf(text, sizeof(text), "%c", returns && by_letter ? 'r' : types[spec->kind]);
    put_at(command, text, 0);
    if (maxactive && returns) {
        snprintf(text, sizeof(text), "%u", maxactive);
        put_at(command, text, 0);
    }
    snprintf(text, sizeof(text), ":%s/%s ", probe->group, entry ? probe->entry : probe->event);
    put_at(command, text, 0);
    if (site) {
        snprintf(text, sizeof(text), "%s:0x%llx", path, (unsigned long long)site->offset);
        put_at(command, text, spec->place);
        snprintf(text, sizeof(text), "(0x%llx)", (unsigned long long)site->semaphore);
        if (site->semaphore)
            put_at(command, text, spec->place);
    } else {
        put(command, spec->symbol, strlen(spec->symbol), (int32_t)spec->place);
        if (returns && !by_letter)
            put_at(command, "%return", spec->place + spec->place_length);
    }
    if (!entry && spec->args_length) {
        put(command, " ", 1, -1);
        put(command, spec->args, spec->args_length, (int32_t)(spec->args - spec->text));
    } else if (!entry && site && site->args[0]) {
        put_at(command, " ", spec->place);
        put_at(command, site->args, spec->place);
    }
    if (entry || (returns && probe->entry[0]))
        put_at(command, " " PROBE_STACK "=$stack", 0);
    if (!entry && probe_has_caller(probe))
        put_at(command, " " PROBE_CALLER "=" RETURN_ADDRESS ":u64", 0);
}

// ---- errors ----

bool probe_log_error(const char *log, const char *command, char *sentence, size_t size, int32_t *at) {
    static const char mark[] = "\n  Command: ";
    size_t length = strlen(command);
    const char *found = NULL;
    for (const char *next = log; (next = strstr(next, mark)); next += strlen(mark))
        if (!strncmp(next + strlen(mark), command, length) && strchr("\n", next[strlen(mark) + length]))
            found = next;
    if (!found)
        return false;
    const char *line = found;
    while (line > log && line[-1] != '\n')
        line--;
    const char *words = memmem(line, (size_t)(found - line), "error: ", 7);
    words = words ? words + 7 : line;
    snprintf(sentence, size, "%.*s", (int)(found - words), words);
    const char *caret = found + strlen(mark) + length;
    size_t blanks = *caret == '\n' ? strspn(caret + 1, " ") : 0, before = strlen("  Command: ");
    *at = *caret && caret[1 + blanks] == '^' && blanks >= before ? (int32_t)(blanks - before) : -1;
    return true;
}

static bool exists(const char *where, const char *file) {
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", where, file);
    return !access(path, F_OK);
}

// A kind of probe that the kernel lacks has no words in the log.
static void explain_kind(const char *where, const struct probe_spec *spec, int code, struct choice_error *error) {
    const char *kind = probe_kind_name(spec), *works = exists(where, "uprobe_events") ? "uprobes and USDT work" : "";
    bool user = spec->kind == PROBE_USER || spec->kind == PROBE_USDT;
    if (code == -EPERM || code == -EACCES)
        snprintf(error->sentence, sizeof(error->sentence),
                 "%.60s: the kernel does not permit a %s (%s: lockdown or a security module)%s%s", spec->symbol, kind,
                 strerror(-code), user ? "" : "; ", user ? "" : works);
    else if (spec->kind == PROBE_KERNEL && !exists(where, "kprobe_events"))
        snprintf(error->sentence, sizeof(error->sentence),
                 "%.60s: this kernel has no kprobes (CONFIG_KPROBES is off); %s", spec->symbol,
                 *works ? works : "tracepoints work (-t)");
    else if (!user && spec->kind != PROBE_KERNEL && (code == -EINVAL || code == -ENOENT || code == -EOPNOTSUPP))
        snprintf(error->sentence, sizeof(error->sentence),
                 "%.60s: this kernel does not accept a probe of kind %s (%s)%s%s", spec->symbol, kind, strerror(-code),
                 *works ? "; " : "", works);
    else
        snprintf(error->sentence, sizeof(error->sentence), "%.100s: the kernel refuses the %s: %s",
                 user ? spec->path : spec->symbol, kind, strerror(-code));
}

static void explain(const char *where, const struct probe_spec *spec, const struct probe_command *command, int code,
                    struct choice_error *error) {
    char path[600], words[160], *log = xmalloc(LOG_MAX);
    int32_t at = -1;
    snprintf(path, sizeof(path), "%s/error_log", where);
    long length = format_file(path, log, LOG_MAX);
    error->place = (int32_t)spec->place;
    if (length > 0 && probe_log_error(log, command->text, words, sizeof(words), &at)) {
        if (at >= 0 && (size_t)at < command->length && command->places[at] >= 0)
            error->place = command->places[at];
        const char *there = spec->text + error->place;
        snprintf(error->sentence, sizeof(error->sentence), "the kernel refuses the probe at \"%.40s\": %s",
                 *there ? there : spec->text, words);
    } else {
        explain_kind(where, spec, code, error);
    }
    free(log);
}

// ---- writing ----

static _Atomic int held; // probes, from before each is defined until it is removed

int probes_held(void) {
    return held;
}

static const char *list_file(const char *where, const struct probe_spec *spec) {
    if (exists(where, "dynamic_events"))
        return "dynamic_events";
    return spec->kind == PROBE_USER || spec->kind == PROBE_USDT ? "uprobe_events" : "kprobe_events"; // before 5.0
}

static int command_write(const char *where, const struct probe *probe, const char *path, const struct probe_site *site,
                         bool entry, uint32_t maxactive, struct choice_error *error) {
    struct probe_command *command = xcalloc(1, sizeof(*command));
    probe_command_make(command, probe, path, site, entry, maxactive);
    int result = command->length + 2 >= sizeof(command->text) ? -E2BIG : 0;
    if (!result) {
        char *line = xmalloc(command->length + 2);
        snprintf(line, command->length + 2, "%s\n", command->text);
        result = tracing_append(where, list_file(where, &probe->spec), line);
        free(line);
    }
    if (result)
        explain(where, &probe->spec, command, result, error);
    free(command);
    return result;
}

// The kernel's default is 10 or two per CPU: calls that sleep use that up. One for each thread of the machine.
static uint32_t maxactive_of(const struct probe_spec *spec) {
    char text[128];
    unsigned threads = 0;
    if (spec->maxactive || spec->kind != PROBE_KERNEL || !spec->returns)
        return spec->maxactive;
    if (format_file("/proc/loadavg", text, sizeof(text)) > 0)
        sscanf(text, "%*s %*s %*s %*u/%u", &threads);
    return threads < MAXACTIVE_MIN ? MAXACTIVE_MIN : threads > MAXACTIVE_MAX ? MAXACTIVE_MAX : threads;
}

static void where_set(struct probe *probe) {
    const struct probe_spec *spec = &probe->spec;
    char offset[32] = "";
    if (spec->kind != PROBE_USER && spec->kind != PROBE_USDT) {
        snprintf(probe->where, sizeof(probe->where), "%.150s", spec->symbol);
        return;
    }
    if (!spec->symbol[0])
        snprintf(offset, sizeof(offset), "0x%llx", (unsigned long long)spec->offset);
    else if (spec->offset)
        snprintf(offset, sizeof(offset), "+0x%llx", (unsigned long long)spec->offset);
    snprintf(probe->where, sizeof(probe->where), "%.80s:%.60s%s", spec->path, spec->symbol, offset);
}

static int define_all(struct probe *probe, const char *where, const struct probe_file *file,
                      struct choice_error *error) {
    const struct probe_site *sites = file ? file->sites : NULL;
    const char *path = file ? file->path : NULL;
    size_t n = file ? file->n_sites : 1;
    uint32_t maxactive = maxactive_of(&probe->spec);
    int result = 0;
    for (size_t i = 0; i < n && !result; i++) {
        result = command_write(where, probe, path, sites ? &sites[i] : NULL, false, maxactive, error);
        if (result && maxactive && !probe->spec.maxactive)
            result = command_write(where, probe, path, sites ? &sites[i] : NULL, false, 0, error);
    }
    if (!result && probe->entry[0])
        result = command_write(where, probe, path, sites, true, 0, error);
    return result;
}

static void event_remove(const char *where, const struct probe *probe, const char *event) {
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    char line[160];
    snprintf(line, sizeof(line), "-:%s/%s\n", probe->group, event);
    for (int tries = 0; tries < 100; tries++) {
        if (tracing_append(where, list_file(where, &probe->spec), line) != -EBUSY)
            return;
        nanosleep(&pause, NULL);
    }
}

static void events_remove(const struct probe *probe) {
    const char *where = tracing_dir(NULL, NULL);
    if (!where)
        return;
    event_remove(where, probe, probe->event);
    if (probe->entry[0])
        event_remove(where, probe, probe->entry);
}

int probe_define(struct probe *probe, pid_t pid, struct choice_error *error) {
    const struct probe_spec *spec = &probe->spec;
    bool user = spec->kind == PROBE_USER || spec->kind == PROBE_USDT;
    const char *reason = NULL, *where = tracing_dir(&reason, NULL);
    held++;
    struct probe_file *file = user ? xcalloc(1, sizeof(*file)) : NULL;
    *error = (struct choice_error){.place = (int32_t)spec->place};
    where_set(probe);
    probe->entry[0] = '\0';
    if (spec->returns && (spec->kind == PROBE_USER || spec->kind == PROBE_KERNEL) && !*spec->filter)
        snprintf(probe->entry, sizeof(probe->entry), "%.50s_entry", probe->event);
    int result = where ? 0 : -ENODEV;
    if (result)
        snprintf(error->sentence, sizeof(error->sentence), "no probes: %s", reason);
    if (!result && file)
        result = probe_file_open(file, spec, pid, error);
    if (!result) {
        result = define_all(probe, where, file, error);
        if (result)
            events_remove(probe);
        else if (file)
            memcpy(probe->note, file->note, sizeof(probe->note));
    }
    held -= result != 0;
    if (file)
        probe_file_close(file);
    free(file);
    return result;
}

void probe_undefine(const struct probe *probe) {
    events_remove(probe);
    held--;
}
