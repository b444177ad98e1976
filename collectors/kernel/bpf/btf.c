#include "collectors/kernel/bpf/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define BYTES_MAX (64u << 20)
#define DEPTH_MAX 8 // of anonymous parts
enum { STRUCT = 4, UNION };

// Of the data that follows a type.
static size_t extra_bytes(uint32_t kind, uint32_t n) {
    switch (kind) {
    case 1:  // INT
    case 14: // VAR
    case 17: // DECL_TAG
        return 4;
    case 3: // ARRAY
        return 12;
    case 4:  // STRUCT
    case 5:  // UNION
    case 15: // DATASEC
    case 19: // ENUM64
        return 12 * (size_t)n;
    case 6:  // ENUM
    case 13: // FUNC_PROTO
        return 8 * (size_t)n;
    default:
        return 0;
    }
}

struct types {
    const uint8_t **at; // by ID; 0 is void
    size_t n;
    const char *names;
    size_t names_size;
};

static const char *name_at(const struct types *types, uint32_t at) {
    return at < types->names_size ? types->names + at : "";
}

static struct btf_type type_at(const struct types *types, uint32_t id, uint32_t *kind, uint32_t *count) {
    struct btf_type type = {.name_off = 0};
    if (id < types->n && id)
        memcpy(&type, types->at[id], sizeof(type));
    *kind = type.info >> 24 & 0x1f;
    *count = type.info & 0xffff;
    return type;
}

// In bits, also of a member of an anonymous part; -1: there is none.
static int64_t member_find(const struct types *types, uint32_t id, const char *name, int depth) {
    uint32_t kind, count;
    const struct btf_type type = type_at(types, id, &kind, &count);
    if ((kind != STRUCT && kind != UNION) || depth > DEPTH_MAX)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        struct btf_member member;
        memcpy(&member, types->at[id] + sizeof(type) + i * sizeof(member), sizeof(member));
        uint32_t bits = type.info >> 31 ? member.offset & 0xffffff : member.offset;
        if (!strcmp(name_at(types, member.name_off), name))
            return bits;
        int64_t inside = member.name_off ? -1 : member_find(types, member.type, name, depth + 1);
        if (inside >= 0)
            return bits + inside;
    }
    return -1;
}

// False: the bytes end within a type.
static bool types_index(struct types *types, const uint8_t *at, const uint8_t *end) {
    size_t allocated = 0;
    types->n = 1;
    while ((size_t)(end - at) >= sizeof(struct btf_type)) {
        struct btf_type type;
        memcpy(&type, at, sizeof(type));
        size_t size = sizeof(type) + extra_bytes(type.info >> 24 & 0x1f, type.info & 0xffff);
        if (size > (size_t)(end - at))
            return false;
        if (types->n >= allocated) {
            allocated = allocated ? 2 * allocated : 65536;
            types->at = xrealloc(types->at, allocated * sizeof(*types->at));
        }
        types->at[types->n++] = at;
        at += size;
    }
    return true;
}

static int members_find(const struct types *types, struct btf_wanted *members, size_t n) {
    size_t found = 0;
    for (uint32_t id = 1; id < types->n && found < n; id++) {
        uint32_t kind, count;
        const struct btf_type type = type_at(types, id, &kind, &count);
        const char *name = kind == STRUCT ? name_at(types, type.name_off) : "";
        for (size_t i = 0; *name && i < n; i++) {
            int64_t bits = members[i].offset < 0 && !strcmp(name, members[i].structure)
                               ? member_find(types, id, members[i].name, 0)
                               : -1;
            if (bits >= 0)
                members[i].offset = (int32_t)(bits / 8), found++;
        }
    }
    return found == n ? 0 : -ENOENT;
}

int btf_parse(const uint8_t *bytes, size_t size, struct btf_wanted *members, size_t n) {
    struct btf_header header;
    for (size_t i = 0; i < n; i++)
        members[i].offset = -1;
    if (size < sizeof(header))
        return -EINVAL;
    memcpy(&header, bytes, sizeof(header));
    uint64_t begin = (uint64_t)header.hdr_len + header.type_off, names = (uint64_t)header.hdr_len + header.str_off;
    if (header.magic != BTF_MAGIC || begin + header.type_len > size || names + header.str_len > size ||
        !header.str_len || bytes[names + header.str_len - 1])
        return -EINVAL;
    struct types types = {.names = (const char *)bytes + names, .names_size = header.str_len};
    int rc = types_index(&types, bytes + begin, bytes + begin + header.type_len) ? members_find(&types, members, n)
                                                                                 : -EINVAL;
    free(types.at);
    return rc;
}

int btf_members(const char *path, struct btf_wanted *members, size_t n) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t size = 0, allocated = 8u << 20;
    uint8_t *bytes = xmalloc(allocated);
    ssize_t got;
    while ((got = read(fd, bytes + size, allocated - size)) > 0) {
        size += (size_t)got;
        if (size == allocated && allocated < BYTES_MAX)
            bytes = xrealloc(bytes, allocated *= 2);
    }
    int rc = got < 0 ? -errno : btf_parse(bytes, size, members, n);
    close(fd);
    free(bytes);
    return rc;
}
