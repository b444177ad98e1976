// What a view asks of the collector `profile`: where a function is in the source, or its instructions. The answer is
// the table `code` of a later frame.
#ifndef MODEL_CODE_ASK_H
#define MODEL_CODE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#define CODE_ASK_HOT 64

struct code_ask {
    const char *symbol, *object; // as in the names of the profile
    long pid;                    // a process that runs it; 0: any
    bool line_only;              // no instructions
    uint32_t n_hot;
    uint64_t hot[CODE_ASK_HOT]; // sampled offsets, as in the table `addresses`, the most samples first
};

#endif
