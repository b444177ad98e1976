// Interrupts and soft interrupts by CPU: /proc/interrupts and /proc/softirqs, which have the same shape: a heading
// of CPUs, then a line per source. Only active sources have rows. The files of large machines are megabytes, so an
// expensive reading is repeated only after a hundred times its cost, or after 10 s; rates are over the time measured.
// Kernel document: Documentation/filesystems/proc.rst, 1.2.
#include "collectors/system/system.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/live.h"
#include "model/mem.h"

#define IRQ_KEY_MAX 32
#define IRQ_TAIL_MAX 160
#define IRQ_QUIET_SAMPLES 10           // samples at 0 after which a row is removed
#define IRQ_CHEAP_NS 5000000ull        // a reading that takes less CPU time is made at every sample
#define IRQ_SHARE 100                  // a more expensive one after a hundred times its cost
#define IRQ_WAIT_MAX_NS 10000000000ull // but not later than this
#define IRQ_CPUS_MAX 8192

// Numbers first and in their order, then names.
static int irq_compare(union cell a, union cell b) {
    const char *left = text_bytes(a.text), *right = text_bytes(b.text);
    uint64_t left_number, right_number;
    bool left_is = proc_number(&left, &left_number), right_is = proc_number(&right, &right_number);
    if (left_is && right_is)
        return (left_number > right_number) - (left_number < right_number);
    return left_is ? -1 : right_is ? 1 : text_compare(a.text, b.text);
}

static const struct column interrupt_columns[] = {
    TEXT_COLUMN("irq", "IRQ", 6, .help = "Interrupt number, or the kernel's short name.", .compare = irq_compare),
    COLUMN_NAME(28, .help = "Devices that use the interrupt, or its purpose."),
    COLUMN_CPU(.help = "CPU that handled it; none: counted for the whole machine."),
    COLUMN_PER_S(.help = "Interrupts per second on this CPU."),
};
const struct table_def system_interrupts_table = {
    .name = "interrupts",
    .help = "Interrupts that tick, by CPU, from /proc/interrupts",
    .columns = interrupt_columns,
    .n_columns = 4,
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column softirq_columns[] = {
    COLUMN_NAME(10, .help = "Soft interrupt: TIMER, NET_RX, BLOCK, SCHED, RCU, …"),
    COLUMN_CPU(.help = "CPU that handled it."),
    COLUMN_PER_S(.help = "Soft interrupts per second on this CPU."),
};
const struct table_def system_softirqs_table = {
    .name = "softirqs",
    .help = "Soft interrupts that tick, by CPU, from /proc/softirqs",
    .columns = softirq_columns,
    .n_columns = 3,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

struct irq_row {
    uint32_t slot;
    uint16_t column; // of the file
    uint16_t quiet;  // samples at 0
};

struct irq_line {
    char key[IRQ_KEY_MAX], tail[IRQ_TAIL_MAX];
    const struct text *irq, *name; // irq: NULL in softirqs
    bool seen, known;              // was in this reading; counts are those of the last one
    uint64_t *counts;              // by column of the file
    struct irq_row *rows;          // ascending by column
    size_t n_rows, rows_capacity;
};

struct irq_file {
    struct proc_file file;
    const struct table_def *def;
    struct table_builder *builder;
    char *heading; // at the last reading: when it changes, columns belong to other CPUs
    size_t heading_length;
    uint16_t *cpus; // of each column
    size_t n_columns;
    struct irq_line *lines;
    size_t n_lines, capacity, next; // next: guess of the file's next one
    uint64_t last_ns, due_ns, cost_ns;
};

struct irqs {
    struct irq_file interrupts, softirqs;
};

static void irq_file_init(struct irq_file *irqs, const char *path, const struct table_def *def) {
    irqs->file = PROC_FILE(path);
    irqs->def = def;
    irqs->builder = table_builder_new(def);
}

static void *irqs_create(void) {
    struct irqs *irqs = xcalloc(1, sizeof *irqs);
    irq_file_init(&irqs->interrupts, "/proc/interrupts", &system_interrupts_table);
    irq_file_init(&irqs->softirqs, "/proc/softirqs", &system_softirqs_table);
    return irqs;
}

static void line_clear(struct irq_file *irqs, struct irq_line *line) {
    for (size_t i = 0; i < line->n_rows; i++)
        table_builder_remove(irqs->builder, line->rows[i].slot);
    text_unref(line->irq);
    text_unref(line->name);
    free(line->counts);
    free(line->rows);
}

static void irq_file_clear(struct irq_file *irqs) {
    for (size_t i = 0; i < irqs->n_lines; i++)
        line_clear(irqs, &irqs->lines[i]);
    irqs->n_lines = 0;
}

static void irq_file_free(struct irq_file *irqs) {
    irq_file_clear(irqs);
    proc_file_close(&irqs->file);
    table_builder_free(irqs->builder);
    free(irqs->heading);
    free(irqs->cpus);
    free(irqs->lines);
}

static void irqs_destroy(void *state) {
    struct irqs *irqs = state;
    irq_file_free(&irqs->interrupts);
    irq_file_free(&irqs->softirqs);
    free(irqs);
}

// "           CPU0       CPU1": the CPU of each column. Offline CPUs have none in /proc/interrupts.
static void heading_parse(struct irq_file *irqs, const char *heading, size_t length) {
    if (irqs->heading && length == irqs->heading_length && memcmp(irqs->heading, heading, length) == 0)
        return;
    irq_file_clear(irqs);
    irqs->heading = xrealloc(irqs->heading, length + 1);
    memcpy(irqs->heading, heading, length);
    irqs->heading[length] = '\0';
    irqs->heading_length = length;
    irqs->n_columns = 0;
    irqs->cpus = xrealloc(irqs->cpus, (length / 4 + 1) * sizeof *irqs->cpus); // "CPU0" is the shortest
    const char *at = irqs->heading;
    uint64_t cpu;
    while ((at = strstr(at, "CPU"))) {
        at += strlen("CPU");
        if (!isdigit((unsigned char)*at) || !proc_number(&at, &cpu) || cpu >= IRQ_CPUS_MAX)
            return;
        irqs->cpus[irqs->n_columns++] = (uint16_t)cpu;
    }
}

// The name of the interrupt's users. The tail of a numbered one is "IO-APIC   4-edge      ttyS0, other" or
// "GICv3  27 Level     arch_timer": the users stand last, after two blanks; without users the whole is shown.
static const struct text *irq_name(const char *key, const char *tail) {
    size_t length = strlen(tail);
    while (length && tail[length - 1] == ' ')
        length--;
    size_t users = length;
    while (users >= 2 && !(tail[users - 1] == ' ' && tail[users - 2] == ' '))
        users--;
    const char *last = tail + users;
    const char *word = last + strspn(last, "0123456789");
    bool is_type = word > last && (*word == '-' || *word == ' ');
    if (isdigit((unsigned char)*key) && users >= 2 && users < length && !is_type)
        return text_new(last, length - users);
    char squeezed[IRQ_TAIL_MAX];
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        if (tail[i] != ' ' || (n && squeezed[n - 1] != ' '))
            squeezed[n++] = tail[i];
    return n ? text_new(squeezed, n) : text_from(key);
}

static struct irq_line *line_find(struct irq_file *irqs, const char *key, size_t length) {
    for (size_t i = 0; i < irqs->n_lines; i++) {
        size_t at = (irqs->next + i) % irqs->n_lines;
        struct irq_line *line = &irqs->lines[at];
        if (strncmp(line->key, key, length) == 0 && line->key[length] == '\0') {
            irqs->next = at + 1;
            return line;
        }
    }
    if (irqs->n_lines == irqs->capacity) {
        irqs->capacity = irqs->capacity ? irqs->capacity * 2 : 64;
        irqs->lines = xrealloc(irqs->lines, irqs->capacity * sizeof *irqs->lines);
    }
    struct irq_line *line = &irqs->lines[irqs->n_lines++];
    *line = (struct irq_line){.counts = xcalloc(irqs->n_columns + 1, sizeof *line->counts)};
    memcpy(line->key, key, length);
    return line;
}

// An interrupt that was reassigned to another device: its rows and counts start anew.
static void line_name(struct irq_file *irqs, struct irq_line *line, const char *tail, size_t length) {
    length = length < IRQ_TAIL_MAX - 1 ? length : IRQ_TAIL_MAX - 1;
    if (line->name && strncmp(line->tail, tail, length) == 0 && line->tail[length] == '\0')
        return;
    for (size_t i = 0; i < line->n_rows; i++)
        table_builder_remove(irqs->builder, line->rows[i].slot);
    line->n_rows = 0;
    line->known = false;
    text_unref(line->irq);
    text_unref(line->name);
    memcpy(line->tail, tail, length);
    line->tail[length] = '\0';
    bool numbered = irqs->def == &system_interrupts_table;
    line->irq = numbered ? text_from(line->key) : NULL;
    line->name = numbered ? irq_name(line->key, line->tail) : text_from(line->key);
}

static void row_add(struct irq_file *irqs, struct irq_line *line, size_t at, size_t column, bool machine) {
    if (line->n_rows == line->rows_capacity) {
        line->rows_capacity = line->rows_capacity ? line->rows_capacity * 2 : 2;
        line->rows = xrealloc(line->rows, line->rows_capacity * sizeof *line->rows);
    }
    memmove(&line->rows[at + 1], &line->rows[at], (line->n_rows - at) * sizeof *line->rows);
    line->n_rows++;
    uint32_t slot = table_builder_add(irqs->builder);
    line->rows[at] = (struct irq_row){.slot = slot, .column = (uint16_t)column};
    uint16_t cell = 0;
    if (line->irq)
        table_builder_set_text(irqs->builder, slot, cell++, text_ref(line->irq));
    table_builder_set_text(irqs->builder, slot, cell++, text_ref(line->name));
    table_builder_set_num(irqs->builder, slot, cell, machine ? NAN : (double)irqs->cpus[column]);
}

// ERR and MIS are single numbers of the machine, also where there is but one CPU.
static bool irq_of_machine(const char *key) {
    return !strcmp(key, "ERR") || !strcmp(key, "MIS");
}

static void line_rows(struct irq_file *irqs, struct irq_line *line, const uint64_t *counts, size_t n, double seconds) {
    bool machine = irq_of_machine(line->key);
    uint16_t rate_cell = irqs->def->n_keys;
    size_t at = 0;
    for (size_t column = 0; column < n; column++) {
        uint64_t now = counts[column], before = line->counts[column];
        bool has_row = at < line->n_rows && line->rows[at].column == column;
        line->counts[column] = now;
        if (now == before && !has_row)
            continue;
        double rate = line->known ? counter_rate(before, now, seconds) : NAN;
        if (!has_row && !(rate > 0))
            continue;
        if (!has_row)
            row_add(irqs, line, at, column, machine);
        struct irq_row *row = &line->rows[at];
        row->quiet = rate > 0 ? 0 : row->quiet + 1;
        if (row->quiet > IRQ_QUIET_SAMPLES) {
            table_builder_remove(irqs->builder, row->slot);
            memmove(row, row + 1, (--line->n_rows - at) * sizeof *row);
            continue;
        }
        table_builder_set_num(irqs->builder, row->slot, rate_cell, rate);
        at++;
    }
    // Columns that the line no longer has (a truncated line) lose their rows.
    while (line->n_rows > at)
        table_builder_remove(irqs->builder, line->rows[--line->n_rows].slot);
    for (size_t column = n; column < irqs->n_columns; column++)
        line->counts[column] = PROC_MISSING;
    line->known = true;
}

static void line_parse(struct irq_file *irqs, const char *text, size_t length, uint64_t *counts, double seconds) {
    const char *key = text + strspn(text, " ");
    size_t key_length = strcspn(key, ": \n");
    if (key[key_length] != ':' || key_length == 0 || key_length >= IRQ_KEY_MAX)
        return;
    const char *at = key + key_length + 1;
    size_t n = proc_numbers(&at, counts, irqs->n_columns);
    struct irq_line *line = n ? line_find(irqs, key, key_length) : NULL;
    if (!line || line->seen)
        return;
    line->seen = true;
    at += strspn(at, " ");
    const char *end = text + length;
    line_name(irqs, line, at, at < end ? strnlen(at, (size_t)(end - at)) : 0);
    line_rows(irqs, line, counts, n, seconds);
}

static void irq_file_parse(struct irq_file *irqs, const struct proc_buffer *buffer, double seconds) {
    const char *end = buffer->bytes + buffer->length, *line = buffer->bytes;
    const char *next = proc_next_line(line, end);
    heading_parse(irqs, line, next ? (size_t)(next - line) : strlen(line));
    for (size_t i = 0; i < irqs->n_lines; i++)
        irqs->lines[i].seen = false;
    irqs->next = 0;
    uint64_t *counts = xmalloc((irqs->n_columns + 1) * sizeof *counts);
    for (line = next; line && irqs->n_columns; line = next) {
        next = proc_next_line(line, end);
        size_t length = (size_t)((next ? next : end) - line);
        length -= length && line[length - 1] == '\n';
        line_parse(irqs, line, length, counts, seconds);
    }
    free(counts);
    size_t kept = 0;
    for (size_t i = 0; i < irqs->n_lines; i++) {
        if (!irqs->lines[i].seen)
            line_clear(irqs, &irqs->lines[i]);
        else
            irqs->lines[kept++] = irqs->lines[i];
    }
    irqs->n_lines = kept;
}

uint64_t system_irq_wait_ns(uint64_t cost_ns) {
    uint64_t wait = cost_ns > IRQ_CHEAP_NS ? cost_ns * IRQ_SHARE : 0;
    return wait < IRQ_WAIT_MAX_NS ? wait : IRQ_WAIT_MAX_NS;
}

static void irq_file_sample(struct irq_file *irqs, struct system_sample *sample) {
    uint64_t now = sample->now();
    if (sample->all && now >= irqs->due_ns) {
        uint64_t begin = thread_cpu_ns();
        int error = proc_file_read(&irqs->file, sample->buffer);
        double seconds = system_elapsed(&irqs->last_ns, sample->now());
        irq_file_parse(irqs, sample->buffer, seconds);
        if (error < 0)
            irq_file_clear(irqs);
        irqs->cost_ns = thread_cpu_ns() - begin;
        irqs->due_ns = now + system_irq_wait_ns(irqs->cost_ns);
        if (error < 0) {
            char text[128];
            snprintf(text, sizeof text, "no %s: %s is not readable", irqs->def->name, irqs->file.path);
            section_note(sample->out, SEVERITY_INFO, irqs->def->name, text, "mount /proc");
        }
    }
    if (irqs->cost_ns > IRQ_CHEAP_NS) {
        char text[160];
        snprintf(text, sizeof text, "%s: read every %.1f s, since a reading takes %.0f ms of CPU time", irqs->def->name,
                 (double)system_irq_wait_ns(irqs->cost_ns) / 1e9, (double)irqs->cost_ns / 1e6);
        section_note(sample->out, SEVERITY_INFO, irqs->def->name, text, NULL);
    }
    section_table(sample->out, table_builder_seal(irqs->builder));
}

static void irqs_sample(void *state, struct system_sample *sample) {
    struct irqs *irqs = state;
    irq_file_sample(&irqs->interrupts, sample);
    irq_file_sample(&irqs->softirqs, sample);
}

const struct system_part system_irq_part = {
    .name = "irq",
    .create = irqs_create,
    .sample = irqs_sample,
    .destroy = irqs_destroy,
};
