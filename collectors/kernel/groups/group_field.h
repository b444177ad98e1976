// A field of an event as a key or a value: its offset is resolved once from the format, an event costs loads.
#ifndef COLLECTORS_KERNEL_GROUPS_GROUP_FIELD_H
#define COLLECTORS_KERNEL_GROUPS_GROUP_FIELD_H

#include "collectors/kernel/groups/group_tally.h"
#include "collectors/kernel/tracefs/format.h"

enum group_field_kind { GROUP_NUMBER, GROUP_STRING, GROUP_DYNAMIC, GROUP_CPU, GROUP_TID, GROUP_COMM };

struct group_field {
    char name[64];
    enum group_field_kind kind;
    struct format_field at;
};

// One record, of which the field is read.
struct group_record {
    const uint8_t *data;
    uint32_t size, cpu;
    int32_t tid;
    uint64_t ts; // trace clock
};

// Resolves a field by its name in the text of a format file. `cpu`, `pid` (the thread ID) and `comm` are the record's
// own unless the event has such a field. label: the event in sentences. 0, or -EINVAL with a sentence.
int group_field_resolve(struct group_field *field, const char *format, size_t length, const char *label,
                        bool wants_number, char *why, size_t size);
// False: the record is too short. GROUP_COMM gives the thread ID: its name is looked up outside the event path.
bool group_field_key(const struct group_field *field, const struct group_record *record,
                     uint64_t words[GROUP_KEY_WORDS]);
bool group_field_value(const struct group_field *field, const struct group_record *record, double *value);
// The words of a key as a person reads them.
const struct text *group_field_text(const struct group_field *field, const uint64_t words[GROUP_KEY_WORDS]);

#endif
