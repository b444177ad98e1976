// An event's fields as text, by libtraceevent and the kernel's own print format: "prev_comm=swapper/0 prev_pid=0 ...".
// Made only for rows that are drawn or written (model/text.h: text_lazy). A format lives as long as a text needs it.
#ifndef COLLECTORS_KERNEL_TRACEFS_EVENT_TEXT_H
#define COLLECTORS_KERNEL_TRACEFS_EVENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/text.h"

struct event_format;

// From the text of a format file. One reference for the caller. NULL: malformed.
struct event_format *event_format_new(const char *text, size_t length, const char *system);
void event_format_unref(struct event_format *format); // NULL is allowed
uint16_t event_format_id(const struct event_format *format);
// The text of a record, formatted when it is first read, in any thread.
const struct text *event_format_text(struct event_format *format, const uint8_t *record, uint32_t size);
// The text of one field of the record: numbers as signed or unsigned decimals, strings as they are. False: no such
// field, or the record is too short for it.
bool event_format_field(struct event_format *format, const uint8_t *record, uint32_t size, const char *field, char *out,
                        size_t out_size);

#endif
