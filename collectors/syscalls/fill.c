// Adding threads up by process and by call, once per frame; names and texts are made here.
#include "collectors/syscalls/fill.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/proc/syscall.h"
#include "collectors/syscalls/single.h"
#include "model/mem.h"

#define PROGRESS_ROWS 1024
#define ERROR_NAMES 6 // in a row

// What several threads or calls did together.
struct sums {
    uint64_t calls, untimed, errors, total_ns, min_ns, max_ns;
};

struct item {
    const struct syscalls_cell *cell;
    uint32_t process;
    uint16_t call;
};

struct error_item {
    uint32_t process, error;
    uint64_t count;
    uint16_t call;
};

struct filler {
    struct syscalls_fill *fill;
    const struct syscalls_pair *pair;
    struct item *items; // by process and call
    size_t n_items;
    struct error_item *errors; // by process, call and error
    size_t n_errors;
    struct sums *calls;        // by call
    const struct text **names; // of calls
};

// ---- putting in order ----

static int item_compare(const void *left, const void *right) {
    const struct item *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (int)a->call - (int)b->call;
}

static int error_compare(const void *left, const void *right) {
    const struct error_item *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->call != b->call ? (int)a->call - (int)b->call : (int)a->error - (int)b->error;
}

static int error_by_call(const void *left, const void *right) {
    const struct error_item *a = left, *b = right;
    return a->call != b->call ? (int)a->call - (int)b->call : (int)a->error - (int)b->error;
}

static int error_by_count(const void *left, const void *right) {
    const struct error_item *a = left, *b = right;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return (int)a->error - (int)b->error;
}

static uint32_t process_of(const struct syscalls_pair *pair, const struct syscalls_cell *cell) {
    return pair->threads[cell->owner & 0x3fffffff].process;
}

static void sums_add(struct sums *sums, const struct syscalls_cell *cell) {
    sums->calls += cell->calls;
    sums->untimed += cell->untimed;
    sums->errors += cell->errors;
    sums->total_ns += cell->total_ns;
    if (cell->calls && (!sums->min_ns || cell->min_ns < sums->min_ns))
        sums->min_ns = cell->min_ns;
    if (cell->max_ns > sums->max_ns)
        sums->max_ns = cell->max_ns;
}

static void put_in_order(struct filler *filler) {
    const struct syscalls_pair *pair = filler->pair;
    filler->items = xcalloc(pair->n_cells + 1, sizeof(*filler->items));
    filler->errors = xcalloc(pair->n_errors + 1, sizeof(*filler->errors));
    filler->calls = xcalloc(pair->n_calls + 1, sizeof(*filler->calls));
    filler->names = xcalloc(pair->n_calls + 1, sizeof(*filler->names));
    for (uint32_t i = 0; i < pair->n_cells; i++) {
        const struct syscalls_cell *cell = &pair->cells[i];
        if (!cell->calls && !cell->untimed) // interrupted, and not over
            continue;
        filler->items[filler->n_items++] =
            (struct item){cell, process_of(pair, cell), (uint16_t)(cell->call - pair->calls)};
        sums_add(&filler->calls[cell->call - pair->calls], cell);
    }
    for (uint32_t i = 0; i < pair->n_errors; i++) {
        const struct syscalls_error *error = &pair->errors[i];
        const struct syscalls_cell *cell = &pair->cells[error->cell];
        filler->errors[filler->n_errors++] = (struct error_item){process_of(pair, cell), error->error, error->count,
                                                                 (uint16_t)(cell->call - pair->calls)};
    }
    qsort(filler->items, filler->n_items, sizeof(*filler->items), item_compare);
    qsort(filler->errors, filler->n_errors, sizeof(*filler->errors), error_compare);
    for (uint32_t i = 0; i < pair->n_calls; i++) {
        char name[64];
        syscalls_name((enum syscalls_abi)pair->calls[i].abi, pair->calls[i].number, name, sizeof(name));
        filler->names[i] = text_from(name);
    }
}

// ---- cells of rows ----

// "ENOENT 12, EAGAIN 3": of n items in which an error may stand several times; they are put into another order.
static const struct text *error_names(struct error_item *items, size_t n) {
    char text[256] = "", name[32];
    size_t kinds = 0, used = 0;
    for (size_t i = 0; i < n; i++) { // few kinds of errors
        size_t k = 0;
        while (k < kinds && items[k].error != items[i].error)
            k++;
        if (k < kinds)
            items[k].count += items[i].count;
        else
            items[kinds++] = items[i];
    }
    qsort(items, kinds, sizeof(*items), error_by_count);
    for (size_t i = 0; i < kinds && i < ERROR_NAMES; i++) {
        syscalls_error_name(items[i].error, name, sizeof(name));
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %llu", i ? ", " : "", name,
                                 (unsigned long long)items[i].count);
    }
    if (kinds > ERROR_NAMES)
        snprintf(text + used, sizeof(text) - used, ", ...");
    return text_from(text);
}

static void set_measures(const struct filler *filler, struct table_builder *builder, uint32_t row, uint16_t first,
                         uint16_t count, const struct sums *sums, const struct error_item *errors, size_t n_errors) {
    double per_s = filler->fill->scale / filler->fill->seconds;
    double total_us = (double)sums->total_ns / 1000 * per_s;
    table_builder_set_num(builder, row, first + SYSCALLS_M_CALLS, (double)(sums->calls + sums->untimed) * per_s);
    table_builder_set_num(builder, row, first + SYSCALLS_M_ERRORS, (double)sums->errors * per_s);
    table_builder_set_num(builder, row, count, (double)(sums->calls + sums->untimed) * filler->fill->scale);
    if (sums->calls) {
        table_builder_set_num(builder, row, first + SYSCALLS_M_AVG,
                              (double)sums->total_ns / (double)sums->calls / 1000);
        table_builder_set_num(builder, row, first + SYSCALLS_M_MAX, (double)sums->max_ns / 1000);
        table_builder_set_num(builder, row, first + SYSCALLS_M_TOTAL, total_us);
        table_builder_set_num(builder, row, first + SYSCALLS_M_SHARE, total_us / 1e4);
    }
    struct error_item *copy = xcalloc(n_errors + 1, sizeof(*copy));
    memcpy(copy, errors, n_errors * sizeof(*copy));
    table_builder_set_text(builder, row, first + SYSCALLS_M_ERROR_NAMES, error_names(copy, n_errors));
    free(copy);
}

// ---- the tables ----

static void fill_both(struct filler *filler, struct section *out) {
    struct table_builder *builder = table_builder_new(&syscalls_both_table);
    size_t error = 0;
    for (size_t i = 0, n; i < filler->n_items; i += n) {
        const struct item *first = &filler->items[i];
        const struct syscalls_process *process = &filler->pair->processes[first->process];
        struct sums sums = {0};
        for (n = 0; i + n < filler->n_items && !item_compare(first, &first[n]); n++)
            sums_add(&sums, first[n].cell);
        struct error_item least = {.process = first->process, .call = first->call};
        while (error < filler->n_errors && error_compare(&filler->errors[error], &least) < 0)
            error++;
        size_t end = error;
        while (end < filler->n_errors && filler->errors[end].process == first->process &&
               filler->errors[end].call == first->call)
            end++;
        uint32_t row = table_builder_add(builder);
        table_builder_set_num(builder, row, SYSCALLS_B_PID, process->pid);
        table_builder_set_text(builder, row, SYSCALLS_B_COMM, syscalls_comm_text(process->comm));
        table_builder_set_text(builder, row, SYSCALLS_B_SYSCALL, text_ref(filler->names[first->call]));
        set_measures(filler, builder, row, SYSCALLS_B_MEASURES, SYSCALLS_B_COUNT, &sums, &filler->errors[error],
                     end - error);
        error = end;
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

static void fill_processes(struct filler *filler, struct section *out) {
    struct table_builder *builder = table_builder_new(&syscalls_process_table);
    size_t error = 0;
    for (size_t i = 0, n; i < filler->n_items; i += n) {
        const struct item *first = &filler->items[i];
        const struct syscalls_process *process = &filler->pair->processes[first->process];
        struct sums sums = {0};
        for (n = 0; i + n < filler->n_items && first->process == first[n].process; n++)
            sums_add(&sums, first[n].cell);
        while (error < filler->n_errors && filler->errors[error].process < first->process)
            error++;
        size_t end = error;
        while (end < filler->n_errors && filler->errors[end].process == first->process)
            end++;
        uint32_t row = table_builder_add(builder);
        table_builder_set_num(builder, row, SYSCALLS_P_PID, process->pid);
        table_builder_set_text(builder, row, SYSCALLS_P_COMM, syscalls_comm_text(process->comm));
        set_measures(filler, builder, row, SYSCALLS_P_MEASURES, SYSCALLS_P_COUNT, &sums, &filler->errors[error],
                     end - error);
        error = end;
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

static void fill_errors(struct filler *filler, struct section *out) {
    struct table_builder *builder = table_builder_new(&syscalls_errors_table);
    char name[32];
    for (size_t i = 0, n; i < filler->n_errors; i += n) {
        const struct error_item *first = &filler->errors[i];
        const struct syscalls_process *process = &filler->pair->processes[first->process];
        uint64_t count = 0;
        for (n = 0; i + n < filler->n_errors && !error_compare(first, &first[n]); n++)
            count += first[n].count;
        uint32_t row = table_builder_add(builder);
        syscalls_error_name(first->error, name, sizeof(name));
        table_builder_set_num(builder, row, SYSCALLS_E_PID, process->pid);
        table_builder_set_text(builder, row, SYSCALLS_E_COMM, syscalls_comm_text(process->comm));
        table_builder_set_text(builder, row, SYSCALLS_E_SYSCALL, text_ref(filler->names[first->call]));
        table_builder_set_text(builder, row, SYSCALLS_E_ERROR, text_from(name));
        table_builder_set_num(builder, row, SYSCALLS_E_RATE,
                              (double)count * filler->fill->scale / filler->fill->seconds);
        table_builder_set_num(builder, row, SYSCALLS_E_COUNT, (double)count * filler->fill->scale);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}

static struct hist *hist_of(const struct syscalls_call *call, const struct sums *sums, struct hist_acc *acc) {
    acc->count = sums->calls;
    acc->sum = sums->total_ns;
    acc->not_min = ~sums->min_ns;
    acc->max = sums->max_ns;
    memcpy(acc->buckets, call->buckets, sizeof(acc->buckets));
    return hist_seal(acc);
}

// And the histograms. The errors are put into the order of calls.
static void fill_calls(struct filler *filler, struct section *out) {
    const struct syscalls_pair *pair = filler->pair;
    struct table_builder *builder = table_builder_new(&syscalls_table);
    struct hist_set *set = hist_set_new(&syscalls_latency_hist);
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    qsort(filler->errors, filler->n_errors, sizeof(*filler->errors), error_by_call);
    for (uint32_t i = 0, error = 0, end; i < pair->n_calls; i++) {
        const struct sums *sums = &filler->calls[i];
        for (end = error; end < filler->n_errors && filler->errors[end].call == i;)
            end++;
        if (sums->calls + sums->untimed) {
            uint32_t row = table_builder_add(builder);
            table_builder_set_text(builder, row, SYSCALLS_C_SYSCALL, text_ref(filler->names[i]));
            set_measures(filler, builder, row, SYSCALLS_C_MEASURES, SYSCALLS_C_COUNT, sums, &filler->errors[error],
                         end - error);
            filler->fill->calls += sums->calls + sums->untimed;
            filler->fill->errors += sums->errors;
            if (sums->calls) {
                struct hist *hist = hist_of(&pair->calls[i], sums, acc);
                const union cell key = {.text = text_ref(filler->names[i])};
                table_builder_set_num(builder, row, SYSCALLS_C_P50, hist_quantile(hist, 0.5) / 1000);
                table_builder_set_num(builder, row, SYSCALLS_C_P99, hist_quantile(hist, 0.99) / 1000);
                hist_set_add(set, &key, hist);
            }
        }
        error = end;
    }
    free(acc);
    section_table(out, table_builder_seal(builder));
    section_hists(out, set);
    table_builder_free(builder);
}

// ---- single calls ----

static const struct text *call_name(const struct syscalls_thread *thread, int32_t id) {
    char name[64];
    uint32_t number;
    enum syscalls_abi abi = syscalls_call_of(thread, id, &number);
    syscalls_name(abi, number, name, sizeof(name));
    return text_from(name);
}

struct syscalls_kept {
    struct {
        uint64_t ts;
        int32_t tid, id;
        const struct text *text;
    } at[32768];
};

struct syscalls_kept *syscalls_kept_new(void) {
    return xcalloc(1, sizeof(struct syscalls_kept));
}

void syscalls_kept_free(struct syscalls_kept *kept) {
    if (!kept)
        return;
    for (size_t i = 0; i < sizeof(kept->at) / sizeof(kept->at[0]); i++)
        text_unref(kept->at[i].text);
    free(kept);
}

// The arguments of a call that goes on do not change.
static const struct text *kept_args(struct filler *filler, uint32_t index, int32_t id) {
    const struct syscalls_thread *thread = &filler->pair->threads[index];
    typeof(&filler->fill->kept->at[0]) kept = &filler->fill->kept->at[index];
    if (!kept->text || kept->ts != thread->enter_ts || kept->tid != thread->tid || kept->id != id) {
        uint32_t number;
        enum syscalls_abi abi = syscalls_call_of(thread, id, &number);
        text_unref(kept->text);
        kept->text = syscalls_args_text(filler->fill->args, filler->pair->processes[thread->process].pid, abi, number,
                                        thread->args, false);
        kept->ts = thread->enter_ts;
        kept->tid = thread->tid;
        kept->id = id;
    }
    return text_ref(kept->text);
}

// The call that the thread is in, or -1. What was before a gap is asked for once.
static int32_t call_now(const struct filler *filler, struct syscalls_thread *thread) {
    if (!thread->tid || thread->id == SYSCALLS_UNWANTED)
        return -1;
    if (thread->id >= 0)
        return thread->id;
    if (thread->id == SYSCALLS_RESTARTED)
        return thread->interrupted;
    if (thread->unsure < 0)
        return -1;
    const char *proc = filler->fill->procfs->proc;
    struct proc_syscall call;
    if (!proc || proc_syscall_read(proc, thread->tid, &call) || call.nr != thread->unsure ||
        memcmp(call.args, thread->args, sizeof(call.args)) != 0)
        thread->unsure = SYSCALLS_NONE;
    return thread->unsure;
}

struct progress {
    uint64_t ts;
    uint32_t index;
    int32_t id;
};

static int progress_compare(const void *left, const void *right) {
    const struct progress *a = left, *b = right;
    return a->ts < b->ts ? -1 : a->ts > b->ts;
}

static void fill_progress(struct filler *filler, struct section *out) {
    struct syscalls_pair *pair = filler->fill->pair;
    struct table_builder *builder = table_builder_new(&syscalls_progress_table);
    struct progress *all = xcalloc(pair->n_threads + 1, sizeof(*all));
    uint64_t upto = filler->fill->upto_ts;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pair->n_threads; i++) {
        int32_t id = call_now(filler, &pair->threads[i]);
        if (id >= 0)
            all[n++] = (struct progress){pair->threads[i].enter_ts, i, id};
    }
    filler->fill->in_progress = n;
    qsort(all, n, sizeof(*all), progress_compare);
    for (uint32_t i = 0; i < n && i < PROGRESS_ROWS; i++) {
        const struct syscalls_thread *thread = &pair->threads[all[i].index];
        const struct syscalls_process *process = &pair->processes[thread->process];
        uint32_t row = table_builder_add(builder);
        table_builder_set_num(builder, row, SYSCALLS_I_TID, thread->tid);
        table_builder_set_num(builder, row, SYSCALLS_I_PID, process->pid);
        table_builder_set_text(builder, row, SYSCALLS_I_COMM, syscalls_comm_text(thread->comm));
        table_builder_set_text(builder, row, SYSCALLS_I_SYSCALL, call_name(thread, all[i].id));
        table_builder_set_num(builder, row, SYSCALLS_I_SINCE, all[i].ts < upto ? (double)(upto - all[i].ts) / 1000 : 0);
        const struct text *args = kept_args(filler, all[i].index, all[i].id);
        uint32_t number;
        enum syscalls_abi abi = syscalls_call_of(thread, all[i].id, &number);
        bool at_least = thread->id < 0 && thread->id != SYSCALLS_RESTARTED; // its entry was not seen
        table_builder_set_num(builder, row, SYSCALLS_I_AT_LEAST, at_least);
        table_builder_set_num(builder, row, SYSCALLS_I_IDLE, syscalls_args_idle(abi, number, thread->args, args));
        table_builder_set_text(builder, row, SYSCALLS_I_ARGS, args);
    }
    if (n > PROGRESS_ROWS) {
        char text[128];
        snprintf(text, sizeof(text), "%u threads are in system calls: the %d that are longest in theirs are shown", n,
                 PROGRESS_ROWS);
        section_note(out, SEVERITY_INFO, "since_us", text, NULL);
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
    free(all);
}

void syscalls_fill_section(struct syscalls_fill *fill, struct section *out) {
    struct filler filler = {.fill = fill, .pair = fill->pair};
    if (fill->seconds <= 0)
        return;
    syscalls_pair_settle(fill->pair);
    put_in_order(&filler);
    fill_both(&filler, out);
    fill_processes(&filler, out);
    fill_errors(&filler, out);
    fill_calls(&filler, out);
    fill_progress(&filler, out);
    syscalls_single_fill(fill, filler.names, out);
    for (uint32_t i = 0; i < fill->pair->n_calls; i++)
        text_unref(filler.names[i]);
    free(filler.names);
    free(filler.items);
    free(filler.errors);
    free(filler.calls);
}
