#include "collectors/kernel/tracefs/event_text.h"

#include <event-parse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define TEXT_MAX 4096

struct event_format {
    struct text_formatter formatter; // first: the formatter's callbacks get its address
    atomic_uint references;
    pthread_mutex_t lock; // libtraceevent's handle is not for several threads
    struct tep_handle *tep;
    struct tep_event *event; // owned by the handle
    bool is_signal, is_print;
};

static struct event_format *of(const struct text_formatter *formatter) {
    return (struct event_format *)(uintptr_t)formatter;
}

static void hold(const struct text_formatter *formatter) {
    atomic_fetch_add_explicit(&of(formatter)->references, 1, memory_order_relaxed);
}

static void drop(const struct text_formatter *formatter) {
    event_format_unref(of(formatter));
}

// "sig=9 errno=0" with the signal's name: "sig=9 (SIGKILL) errno=0".
static const struct text *signal_text(const char *text, size_t length) {
    const char *number = length > 4 && !memcmp(text, "sig=", 4) ? text + 4 : NULL;
    size_t digits = number ? strspn(number, "0123456789") : 0;
    const char *name = digits && digits < 3 ? sigabbrev_np(atoi(number)) : NULL;
    if (!name)
        return text_new(text, length < TEXT_MAX ? length : TEXT_MAX);
    size_t head = 4 + digits;
    return text_printf("%.*s (SIG%s)%.*s", (int)head, text, name, (int)(length - head), number + digits);
}

static const struct text *make(const struct text_formatter *formatter, const void *blob, size_t size) {
    struct event_format *format = of(formatter);
    struct tep_record record = {.data = (void *)(uintptr_t)blob, .size = (int)size};
    struct trace_seq seq;
    pthread_mutex_lock(&format->lock);
    trace_seq_init(&seq);
    tep_print_event(format->tep, &seq, &record, "%s", TEP_PRINT_INFO);
    size_t length = seq.state == TRACE_SEQ__GOOD ? seq.len : 0;
    while (length && (seq.buffer[length - 1] == '\n' || seq.buffer[length - 1] == ' '))
        length--;
    const char *begin = seq.buffer;
    while (length && *begin == ' ')
        begin++, length--;
    // "tracing_mark_write: TEXT", or the address of that function.
    const char *colon = format->is_print ? memmem(begin, length, ": ", 2) : NULL;
    if (colon) {
        length -= (size_t)(colon + 2 - begin);
        begin = colon + 2;
    }
    const struct text *text =
        format->is_signal ? signal_text(begin, length) : text_new(begin, length < TEXT_MAX ? length : TEXT_MAX);
    trace_seq_destroy(&seq);
    pthread_mutex_unlock(&format->lock);
    return text;
}

struct event_format *event_format_new(const char *text, size_t length, const char *system) {
    struct tep_handle *tep = tep_alloc();
    if (!tep)
        return NULL;
    // If the print format cannot be parsed, libtraceevent prints the fields one by one.
    tep_parse_event(tep, text, length, system);
    struct tep_event *event = tep_get_first_event(tep);
    if (!event || event->id <= 0) {
        tep_free(tep);
        return NULL;
    }
    struct event_format *format = xcalloc(1, sizeof(*format));
    format->formatter = (struct text_formatter){.make = make, .hold = hold, .drop = drop};
    atomic_init(&format->references, 1);
    pthread_mutex_init(&format->lock, NULL);
    format->tep = tep;
    format->event = event;
    format->is_signal = !strcmp(system, "signal");
    format->is_print = !strcmp(system, "ftrace") && !strcmp(event->name, "print");
    return format;
}

void event_format_unref(struct event_format *format) {
    // Pairs with the decrements of other threads: their uses of the handle are over.
    if (!format || atomic_fetch_sub_explicit(&format->references, 1, memory_order_acq_rel) > 1)
        return;
    tep_free(format->tep);
    pthread_mutex_destroy(&format->lock);
    free(format);
}

uint16_t event_format_id(const struct event_format *format) {
    return (uint16_t)format->event->id;
}

const struct text *event_format_text(struct event_format *format, const uint8_t *record, uint32_t size) {
    return text_lazy(&format->formatter, record, size);
}

bool event_format_field(struct event_format *format, const uint8_t *record, uint32_t size, const char *name, char *out,
                        size_t out_size) {
    const struct tep_format_field *field = tep_find_any_field(format->event, name);
    if (!field || (uint32_t)field->offset + (uint32_t)field->size > size)
        return false;
    if (field->flags & TEP_FIELD_IS_STRING) {
        uint32_t at = (uint32_t)field->offset, length = (uint32_t)field->size;
        if (field->flags & TEP_FIELD_IS_DYNAMIC) {
            uint32_t where;
            memcpy(&where, record + at, 4);
            at = where & 0xffff;
            length = where >> 16;
        }
        if (at > size || length > size - at)
            return false;
        snprintf(out, out_size, "%.*s", (int)strnlen((const char *)record + at, length), (const char *)record + at);
        return true;
    }
    unsigned long long value;
    if (tep_read_number_field((struct tep_format_field *)(uintptr_t)field, record, &value))
        return false;
    if (!(field->flags & TEP_FIELD_IS_SIGNED))
        snprintf(out, out_size, "%llu", value);
    else if (field->size == 4)
        snprintf(out, out_size, "%d", (int32_t)value);
    else
        snprintf(out, out_size, "%lld", (long long)value);
    return true;
}
