// Rules by address, from the files' unwind tables, kept in a direct-mapped cache: call sites repeat from stack to
// stack, and all processes that map a file share its rules.
#ifndef COLLECTORS_KERNEL_UNWIND_RULES_H
#define COLLECTORS_KERNEL_UNWIND_RULES_H

#include "collectors/kernel/unwind/cfi.h"
#include "collectors/kernel/unwind/object.h"

struct unwind_rules;
struct unwind_rules *unwind_rules_new(void);
void unwind_rules_free(struct unwind_rules *rules);
uint64_t unwind_rules_bytes(void);

// The rule of an address in the file. CFI_COMPLEX: *fde is set, for libunwind.
enum cfi_result unwind_rules_find(struct unwind_rules *rules, const struct unwind_file *file, uint64_t vaddr,
                                  struct cfi_rule *rule, struct unwind_fde *fde);

#endif
