// Call frame information: from the bytes of a CIE and an FDE (.eh_frame) to the rule of one address. Plain C on bytes;
// no file, no process. Format: DWARF 5, section 6.4; LSB, chapter 10 (exception frames).
#ifndef COLLECTORS_KERNEL_UNWIND_CFI_H
#define COLLECTORS_KERNEL_UNWIND_CFI_H

#include "collectors/kernel/unwind/unwind.h"

// Slots of the registers that a walk follows.
enum { CFI_RA = UNWIND_SAVED, CFI_FP, CFI_SLOTS }; // 0..UNWIND_SAVED-1: `saved`

enum cfi_cfa {
    CFA_NONE,
    CFA_SP,    // sp + cfa_offset
    CFA_FP,    // fp + cfa_offset
    CFA_SAVED, // saved[cfa_slot] + cfa_offset
    CFA_PLT,   // sp + 8, and 8 more from byte `cfa_offset` of each 16 on: what linkers write for PLT entries
    CFA_DEREF, // the word at sp + cfa_offset: signal trampolines
};
enum cfi_where {
    WHERE_SAME,      // not saved
    WHERE_UNDEFINED, // lost; of the return address: there is no caller
    WHERE_CFA,       // in memory at CFA + offset
    WHERE_SP,        // in memory at sp + offset: signal trampolines
};
struct cfi_rule {
    uint8_t cfa, cfa_slot;
    bool signal; // the frame of a signal handler's return: its caller was interrupted
    uint8_t where[CFI_SLOTS];
    int16_t offset[CFI_SLOTS];
    int32_t cfa_offset;
};

enum cfi_result {
    CFI_OK,
    CFI_COMPLEX, // valid, but more than a rule can say (expressions)
    CFI_NO_ROW,  // no FDE, or not for this address
    CFI_BAD,     // malformed
};

struct cfi_bytes {
    const uint8_t *bytes;
    size_t size;
    uint64_t vaddr; // of bytes[0]
};
struct cfi_fde {
    uint64_t start, end; // addresses in the file
    uint64_t cie;        // address of its CIE
    struct cfi_bytes program;
};
struct cfi_cie {
    struct cfi_bytes program;
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t encoding;
    bool augmented, signal;
    bool b_key; // arm64 pointer authentication
};

// A record at `record` is the bytes of one entry with its length word. header: address of .eh_frame_hdr, for pointers
// relative to it.
enum cfi_result cfi_parse_cie(struct cfi_bytes record, uint64_t header, struct cfi_cie *out);
// Where the CIE of an FDE is; false: the record is a CIE itself, or a terminator.
bool cfi_fde_cie(struct cfi_bytes record, uint64_t *cie);
enum cfi_result cfi_parse_fde(struct cfi_bytes record, uint64_t header, const struct cfi_cie *cie, struct cfi_fde *out);
enum cfi_result cfi_run(const struct cfi_cie *cie, const struct cfi_fde *fde, uint64_t vaddr, struct cfi_rule *out);

// A pointer with a DW_EH_PE encoding at *at (moved on). False: cut, or an encoding that needs memory (indirect).
bool cfi_pointer(const uint8_t **at, const uint8_t *end, uint64_t vaddr_of_at, uint64_t header, uint8_t encoding,
                 uint64_t *out);

#endif
