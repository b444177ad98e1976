// Probes that perf_event_open(2) makes by itself through the PMUs uprobe and kprobe (4.17): gone with their descriptor,
// so that nothing is left in tracefs. The kernel wants the offset in the file: looked up in its symbol tables.
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/perf/event/private.h"
#include "model/mem.h"
#include "model/nearest.h"

// Where in the file the address of a symbol is.
static bool file_offset(Elf *elf, uint64_t address, uint64_t *offset) {
    size_t n = 0;
    elf_getphdrnum(elf, &n);
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz) {
            *offset = address - segment.p_vaddr + segment.p_offset;
            return true;
        }
    }
    return false;
}

struct symbols {
    const char **names; // of all functions, NULL-terminated; they live as long as the Elf
    size_t n, room;
};

static bool section_look(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *wanted, uint64_t *address,
                         struct symbols *all) {
    Elf_Data *data = elf_getdata(section, NULL);
    size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
    for (size_t i = 0; i < n; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || !symbol.st_value)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (!name)
            continue;
        if (!strcmp(name, wanted)) {
            *address = symbol.st_value;
            return true;
        }
        if (all->n + 2 > all->room) {
            all->room = all->room ? 2 * all->room : 512;
            all->names = xrealloc(all->names, all->room * sizeof *all->names);
        }
        all->names[all->n++] = name;
        all->names[all->n] = NULL;
    }
    return false;
}

static bool symbol_find(Elf *elf, const char *wanted, uint64_t *address, struct symbols *all) {
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
            section_look(elf, section, &header, wanted, address, all))
            return true;
    }
    return false;
}

static int symbol_offset(struct parse *parse, const char *file, const char *symbol, uint64_t *offset) {
    struct symbols all = {0};
    uint64_t address = 0;
    int error = 0, fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return parse_wrong(parse, "the uprobe's file '%s' cannot be opened: %s", file, strerror(errno));
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (!elf || elf_kind(elf) != ELF_K_ELF) {
        error = parse_wrong(parse, "the uprobe's file '%s' is not an ELF program or library", file);
    } else if (!symbol_find(elf, symbol, &address, &all)) {
        const char *nearest = all.n ? name_nearest(symbol, all.names) : NULL;
        error = parse_wrong(parse, "'%s' has no function '%s'%s%s%s", file, symbol, nearest ? ": did you mean " : "",
                            nearest ? nearest : ": stripped, or another name; an offset 0x... works as well",
                            nearest ? "?" : "");
    } else if (!file_offset(elf, address, offset)) {
        error = parse_wrong(parse, "the function '%s' of '%s' has no offset in the file", symbol, file);
    }
    free(all.names);
    elf_end(elf);
    close(fd);
    return error;
}

static int probe_add(struct parse *parse, const char *whole, const char *pmu_name, bool at_return, const char *target,
                     uint64_t offset) {
    struct pmus pmus;
    int error = 0;
    pmus_load(parse->roots, pmu_name, &pmus);
    if (!pmus.n) {
        error = parse_wrong(parse, "'%s': this kernel has no PMU '%s' (Linux 4.17 with CONFIG_%s_EVENTS has)", whole,
                            pmu_name, pmu_name[0] == 'k' ? "KPROBE" : "UPROBE");
    } else {
        pmu_details(parse->roots, &pmus.items[0]);
        const struct pmu_format *format = pmu_format_find(&pmus.items[0], "retprobe");
        struct perf_parsed_event *event =
            parse_add(parse, pmus.items[0].type, at_return ? format ? format->bits : 1 : 0, whole);
        event->target = xstrdup(target);
        event->attr.config1 = (uint64_t)(uintptr_t)event->target;
        event->attr.config2 = offset;
    }
    pmus_free(&pmus);
    return error;
}

// "SYMBOL", "SYMBOL+OFFSET" or "0xOFFSET", cut apart: *offset is what is added.
static int place_parse(struct parse *parse, char *place, uint64_t *offset) {
    char *plus = strchr(place, '+'), *number = plus ? plus + 1 : place, *end = number;
    *offset = 0;
    if (plus)
        *plus = '\0';
    else if (place[0] < '0' || place[0] > '9')
        return 0;
    errno = 0;
    *offset = strtoull(number, &end, 0);
    if (*end || end == number || errno)
        return parse_wrong(parse, "'%s' is not an offset: expected a number such as 0x40", number);
    if (!plus)
        *place = '\0';
    return 0;
}

int probe_event(struct parse *parse, const char *text, const char **modifiers) {
    static const struct {
        const char *prefix, *pmu;
        bool at_return;
    } kinds[] = {{"uprobe:", "uprobe", false},
                 {"uretprobe:", "uprobe", true},
                 {"kprobe:", "kprobe", false},
                 {"kretprobe:", "kprobe", true}};
    size_t kind = 0;
    while (kind < 4 && strncmp(text, kinds[kind].prefix, strlen(kinds[kind].prefix)) != 0)
        kind++;
    if (kind == 4)
        return 0;
    bool user = kinds[kind].pmu[0] == 'u';
    const char *rest = text + strlen(kinds[kind].prefix), *file_end = user ? strchr(rest, ':') : rest;
    if (!file_end || (user && (file_end == rest || !file_end[1])) || !*rest)
        return parse_wrong(parse, "'%s': expected %s", text,
                           user ? "uprobe:FILE:SYMBOL[+OFFSET]" : "kprobe:FUNCTION[+OFFSET]");
    char *file = user ? strndup(rest, (size_t)(file_end - rest)) : NULL;
    const char *begin = user ? file_end + 1 : rest;
    size_t length = strcspn(begin, ":");
    char *place = strndup(begin, length);
    *modifiers = begin[length] ? begin + length + 1 : "";
    uint64_t offset = 0, more = 0;
    int error = place_parse(parse, place, &more);
    if (!error && user && *place)
        error = symbol_offset(parse, file, place, &offset);
    if (!error)
        error = probe_add(parse, text, kinds[kind].pmu, kinds[kind].at_return, user ? file : place, offset + more);
    free(file);
    free(place);
    return error ? error : 1;
}
