// Decoding records (see the header). Each field is taken from a cursor that ends where the record does; strings must
// end within it.
#include "collectors/profile/record.h"

#include <linux/perf_event.h>
#include <string.h>

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif
#define RECORD_KSYMBOL_TYPE 17 // PERF_RECORD_KSYMBOL, Linux 5.1
#define KSYMBOL_UNREGISTER 1u  // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
#define LOST_SAMPLES_TYPE 13   // PERF_RECORD_LOST_SAMPLES, Linux 4.2
#ifndef PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
#define PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1 << 14) // Linux 4.17
#endif

// sample_id of the other records: pid and tid, time, cpu.
#define TRAILER 24
#define SAMPLE_TIME 24 // offset in a sample: header, ip, pid and tid

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static const void *take(struct cursor *cursor, size_t size) {
    static const uint64_t zero[4];
    if (cursor->bad || (size_t)(cursor->end - cursor->at) < size) {
        cursor->bad = true;
        return size <= sizeof zero ? zero : NULL;
    }
    const void *at = cursor->at;
    cursor->at += size;
    return at;
}

static uint64_t take_u64(struct cursor *cursor) {
    uint64_t value;
    memcpy(&value, take(cursor, sizeof value), sizeof value);
    return value;
}

static uint32_t take_u32(struct cursor *cursor) {
    uint32_t value;
    memcpy(&value, take(cursor, sizeof value), sizeof value);
    return value;
}

static const char *take_text(struct cursor *cursor) {
    const char *text = (const char *)cursor->at;
    if (cursor->bad || !memchr(text, '\0', (size_t)(cursor->end - cursor->at))) {
        cursor->bad = true;
        return "";
    }
    return text;
}

// n values of 64 bits; NULL: fewer are there.
static const uint64_t *take_words(struct cursor *cursor, uint64_t n) {
    if (n > (size_t)(cursor->end - cursor->at) / sizeof(uint64_t)) {
        cursor->bad = true;
        return NULL;
    }
    return take(cursor, n * sizeof(uint64_t));
}

static void user_regs_decode(const struct profile_format *format, struct cursor *cursor,
                             struct profile_sample *sample) {
    uint64_t abi = take_u64(cursor); // PERF_SAMPLE_REGS_ABI_NONE: a kernel thread has no registers
    const uint64_t *regs = abi ? take_words(cursor, format->n_user_regs) : NULL;
    sample->regs = abi == PERF_SAMPLE_REGS_ABI_64 ? regs : NULL;
    sample->n_regs = sample->regs ? format->n_user_regs : 0;
}

static void user_stack_decode(struct cursor *cursor, struct profile_sample *sample) {
    uint64_t size = take_u64(cursor);
    if (!size || cursor->bad)
        return;
    sample->stack = size <= UINT16_MAX ? take(cursor, size) : NULL;
    uint64_t valid = take_u64(cursor);
    cursor->bad |= !sample->stack || valid > size;
    sample->stack_size = valid;
}

// Of an event without data the kernel writes four bytes.
static void raw_decode(struct cursor *cursor, struct profile_sample *sample) {
    uint32_t size = take_u32(cursor);
    sample->raw = size <= UINT16_MAX ? take(cursor, size) : NULL;
    cursor->bad |= !sample->raw;
    sample->raw = cursor->bad || size <= sizeof(uint32_t) ? NULL : sample->raw;
    sample->raw_size = sample->raw ? size : 0;
}

static void sample_decode(const struct profile_format *format, const struct perf_event_header *header,
                          struct cursor *cursor, struct profile_record *out) {
    struct profile_sample *sample = &out->sample;
    unsigned mode = header->misc & PERF_RECORD_MISC_CPUMODE_MASK;
    *sample = (struct profile_sample){.kernel = mode == PERF_RECORD_MISC_KERNEL};
    sample->ip = take_u64(cursor);
    out->pid = (pid_t)take_u32(cursor);
    out->tid = (pid_t)take_u32(cursor);
    out->time = take_u64(cursor);
    sample->cpu = take_u32(cursor);
    take_u32(cursor); // reserved
    sample->period = format->period ? format->period : take_u64(cursor);
    sample->n_ips = take_u64(cursor);
    sample->ips = take_words(cursor, sample->n_ips);
    if (format->raw)
        raw_decode(cursor, sample);
    if (format->n_user_regs)
        user_regs_decode(format, cursor, sample);
    if (format->user_stack)
        user_stack_decode(cursor, sample);
}

static void mmap_decode(const struct perf_event_header *header, struct cursor *cursor, struct profile_record *out) {
    struct profile_mmap *map = &out->mmap;
    *map = (struct profile_mmap){0};
    out->pid = (pid_t)take_u32(cursor);
    out->tid = (pid_t)take_u32(cursor);
    map->start = take_u64(cursor);
    uint64_t length = take_u64(cursor);
    map->end = map->start + length;
    map->offset = take_u64(cursor);
    cursor->bad |= !length || map->end < map->start;
    if (header->type == PERF_RECORD_MMAP2) {
        const uint8_t *identity = take(cursor, 24);
        take(cursor, 8); // protection and flags
        if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
            map->build_id_size = identity[0] <= RECORD_BUILD_ID_MAX ? identity[0] : 0;
            memcpy(map->build_id, identity + 4, RECORD_BUILD_ID_MAX);
        } else {
            uint32_t device[2];
            memcpy(device, identity, sizeof device);
            map->device = (uint64_t)device[0] << 32 | device[1];
            memcpy(&map->inode, identity + 8, sizeof map->inode);
        }
    }
    map->path = take_text(cursor);
    if (header->misc & PERF_RECORD_MISC_MMAP_DATA)
        out->type = RECORD_OTHER;
}

static void ksymbol_decode(struct cursor *cursor, struct profile_record *out) {
    out->ksymbol.address = take_u64(cursor);
    out->ksymbol.size = take_u32(cursor);
    out->ksymbol.gone = take_u32(cursor) >> 16 & KSYMBOL_UNREGISTER;
    out->ksymbol.name = take_text(cursor);
}

// The thread is in the trailer: the event's own fields name the other one.
static void switch_decode(const struct perf_event_header *header, struct profile_record *out) {
    const uint8_t *trailer = (const uint8_t *)header + header->size - TRAILER;
    uint32_t ids[2];
    memcpy(ids, trailer, sizeof ids);
    memcpy(&out->change.cpu, trailer + 16, sizeof out->change.cpu);
    out->pid = (pid_t)ids[0];
    out->tid = (pid_t)ids[1];
    out->change.out = header->misc & PERF_RECORD_MISC_SWITCH_OUT;
    out->change.preempted = out->change.out && header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

static enum profile_record_type type_of(const struct perf_event_header *header) {
    switch (header->type) {
    case PERF_RECORD_SAMPLE:
        return RECORD_SAMPLE;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        return RECORD_MMAP;
    case PERF_RECORD_COMM:
        return header->misc & PERF_RECORD_MISC_COMM_EXEC ? RECORD_EXEC : RECORD_COMM;
    case PERF_RECORD_FORK:
        return RECORD_FORK;
    case PERF_RECORD_EXIT:
        return RECORD_EXIT;
    case RECORD_KSYMBOL_TYPE:
        return RECORD_KSYMBOL;
    case PERF_RECORD_LOST:
    case LOST_SAMPLES_TYPE:
        return RECORD_LOST;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        return RECORD_SWITCH;
    case PERF_RECORD_THROTTLE:
        return RECORD_THROTTLED;
    default:
        return RECORD_OTHER;
    }
}

uint64_t profile_record_time(const struct perf_event_header *header) {
    size_t at = header->type == PERF_RECORD_SAMPLE ? SAMPLE_TIME : header->size - (TRAILER - sizeof(uint64_t));
    uint64_t time;
    if (header->size < sizeof *header + TRAILER)
        return 0;
    memcpy(&time, (const uint8_t *)header + at, sizeof time);
    return time;
}

bool profile_record_decode(const struct profile_format *format, const struct perf_event_header *header,
                           struct profile_record *out) {
    const uint8_t *bytes = (const uint8_t *)header;
    bool sample = header->type == PERF_RECORD_SAMPLE;
    if (header->size < sizeof *header + TRAILER)
        return false;
    struct cursor cursor = {.at = bytes + sizeof *header, .end = bytes + header->size - (sample ? 0 : TRAILER)};
    out->type = type_of(header);
    out->time = profile_record_time(header);
    switch (out->type) {
    case RECORD_SAMPLE:
        sample_decode(format, header, &cursor, out);
        break;
    case RECORD_MMAP:
        mmap_decode(header, &cursor, out);
        break;
    case RECORD_COMM:
    case RECORD_EXEC:
        out->pid = (pid_t)take_u32(&cursor);
        out->tid = (pid_t)take_u32(&cursor);
        out->comm = take_text(&cursor);
        break;
    case RECORD_FORK:
    case RECORD_EXIT:
        out->pid = (pid_t)take_u32(&cursor);
        out->parent = (pid_t)take_u32(&cursor);
        out->tid = (pid_t)take_u32(&cursor);
        break;
    case RECORD_KSYMBOL:
        ksymbol_decode(&cursor, out);
        break;
    case RECORD_SWITCH:
        switch_decode(header, out);
        break;
    case RECORD_LOST:
        if (header->type == PERF_RECORD_LOST)
            take_u64(&cursor); // of which event
        out->lost = take_u64(&cursor);
        break;
    default:
        break;
    }
    return !cursor.bad;
}
