// A probe as the user writes it, without looking at any file or at the kernel. Two syntaxes, distinguished by the first
// word:
//
//     [!] p|r|f|t|e[MAXACTIVE][:NAME] PLACE [ARGS] [if FILTER]       tracefs
//     [!] [-x PATH] [NAME=]PLACE [ARGS] [if FILTER]                  perf probe
//
//     PLACE of the kernel: [MODULE:]SYMBOL[+OFFSET][%return], an address, a tracepoint (t), SYSTEM.EVENT (e)
//     PLACE of a file: PATH:SYMBOL[+OFFSET][%return], PATH:OFFSET[(SEMAPHORE)][%return], PATH:PROVIDER:NAME (USDT);
//     with -x PATH without "PATH:"
//
// A slash, or ".so", marks a file. ARGS are the kernel's: its syntax is not repeated here. "!" skips the check
// of the rate. Kernel documents: Documentation/trace/kprobetrace.rst, uprobetracer.rst, fprobetrace.rst,
// eprobetrace.rst; perf-probe(1).
#ifndef COLLECTORS_PROBES_SPEC_H
#define COLLECTORS_PROBES_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/choice_error.h"

#define PROBE_SPEC_MAX 1024 // bytes of one specification
#define PROBE_NAME_MAX 48   // with the NUL; the kernel allows 64, and a counterpart's suffix follows
#define PROBE_PATH_MAX 512

enum probe_kind { PROBE_KERNEL, PROBE_USER, PROBE_USDT, PROBE_FUNCTION, PROBE_TRACEPOINT, PROBE_EVENT };

struct probe_spec {
    char text[PROBE_SPEC_MAX]; // as written, without blanks around it
    enum probe_kind kind;
    bool forced, returns;
    uint32_t maxactive;        // 0: not given
    char name[PROBE_NAME_MAX]; // given, or made from the place
    char path[PROBE_PATH_MAX]; // of PROBE_USER and PROBE_USDT
    char symbol[256];          // the kernel's place without "%return"; a function of the file; "PROVIDER:NAME"; ""
    uint64_t offset;           // in the symbol, or (symbol "") in the file
    uint64_t semaphore;        // offset in the file; 0: none
    const char *args, *filter; // in `text`; "": none
    size_t args_length;
    size_t place, place_length; // of the place in `text`
};

// 0, or -EINVAL with the sentence and the place in `text`, which is one line.
int probe_spec_parse(struct probe_spec *spec, const char *text, size_t length, struct choice_error *error);
// "kprobe", "uretprobe", "USDT"
const char *probe_kind_name(const struct probe_spec *spec);

#endif
