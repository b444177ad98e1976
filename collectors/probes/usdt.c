// USDT notes; see the header. The note's numbers have the width of the file's class.
#include "collectors/probes/usdt.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define NOTES_MAX (1u << 20)
#define NAMES_MAX 512

struct note {
    uint64_t pc, base, semaphore;
    const char *provider, *name, *args;
};

static uint64_t word_at(const struct elf_file *file, const uint8_t *at) {
    uint64_t value = 0;
    size_t size = file->is64 ? 8 : 4;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)at[file->encoding == ELFDATA2LSB ? i : size - 1 - i] << (8 * i);
    return value;
}

static uint32_t u32_at(const struct elf_file *file, const uint8_t *at) {
    uint32_t value;
    memcpy(&value, at, 4);
    return file->encoding == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)
               ? value
               : __builtin_bswap32(value);
}

// The note at *at, which moves to the next one. False: no more. note->name NULL: of another kind.
static bool note_next(const struct elf_file *file, const uint8_t *bytes, size_t size, size_t *at, struct note *note) {
    *note = (struct note){.name = NULL};
    if (size < 12 || *at > size - 12)
        return false;
    uint32_t name_size = u32_at(file, bytes + *at), size_of = u32_at(file, bytes + *at + 4),
             type = u32_at(file, bytes + *at + 8);
    size_t name = *at + 12, left = size - name;
    if (name_size > left || (((size_t)name_size + 3) & ~(size_t)3) > left)
        return false;
    size_t body = name + (((size_t)name_size + 3) & ~(size_t)3);
    if (size_of > size - body)
        return false;
    size_t step = ((size_t)size_of + 3) & ~(size_t)3;
    *at = step > size - body ? size : body + step;
    size_t word = file->is64 ? 8 : 4;
    if (type != 3 || name_size != 8 || memcmp(bytes + name, "stapsdt", 8) || size_of < 3 * word + 3)
        return true;
    const char *texts[3], *text = (const char *)bytes + body + 3 * word, *end = (const char *)bytes + body + size_of;
    for (int i = 0; i < 3; i++) {
        const char *nul = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
        if (!nul)
            return true;
        texts[i] = text;
        text = nul + 1;
    }
    *note = (struct note){.pc = word_at(file, bytes + body),
                          .base = word_at(file, bytes + body + word),
                          .semaphore = word_at(file, bytes + body + 2 * word),
                          .provider = texts[0],
                          .name = texts[1],
                          .args = texts[2]};
    return true;
}

static void name_add(char **names, size_t *n, const struct note *note) {
    char text[256];
    snprintf(text, sizeof(text), "%s:%s", note->provider, note->name);
    for (size_t i = 0; i < *n; i++)
        if (!strcmp(names[i], text))
            return;
    if (*n < NAMES_MAX)
        names[(*n)++] = xstrdup(text);
}

size_t usdt_find(const struct elf_file *file, const char *wanted, struct usdt_site *sites, size_t most, char ***names) {
    size_t size = 0, at = 0, found = 0, n_names = 0, provider = strcspn(wanted, ":");
    const GElf_Shdr *section = elf_file_section(file, ".note.stapsdt"), *base = elf_file_section(file, ".stapsdt.base");
    uint8_t *bytes = section ? elf_file_section_bytes(file, section, NOTES_MAX, &size) : NULL;
    struct note note;
    char **list = names ? xcalloc(NAMES_MAX + 1, sizeof(*list)) : NULL;
    while (bytes && note_next(file, bytes, size, &at, &note)) {
        if (!note.name)
            continue;
        if (list)
            name_add(list, &n_names, &note);
        if (strlen(note.provider) != provider || memcmp(note.provider, wanted, provider) ||
            strcmp(note.name, wanted + provider + 1))
            continue;
        uint64_t moved = base ? base->sh_addr - note.base : 0; // prelink
        if (found++ < most) {
            struct usdt_site *site = &sites[found - 1];
            *site = (struct usdt_site){.address = note.pc + moved,
                                       .semaphore = note.semaphore ? note.semaphore + moved : 0};
            snprintf(site->args, sizeof(site->args), "%s", note.args);
        }
    }
    free(bytes);
    if (names)
        *names = list;
    return found;
}

void usdt_names_free(char **names) {
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

// ---- arguments ----

// Of x86-64: the kernel's name of the register that holds `name`, whatever part of it the compiler names.
static const char *register_x86(const char *name, size_t length) {
    static const char *const groups[][6] = {
        {"ax", "rax", "eax", "ax", "al", "ah"}, {"bx", "rbx", "ebx", "bx", "bl", "bh"},
        {"cx", "rcx", "ecx", "cx", "cl", "ch"}, {"dx", "rdx", "edx", "dx", "dl", "dh"},
        {"si", "rsi", "esi", "si", "sil", ""},  {"di", "rdi", "edi", "di", "dil", ""},
        {"bp", "rbp", "ebp", "bp", "bpl", ""},  {"sp", "rsp", "esp", "sp", "spl", ""},
    };
    static const char *const numbered[] = {"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        for (int k = 1; k < 6; k++)
            if (strlen(groups[i][k]) == length && !memcmp(groups[i][k], name, length))
                return k == 5 ? NULL : groups[i][0]; // the second byte of a register cannot be fetched
    for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
        size_t n = strlen(numbered[i]);
        if (length >= n && !memcmp(numbered[i], name, n) &&
            (length == n || (length == n + 1 && strchr("dwb", name[n]))))
            return numbered[i];
    }
    return NULL;
}

// "8(%rdi)", "%edi", "$5": into the kernel's fetch syntax. False: it has none.
static bool operand_x86(const char *op, size_t length, char *out, size_t size) {
    char *end;
    if (op[0] == '%') {
        const char *name = register_x86(op + 1, length - 1);
        return name && snprintf(out, size, "%%%s", name) > 0;
    }
    if (op[0] == '$')
        return snprintf(out, size, "\\%.*s", (int)length - 1, op + 1) > 0;
    long long offset = strtoll(op, &end, 0);
    size_t used = (size_t)(end - op);
    if (used >= length || *end != '(' || op[length - 1] != ')' || end[1] != '%' ||
        memchr(end, ',', length - used)) // an index, or relative to %rip
        return false;
    const char *name = register_x86(end + 2, length - used - 3);
    return name && snprintf(out, size, "%+lld(%%%s)", offset, name) > 0;
}

static bool operand_arm64(const char *op, size_t length, char *out, size_t size) {
    char name[8], closing;
    long long offset = 0;
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)length, op);
    if (op[0] == '[') {
        if (sscanf(text, "[%7[a-z0-9]%c", name, &closing) == 2 && closing == ']')
            return snprintf(out, size, "+0(%%%s)", name) > 0;
        if (sscanf(text, "[%7[a-z0-9], %lld%c", name, &offset, &closing) == 3 && closing == ']')
            return snprintf(out, size, "%+lld(%%%s)", offset, name) > 0;
        return false;
    }
    if (isdigit((unsigned char)op[0]) || op[0] == '-')
        return snprintf(out, size, "\\%.*s", (int)length, op) > 0;
    if (op[0] == 'w') // the lower half of x
        text[0] = 'x';
    return (text[0] == 'x' || !strcmp(text, "sp")) && snprintf(out, size, "%%%s", text) > 0;
}

size_t usdt_args(const char *note, uint16_t machine, char *out, size_t size) {
    size_t used = 0, left_out = 0;
    int number = 0;
    out[0] = '\0';
    while (*(note += strspn(note, " "))) {
        // "-4@8(%rdi)"; on arm64 an operand may have a blank: "8@[sp, 16]".
        size_t length = 0;
        for (int depth = 0; note[length] && (note[length] != ' ' || depth); length++)
            depth += (note[length] == '[') - (note[length] == ']');
        const char *at = memchr(note, '@', length);
        int width = atoi(note), bytes = width < 0 ? -width : width;
        char fetch[96];
        number++;
        bool good = at && at[-1] != 'f' && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
        size_t rest = good ? length - (size_t)(at + 1 - note) : 0;
        if (good && rest)
            good = machine == EM_AARCH64 ? operand_arm64(at + 1, rest, fetch, sizeof(fetch))
                                         : machine == EM_X86_64 && operand_x86(at + 1, rest, fetch, sizeof(fetch));
        if (good && rest && used + strlen(fetch) + 24 < size)
            used += (size_t)snprintf(out + used, size - used, "%sarg%d=%s:%c%d", used ? " " : "", number, fetch,
                                     width < 0 ? 's' : 'u', 8 * bytes);
        else
            left_out++;
        note += length;
    }
    return left_out;
}
