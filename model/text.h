// Text: an immutable, reference-counted string, so that rows of many frames can share one name.
//
// The bytes come from the kernel and may be invalid UTF-8 or contain control characters: never print them raw, use
// views/escape.h. Any thread may hold, take and drop references.
#ifndef MODEL_TEXT_H
#define MODEL_TEXT_H

#include <stddef.h>

struct text;

// A new text of `len` bytes (copied), owned by the caller with one reference.
const struct text *text_new(const char *bytes, size_t len);
const struct text *text_from(const char *string);
const struct text *text_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

// A text that is formatted at the first read: the fields of an event, of which most are never drawn or written. The
// blob is copied. text_bytes, text_length and text_compare format it once, from any thread; references, NULL cells and
// table builders do not.
struct text_formatter {
    // A new text, owned by the caller. `blob` is aligned to 8 bytes.
    const struct text *(*make)(const struct text_formatter *self, const void *blob, size_t size);
    void (*hold)(const struct text_formatter *self); // per text until its end; NULL: the formatter is static
    void (*drop)(const struct text_formatter *self);
};
const struct text *text_lazy(const struct text_formatter *formatter, const void *blob, size_t size);

// Takes one more reference; NULL stays NULL. Returns its argument.
const struct text *text_ref(const struct text *text);
void text_unref(const struct text *text);

// Valid as long as the caller holds a reference; always ends in NUL. "" for NULL.
const char *text_bytes(const struct text *text);
size_t text_length(const struct text *text);
int text_compare(const struct text *a, const struct text *b);

#endif
