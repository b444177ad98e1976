// See link.h. Encodings: Arm Architecture Reference Manual for A-profile, C4.1.
#include "collectors/kernel/unwind/link.h"

#define LR 30
#define SP 31

bool unwind_link_is_call(uint32_t code) {
    return (code & 0xfc000000) == 0x94000000 || (code & 0xfffffc1f) == 0xd63f0000 || // bl, blr
           (code & 0xfefff800) == 0xd63f0800;                                        // blraa and the like
}

static bool is_return(uint32_t code) {
    return (code & 0xfffffc1f) == 0xd65f0000 || (code & 0xfffffbff) == 0xd65f0bff; // ret, retaa, retab
}

static bool stores_link(uint32_t code) {
    if ((code & 0xfe400000) == 0xa8000000) // stp of 64-bit registers, any addressing
        return (code & 31) == LR || (code >> 10 & 31) == LR;
    return ((code & 0xffc00000) == 0xf9000000 || (code & 0xffe00000) == 0xf8000000) && (code & 31) == LR; // str
}

static bool moves_sp(uint32_t code) {
    if ((code & 0xff8003ff) == 0xd10003ff || (code & 0xffe0001f) == 0xcb20001f) // sub sp, sp, #n; sub sp, x, x
        return true;
    bool pair = (code & 0x3fc00000) == 0x29800000 || (code & 0x3fc00000) == 0x2d800000; // stp with write-back
    bool single = (code & 0x3fe00c00) == 0x38000c00 || (code & 0x3fe00c00) == 0x3c000c00;
    return (pair || single) && (code >> 5 & 31) == SP;
}

enum link unwind_link_after(const uint32_t *code, size_t count) {
    enum link link = LINK_HELD;
    for (size_t i = 0; i < count; i++) {
        if (unwind_link_is_call(code[i]) || stores_link(code[i]))
            return LINK_LOST;
        if (moves_sp(code[i]))
            link = LINK_SP_MOVED;
    }
    return link;
}

bool unwind_link_target(uint32_t call, uint64_t address, uint64_t *target) {
    if ((call & 0xfc000000) != 0x94000000)
        return false;
    int64_t words = (int64_t)((uint64_t)call << 38) >> 38;
    *target = address - 4 + (uint64_t)words * 4;
    return true;
}

size_t unwind_link_begin(const uint32_t *code, size_t count) {
    size_t after_return = count;
    for (size_t i = count; i-- > 0;) {
        if (code[i] == 0xd503233f || code[i] == 0xd503237f) // paciasp, pacibsp
            return count - i;
        if (after_return == count && is_return(code[i]))
            after_return = count - i - 1;
    }
    return after_return;
}

bool unwind_link_is_plt(const uint32_t code[4]) {
    for (int i = 0; i < 4; i++)
        if (code[i] == 0xd61f0220)
            return true;
    return false;
}
