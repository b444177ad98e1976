#include "collectors/event_stacks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/symbols/kallsyms.h"
#include "collectors/kernel/tracefs/event_text.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

#define FRAMES_MAX 64
#define TEXT_MAX 2048
#define CONTEXTS 3 // a task, a soft and a hard interrupt

// The last event by CPU and context: its stacks come next, but interrupts may come between.
struct last_event {
    struct kept *kept; // NULL: none
    uint64_t n;        // in `kept`
    int32_t tid;
    bool came[KEPT_MORE]; // its stacks
};

struct event_stacks {
    struct text_formatter formatter; // first: the formatter's callbacks get its address
    atomic_uint references;
    bool has[KEPT_MORE];
    uint16_t ids[KEPT_MORE];
    struct format_field caller, user;
    struct last_event *last;
    size_t n_last;
    pthread_mutex_t lock; // of the symbols
    bool read;
    struct symbol_table *symbols; // NULL: not read yet, or hidden
};

static struct event_stacks *of(const struct text_formatter *formatter) {
    return (struct event_stacks *)(uintptr_t)formatter;
}

static void hold(const struct text_formatter *formatter) {
    atomic_fetch_add_explicit(&of(formatter)->references, 1, memory_order_relaxed);
}

static void drop(const struct text_formatter *formatter) {
    event_stacks_free(of(formatter));
}

// The tracepoint's own functions, which every stack of it begins with.
static bool is_tracing(const char *name) {
    static const char *const words[] = {"trace_event_", "__traceiter_", "ftrace_", "__ftrace_", "perf_trace_"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (!strncmp(name, words[i], strlen(words[i])))
            return true;
    return false;
}

static void symbols_read(struct event_stacks *stacks) {
    if (!stacks->read)
        kallsyms_read("/proc/kallsyms", &stacks->symbols);
    stacks->read = true;
}

// The innermost address may be where a probed function begins (arm64); the others are return addresses, which may be
// where the next function begins.
static const struct symbol *symbol_of(const struct symbol_table *symbols, uint64_t address, bool innermost) {
    const struct symbol *symbol = innermost ? symbol_table_find(symbols, address) : NULL;
    return symbol && symbol->start == address ? symbol : symbol_table_find(symbols, address - 1);
}

// A module's function has its name behind it: "ext4_sync_file [ext4]".
static size_t frame_text(const struct symbol_table *symbols, uint64_t address, const struct symbol *symbol, bool first,
                         char *out, size_t size) {
    const char *name = symbol ? symbols->names + symbol->name : "";
    const char *object = symbol && symbols->named_objects ? name + strlen(name) + 1 : "";
    int n;
    if (!*name)
        n = snprintf(out, size, "%s0x%llx", first ? "" : " < ", (unsigned long long)address - 1);
    else if (first && is_tracing(name))
        return 0;
    else
        n = snprintf(out, size, "%s%s%s%s", first ? "" : " < ", name,
                     !*object || !strcmp(object, "[kernel]") ? "" : " ", !strcmp(object, "[kernel]") ? "" : object);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static const struct text *make(const struct text_formatter *formatter, const void *blob, size_t size) {
    struct event_stacks *stacks = of(formatter);
    char text[TEXT_MAX];
    size_t used = 0;
    pthread_mutex_lock(&stacks->lock);
    symbols_read(stacks);
    for (size_t at = 0; at + 8 <= size && used < sizeof(text) - 1; at += 8) {
        uint64_t address;
        memcpy(&address, (const uint8_t *)blob + at, 8);
        if (!address || address == UINT64_MAX) // ULONG_MAX ends a stack
            break;
        const struct symbol *symbol = stacks->symbols ? symbol_of(stacks->symbols, address, !at) : NULL;
        used += frame_text(stacks->symbols, address, symbol, !used, text + used, sizeof(text) - used);
    }
    pthread_mutex_unlock(&stacks->lock);
    return text_new(text, used);
}

static bool is_set(const char *instance, const char *option) {
    char path[512], text[8] = "";
    snprintf(path, sizeof(path), "%s/options/%s", instance, option);
    return format_file(path, text, sizeof(text)) > 0 && text[0] == '1';
}

struct event_stacks *event_stacks_open(const char *instance, const char *dir, uint32_t cpus) {
    struct event_stacks *stacks = xcalloc(1, sizeof(*stacks));
    stacks->caller.name = stacks->user.name = "caller";
    stacks->has[KEPT_KERNEL_STACK] =
        is_set(instance, STACKS_OPTION) &&
        !format_read(dir, "ftrace", "kernel_stack", &stacks->caller, 1, &stacks->ids[KEPT_KERNEL_STACK], NULL);
    stacks->has[KEPT_USER_STACK] =
        is_set(instance, USER_STACKS_OPTION) &&
        !format_read(dir, "ftrace", "user_stack", &stacks->user, 1, &stacks->ids[KEPT_USER_STACK], NULL);
    if (!stacks->has[KEPT_KERNEL_STACK] && !stacks->has[KEPT_USER_STACK]) {
        free(stacks);
        return NULL;
    }
    stacks->formatter = (struct text_formatter){.make = make, .hold = hold, .drop = drop};
    atomic_init(&stacks->references, 1);
    pthread_mutex_init(&stacks->lock, NULL);
    stacks->n_last = (size_t)cpus * CONTEXTS;
    stacks->last = xcalloc(stacks->n_last + 1, sizeof(*stacks->last));
    return stacks;
}

void event_stacks_free(struct event_stacks *stacks) {
    if (!stacks || atomic_fetch_sub_explicit(&stacks->references, 1, memory_order_acq_rel) != 1)
        return;
    symbol_table_free(stacks->symbols);
    pthread_mutex_destroy(&stacks->lock);
    free(stacks->last);
    free(stacks);
}

bool event_stacks_has(const struct event_stacks *stacks, enum kept_more which) {
    return stacks->has[which];
}

// ---- the event path ----

static struct last_event *last_of(struct event_stacks *stacks, const struct ring_event *event) {
    uint8_t flags = event->data[EVENT_FLAGS_OFFSET];
    size_t context = flags & EVENT_FLAG_HARDIRQ ? 2 : flags & EVENT_FLAG_SOFTIRQ ? 1 : 0;
    size_t at = event->cpu * CONTEXTS + context;
    return &stacks->last[at < stacks->n_last ? at : stacks->n_last];
}

void event_stacks_event(struct event_stacks *stacks, const struct ring_event *event, int32_t tid, struct kept *kept) {
    *last_of(stacks, event) = (struct last_event){.kept = kept, .n = kept ? kept->n : 0, .tid = tid};
}

bool event_stacks_record(struct event_stacks *stacks, const struct ring_event *event) {
    uint16_t id;
    int32_t tid;
    memcpy(&id, event->data, 2);
    bool kernel = stacks->has[KEPT_KERNEL_STACK] && id == stacks->ids[KEPT_KERNEL_STACK];
    if (!kernel && !(stacks->has[KEPT_USER_STACK] && id == stacks->ids[KEPT_USER_STACK]))
        return false;
    struct last_event *last = last_of(stacks, event);
    memcpy(&tid, event->data + COMMON_PID_OFFSET, 4);
    if (!last->kept || last->tid != tid)
        return true;
    last->came[kernel ? KEPT_KERNEL_STACK : KEPT_USER_STACK] = true;
    kept_attach(last->kept, last->n, kernel ? KEPT_KERNEL_STACK : KEPT_USER_STACK, event->data, event->size);
    return true;
}

bool event_stacks_awaited(const struct event_stacks *stacks) {
    for (size_t i = 0; i <= stacks->n_last; i++)
        for (size_t k = 0; stacks->last[i].kept && k < KEPT_MORE; k++)
            if (stacks->has[k] && !stacks->last[i].came[k])
                return true;
    return false;
}

void event_stacks_clear(struct event_stacks *stacks) {
    memset(stacks->last, 0, (stacks->n_last + 1) * sizeof(*stacks->last));
}

// ---- rows ----

const struct text *event_stacks_text(struct event_stacks *stacks, const struct kept *kept,
                                     const struct kept_record *record) {
    uint32_t at = stacks->caller.offset, most = FRAMES_MAX * 8, size = record->more_size[KEPT_KERNEL_STACK];
    if (size <= at)
        return NULL;
    return text_lazy(&stacks->formatter, kept_more(kept, record, KEPT_KERNEL_STACK) + at,
                     size - at < most ? size - at : most);
}

size_t event_stacks_user(const struct event_stacks *stacks, const struct kept *kept, const struct kept_record *record,
                         uint64_t addresses[USER_STACK_FRAMES]) {
    uint32_t size = record->more_size[KEPT_USER_STACK];
    const uint8_t *bytes = kept_more(kept, record, KEPT_USER_STACK);
    size_t n = 0;
    for (uint32_t at = stacks->user.offset; n < USER_STACK_FRAMES && at + 8 <= size; at += 8, n++) {
        memcpy(&addresses[n], bytes + at, 8);
        if (!addresses[n])
            break;
    }
    return n;
}
