#include "collectors/events/exec_args.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/perf/ring.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

#define RING_PAGES 256 // 50 programs between two drains
#define RING_PAGES_LEAST 8
#define ENTRIES 4096 // a power of two
#define CHAIN_MAX 64
#define SAME_NS 20000000ull // at most between the times of one event in two clocks; the nearest one counts
#define TEXT_MAX 16384

#if defined(__x86_64__)
#define REG_SP PERF_REG_X86_SP
#elif defined(__aarch64__)
#define REG_SP PERF_REG_ARM64_SP
#endif

struct entry {
    int32_t tid;
    uint32_t next; // index + 1 of an older one of the same chain; may be of another chain when it was overwritten
    uint64_t ns;
    const struct text *text;
};
struct cpu_ring {
    int fd;
    struct perf_ring ring;
};
struct exec_args {
    uint16_t id;
    struct perf_cpus cpus;
    struct cpu_ring *rings; // by CPU
    struct entry entries[ENTRIES];
    uint32_t heads[ENTRIES]; // index + 1 of the newest one of a chain
    uint64_t n, lost;
};

// ---- the stack of a new program ----

struct out {
    char bytes[TEXT_MAX];
    size_t n;
};

static void put(struct out *out, const char *bytes, size_t length) {
    size_t room = sizeof(out->bytes) - out->n;
    memcpy(out->bytes + out->n, bytes, length < room ? length : room);
    out->n += length < room ? length : room;
}

static bool is_plain(const char *text, size_t length) {
    static const char special[] = " \t\n'\"\\$`&|;<>()*?[]{}~#!";
    for (size_t i = 0; i < length; i++)
        if (strchr(special, text[i]))
            return false;
    return length > 0;
}

static void put_quoted(struct out *out, const char *text, size_t length) {
    if (is_plain(text, length)) {
        put(out, text, length);
        return;
    }
    put(out, "'", 1);
    for (size_t i = 0; i < length; i++)
        put(out, text[i] == '\'' ? "'\\''" : text + i, text[i] == '\'' ? 4 : 1);
    put(out, "'", 1);
}

static uint64_t word_at(const uint8_t *at, unsigned word) {
    uint64_t v8;
    uint32_t v4;
    memcpy(&v8, at, word == 8 ? 8 : 4);
    memcpy(&v4, at, 4);
    return word == 8 ? v8 : v4;
}

const struct text *exec_args_text(const uint8_t *stack, size_t size, uint64_t sp, unsigned word, bool *is_whole) {
    *is_whole = false;
    if (size < 2 * word)
        return NULL;
    uint64_t argc = word_at(stack, word);
    struct out *out = xmalloc(sizeof(*out));
    out->n = 0;
    bool whole = true;
    for (uint64_t i = 0; i < argc && whole; i++) {
        uint64_t at = (i + 2) * word <= size ? word_at(stack + (i + 1) * word, word) - sp : size;
        whole = at < size;
        if (!whole)
            break;
        size_t length = strnlen((const char *)stack + at, size - at);
        whole = at + length < size && out->n + length < TEXT_MAX / 2;
        if (i)
            put(out, " ", 1);
        put_quoted(out, (const char *)stack + at, length);
    }
    const struct text *text = NULL;
    *is_whole = whole;
    if (!whole && out->n)
        put(out, " ...", 4);
    if (out->n)
        text = text_new(out->bytes, out->n);
    free(out);
    return text;
}

const struct text *exec_args_cmdline(const char *bytes, size_t size) {
    struct out *out = xmalloc(sizeof(*out));
    out->n = 0;
    for (size_t at = 0; at < size;) {
        size_t length = strnlen(bytes + at, size - at);
        bool cut = at + length == size || out->n + length >= TEXT_MAX / 2;
        if (at)
            put(out, " ", 1);
        put_quoted(out, bytes + at, length);
        if (cut)
            put(out, " ...", 4);
        at = cut ? size : at + length + 1;
    }
    const struct text *text = out->n ? text_new(out->bytes, out->n) : NULL;
    free(out);
    return text;
}

// mm->arg_start, field 48 of /proc/PID/stat.
static uint64_t arg_start(int32_t pid) {
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (format_file(path, line, sizeof(line)) <= 0)
        return 0;
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < 48; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

// NULL: the program ended, or another one runs now.
static const struct text *cmdline_read(int32_t pid, uint64_t first) {
    char path[64], bytes[TEXT_MAX];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    long size = format_file(path, bytes, sizeof(bytes));
    if (size == -EFBIG)
        size = sizeof(bytes) - 1;
    return size > 0 && arg_start(pid) == first ? exec_args_cmdline(bytes, (size_t)size) : NULL;
}

// ---- samples ----

static void entry_add(struct exec_args *args, int32_t tid, uint64_t ns, const struct text *take) {
    uint32_t at = (uint32_t)(args->n++ & (ENTRIES - 1)), *head = &args->heads[tid & (ENTRIES - 1)];
    struct entry *entry = &args->entries[at];
    text_unref(entry->text);
    *entry = (struct entry){.tid = tid, .next = *head == at + 1 ? 0 : *head, .ns = ns, .text = take};
    *head = at + 1;
}

const struct text *exec_args_find(const struct exec_args *args, int32_t tid, uint64_t ns) {
    uint32_t at = args->heads[tid & (ENTRIES - 1)];
    uint64_t nearest = SAME_NS;
    const struct text *text = NULL;
    for (int i = 0; at && i < CHAIN_MAX; i++, at = args->entries[at - 1].next) {
        const struct entry *entry = &args->entries[at - 1];
        uint64_t distance = ns > entry->ns ? ns - entry->ns : entry->ns - ns;
        if (entry->tid != tid || distance >= nearest)
            continue;
        nearest = distance;
        text = entry->text;
    }
    return text;
}

// PERF_SAMPLE_TID, TIME, REGS_USER with one register, STACK_USER.
static void sample(struct exec_args *args, const uint8_t *at, size_t size) {
    uint64_t words[4], length, dynamic = 0;
    int32_t ids[2];
    if (size < sizeof(ids) + 2 * 8)
        return;
    memcpy(ids, at, 8);
    memcpy(words, at + 8, 16); // time, ABI
    at += 24, size -= 24;
    if (words[1] == PERF_SAMPLE_REGS_ABI_NONE || size < 16)
        return;
    memcpy(words + 2, at, 16); // stack pointer, size of the stack
    length = words[3];
    at += 16, size -= 16;
    if (!length || length > size || size - length < 8)
        return;
    memcpy(&dynamic, at + length, 8);
    if (dynamic > length)
        return;
    unsigned word = words[1] == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8;
    bool whole;
    const struct text *text = exec_args_text(at, dynamic, words[2], word, &whole);
    if (!whole && dynamic >= 2 * word) {
        const struct text *read = cmdline_read(ids[0], word_at(at + word, word));
        text_unref(read ? text : NULL);
        text = read ? read : text;
    }
    if (text)
        entry_add(args, ids[1], words[0], text);
}

static bool record_take(void *context, const struct perf_event_header *header) {
    struct exec_args *args = context;
    const uint8_t *at = (const uint8_t *)(header + 1);
    if (header->type == PERF_RECORD_SAMPLE) {
        sample(args, at, header->size - sizeof(*header));
    } else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(*header) + 16) {
        uint64_t lost;
        memcpy(&lost, at + 8, 8);
        args->lost += lost;
    }
    return true;
}

// ---- opening ----

static void ring_close(void *context, int cpu) {
    struct cpu_ring *at = &((struct exec_args *)context)->rings[cpu];
    perf_ring_unmap(&at->ring);
    if (at->fd >= 0)
        close(at->fd);
    at->fd = -1;
}

static int ring_open(void *context, int cpu) {
    struct exec_args *args = context;
    struct cpu_ring *at = &args->rings[cpu];
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof(attr),
        .config = args->id,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_period = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .sample_regs_user = 1ull << REG_SP,
        .sample_stack_user = EXEC_STACK_BYTES,
        .wakeup_events = 1,
    };
    int rc = -EPERM;
    *at = (struct cpu_ring){.fd = perf_open_attr(&attr, -1, cpu, -1)};
    if (at->fd < 0)
        return at->fd;
    for (unsigned pages = RING_PAGES; pages >= RING_PAGES_LEAST && rc == -EPERM; pages /= 2)
        rc = perf_ring_map(&at->ring, at->fd, pages);
    rc = rc ? rc : perf_cpus_watch(&args->cpus, cpu, at->fd);
    if (rc)
        ring_close(args, cpu);
    return rc;
}

int exec_args_fd(const struct exec_args *args) {
    return args->cpus.poll_fd;
}

int exec_args_open(uint16_t id, struct exec_args **out) {
    static const struct perf_cpus_ops ops = {ring_open, ring_close};
    struct exec_args *args = xcalloc(1, sizeof(*args));
    args->id = id;
    perf_cpus_init(&args->cpus, &ops, args);
    args->rings = xcalloc((size_t)args->cpus.n, sizeof(*args->rings));
    for (int cpu = 0; cpu < args->cpus.n; cpu++)
        args->rings[cpu].fd = -1;
    int rc = perf_cpus_follow(&args->cpus);
    if (rc) {
        exec_args_close(args);
        args = NULL;
    }
    *out = args;
    return rc;
}

void exec_args_close(struct exec_args *args) {
    if (!args)
        return;
    perf_cpus_close(&args->cpus);
    for (int i = 0; i < ENTRIES; i++)
        text_unref(args->entries[i].text);
    free(args->rings);
    free(args);
}

void exec_args_drain(struct exec_args *args) {
    for (int cpu = 0; cpu < args->cpus.n; cpu++)
        if (args->rings[cpu].ring.page)
            perf_ring_drain(&args->rings[cpu].ring, record_take, args);
}

void exec_args_follow(struct exec_args *args) {
    perf_cpus_follow(&args->cpus);
}

uint64_t exec_args_lost(const struct exec_args *args) {
    return args->lost;
}
