// CIE and FDE parsing, and the CFA interpreter. Bytes come from files of other users: each read is bounded by the
// record, and each loop consumes bytes.
#include "collectors/kernel/unwind/cfi.h"

#include <string.h>

#define PE_OMIT 0xff
#define REMEMBERED_MAX 8
#if !defined(UNWIND_ARM64)
#define DW_BREG_SP 0x77 // DW_OP_breg7
#else
#define DW_BREG_SP 0x8f // DW_OP_breg31
#endif

struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t take(struct cursor *c, size_t size) {
    uint64_t value = 0;
    if ((size_t)(c->end - c->at) < size) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, size); // both architectures are little-endian
    c->at += size;
    return value;
}

static uint64_t uleb(struct cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = true;
    return value;
}

static int64_t sleb(struct cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end;) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift < 64)
                value |= ~0ull << shift;
            return (int64_t)value;
        }
    }
    c->bad = true;
    return 0;
}

static bool skip(struct cursor *c, uint64_t size) {
    if (size > (size_t)(c->end - c->at)) {
        c->bad = true;
        c->at = c->end;
        return false;
    }
    c->at += size;
    return true;
}

bool cfi_pointer(const uint8_t **at, const uint8_t *end, uint64_t vaddr_of_at, uint64_t header, uint8_t encoding,
                 uint64_t *out) {
    struct cursor c = {*at, end, false};
    uint64_t value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = take(&c, 8);
        break;
    case 0x01:
        value = uleb(&c);
        break;
    case 0x09:
        value = (uint64_t)sleb(&c);
        break;
    case 0x02:
        value = take(&c, 2);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)take(&c, 2);
        break;
    case 0x03:
        value = take(&c, 4);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)take(&c, 4);
        break;
    default:
        return false;
    }
    switch (encoding & 0x70) {
    case 0x00:
        break;
    case 0x10:
        value += vaddr_of_at;
        break;
    case 0x30:
        value += header;
        break;
    default:
        return false;
    }
    *at = c.at;
    *out = value;
    return !c.bad && !(encoding & 0x80);
}

// Opens a record: its length and the word after it. *id_vaddr: the address of that word.
static bool record_open(struct cfi_bytes record, struct cursor *c, uint64_t *id, uint64_t *id_vaddr) {
    *c = (struct cursor){record.bytes, record.bytes + record.size, false};
    uint64_t length = take(c, 4);
    if (length == 0xffffffff)
        length = take(c, 8);
    if (c->bad || length < 4 || length > (size_t)(c->end - c->at))
        return false;
    c->end = c->at + length;
    *id_vaddr = record.vaddr + (uint64_t)(c->at - record.bytes);
    *id = take(c, 4); // 4 bytes in .eh_frame, also in records with a 64-bit length
    return !c->bad;
}

static bool parse_augmentation(struct cursor *c, struct cfi_bytes record, uint64_t header, const char *letters,
                               struct cfi_cie *out) {
    uint64_t size = uleb(c), ignored;
    if (c->bad || size > (size_t)(c->end - c->at))
        return false;
    const uint8_t *data_end = c->at + size;
    out->augmented = true;
    for (const char *letter = letters + 1; *letter; letter++) {
        if (*letter == 'R') {
            out->encoding = (uint8_t)take(c, 1);
        } else if (*letter == 'L') {
            take(c, 1);
        } else if (*letter == 'P') {
            uint8_t encoding = (uint8_t)take(c, 1);
            // The personality itself is not needed: an indirect one is stepped over as a pointer.
            if (encoding != PE_OMIT && !cfi_pointer(&c->at, c->end, record.vaddr + (uint64_t)(c->at - record.bytes),
                                                    header, encoding & 0x7f, &ignored))
                return false;
        } else if (*letter == 'S') {
            out->signal = true;
        } else if (*letter == 'B') {
            out->b_key = true;
        } else if (*letter != 'G') {
            break; // of an unknown letter only the size is known: the rest is skipped
        }
    }
    c->at = data_end;
    return !c->bad;
}

enum cfi_result cfi_parse_cie(struct cfi_bytes record, uint64_t header, struct cfi_cie *out) {
    struct cursor c;
    uint64_t id, id_vaddr;
    *out = (struct cfi_cie){0};
    if (!record_open(record, &c, &id, &id_vaddr) || id != 0)
        return CFI_BAD;
    uint8_t version = (uint8_t)take(&c, 1);
    if (version != 1 && version != 3 && version != 4)
        return CFI_BAD;
    const char *letters = (const char *)c.at;
    const uint8_t *nul = memchr(c.at, 0, (size_t)(c.end - c.at));
    if (!nul)
        return CFI_BAD;
    c.at = nul + 1;
    if (version == 4 && take(&c, 2) != 8) // address size 8, segment size 0
        return CFI_BAD;
    out->code_align = uleb(&c);
    out->data_align = sleb(&c);
    out->return_register = version == 1 ? take(&c, 1) : uleb(&c);
    if (*letters == 'z') {
        if (!parse_augmentation(&c, record, header, letters, out))
            return CFI_BAD;
    } else if (*letters) {
        return CFI_BAD;
    }
    out->program = (struct cfi_bytes){c.at, (size_t)(c.end - c.at), record.vaddr + (uint64_t)(c.at - record.bytes)};
    return c.bad ? CFI_BAD : CFI_OK;
}

bool cfi_fde_cie(struct cfi_bytes record, uint64_t *cie) {
    struct cursor c;
    uint64_t id, id_vaddr;
    if (!record_open(record, &c, &id, &id_vaddr) || id == 0)
        return false;
    *cie = id_vaddr - id;
    return true;
}

enum cfi_result cfi_parse_fde(struct cfi_bytes record, uint64_t header, const struct cfi_cie *cie,
                              struct cfi_fde *out) {
    struct cursor c;
    uint64_t id, id_vaddr, length;
    if (!record_open(record, &c, &id, &id_vaddr) || id == 0)
        return CFI_BAD;
    out->cie = id_vaddr - id;
    if (!cfi_pointer(&c.at, c.end, record.vaddr + (uint64_t)(c.at - record.bytes), header, cie->encoding,
                     &out->start) ||
        !cfi_pointer(&c.at, c.end, 0, header, cie->encoding & 0x0f, &length))
        return CFI_BAD;
    out->end = out->start + length;
    if (cie->augmented)
        skip(&c, uleb(&c));
    out->program = (struct cfi_bytes){c.at, (size_t)(c.end - c.at), record.vaddr + (uint64_t)(c.at - record.bytes)};
    return c.bad || out->end < out->start ? CFI_BAD : CFI_OK;
}

// ---- the program ----
enum { REG_SP = 100, REG_NONE };
// Slot of a DWARF register number.
static int slot_of(uint64_t reg, uint64_t return_register) {
    if (reg == return_register)
        return CFI_RA;
#if !defined(UNWIND_ARM64)
    if (reg == 6)
        return CFI_FP;
    if (reg == 7)
        return REG_SP;
    if (reg == 3)
        return 0;
    if (reg >= 12 && reg <= 15)
        return (int)reg - 11;
#else
    if (reg == 29)
        return CFI_FP;
    if (reg == 31)
        return REG_SP;
    if (reg >= 19 && reg <= 28)
        return (int)reg - 19;
#endif
    return REG_NONE;
}

struct state {
    uint8_t where[CFI_SLOTS];
    int64_t offset[CFI_SLOTS];
    int cfa_slot; // a slot, REG_SP, or REG_NONE: `special`
    int64_t cfa_offset;
    uint8_t special; // enum cfi_cfa of an expression, CFA_NONE: not understood
};
#define WHERE_COMPLEX 0xff

struct machine {
    const struct cfi_cie *cie;
    struct state now, initial, remembered[REMEMBERED_MAX];
    unsigned depth;
    uint64_t location, target;
    bool passed; // a row above the target was reached
};

// An offset in units of the data alignment; hostile ones wrap.
static int64_t factor(const struct machine *m, uint64_t value) {
    return (int64_t)(value * (uint64_t)m->cie->data_align);
}

static void set_register(struct machine *m, uint64_t reg, uint8_t where, int64_t offset) {
    int slot = slot_of(reg, m->cie->return_register);
    if (slot < CFI_SLOTS) {
        m->now.where[slot] = where;
        m->now.offset[slot] = offset;
    }
}

static void restore_register(struct machine *m, uint64_t reg) {
    int slot = slot_of(reg, m->cie->return_register);
    if (slot < CFI_SLOTS) {
        m->now.where[slot] = m->initial.where[slot];
        m->now.offset[slot] = m->initial.offset[slot];
    }
}

// The expressions that nearly all files limit themselves to.
static void cfa_expression(struct machine *m, struct cursor *c) {
    uint64_t size = uleb(c);
    const uint8_t *start = c->at;
    m->now.cfa_slot = REG_NONE;
    m->now.special = CFA_NONE;
    if (!skip(c, size))
        return;
    struct cursor e = {start, c->at, false};
    // DW_OP_breg7 8, breg16 0, lit15, and, lit10|lit11, ge, lit3, shl, plus
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a};
    static const uint8_t plt_end[] = {0x2a, 0x33, 0x24, 0x22};
    if (size == 11 && !memcmp(start, plt, sizeof(plt)) && start[6] >= 0x30 && start[6] < 0x40 &&
        !memcmp(start + 7, plt_end, sizeof(plt_end))) {
        m->now.special = CFA_PLT;
        m->now.cfa_offset = start[6] - 0x30;
        return;
    }
    if (take(&e, 1) != DW_BREG_SP)
        return;
    int64_t offset = sleb(&e);
    if (e.bad || e.end - e.at != 1 || *e.at != 0x06) // DW_OP_deref
        return;
    m->now.special = CFA_DEREF;
    m->now.cfa_offset = offset;
}

static void register_expression(struct machine *m, struct cursor *c, uint64_t reg) {
    uint64_t size = uleb(c);
    struct cursor e = {c->at, c->at, false};
    if (!skip(c, size))
        return;
    e.end = c->at;
    bool from_sp = take(&e, 1) == DW_BREG_SP;
    int64_t offset = sleb(&e);
    if (from_sp && !e.bad && e.at == e.end)
        set_register(m, reg, WHERE_SP, offset);
    else
        set_register(m, reg, WHERE_COMPLEX, 0);
}

static void advance(struct machine *m, uint64_t delta) {
    uint64_t step;
    if (__builtin_mul_overflow(delta, m->cie->code_align, &step) ||
        __builtin_add_overflow(m->location, step, &m->location) || m->location > m->target)
        m->passed = true;
}

static void define_cfa(struct machine *m, struct cursor *c, bool factored) {
    m->now.cfa_slot = slot_of(uleb(c), ~0ull);
    m->now.cfa_offset = factored ? factor(m, (uint64_t)sleb(c)) : (int64_t)uleb(c);
}

// Operations on the location, the CFA and the stack of states. False: another operation, or malformed.
static bool on_row(struct machine *m, struct cursor *c, uint8_t op) {
    switch (op) {
    case 0x00: // nop
        return true;
    case 0x01: { // set_loc
        uint64_t to;
        if (!cfi_pointer(&c->at, c->end, m->cie->program.vaddr, 0, m->cie->encoding & 0x0f, &to) ||
            (m->cie->encoding & 0x70)) // relative: no compiler writes it
            return false;
        m->location = to;
        m->passed = to > m->target;
        return true;
    }
    case 0x02: // advance_loc1, 2, 4
    case 0x03:
    case 0x04:
        advance(m, take(c, (size_t)1 << (op - 2)));
        return true;
    case 0x0a: // remember_state
        if (m->depth == REMEMBERED_MAX)
            return false;
        m->remembered[m->depth++] = m->now;
        return true;
    case 0x0b: // restore_state
        if (!m->depth)
            return false;
        m->now = m->remembered[--m->depth];
        return true;
    case 0x0c: // def_cfa
    case 0x12: // def_cfa_sf
        define_cfa(m, c, op == 0x12);
        return true;
    case 0x0d: // def_cfa_register
        m->now.cfa_slot = slot_of(uleb(c), ~0ull);
        return true;
    case 0x0e: // def_cfa_offset
        m->now.cfa_offset = (int64_t)uleb(c);
        return true;
    case 0x13: // def_cfa_offset_sf
        m->now.cfa_offset = factor(m, (uint64_t)sleb(c));
        return true;
    case 0x0f: // def_cfa_expression
        cfa_expression(m, c);
        return true;
    case 0x2d: // GNU_window_save; arm64: negate_ra_state
        return true;
    case 0x2e: // GNU_args_size
        uleb(c);
        return true;
    default:
        return false;
    }
}

// Operations on one register, whose number follows. False: unknown.
static bool on_register(struct machine *m, struct cursor *c, uint8_t op) {
    uint64_t reg = uleb(c);
    switch (op) {
    case 0x05: // offset_extended
        set_register(m, reg, WHERE_CFA, factor(m, uleb(c)));
        return true;
    case 0x11: // offset_extended_sf
        set_register(m, reg, WHERE_CFA, factor(m, (uint64_t)sleb(c)));
        return true;
    case 0x2f: // GNU_negative_offset_extended
        set_register(m, reg, WHERE_CFA, factor(m, -uleb(c)));
        return true;
    case 0x06: // restore_extended
        restore_register(m, reg);
        return true;
    case 0x07: // undefined
        set_register(m, reg, WHERE_UNDEFINED, 0);
        return true;
    case 0x08: // same_value
        set_register(m, reg, WHERE_SAME, 0);
        return true;
    case 0x10: // expression
        register_expression(m, c, reg);
        return true;
    case 0x09: // register
    case 0x14: // val_offset
    case 0x15: // val_offset_sf
        uleb(c);
        set_register(m, reg, WHERE_COMPLEX, 0);
        return true;
    case 0x16: // val_expression
        skip(c, uleb(c));
        set_register(m, reg, WHERE_COMPLEX, 0);
        return true;
    default:
        return false;
    }
}

static bool is_of_register(uint8_t op) {
    return (op >= 0x05 && op <= 0x09) || op == 0x10 || op == 0x11 || (op >= 0x14 && op <= 0x16) || op == 0x2f;
}

static bool run(struct machine *m, struct cfi_bytes program) {
    struct cursor c = {program.bytes, program.bytes + program.size, false};
    while (c.at < c.end && !c.bad && !m->passed) {
        uint8_t op = *c.at++;
        if (op >> 6 == 1)
            advance(m, op & 0x3f);
        else if (op >> 6 == 2)
            set_register(m, op & 0x3f, WHERE_CFA, factor(m, uleb(&c)));
        else if (op >> 6 == 3)
            restore_register(m, op & 0x3f);
        else if (!(is_of_register(op) ? on_register(m, &c, op) : on_row(m, &c, op)))
            return false;
    }
    return !c.bad;
}

static enum cfi_result make_rule(const struct state *s, const struct cfi_cie *cie, struct cfi_rule *out) {
    *out = (struct cfi_rule){.signal = cie->signal, .cfa_offset = (int32_t)s->cfa_offset};
    if (s->cfa_offset != out->cfa_offset)
        return CFI_COMPLEX;
    if (s->cfa_slot == REG_SP)
        out->cfa = CFA_SP;
    else if (s->cfa_slot == CFI_FP)
        out->cfa = CFA_FP;
    else if (s->cfa_slot < UNWIND_SAVED)
        out->cfa = CFA_SAVED, out->cfa_slot = (uint8_t)s->cfa_slot;
    else if (s->special != CFA_NONE)
        out->cfa = s->special;
    else
        return CFI_COMPLEX;
    for (int i = 0; i < CFI_SLOTS; i++) {
        out->where[i] = s->where[i];
        out->offset[i] = (int16_t)s->offset[i];
        if (s->where[i] == WHERE_COMPLEX || out->offset[i] != s->offset[i])
            return CFI_COMPLEX;
    }
    return CFI_OK;
}

enum cfi_result cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uint64_t vaddr, struct cfi_rule *out) {
    struct machine m = {.cie = cie, .location = fde->start, .target = ~0ull};
    m.now.cfa_slot = REG_NONE;
    if (vaddr < fde->start || vaddr >= fde->end)
        return CFI_NO_ROW;
    if (!run(&m, cie->program))
        return CFI_BAD;
    m.initial = m.now;
    m.location = fde->start;
    m.target = vaddr;
    m.passed = false;
    if (!run(&m, fde->program))
        return CFI_BAD;
    return make_rule(&m.now, cie, out);
}
