#include "collectors/kernel/groups/group_field.h"

#include <errno.h>
#include <event-parse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/nearest.h"
#include "model/text.h"

#define NAMES_MAX 128

static bool is_own(struct group_field *field) {
    if (!strcmp(field->name, "cpu"))
        field->kind = GROUP_CPU;
    else if (!strcmp(field->name, "pid"))
        field->kind = GROUP_TID;
    else if (!strcmp(field->name, "comm"))
        field->kind = GROUP_COMM;
    else
        return false;
    return true;
}

// Not the user's: the address of a probe, and what ktop adds to one.
static bool is_hidden(const char *name) {
    return !strncmp(name, "__probe_", 8) || !strncmp(name, "ktop_", 5);
}

static void nearest(struct tep_event *event, const char *word, const char *full, char *why, size_t size) {
    const char *names[NAMES_MAX + 4] = {"cpu", "pid", "comm"};
    size_t n = 3;
    for (const struct tep_format_field *at = event->format.fields; at && n < NAMES_MAX; at = at->next)
        if (!is_hidden(at->name))
            names[n++] = at->name;
    const char *near = name_nearest(word, names);
    if (near)
        snprintf(why, size, "%.150s has no field %.60s: did you mean %s?", full, word, near);
    else
        snprintf(why, size, "%.150s has no field %.60s, but for example %s", full, word, n > 3 ? names[3] : "pid");
}

static int field_fill(struct group_field *field, struct tep_event *event, const char *full, bool wants_number,
                      char *why, size_t size) {
    const struct tep_format_field *found = tep_find_any_field(event, field->name);
    if (!found && !is_own(field)) {
        nearest(event, field->name, full, why, size);
        return -EINVAL;
    }
    if (found) {
        unsigned long array = TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_STRING;
        field->at = (struct format_field){
            .offset = (uint16_t)found->offset,
            .size = (uint16_t)found->size,
            .is_signed = found->flags & TEP_FIELD_IS_SIGNED,
            .is_dynamic = found->flags & TEP_FIELD_IS_DYNAMIC,
        };
        field->kind = field->at.is_dynamic ? GROUP_DYNAMIC : found->flags & array ? GROUP_STRING : GROUP_NUMBER;
        if (!(found->flags & TEP_FIELD_IS_STRING) && field->kind != GROUP_NUMBER) {
            snprintf(why, size, "field %.60s of %.150s is an array: expected a number or a string", field->name, full);
            return -EINVAL;
        }
        if (found->flags & TEP_FIELD_IS_RELATIVE) {
            snprintf(why, size, "field %.60s of %.150s has a relative location, which is not supported", field->name,
                     full);
            return -EINVAL;
        }
    }
    if (wants_number && field->kind != GROUP_NUMBER) {
        snprintf(why, size, "field %.60s of %.150s is not a number: it cannot be summed", field->name, full);
        return -EINVAL;
    }
    return 0;
}

int group_field_resolve(struct group_field *field, const char *format, size_t length, const char *label,
                        bool wants_number, char *why, size_t size) {
    struct tep_handle *tep = tep_alloc();
    int error = -EINVAL;
    if (tep)
        tep_parse_event(tep, format, length, "groups"); // the fields are valid even if the print format is not
    struct tep_event *event = tep ? tep_get_first_event(tep) : NULL;
    if (event)
        error = field_fill(field, event, label, wants_number, why, size);
    else
        snprintf(why, size, "the format of %s is malformed", label);
    tep_free(tep);
    return error;
}

static bool bytes_key(uint64_t words[GROUP_KEY_WORDS], const uint8_t *bytes, size_t most) {
    char string[GROUP_KEY_BYTES] = {0};
    size_t n = strnlen((const char *)bytes, most);
    memcpy(string, bytes, n < sizeof(string) ? n : sizeof(string));
    memcpy(words, string, sizeof(string));
    return true;
}

static uint64_t number_of(const struct group_field *field, const uint8_t *record) {
    uint64_t bits = format_u64(record, &field->at);
    return field->at.is_signed && field->at.size == 1 ? (uint64_t)(int64_t)(int8_t)bits : bits;
}

bool group_field_key(const struct group_field *field, const struct group_record *record,
                     uint64_t words[GROUP_KEY_WORDS]) {
    uint32_t where, end = (uint32_t)field->at.offset + field->at.size;
    memset(words, 0, GROUP_KEY_BYTES);
    if (field->kind == GROUP_CPU || field->kind >= GROUP_TID) {
        words[0] = field->kind == GROUP_CPU ? record->cpu : (uint64_t)record->tid;
        return true;
    }
    if (end > record->size)
        return false;
    if (field->kind == GROUP_NUMBER) {
        words[0] = number_of(field, record->data);
        return true;
    }
    if (field->kind == GROUP_STRING)
        return bytes_key(words, record->data + field->at.offset, field->at.size);
    memcpy(&where, record->data + field->at.offset, 4);
    uint32_t offset = where & 0xffff, length = where >> 16;
    return offset + length <= record->size && bytes_key(words, record->data + offset, length);
}

bool group_field_value(const struct group_field *field, const struct group_record *record, double *value) {
    if ((uint32_t)field->at.offset + field->at.size > record->size)
        return false;
    uint64_t bits = number_of(field, record->data);
    *value = field->at.is_signed ? (double)(int64_t)bits : (double)bits;
    return true;
}

const struct text *group_field_text(const struct group_field *field, const uint64_t words[GROUP_KEY_WORDS]) {
    if (field->kind == GROUP_STRING || field->kind == GROUP_DYNAMIC) {
        size_t n = strnlen((const char *)words, GROUP_KEY_BYTES);
        return n < GROUP_KEY_BYTES ? text_new((const char *)words, n)
                                   : text_printf("%.*s...", GROUP_KEY_BYTES, (const char *)words);
    }
    if (field->kind != GROUP_NUMBER || field->at.is_signed)
        return text_printf("%lld", (long long)words[0]);
    return text_printf("%llu", (unsigned long long)words[0]);
}
