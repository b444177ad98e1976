// libunwind's remote interface. Its own search of files and maps is never used: the function's FDE is known, and is
// served as a search table of one entry at an address that no process has.
#include "collectors/kernel/unwind/remote.h"

#include "collectors/kernel/unwind/walk.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define TABLE_ADDRESS 0xffffff0000000000ull
#define BUDGET 65536 // words that one step may read: an expression may loop

struct unwind_remote {
    unw_addr_space_t space;
    const struct unwind_file *file;
    const struct unwind_fde *fde;
    const struct unwind_copy *copy;
    const struct unwind_registers *registers;
    uint64_t bias, ip;
    unsigned budget;
    bool left, no_row;
};

#if defined(__aarch64__)
#define REG_PC UNW_AARCH64_PC // UNW_REG_IP is x30 there: after a step, the new address
#else
#define REG_PC UNW_REG_IP
#endif

// Exported by libunwind, absent from its headers; perf(1) relies on it as well.
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int, void *);

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *out, int need, void *context) {
    struct unwind_remote *r = context;
    unw_dyn_info_t info = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
    // Only the address of this step is asked for; another one is of a frame below, which is not stepped over here.
    if (ip != r->ip && ip + 1 != r->ip)
        return -UNW_ENOINFO;
    info.start_ip = r->bias + r->fde->start;
    info.end_ip = ip + 1;
    info.u.rti.segbase = r->bias + r->fde->fde;
    info.u.rti.table_data = TABLE_ADDRESS;
    info.u.rti.table_len = 1;
    int result = ip < info.start_ip ? -UNW_ENOINFO : search_unwind_table(space, ip, &info, out, need, context);
    r->no_row = result < 0;
    return result;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context) {
    (void)space, (void)info, (void)context;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *context) {
    (void)space, (void)address, (void)context;
    return -UNW_ENOINFO;
}

static bool read_file(const struct unwind_remote *r, uint64_t vaddr, uint64_t *value) {
    if (unwind_file_read(r->file, vaddr, value, sizeof(*value)))
        return true;
    *value = 0; // a word that the end of a segment cuts
    size_t size = 0;
    while (size < sizeof(*value) && unwind_file_read(r->file, vaddr + size, (uint8_t *)value + size, 1))
        size++;
    return size > 0;
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *context) {
    struct unwind_remote *r = context;
    const struct unwind_copy *copy = r->copy;
    uint64_t offset = address - copy->start;
    (void)space;
    if (write || !r->budget)
        return -UNW_EINVAL;
    r->budget--;
    if (address == TABLE_ADDRESS) {
        int64_t start = (int64_t)(r->fde->start - r->fde->fde);
        int32_t entry[2] = {(int32_t)start, 0};
        memcpy(value, entry, sizeof(*value));
        return start == entry[0] ? 0 : -UNW_EINVAL;
    }
    if (offset < copy->size && copy->size - offset >= sizeof(*value)) {
        memcpy(value, copy->bytes + offset, sizeof(*value));
        return 0;
    }
    if (read_file(r, address - r->bias, value))
        return 0;
    r->left |= address >= copy->start;
    return -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write, void *context) {
    struct unwind_remote *r = context;
    const struct unwind_registers *from = r->registers;
    (void)space;
    if (write)
        return -UNW_EREADONLYREG;
    if (reg == REG_PC)
        *value = r->ip;
    else if (reg == UNW_REG_SP)
        *value = from->sp;
#if defined(__x86_64__)
    else if (reg == UNW_X86_64_RBP)
        *value = from->fp;
    else if (reg == UNW_X86_64_RBX)
        *value = from->saved[0];
    else if (reg >= UNW_X86_64_R12 && reg <= UNW_X86_64_R15)
        *value = from->saved[1 + reg - UNW_X86_64_R12];
#elif defined(__aarch64__)
    else if (reg == UNW_AARCH64_X29)
        *value = from->fp;
    else if (reg == UNW_AARCH64_X30)
        *value = from->lr;
    else if (reg >= UNW_AARCH64_X19 && reg <= UNW_AARCH64_X28)
        *value = from->saved[reg - UNW_AARCH64_X19];
#endif
    else
        return -UNW_EBADREG;
    return 0;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write, void *context) {
    (void)space, (void)reg, (void)value, (void)write, (void)context;
    return -UNW_EINVAL;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context) {
    (void)space, (void)cursor, (void)context;
    return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size, unw_word_t *offset,
                         void *context) {
    (void)space, (void)address, (void)name, (void)size, (void)offset, (void)context;
    return -UNW_EINVAL;
}

struct unwind_remote *unwind_remote_new(bool cached) {
    static unw_accessors_t accessors = {
        .find_proc_info = find_proc_info,
        .put_unwind_info = put_unwind_info,
        .get_dyn_info_list_addr = get_dyn_info_list_addr,
        .access_mem = access_mem,
        .access_reg = access_reg,
        .access_fpreg = access_fpreg,
        .resume = resume,
        .get_proc_name = get_proc_name,
    };
    struct unwind_remote *remote = xcalloc(1, sizeof(*remote));
    remote->space = unw_create_addr_space(&accessors, 0);
    if (!remote->space) {
        free(remote);
        return NULL;
    }
    unw_set_caching_policy(remote->space, cached ? UNW_CACHE_GLOBAL : UNW_CACHE_NONE);
    return remote;
}

void unwind_remote_free(struct unwind_remote *remote) {
    if (!remote)
        return;
    unw_destroy_addr_space(remote->space);
    free(remote);
}

static void read_registers(unw_cursor_t *cursor, const struct unwind_registers *from, struct unwind_registers *to) {
    unw_word_t value;
    *to = *from; // a register without a rule keeps its value
    if (!unw_get_reg(cursor, UNW_REG_IP, &value))
        to->ip = unwind_code_address(value);
    if (!unw_get_reg(cursor, UNW_REG_SP, &value))
        to->sp = value;
#if defined(__x86_64__)
    if (!unw_get_reg(cursor, UNW_X86_64_RBP, &value))
        to->fp = value;
    if (!unw_get_reg(cursor, UNW_X86_64_RBX, &value))
        to->saved[0] = value;
    for (int i = 0; i < 4; i++)
        if (!unw_get_reg(cursor, UNW_X86_64_R12 + i, &value))
            to->saved[1 + i] = value;
#elif defined(__aarch64__)
    if (!unw_get_reg(cursor, UNW_AARCH64_X29, &value))
        to->fp = value;
    if (!unw_get_reg(cursor, UNW_AARCH64_X30, &value))
        to->lr = value;
    for (int i = 0; i < 10; i++)
        if (!unw_get_reg(cursor, UNW_AARCH64_X19 + i, &value))
            to->saved[i] = value;
#endif
}

enum remote_result unwind_remote_step(struct unwind_remote *remote, const struct unwind_file *file,
                                      const struct unwind_fde *fde, uint64_t bias, uint64_t ip,
                                      const struct unwind_copy *copy, const struct unwind_registers *from,
                                      struct unwind_registers *to) {
    unw_cursor_t cursor;
    *remote = (struct unwind_remote){remote->space, file, fde, copy, from, bias, ip, BUDGET, false, false};
    if (unw_init_remote(&cursor, remote->space, remote) < 0)
        return REMOTE_FAILED;
    int result = unw_step(&cursor);
    // Without a row libunwind guesses by frame pointer or by the bytes of a PLT entry, unchecked.
    if (remote->no_row)
        return REMOTE_FAILED;
    if (result < 0)
        return remote->left ? REMOTE_LEFT : REMOTE_FAILED;
    if (result == 0)
        return REMOTE_WHOLE;
    read_registers(&cursor, from, to);
    return REMOTE_OK;
}
