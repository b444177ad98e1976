// The cache in front of the unwind tables. See rules.h.
#include "collectors/kernel/unwind/rules.h"

#include <stdlib.h>

#include "model/mem.h"

#define SLOTS 32768u // a power of two

struct slot {
    uint64_t vaddr;
    uint32_t id; // of the object; 0: empty
    uint8_t result;
    struct cfi_rule rule;
    struct unwind_fde fde;
};
struct unwind_rules {
    struct slot slots[SLOTS];
    uint8_t fde[UNWIND_RECORD_MAX], cie[UNWIND_RECORD_MAX]; // too large for a thread's stack
};

struct unwind_rules *unwind_rules_new(void) {
    return xcalloc(1, sizeof(struct unwind_rules));
}

void unwind_rules_free(struct unwind_rules *rules) {
    free(rules);
}

uint64_t unwind_rules_bytes(void) {
    return sizeof(struct unwind_rules);
}

// *known: the result depends on the file's contents alone, not on whether they could be read just now.
static enum cfi_result decode(struct unwind_rules *rules, const struct unwind_file *file, uint64_t vaddr,
                              struct slot *out, bool *known) {
    struct cfi_bytes record;
    struct cfi_cie cie;
    struct cfi_fde fde;
    uint64_t cie_at;
    *known = false;
    if (!unwind_file_search(file, vaddr, &out->fde) || !unwind_file_record(file, out->fde.fde, rules->fde, &record))
        return CFI_NO_ROW;
    if (!cfi_fde_cie(record, &cie_at))
        return CFI_BAD;
    struct cfi_bytes cie_record;
    if (!unwind_file_record(file, cie_at, rules->cie, &cie_record))
        return CFI_BAD;
    *known = true;
    if (cfi_parse_cie(cie_record, file->object->header, &cie) != CFI_OK ||
        cfi_parse_fde(record, file->object->header, &cie, &fde) != CFI_OK)
        return CFI_BAD;
    enum cfi_result result = cfi_run(&cie, &fde, vaddr, &out->rule);
    out->rule.signal = cie.signal;
    if (result == CFI_COMPLEX && out->fde.fde >= UNWIND_DEBUG_FRAME) // libunwind reads what is loaded
        return CFI_NO_ROW;
    return result;
}

enum cfi_result unwind_rules_find(struct unwind_rules *rules, const struct unwind_file *file, uint64_t vaddr,
                                  struct cfi_rule *rule, struct unwind_fde *fde) {
    uint64_t hash = (vaddr ^ (uint64_t)file->object->id << 40) * 0x9e3779b97f4a7c15ull;
    struct slot *slot = &rules->slots[hash >> 32 & (SLOTS - 1)];
    if (slot->id != file->object->id || slot->vaddr != vaddr) {
        bool known;
        slot->vaddr = vaddr;
        slot->rule = (struct cfi_rule){0};
        slot->fde = (struct unwind_fde){0};
        slot->result = decode(rules, file, vaddr, slot, &known);
        slot->id = known ? file->object->id : 0;
    }
    *rule = slot->rule;
    *fde = slot->fde;
    return slot->result;
}
