// Reading of kallsyms: "ffffffff81000000 T _stext" or "... t name\t[module]". The kernel's own symbols come in the
// order of their addresses, without sizes; modules and BPF programs follow in no order.
#include "collectors/kernel/symbols/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define CHUNK (256u << 10)
// Of the last function in a module or BPF program: what follows it is unknown.
#define FUNCTION_MAX (64u << 10)

struct reader {
    struct symbol_builder builder;
    uint32_t bounded; // drafts before this one have their limit
    bool any, visible;
};

static uint32_t rank_of(char type, const char *name, size_t length) {
    size_t underscores = 0;
    while (underscores < length && name[underscores] == '_')
        underscores++;
    uint32_t binding = type == 'T' ? 2 : type == 't' ? 0 : 1;
    return binding << 16 | (255 - (uint32_t)(underscores < 255 ? underscores : 255));
}

// The kernel's own drafts end at the next symbol, also one of data.
static void bound(struct reader *reader, uint64_t address) {
    struct symbol_builder *builder = &reader->builder;
    while (reader->bounded < builder->count && builder->drafts[reader->bounded].start < address)
        builder->drafts[reader->bounded++].limit = address;
}

static void read_line(struct reader *reader, const char *line, const char *end) {
    uint64_t address = 0;
    const char *at = line;
    for (; at < end && at - line < 16; at++) {
        int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : -1;
        if (digit < 0)
            break;
        address = address << 4 | (uint64_t)digit;
    }
    if (at == line || end - at < 4 || at[0] != ' ' || at[2] != ' ')
        return;
    char type = at[1];
    const char *name = at + 3, *tab = memchr(name, '\t', (size_t)(end - name));
    size_t length = (size_t)((tab ? tab : end) - name);
    reader->any = true;
    reader->visible |= address != 0;
    if (!address || !length || type == 'a' || type == 'A' || symbol_is_mapping(name, length))
        return;
    if (!tab)
        bound(reader, address);
    if (!strchr("tTwW", type))
        return;
    char object[64] = "[kernel]";
    if (tab) {
        size_t size = (size_t)(end - tab - 1);
        size = size < sizeof(object) - 1 ? size : sizeof(object) - 1;
        memcpy(object, tab + 1, size);
        object[size] = '\0';
        if (!strncmp(object, "[__builtin__", 12)) // ftrace's and kprobes' trampolines
            strcpy(object, "[kernel]");
    }
    struct symbol_draft draft = {.start = address, .rank = rank_of(type, name, length)};
    if (tab)
        draft.limit = address + FUNCTION_MAX;
    symbol_builder_add(&reader->builder, &draft, name, length, object);
    if (tab)
        reader->bounded = reader->builder.count;
}

int kallsyms_read(const char *path, struct symbol_table **out) {
    *out = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct reader reader = {0};
    char *chunk = xmalloc(CHUNK);
    size_t held = 0;
    ssize_t n;
    while ((n = read(fd, chunk + held, CHUNK - held)) > 0 || (n < 0 && errno == EINTR)) {
        held += n > 0 ? (size_t)n : 0;
        char *line = chunk, *end = chunk + held, *newline;
        while ((newline = memchr(line, '\n', (size_t)(end - line)))) {
            read_line(&reader, line, newline);
            line = newline + 1;
        }
        held = (size_t)(end - line);
        if (held == CHUNK) // no line is so long
            held = 0;
        memmove(chunk, line, held);
    }
    int error = n < 0 ? -errno : !reader.any ? -ENOENT : !reader.visible ? -EACCES : 0;
    free(chunk);
    close(fd);
    if (error) {
        symbol_builder_free(&reader.builder);
        return error;
    }
    *out = symbol_builder_finish(&reader.builder, OVERLAP_INNER);
    (*out)->kind = NAME_KERNEL;
    (*out)->named_objects = true;
    return 0;
}
