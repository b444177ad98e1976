// Selects the single calls of a frame and reads their arguments (see the header).
#include "collectors/syscalls/single.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define SLOW_ROWS 128
#define FAILED_ROWS 256
#define LOOK_NS 1000000ull // arguments of slower calls are read before the frame ends
#define LOOKS 16           // per drain, and as many for failed calls

// ---- their arguments ----

static void look(const struct syscalls_pair *pair, struct syscalls_args *args, const struct syscalls_call *call,
                 struct syscalls_single *single) {
    if (single->looked)
        return;
    single->looked = true;
    single->text = syscalls_args_text(args, pair->processes[single->process].pid, (enum syscalls_abi)call->abi,
                                      call->number, single->args, true);
}

// The newest first: memory of the others has probably changed already.
static void look_at_failed(struct syscalls_pair *pair, struct syscalls_args *args) {
    for (int looks = LOOKS; pair->n_unread && looks; looks--) {
        pair->n_unread--;
        struct syscalls_failures *failures = &pair->failures[pair->unread[pair->n_unread].failures];
        look(pair, args, failures->call, &failures->at[pair->unread[pair->n_unread].at]);
    }
}

void syscalls_single_look(struct syscalls_pair *pair, struct syscalls_args *args) {
    int looks = LOOKS;
    look_at_failed(pair, args);
    for (uint32_t i = 0; i < pair->n_calls && looks; i++)
        for (uint32_t k = 0; pair->calls[i].used && k < pair->calls[i].n_slow && looks; k++) {
            struct syscalls_single *slow = &pair->calls[i].slow[k];
            if (slow->looked || slow->latency_ns < LOOK_NS)
                continue;
            look(pair, args, &pair->calls[i], slow);
            looks--;
        }
}

// ---- rows ----

struct item {
    struct syscalls_single *single;
    const struct syscalls_call *call;
    bool idle;
};

static struct item item_of(struct syscalls_single *single, const struct syscalls_call *call) {
    bool idle = syscalls_args_idle((enum syscalls_abi)call->abi, call->number, single->args, single->text);
    return (struct item){single, call, idle};
}

// Idle calls come last.
static int by_latency(const void *left, const void *right) {
    const struct item *a = left, *b = right;
    if (a->idle != b->idle)
        return a->idle - b->idle;
    return a->single->latency_ns > b->single->latency_ns ? -1 : a->single->latency_ns < b->single->latency_ns;
}

static int by_time(const void *left, const void *right) {
    const struct item *a = left, *b = right;
    if (a->single->begin_ts != b->single->begin_ts)
        return a->single->begin_ts < b->single->begin_ts ? -1 : 1;
    if (a->single->tid != b->single->tid) // entries of the same call become neighbours
        return a->single->tid < b->single->tid ? -1 : 1;
    return a->single < b->single ? -1 : a->single > b->single;
}

// A call may be both among the slowest and among the failed.
static bool is_same(const struct item *a, const struct item *b) {
    return a->single->begin_ts == b->single->begin_ts && a->single->tid == b->single->tid;
}

static void fill_row(const struct syscalls_fill *fill, const struct text *name, struct table_builder *builder,
                     const struct item *item) {
    const struct syscalls_single *single = item->single;
    uint32_t row = table_builder_add(builder);
    table_builder_set_num(builder, row, SYSCALLS_S_TIME,
                          (double)((int64_t)single->begin_ts + fill->wall_offset_ns) / 1e9);
    table_builder_set_num(builder, row, SYSCALLS_S_PID, fill->pair->processes[single->process].pid);
    table_builder_set_num(builder, row, SYSCALLS_S_TID, single->tid);
    table_builder_set_text(builder, row, SYSCALLS_S_COMM, syscalls_comm_text(single->comm));
    table_builder_set_text(builder, row, SYSCALLS_S_SYSCALL, text_ref(name));
    table_builder_set_num(builder, row, SYSCALLS_S_LATENCY, (double)single->latency_ns / 1000);
    if (single->result < 0 && single->result >= -4095) {
        char error[32];
        syscalls_error_name((uint32_t)-single->result, error, sizeof(error));
        table_builder_set_text(builder, row, SYSCALLS_S_ERROR, text_from(error));
    } else {
        table_builder_set_num(builder, row, SYSCALLS_S_RESULT, (double)single->result);
        table_builder_set_text(builder, row, SYSCALLS_S_ERROR, text_from(""));
    }
    table_builder_set_text(builder, row, SYSCALLS_S_ARGS, text_ref(single->text));
    table_builder_set_num(builder, row, SYSCALLS_S_IDLE, item->idle);
}

static size_t slow_items(struct syscalls_pair *pair, struct item *out) {
    size_t n = 0;
    for (uint32_t i = 0; i < pair->n_calls; i++)
        for (uint32_t k = 0; pair->calls[i].used && k < pair->calls[i].n_slow; k++)
            out[n++] = item_of(&pair->calls[i].slow[k], &pair->calls[i]);
    qsort(out, n, sizeof(*out), by_latency);
    return n < SLOW_ROWS ? n : SLOW_ROWS;
}

// The newest of each, as many as fit.
static size_t failed_items(struct syscalls_pair *pair, struct item *out) {
    uint32_t most = SYSCALLS_FAILED * 2, all;
    size_t n = 0;
    do {
        most /= 2;
        all = 0;
        for (uint32_t i = 0; i < pair->n_failures; i++)
            all += pair->failures[i].n < most ? pair->failures[i].n : most;
    } while (all > FAILED_ROWS && most > 1);
    for (uint32_t i = 0; i < pair->n_failures && n < FAILED_ROWS; i++) {
        struct syscalls_failures *failures = &pair->failures[i];
        for (uint32_t k = 0; k < failures->n && k < most; k++)
            out[n++] =
                item_of(&failures->at[(failures->next + SYSCALLS_FAILED - 1 - k) % SYSCALLS_FAILED], failures->call);
    }
    return n;
}

void syscalls_single_fill(const struct syscalls_fill *fill, const struct text *const *names, struct section *out) {
    struct syscalls_pair *pair = fill->pair;
    struct table_builder *builder = table_builder_new(&syscalls_slow_table);
    struct item *items = xcalloc(pair->n_calls * SYSCALLS_SLOWEST + FAILED_ROWS + SYSCALLS_FAILED, sizeof(*items));
    size_t n = slow_items(pair, items), rows = 0;
    n += failed_items(pair, &items[n]);
    qsort(items, n, sizeof(*items), by_time);
    for (size_t i = 0; i < n; i++) {
        if (i && is_same(&items[i], &items[i - 1]))
            continue;
        look(pair, fill->args, items[i].call, items[i].single);
        items[i] = item_of(items[i].single, items[i].call);
        fill_row(fill, names[items[i].call - pair->calls], builder, &items[i]);
        rows++;
    }
    section_stream(out, table_builder_seal(builder), fill->calls > rows ? fill->calls - rows : 0);
    table_builder_free(builder);
    free(items);
}
