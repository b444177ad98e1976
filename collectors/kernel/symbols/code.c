// Disassembly by capstone; see the header. Any bytes may come: what is no instruction is shown as such.
#include "collectors/kernel/symbols/code.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define TEXTS_MAX (4u << 20)

struct code *code_new(void) {
    struct code *code = xcalloc(1, sizeof(*code));
    code->texts = xcalloc(1, 4096);
    code->texts_capacity = 4096;
    code->texts_size = 1;
    return code;
}

void code_free(struct code *code) {
    if (!code)
        return;
    free(code->lines);
    free(code->texts);
    free(code);
}

uint32_t code_text(struct code *code, const char *text) {
    size_t size = strlen(text) + 1;
    if (size == 1 || size > TEXTS_MAX - code->texts_size)
        return 0;
    while (code->texts_size + size > code->texts_capacity) {
        code->texts_capacity *= 2;
        code->texts = xrealloc(code->texts, code->texts_capacity);
    }
    uint32_t at = code->texts_size;
    memcpy(code->texts + at, text, size);
    code->texts_size += (uint32_t)size;
    return at;
}

static void add_line(struct code *code, uint64_t offset, uint64_t address, const char *text) {
    if (code->n == code->capacity) {
        code->capacity = code->capacity ? code->capacity * 2 : 256;
        code->lines = xrealloc(code->lines, code->capacity * sizeof(*code->lines));
    }
    code->lines[code->n++] = (struct code_line){.offset = offset, .address = address, .text = code_text(code, text)};
}

static bool machine_open(uint16_t machine, csh *handle) {
    cs_arch arch = machine == EM_AARCH64 ? CS_ARCH_ARM64 : CS_ARCH_X86;
    cs_mode mode = machine == EM_X86_64 ? CS_MODE_64 : machine == EM_386 ? CS_MODE_32 : CS_MODE_LITTLE_ENDIAN;
    if (machine != EM_X86_64 && machine != EM_386 && machine != EM_AARCH64)
        return false;
    if (cs_open(arch, mode, handle) != CS_ERR_OK)
        return false;
    if (arch == CS_ARCH_X86)
        cs_option(*handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT); // as perf annotate and objdump
    return true;
}

// Whether the offset is near a sampled one, in `hot` from *at on. Offsets come in order.
static bool is_near(const struct code_bytes *bytes, size_t *at, uint64_t offset) {
    while (*at < bytes->n_hot && bytes->hot[*at] + CODE_AROUND < offset)
        ++*at;
    return *at < bytes->n_hot && bytes->hot[*at] < offset + CODE_AROUND;
}

bool code_disassemble(struct code *code, const struct code_bytes *bytes) {
    csh handle;
    if (!machine_open(bytes->machine, &handle)) {
        snprintf(code->note, sizeof(code->note), "no disassembler for ELF machine %u", bytes->machine);
        return false;
    }
    cs_insn *instruction = cs_malloc(handle);
    const uint8_t *at = bytes->bytes;
    size_t left = instruction ? bytes->size : 0, near = 0, step = bytes->machine == EM_AARCH64 ? 4 : 1;
    uint64_t address = bytes->address;
    bool whole = bytes->size <= CODE_WHOLE_BYTES;
    while (left && code->n < CODE_LINES_MAX) {
        char text[sizeof(instruction->mnemonic) + sizeof(instruction->op_str) + 2];
        uint64_t offset = bytes->offset + (address - bytes->address);
        if (cs_disasm_iter(handle, &at, &left, &address, instruction)) {
            const char *operands = instruction->op_str;
            snprintf(text, sizeof(text), *operands ? "%-7s %s" : "%s", instruction->mnemonic, operands);
        } else {
            size_t size = left < step ? left : step;
            snprintf(text, sizeof(text), "(bad)");
            at += size;
            left -= size;
            address += size;
        }
        if (whole || is_near(bytes, &near, offset))
            add_line(code, offset, offset - bytes->offset + bytes->address, text);
    }
    if (instruction)
        cs_free(instruction, 1);
    cs_close(&handle);
    if (!whole)
        snprintf(code->note, sizeof(code->note), "only the code around the sampled addresses: the function has %zu KiB",
                 bytes->size >> 10);
    return true;
}

// Jumps and calls of both machines; an address follows as the last operand, "0x401030" or "#0x401030".
bool code_target(const char *text, uint64_t *address) {
    static const char *const branches[] = {"j", "call", "loop", "b ", "b.", "bl ", "cb", "tb", "xbegin"};
    bool is_branch = false;
    for (size_t i = 0; i < sizeof(branches) / sizeof(*branches); i++)
        is_branch |= !strncmp(text, branches[i], strlen(branches[i]));
    const char *operand = strrchr(text, ' ');
    if (!is_branch || !operand)
        return false;
    operand += operand[1] == '#' ? 2 : 1;
    char *end;
    if (strncmp(operand, "0x", 2) != 0)
        return false;
    *address = strtoull(operand, &end, 16);
    return *end == '\0';
}
