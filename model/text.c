// Immutable reference-counted strings. The bytes are never interpreted; NUL is an ordinary byte.
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

// Follows a text of length LAZY. A separate block, so that the blob is aligned.
#define LAZY UINT32_MAX
struct lazy {
    const struct text_formatter *formatter;
    _Atomic(const struct text *) made; // NULL: not read yet
    size_t size;
    uint64_t blob[];
};

static struct lazy *text_lazy_part(const struct text *text) {
    struct lazy *lazy;
    memcpy(&lazy, text->bytes, sizeof lazy);
    return lazy;
}

// The text itself, or the result of its formatter. Acquire and release: its bytes are complete.
static const struct text *text_plain(const struct text *text) {
    if (text->length != LAZY)
        return text;
    struct lazy *lazy = text_lazy_part(text);
    const struct text *made = atomic_load_explicit(&lazy->made, memory_order_acquire), *none = NULL;
    if (made)
        return made;
    made = lazy->formatter->make(lazy->formatter, lazy->blob, lazy->size);
    if (atomic_compare_exchange_strong_explicit(&lazy->made, &none, made, memory_order_acq_rel, memory_order_acquire))
        return made;
    text_unref(made); // another thread was first
    return none;
}

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

const struct text *text_lazy(const struct text_formatter *formatter, const void *blob, size_t size) {
    struct lazy *lazy = mem_alloc(sizeof(*lazy) + size);
    struct text *text = text_alloc(sizeof lazy);
    lazy->formatter = formatter;
    lazy->size = size;
    if (size)
        memcpy(lazy->blob, blob, size);
    memcpy(text->bytes, &lazy, sizeof lazy);
    text->length = LAZY;
    if (formatter->hold)
        formatter->hold(formatter);
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
    // Release by all, acquire by the last: all reads are complete before the memory is freed.
    if (!text || atomic_fetch_sub_explicit(&((struct text *)text)->refs, 1, memory_order_acq_rel) != 1)
        return;
    size_t length = text->length;
    if (length == LAZY) {
        struct lazy *lazy = text_lazy_part(text);
        text_unref(atomic_load_explicit(&lazy->made, memory_order_acquire));
        if (lazy->formatter->drop)
            lazy->formatter->drop(lazy->formatter);
        mem_free(lazy, sizeof(*lazy) + lazy->size);
        length = sizeof lazy;
    }
    mem_free((struct text *)text, sizeof(*text) + length + 1);
}

const char *text_bytes(const struct text *text) {
    return text ? text_plain(text)->bytes : "";
}

size_t text_length(const struct text *text) {
    return text ? text_plain(text)->length : 0;
}

int text_compare(const struct text *a, const struct text *b) {
    if (a == b)
        return 0;
    size_t la = text_length(a), lb = text_length(b);
    int order = memcmp(text_bytes(a), text_bytes(b), la < lb ? la : lb);
    return order ? order : (la > lb) - (la < lb);
}
