// The collector "kmsg": errors that the kernel itself logs, from /dev/kmsg, from the start of ktop on. User space can
// write there, but never with facility 0, which is the kernel's.
// Kernel document: Documentation/ABI/testing/dev-kmsg.
#include "collectors/kmsg/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "model/columns.h"
#include "model/mem.h"

#define PATH "/dev/kmsg"
#define RECORD_BYTES 8192
#define RECORDS_MAX 500 // per sample
#define ROWS_MAX 16     // the first ones: what follows is often their consequence
#define LEVEL_ERR 3

enum { TIME, LEVEL, TEXT, COUNT, COLUMNS };

static const struct column columns[COLUMNS] = {
    [TIME] = NUMBER_COLUMN("time_s", "TIME", UNIT_S, 9, .help = "When it was logged, in seconds since boot."),
    [LEVEL] = TEXT_COLUMN("level", "LEVEL", 5, .help = "emerg, alert, crit or err."),
    [TEXT] = TEXT_COLUMN("text", "TEXT", 0, .help = "The message."),
    [COUNT] = {.name = "count",
               .title = "COUNT",
               .help = "How often this text was logged in this interval.",
               .unit = UNIT_COUNT,
               .merge = MERGE_SUM,
               .width = 5},
};

static const struct table_def errors_table = {
    .name = "kernel_errors",
    .help = "Errors that the kernel logged in this interval.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
    .rows = ROWS_OF_INTERVAL,
};

struct kmsg {
    int fd; // -1: not readable
    int error;
    struct table_builder *builder;
    char *bytes;
};

bool kmsg_parse(const char *bytes, size_t size, struct kmsg_record *out) {
    unsigned long long sequence, us;
    unsigned priority;
    const char *text = memchr(bytes, ';', size);
    char head[64];
    size_t length = text ? (size_t)(text - bytes) : 0;
    if (!length || length >= sizeof(head))
        return false;
    memcpy(head, bytes, length);
    head[length] = '\0';
    if (sscanf(head, "%u,%llu,%llu", &priority, &sequence, &us) != 3)
        return false;
    *out = (struct kmsg_record){.facility = priority >> 3, .level = priority & 7, .us = us};
    size_t n = 0;
    for (text++; text < bytes + size && *text != '\n' && n + 1 < sizeof(out->text); text++)
        out->text[n++] = *text >= ' ' && *text <= '~' ? *text : '?';
    return true;
}

static int kmsg_open(struct collector_run *run) {
    struct kmsg *kmsg = xcalloc(1, sizeof(*kmsg));
    run->state = kmsg;
    kmsg->builder = table_builder_new(&errors_table);
    kmsg->bytes = xmalloc(RECORD_BYTES);
    kmsg->fd = open(PATH, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    kmsg->error = kmsg->fd < 0 ? errno : 0;
    if (kmsg->fd >= 0)
        lseek(kmsg->fd, 0, SEEK_END);
    return 0;
}

static void record_add(struct kmsg *kmsg, uint32_t *slots, size_t *n, const struct kmsg_record *record) {
    static const char *const levels[] = {"emerg", "alert", "crit", "err"};
    for (size_t i = 0; i < *n; i++) {
        const union cell *row = table_builder_row(kmsg->builder, slots[i]);
        if (strcmp(text_bytes(row[TEXT].text), record->text) != 0)
            continue;
        table_builder_set_num(kmsg->builder, slots[i], COUNT, row[COUNT].num + 1);
        return;
    }
    if (*n == ROWS_MAX)
        return;
    uint32_t slot = slots[(*n)++] = table_builder_add(kmsg->builder);
    table_builder_set_num(kmsg->builder, slot, TIME, (double)record->us / 1e6);
    table_builder_set_text(kmsg->builder, slot, LEVEL, text_from(levels[record->level]));
    table_builder_set_text(kmsg->builder, slot, TEXT, text_from(record->text));
    table_builder_set_num(kmsg->builder, slot, COUNT, 1);
}

static int kmsg_sample(struct collector_run *run, struct section *out) {
    struct kmsg *kmsg = run->state;
    uint32_t slots[ROWS_MAX];
    size_t n = 0;
    uint64_t seen = 0;
    table_builder_clear(kmsg->builder);
    for (int i = 0; kmsg->fd >= 0 && i < RECORDS_MAX; i++) {
        struct kmsg_record record;
        ssize_t got = read(kmsg->fd, kmsg->bytes, RECORD_BYTES);
        if (got < 0 && errno == EPIPE) // overwritten before it was read: the next read goes on
            continue;
        if (got <= 0)
            break;
        seen++;
        if (kmsg_parse(kmsg->bytes, (size_t)got, &record) && !record.facility && record.level <= LEVEL_ERR)
            record_add(kmsg, slots, &n, &record);
    }
    section_table(out, table_builder_seal(kmsg->builder));
    section_events(out, seen, 0);
    section_set_state(out, SECTION_OK);
    if (kmsg->fd < 0) {
        char text[128];
        snprintf(text, sizeof(text), "errors of the kernel are unknown: " PATH " is not readable: %s",
                 strerror(kmsg->error));
        section_note(out, SEVERITY_INFO, "text", text, "run as root, or give ktop CAP_SYSLOG");
    }
    return 0;
}

static void kmsg_close(struct collector_run *run) {
    struct kmsg *kmsg = run->state;
    run->state = NULL;
    if (!kmsg)
        return;
    if (kmsg->fd >= 0)
        close(kmsg->fd);
    table_builder_free(kmsg->builder);
    free(kmsg->bytes);
    free(kmsg);
}

static const struct table_def *const tables[] = {&errors_table, NULL};

const struct collector collector_kmsg = {
    .name = "kmsg",
    .help = "errors in the kernel log: new records of /dev/kmsg.",
    .always = true,
    .tables = tables,
    .open = kmsg_open,
    .sample = kmsg_sample,
    .close = kmsg_close,
};
