// Immutable reference-counted strings. The bytes are never interpreted; NUL is a byte like others.
#include "model/text.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/mem.h"

struct text {
    atomic_uint refs;
    uint32_t length;
    char bytes[];
};

static struct text *text_alloc(size_t len) {
    if (len > UINT32_MAX - 64)
        len = UINT32_MAX - 64;
    struct text *text = mem_alloc(sizeof(*text) + len + 1);
    atomic_init(&text->refs, 1);
    text->length = (uint32_t)len;
    return text;
}

const struct text *text_new(const char *bytes, size_t len) {
    struct text *text = text_alloc(len);
    if (text->length)
        memcpy(text->bytes, bytes, text->length);
    return text;
}

const struct text *text_from(const char *string) {
    return text_new(string, strlen(string));
}

const struct text *text_printf(const char *format, ...) {
    char small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    struct text *text;
    if (length < 0) {
        text = text_alloc(0);
    } else {
        text = text_alloc((size_t)length);
        if ((size_t)length < sizeof(small))
            memcpy(text->bytes, small, (size_t)length);
        else
            vsnprintf(text->bytes, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}

const struct text *text_ref(const struct text *text) {
    // Relaxed: the caller already holds a reference.
    if (text)
        atomic_fetch_add_explicit(&((struct text *)text)->refs, 1, memory_order_relaxed);
    return text;
}

void text_unref(const struct text *text) {
    // Release: this thread's reads are done; acquire by the last thread, which frees.
    if (text && atomic_fetch_sub_explicit(&((struct text *)text)->refs, 1, memory_order_acq_rel) == 1)
        mem_free((struct text *)text, sizeof(*text) + text->length + 1);
}

const char *text_bytes(const struct text *text) {
    return text ? text->bytes : "";
}

size_t text_length(const struct text *text) {
    return text ? text->length : 0;
}

int text_compare(const struct text *a, const struct text *b) {
    if (a == b)
        return 0;
    size_t la = text_length(a), lb = text_length(b);
    int order = memcmp(text_bytes(a), text_bytes(b), la < lb ? la : lb);
    return order ? order : (la > lb) - (la < lb);
}
