// The samples one by one, as `perf script` prints them, for programs that read its output. A frame has its tree, which
// counts stacks, and a stream with the time, CPU, thread and innermost function of each sample. Samples are joined to
// stacks of the same process and function; of several such stacks, which one a sample is of is unknown, so they are
// taken in order. Stacks that have no sample in the stream stand at even distances over the frame.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/flame/export.h"
#include "views/flame/names.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

#define COMM_MAX 64
#define SPREAD_MAX (1 << 18) // events of a frame that have no sample in the stream

struct sample {
    double time;
    long pid, tid, cpu;
    const char *function; // the innermost, as it was named at that time
    uint32_t node;        // 0: none
};

struct stack {
    long pid;
    const char *function; // the innermost; NULL: comes before all others
    uint32_t node;
    uint64_t left; // samples without a time
};

struct script {
    const struct flame_spec *spec;
    const char *event;
    struct fold_filter *filter;
    const struct flame_path *zoom;
    double begin_s, end_s; // of the samples, since 1970
    FILE *out;
    struct fold *fold; // of one frame
    struct stack *stacks;
    struct sample *samples;
    size_t n_stacks, n_samples;
    uint64_t written;
};

// ---- text ----

static void put_frame(const struct script *self, const struct text *name, long pid) {
    const char *symbol = flame_symbol(name), *object = name ? name_object(name) : "";
    size_t stem = name ? fold_address_stem(name) : 0;
    char text[EXPORT_TEXT_MAX];

    if (stem) {
        const char *digits = stem > 1 ? symbol + stem + 1 : symbol + 1;
        fprintf(self->out, "\t%16llx [unknown]", strtoull(digits, NULL, 16));
    } else {
        escape_text(symbol, strlen(symbol), text, sizeof(text));
        fprintf(self->out, "\t%16x %s", 0, text);
    }
    if (name_kind(name) == NAME_JIT)
        snprintf(text, sizeof(text), "/tmp/perf-%ld.map", pid);
    else if (!strcmp(object, "[kernel]"))
        snprintf(text, sizeof(text), "[kernel.kallsyms]");
    else
        escape_text(*object ? object : "[unknown]", strlen(*object ? object : "[unknown]"), text, sizeof(text));
    fprintf(self->out, " (%s)\n", text);
}

// Of weights that are not samples, all of a stack is one event with a period.
static void put_sample(struct script *self, const struct sample *sample, uint64_t period) {
    const struct fold_node *nodes = self->fold->nodes;
    char comm[4 * COMM_MAX];
    uint32_t process = sample->node, at = sample->node;

    while (nodes[process].depth > 1)
        process = nodes[process].parent;
    const char *name = flame_symbol(nodes[process].name);
    escape_text(name, strnlen(name, COMM_MAX), comm, sizeof(comm));
    fprintf(self->out, "%s %ld/%ld [%03ld] %.6f: ", comm, sample->pid, sample->tid, sample->cpu, sample->time);
    if (period)
        fprintf(self->out, "%llu ", (unsigned long long)period);
    fprintf(self->out, "%s:\n", self->event);
    for (; nodes[at].depth > 1; at = nodes[at].parent) // the innermost first
        put_frame(self, nodes[at].name, sample->pid);
    fputc('\n', self->out);
    self->written += period ? period : 1;
}

// ---- joining samples to stacks ----

static int by_function(const void *a, const void *b) {
    const struct stack *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    int order = x->function && y->function ? strcmp(x->function, y->function)
                                           : (x->function > y->function) - (x->function < y->function);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

static int by_time(const void *a, const void *b) {
    const struct sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static long pid_of(const struct fold *fold, uint32_t node) {
    while (fold->nodes[node].depth > 1)
        node = fold->nodes[node].parent;
    return fold->nodes[node].name ? strtol(name_object(fold->nodes[node].name), NULL, 10) : 0;
}

// Below the zoomed frame, which is one of several processes here.
static void stacks_list(struct script *self) {
    const struct fold *fold = self->fold;
    bool *zoomed = xcalloc(fold->n, sizeof(*zoomed)); // the node's names are those of the zoom as far as that goes

    self->n_stacks = 0;
    self->stacks = xcalloc(fold->n, sizeof(*self->stacks));
    zoomed[0] = true;
    for (uint32_t i = 1; i < fold->n; i++) {
        const struct fold_node *node = &fold->nodes[i];
        zoomed[i] = zoomed[node->parent] &&
                    (node->depth > self->zoom->n || fold_same_name(node->name, self->zoom->names[node->depth - 1]));
        if (zoomed[i] && node->depth >= self->zoom->n && node->self)
            self->stacks[self->n_stacks++] = (struct stack){.pid = pid_of(fold, i),
                                                            .function = flame_symbol(fold->nodes[i].name),
                                                            .node = i,
                                                            .left = fold->nodes[i].self};
    }
    free(zoomed);
    qsort(self->stacks, self->n_stacks, sizeof(*self->stacks), by_function);
}

// The first stack of that process and function, of any function if it is NULL.
static size_t stacks_of(const struct script *self, long pid, const char *function) {
    const struct stack key = {.pid = pid, .function = function};
    size_t low = 0, high = self->n_stacks;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_function(&self->stacks[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sample_join(struct script *self, struct sample *sample, const char *function) {
    for (size_t i = stacks_of(self, sample->pid, function); i < self->n_stacks; i++) {
        struct stack *stack = &self->stacks[i];
        if (stack->pid != sample->pid || (function && strcmp(stack->function, function) != 0))
            return;
        if (!stack->left)
            continue;
        stack->left--;
        sample->node = stack->node;
        return;
    }
}

static void samples_read(struct script *self, const struct frame *frame) {
    uint64_t left_out;
    const struct table *table = frame && self->spec->events ? frame_stream(frame, self->spec->events, &left_out) : NULL;
    const char *const names[] = {"time_s", "pid", "tid", "cpu", "name"};
    int columns[5];
    const union cell *row;
    size_t at = 0;

    for (int i = 0; i < 5; i++)
        columns[i] = table ? table_column(table_def(table), names[i]) : -1;
    for (int i = 0; i < 5; i++)
        if (columns[i] < 0)
            return;
    self->samples = xcalloc(table_rows(table) + 1, sizeof(*self->samples));
    while ((row = table_next(table, &at))) {
        double numbers[4];
        for (int i = 0; i < 4; i++)
            numbers[i] = row[columns[i]].num;
        if (!(numbers[0] >= self->begin_s && numbers[0] < self->end_s) || !(fabs(numbers[1]) < 1e9))
            continue;
        const struct text *function = row[columns[4]].text;
        self->samples[self->n_samples++] =
            (struct sample){.time = numbers[0],
                            .pid = (long)numbers[1],
                            .tid = fabs(numbers[2]) < 1e9 ? (long)numbers[2] : (long)numbers[1],
                            .cpu = fabs(numbers[3]) < 1e6 ? (long)numbers[3] : 0,
                            .function = function ? text_bytes(function) : ""};
    }
}

// What the stream does not have, at even distances.
static void samples_spread(struct script *self, double begin, double end) {
    uint64_t left = 0, done = 0;

    for (size_t i = 0; i < self->n_stacks; i++)
        left += self->stacks[i].left;
    if (left > SPREAD_MAX) // a forged recording: what is left of each stack is one event
        return;
    self->samples = xrealloc(self->samples, (self->n_samples + left + 1) * sizeof(*self->samples));
    for (size_t i = 0; i < self->n_stacks; i++)
        for (struct stack *stack = &self->stacks[i]; stack->left; stack->left--, done++)
            self->samples[self->n_samples++] =
                (struct sample){.time = begin + (end - begin) * ((double)done + 0.5) / (double)left,
                                .pid = stack->pid,
                                .tid = stack->pid,
                                .node = stack->node};
}

// A tree that counts samples, in the order of time; `frame` NULL: without a stream.
static void write_samples(struct script *self, const struct frame *frame, double begin, double end) {
    self->n_samples = 0;
    samples_read(self, frame);
    for (size_t i = 0; i < self->n_samples; i++)
        sample_join(self, &self->samples[i], self->samples[i].function);
    for (size_t i = 0; i < self->n_samples; i++) // the name may have been found since
        if (!self->samples[i].node)
            sample_join(self, &self->samples[i], NULL);
    samples_spread(self, begin, end);
    if (self->n_samples)
        qsort(self->samples, self->n_samples, sizeof(*self->samples), by_time);
    for (size_t i = 0; i < self->n_samples; i++)
        if (self->samples[i].node)
            put_sample(self, &self->samples[i], 0);
    free(self->samples);
    self->samples = NULL;
}

static void write_trees(struct script *self, const struct flame_trees *trees, const struct frame *frame, double begin,
                        double end) {
    if (isnan(trees->scale))
        return;
    flame_filter_trees(self->spec, trees, self->filter);
    self->fold = fold_new(trees->tree, trees->base, self->filter);
    stacks_list(self);
    if (!strcmp(self->spec->unit, "samples"))
        write_samples(self, frame, begin, end);
    for (size_t i = 0; i < self->n_stacks; i++) {
        const struct stack *stack = &self->stacks[i];
        struct sample sample = {.time = end, .pid = stack->pid, .tid = stack->pid, .node = stack->node};
        if (stack->left)
            put_sample(self, &sample, stack->left);
    }
    free(self->stacks);
    fold_free(self->fold);
}

static double end_of(const struct frame *frame) {
    return (double)frame->wall.tv_sec + (double)frame->wall.tv_nsec / 1e9;
}

bool flame_export_script(struct part_context *ctx, const struct write_info *info, FILE *out) {
    struct flame_state *state = ctx->state;
    const struct flame_choice *choice = &state->choice;
    struct fold_filter filter;
    char text[FILTER_SIZE];
    struct script self = {
        .spec = ctx->part->spec, .filter = &filter, .zoom = &state->zoom, .begin_s = -1e12, .end_s = 1e12, .out = out};
    struct flame_trees trees = {0};

    (void)info;
    self.event = self.spec->cold ? ctx->part->name : self.spec->tree;
    if (!ctx->look->frame || !flame_fold(ctx))
        return false;
    flame_filter(choice, pane_filter(ctx->pane, ctx->part), ctx->look, text, &filter);
    filter.processes = true;
    if (flame_is_difference(choice)) { // its frames may have left the history
        const struct flame_mark *mark = &choice->mark[1];
        trees.tree = mark->tree;
        write_trees(&self, &trees, NULL, (double)mark->end_s - mark->seconds, (double)mark->end_s);
        return self.written;
    }
    const struct frame **frames = xcalloc(ctx->look->n_window + 1, sizeof(const struct frame *));
    size_t n = flame_span_frames(choice, ctx->look, self.spec, frames);
    for (size_t i = 0; i < n; i++) {
        struct tree *picked = flame_range_pick(choice, frames[i], self.spec);
        flame_trees_of(frames[i], self.spec, &trees);
        trees.tree = picked ? picked : trees.tree;
        if (picked) {
            self.begin_s = choice->begin_s;
            self.end_s = choice->end_s;
        }
        write_trees(&self, &trees, frames[i], end_of(frames[i]) - frame_interval_s(frames[i]), end_of(frames[i]));
        tree_free(picked);
    }
    free(frames);
    return self.written;
}
