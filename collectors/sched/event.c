// The formats of the scheduler's events; decoding itself is inline in the header.
#include "collectors/sched/event.h"

#include <errno.h>

const char *const sched_event_names[SCHED_KINDS] = {
    [SCHED_SWITCH] = "sched_switch", [SCHED_WAKEUP] = "sched_wakeup",        [SCHED_WAKEUP_NEW] = "sched_wakeup_new",
    [SCHED_WAKING] = "sched_waking", [SCHED_MIGRATE] = "sched_migrate_task",
};

enum { F_CURRENT, F_TID, F_PRIO, F_COMM, F_TARGET, F_ALL };                          // every event
enum { F_STATE = F_TARGET, F_NEXT = F_ALL, F_NEXT_PRIO, F_NEXT_COMM, F_SWITCH_ALL }; // a switch
_Static_assert(F_SWITCH_ALL == SCHED_FIELDS, "room for the fields of every kind");

size_t sched_event_fields(enum sched_kind kind, struct format_field fields[SCHED_FIELDS]) {
    static const struct format_field of_switch[F_SWITCH_ALL] = {
        [F_CURRENT] = {.name = "common_pid"},  [F_TID] = {.name = "prev_pid"},
        [F_PRIO] = {.name = "prev_prio"},      [F_COMM] = {.name = "prev_comm", .optional = true},
        [F_STATE] = {.name = "prev_state"},    [F_NEXT] = {.name = "next_pid"},
        [F_NEXT_PRIO] = {.name = "next_prio"}, [F_NEXT_COMM] = {.name = "next_comm", .optional = true},
    };
    static const struct format_field of_others[F_ALL] = {
        [F_CURRENT] = {.name = "common_pid"},          [F_TID] = {.name = "pid"},           [F_PRIO] = {.name = "prio"},
        [F_COMM] = {.name = "comm", .optional = true}, [F_TARGET] = {.name = "target_cpu"},
    };
    bool switches = kind == SCHED_SWITCH;
    memcpy(fields, switches ? of_switch : of_others, switches ? sizeof(of_switch) : sizeof(of_others));
    if (kind == SCHED_MIGRATE)
        fields[F_TARGET].name = "dest_cpu";
    return switches ? F_SWITCH_ALL : F_ALL;
}

// A name stored as an array; a dynamic one (6.18's sched_migrate_task) is not worth its cost.
static uint16_t comm_of(const struct format_field *field) {
    return field->size == SCHED_COMM && !field->is_dynamic ? field->offset : 0;
}

int sched_format_take(struct sched_formats *formats, enum sched_kind kind, const struct format_field *fields,
                      uint16_t id, const char **missing) {
    size_t n = kind == SCHED_SWITCH ? F_SWITCH_ALL : F_ALL;
    struct sched_layout *layout = &formats->kinds[kind];
    for (size_t i = 0; i < n; i++) {
        bool is_long = kind == SCHED_SWITCH && i == F_STATE && fields[i].size == 8;
        if (i == F_COMM || (kind == SCHED_SWITCH && i == F_NEXT_COMM) || fields[i].size == 4 || is_long)
            continue;
        if (missing)
            *missing = fields[i].name;
        return -EPROTO;
    }
    *layout = (struct sched_layout){
        .present = true,
        .id = id,
        .end = (uint16_t)format_end(fields, n),
        .current = fields[F_CURRENT].offset,
        .tid = fields[F_TID].offset,
        .prio = fields[F_PRIO].offset,
        .comm = comm_of(&fields[F_COMM]),
    };
    if (kind == SCHED_SWITCH) {
        layout->state = fields[F_STATE].offset;
        layout->next = fields[F_NEXT].offset;
        layout->next_prio = fields[F_NEXT_PRIO].offset;
        layout->next_comm = comm_of(&fields[F_NEXT_COMM]);
    } else {
        layout->target = fields[F_TARGET].offset;
    }
    return 0;
}

static bool is_like(const struct sched_layout *layout, const struct sched_layout *other) {
    return layout->present == other->present && layout->end == other->end && layout->current == other->current &&
           layout->tid == other->tid && layout->prio == other->prio && layout->state == other->state &&
           layout->target == other->target && layout->next == other->next && layout->next_prio == other->next_prio &&
           layout->comm == other->comm && layout->next_comm == other->next_comm;
}

int sched_formats_index(struct sched_formats *formats) {
    formats->usual = is_like(&formats->kinds[SCHED_SWITCH], &sched_usual_switch) &&
                     is_like(&formats->kinds[SCHED_WAKING], &sched_usual_waking);
    formats->low_id = UINT16_MAX;
    memset(formats->by_id, 0, sizeof(formats->by_id));
    for (int kind = 0; kind < SCHED_KINDS; kind++)
        if (formats->kinds[kind].present && formats->kinds[kind].id < formats->low_id)
            formats->low_id = formats->kinds[kind].id;
    for (int kind = 0; kind < SCHED_KINDS; kind++) {
        if (!formats->kinds[kind].present)
            continue;
        uint16_t at = (uint16_t)(formats->kinds[kind].id - formats->low_id);
        if (at >= sizeof(formats->by_id))
            return -ERANGE;
        formats->by_id[at] = (uint8_t)(kind + 1);
    }
    return 0;
}
