// Where members of the kernel's structures are, from its own type information (/sys/kernel/btf/vmlinux). Kernel
// document: Documentation/bpf/btf.rst.
#ifndef COLLECTORS_BTF_H
#define COLLECTORS_BTF_H

#include <stddef.h>
#include <stdint.h>

struct btf_wanted {
    const char *structure, *name;
    int32_t offset; // bytes; filled in; -1: there is no such member
};
// 0; -errno: the file cannot be read; -ENOENT: a member is missing.
int btf_members(const char *path, struct btf_wanted *members, size_t n);
// The same from the file's bytes. -EINVAL: malformed.
int btf_parse(const uint8_t *bytes, size_t size, struct btf_wanted *members, size_t n);

#endif
