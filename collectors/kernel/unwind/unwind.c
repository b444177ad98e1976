// The walk: one frame after another, each by the cheapest means that can: a cached rule, libunwind, the frame pointer.
#include "collectors/kernel/unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/memory.h"
#include "collectors/kernel/unwind/go_frames.h"
#include "collectors/kernel/unwind/link.h"
#include "collectors/kernel/unwind/object.h"
#include "collectors/kernel/unwind/private.h"
#include "collectors/kernel/unwind/rules.h"
#include "collectors/kernel/unwind/space.h"
#include "collectors/kernel/unwind/walk.h"
#include "model/mem.h"

#define SIGNALS_MAX 16 // handlers interrupted by signals, in one stack
#define CALL_SLOTS 1024
#define LINK_CODE_MAX 4096u // bytes from a function's start to an interrupted instruction

struct call_site {
    uint64_t address, version;
    pid_t pid;
    bool is_call;
};
struct unwinder {
    struct unwind_source source;
    struct unwind_objects *objects;
    struct unwind_spaces *spaces;
    struct unwind_rules *rules;
    struct unwind_remote *remote; // made on first use
    bool oracle;
    struct call_site calls[CALL_SLOTS];
};

struct walk {
    struct unwinder *unwinder;
    struct unwind_space *space;
    struct unwind_copy copy;
    struct unwind_registers now;
    bool exact;        // now.ip is an instruction that was interrupted, not a return address
    bool caller_exact; // the same of the next frame
    bool behind;       // now.ip is behind the last instruction of a signal's trampoline
    bool by_fp;        // now is from a frame record
    bool sp_unknown;   // now.sp is too low, by an unknown part of a frame
    bool trampoline;   // now.ip is where a signal handler returns to
    unsigned signals, trampoline_count;
    size_t trampolines[SIGNALS_MAX]; // which frames are
};

struct unwinder *unwinder_new(const struct unwind_source *source) {
    struct unwinder *u = xcalloc(1, sizeof(*u));
    u->source = *source;
    u->objects = unwind_objects_new(source);
    u->spaces = unwind_spaces_new(source, u->objects);
    u->rules = unwind_rules_new();
    return u;
}

struct unwinder *unwinder_new_oracle(const struct unwind_source *source) {
    struct unwinder *u = unwinder_new(source);
    u->oracle = true;
    return u;
}

void unwinder_free(struct unwinder *u) {
    if (!u)
        return;
    unwind_remote_free(u->remote);
    unwind_rules_free(u->rules);
    unwind_spaces_free(u->spaces);
    unwind_objects_free(u->objects);
    free(u);
}

uint64_t unwind_bytes(const struct unwinder *u) {
    return sizeof(*u) + unwind_objects_bytes(u->objects) + unwind_spaces_bytes(u->spaces) + unwind_rules_bytes();
}

void unwind_flush(struct unwinder *u, pid_t pid, uint64_t start, uint64_t end) {
    unwind_spaces_flush(u->spaces, pid, start, end);
    for (struct call_site *c = u->calls; c < u->calls + CALL_SLOTS; c++)
        if (c->pid == pid && c->address >= start && c->address < end)
            c->pid = 0;
}

void unwind_ended(struct unwinder *u, pid_t pid) {
    unwind_flush(u, pid, 0, ~0ull);
    unwind_spaces_ended(u->spaces, pid);
}

const char *unwind_ending_text(enum unwind_ending ending) {
    static const char *const texts[UNWIND_ENDINGS] = {
        [UNWIND_WHOLE] = "whole",
        [UNWIND_SPLICED] = "stack copy continued by frame pointers",
        [UNWIND_CUT] = "stack copy too short",
        [UNWIND_NO_MAP] = "address in no known mapping",
        [UNWIND_NO_ROW] = "no unwind table",
        [UNWIND_LOOP] = "loop",
        [UNWIND_BAD_ADDRESS] = "bad address",
        [UNWIND_FULL] = "too deep",
    };
    return ending < UNWIND_ENDINGS ? texts[ending] : "";
}

// ---- one step ----
// Bytes of code. The file has those of the memory, and is read once for all processes.
static ssize_t code_read(struct unwinder *u, struct unwind_space *space, uint64_t address, void *out, size_t size) {
    struct unwind_object *object;
    pid_t pid = space->pid;
    const struct unwind_map *map = unwind_space_map(u->spaces, space, address, &object);
    bool readable = map && object && (object->state == OBJECT_READY || object->state == OBJECT_NO_TABLE);
    if (readable && map->end - address >= size) {
        struct unwind_map copy = *map;
        struct unwind_file file = {u->objects, object, &copy, pid};
        return unwind_file_pread(&file, address - map->start + map->offset, out, size) ? (ssize_t)size : -EAGAIN;
    }
    return u->source.memory ? u->source.memory(u->source.context, pid, address, out, size)
                            : (ssize_t)process_memory_read(pid, address, out, size);
}

// Whether a call precedes a return address. Where its bytes cannot be read (the process ended), it is believed.
static bool is_call_site(struct unwinder *u, struct unwind_space *space, uint64_t address) {
    pid_t pid = space->pid;
    struct call_site *site = &u->calls[(address * 0x9e3779b97f4a7c15ull >> 40) % CALL_SLOTS];
    uint8_t before[UNWIND_CALL_MAX];
    if (site->pid == pid && site->version == space->version && site->address == address)
        return site->is_call;
    ssize_t size = code_read(u, space, address - sizeof(before), before, sizeof(before));
    if (size == -EAGAIN)
        return true;
    bool is_call = size < (ssize_t)sizeof(before) || unwind_is_call(before, (size_t)size);
    *site = (struct call_site){address, space->version, pid, is_call};
    return is_call;
}

static bool go_frame(const struct unwind_file *file, uint64_t ip, uint64_t back, struct unwind_go_frame *out) {
    uint64_t vaddr;
    return file->object->go.size &&
           unwind_object_vaddr(file->object, ip - file->map->start + file->map->offset, &vaddr) &&
           unwind_go_find(file, vaddr - back, out);
}

static bool is_return(struct walk *w, uint64_t address) {
    struct unwind_object *object;
    struct unwind_go_frame frame;
    const struct unwind_map *map = unwind_space_map(w->unwinder->spaces, w->space, address, &object);
    if (!map || !map->executable)
        return false;
    if (is_call_site(w->unwinder, w->space, address))
        return true;
    map = unwind_space_map(w->unwinder->spaces, w->space, address, &object);
    if (!map)
        return false;
    // Go puts the address of its outermost function on the stack of a new goroutine.
    struct unwind_file file = {w->unwinder->objects, object, map, w->space->pid};
    return object && go_frame(&file, address, 1, &frame) && frame.top;
}

// The innermost frame, or one that a signal interrupted, may have no frame record of its own.
static bool step_by_edge(struct walk *w, struct unwind_registers *to) {
    uint8_t code[UNWIND_EDGE_MAX];
    if (!w->exact)
        return false;
    ssize_t size = code_read(w->unwinder, w->space, w->now.ip, code, sizeof(code));
    return size > 0 && unwind_apply_edge(code, (size_t)size, &w->copy, &w->now, to) && is_return(w, to->ip);
}

static enum step step_by_fp(struct walk *w, struct unwind_registers *to) {
    if (step_by_edge(w, to))
        return STEP_OK;
    enum step step = unwind_apply_fp(&w->copy, &w->now, to);
    bool chained = w->by_fp;
    w->by_fp = true;
    w->sp_unknown = UNWIND_RECORD_LOW;
    if (step == STEP_WHOLE && !chained) // frame pointer 0: not the end of a chain, but no chain
        return STEP_NO_ROW;
    if (step != STEP_OK || !to->ip)
        return step;
    return is_return(w, to->ip) ? STEP_OK : STEP_NO_ROW;
}

static enum step step_by_libunwind(struct walk *w, const struct unwind_file *file, const struct unwind_fde *fde,
                                   uint64_t bias, uint64_t ip, struct unwind_registers *to) {
    struct unwinder *u = w->unwinder;
    if (!u->remote)
        u->remote = unwind_remote_new(u->oracle);
    if (!u->remote)
        return STEP_NO_ROW;
    switch (unwind_remote_step(u->remote, file, fde, bias, ip, &w->copy, &w->now, to)) {
    case REMOTE_OK:
        return STEP_OK;
    case REMOTE_WHOLE:
        return STEP_WHOLE;
    case REMOTE_LEFT:
        return STEP_LEFT;
    default:
        return STEP_BAD;
    }
}

static bool step_by_trampoline(struct walk *w, const struct unwind_file *file, uint64_t offset,
                               struct unwind_registers *to, enum step *step) {
    uint8_t code[8];
    // The system call itself is interrupted behind its instruction, the second and last one.
    for (uint64_t done = 0; UNWIND_TRAMPOLINE && done <= (w->exact ? sizeof(code) : 0); done += 4) {
        if (!unwind_file_pread(file, offset - done, code, sizeof(code)) ||
            !unwind_apply_sigreturn(code, &w->copy, &w->now, to, step))
            continue;
        w->caller_exact = true;
        w->behind = done == sizeof(code);
        w->trampoline = !w->behind;
        return true;
    }
    return false;
}

#if defined(UNWIND_ARM64)
// How many instructions before now.ip belong to its function, at least; their bytes in `code`. Only a call says where
// the function starts, or the bytes of the vdso, whose functions call none that the vdso does not have.
static size_t code_before(const struct walk *w, const struct unwind_map *map, bool vdso, uint32_t *code) {
    uint64_t ip = w->now.ip, start, size;
    uint32_t call;
    if (vdso) {
        if (w->now.lr - map->start < map->end - map->start)
            return SIZE_MAX;
        start = ip - map->start < LINK_CODE_MAX ? map->start : ip - LINK_CODE_MAX;
    } else if (process_memory_read(w->space->pid, w->now.lr - 4, &call, sizeof(call)) < sizeof(call) ||
               !unwind_link_target(call, w->now.lr, &start) || start > ip || ip - start > LINK_CODE_MAX) {
        return SIZE_MAX;
    }
    size = ip - start;
    if (process_memory_read(w->space->pid, start, code, size) < size)
        return SIZE_MAX;
    if (!vdso)
        return size / 4;
    size_t count = unwind_link_begin(code, size / 4);
    memmove(code, code + size / 4 - count, count * 4);
    return count;
}

// An interrupted instruction that no row covers: of a PLT entry, which has not touched a register of its caller's, or
// of a function that has not stored its return address.
static bool step_by_link(struct walk *w, const struct unwind_map *map, const struct unwind_object *object,
                         struct unwind_registers *to) {
    uint32_t code[LINK_CODE_MAX / 4];
    if (!w->exact || !w->now.lr || w->now.ip % 4 || !is_return(w, w->now.lr))
        return false;
    enum link link = LINK_HELD;
    if (process_memory_read(w->space->pid, w->now.ip, code, 16) < 16 || !unwind_link_is_plt(code)) {
        size_t count = code_before(w, map, object && object->memory, code);
        link = count > LINK_CODE_MAX / 4 ? LINK_LOST : unwind_link_after(code, count);
    }
    if (link == LINK_LOST)
        return false;
    *to = w->now;
    to->ip = w->now.lr;
    w->sp_unknown = link == LINK_SP_MOVED;
    return true;
}
#else
static bool step_by_link(struct walk *w, const struct unwind_map *map, const struct unwind_object *object,
                         struct unwind_registers *to) {
    (void)w, (void)map, (void)object, (void)to;
    return false;
}
#endif

// A rule that needs the stack pointer, above a frame that was stepped over by frame pointer.
static enum step step_by_record(struct walk *w, struct cfi_rule *rule, struct unwind_registers *to) {
    if (!unwind_rule_by_record(rule) || unwind_apply_rule(rule, &w->copy, &w->now, to) != STEP_OK ||
        (to->ip && !is_return(w, to->ip)))
        return STEP_NO_ROW;
    return STEP_OK;
}

static enum step step_by_table(struct walk *w, const struct unwind_file *file, struct unwind_registers *to) {
    struct unwinder *u = w->unwinder;
    struct unwind_fde fde;
    struct cfi_rule rule;
    uint64_t offset = w->now.ip - file->map->start + file->map->offset, vaddr;
    enum step step;
    if (file->object->memory && step_by_trampoline(w, file, offset, to, &step)) // the [vdso]
        return step;
    if (file->object->state != OBJECT_READY || !unwind_object_vaddr(file->object, offset, &vaddr))
        return step_by_trampoline(w, file, offset, to, &step) ? step : STEP_NO_ROW;
    // The call of a function that does not return may be its caller's last instruction: look up the call itself.
    uint64_t back = w->exact ? 0 : 1;
    enum cfi_result result = unwind_rules_find(u->rules, file, vaddr - back, &rule, &fde);
    if (back && result != CFI_OK && result != CFI_COMPLEX) { // a trampoline is entered at its first instruction
        result = unwind_rules_find(u->rules, file, vaddr, &rule, &fde);
        back = 0;
        if (!rule.signal)
            return step_by_trampoline(w, file, offset, to, &step) ? step : STEP_NO_ROW;
    }
    // A function that called another one has stored its return address.
    if (UNWIND_LINK_MASK && back && result == CFI_OK && rule.where[CFI_RA] == WHERE_SAME)
        return STEP_NO_ROW;
    if (w->sp_unknown && rule.cfa != CFA_FP && rule.where[CFI_RA] != WHERE_UNDEFINED)
        return result == CFI_OK ? step_by_record(w, &rule, to) : STEP_NO_ROW;
    w->caller_exact = w->trampoline = rule.signal;
    if (result == CFI_COMPLEX || (result == CFI_OK && u->oracle))
        return step_by_libunwind(w, file, &fde, w->now.ip - vaddr, w->now.ip - back, to);
    return result == CFI_OK ? unwind_apply_rule(&rule, &w->copy, &w->now, to) : STEP_NO_ROW;
}

static enum step step_by_go(struct walk *w, const struct unwind_file *file, struct unwind_registers *to) {
    struct unwind_go_frame frame;
    if (!go_frame(file, w->now.ip, !w->exact, &frame))
        return STEP_NO_ROW;
    if (frame.top)
        return STEP_WHOLE;
    if (!w->exact || !frame.sized || !unwind_apply_go(frame.size, &w->copy, &w->now, to) || !is_return(w, to->ip))
        return STEP_NO_ROW;
    return STEP_OK;
}

static enum step step_once(struct walk *w, const struct unwind_map *map, struct unwind_object *object,
                           struct unwind_registers *to) {
    struct unwind_map copy = *map; // a lookup of another address may move the map
    enum step step = STEP_NO_ROW;
    w->caller_exact = w->trampoline = false;
    if (object && (object->state == OBJECT_READY || object->state == OBJECT_NO_TABLE)) {
        struct unwind_file file = {w->unwinder->objects, object, &copy, w->space->pid};
        step = step_by_table(w, &file, to);
        if (step == STEP_NO_ROW)
            step = step_by_go(w, &file, to);
    }
    if (step == STEP_NO_ROW && step_by_link(w, &copy, object, to)) {
        w->by_fp = false;
        return STEP_OK;
    }
    if (step == STEP_NO_ROW)
        return step_by_fp(w, to);
    w->by_fp = w->sp_unknown = false;
    return step;
}

// ---- the stack ----
// Whether the caller's stack pointer may be what it is: stacks grow down, and a signal's may be another stack.
static bool advanced(struct walk *w, const struct unwind_registers *to, size_t count) {
    if (w->caller_exact)
        return ++w->signals <= SIGNALS_MAX;
#if defined(UNWIND_ARM64)
    if (to->sp == w->now.sp && to->ip != w->now.ip && (count == 1 || w->exact))
        return true; // a leaf that has no frame
#endif
    (void)count;
    return to->sp > w->now.sp;
}

static enum unwind_ending ending_of(enum step step) {
    switch (step) {
    case STEP_WHOLE:
        return UNWIND_WHOLE;
    case STEP_LEFT:
        return UNWIND_CUT;
    case STEP_NO_ROW:
        return UNWIND_NO_ROW;
    default:
        return UNWIND_BAD_ADDRESS;
    }
}

static enum unwind_ending walk_stack(struct walk *w, struct unwind_frame *out, size_t max, size_t *count) {
    for (;;) {
        struct unwind_registers to = w->now;
        struct unwind_object *object;
        const struct unwind_map *map = unwind_space_map(w->unwinder->spaces, w->space, w->now.ip, &object);
        bool code = map && map->executable;
        if (*count == max)
            return UNWIND_FULL;
        if (code || !*count) // the innermost frame is what was sampled, whatever it is
            out[(*count)++] = (struct unwind_frame){w->now.ip, w->exact};
        if (!code)
            return map ? UNWIND_BAD_ADDRESS : UNWIND_NO_MAP;
        enum step step = step_once(w, map, object, &to);
        if (w->trampoline && w->trampoline_count < SIGNALS_MAX)
            w->trampolines[w->trampoline_count++] = *count - 1;
        out[*count - 1].exact &= !w->behind;
        w->behind = false;
        if (step != STEP_OK)
            return ending_of(step);
        if (!to.ip)
            return UNWIND_WHOLE;
        if (!advanced(w, &to, *count))
            return UNWIND_LOOP;
        w->now = to;
        w->exact = w->caller_exact;
    }
}

static enum unwind_ending splice(const struct unwind_input *input, struct unwind_frame *out, size_t max,
                                 size_t *count) {
    size_t from = unwind_splice(out, *count, input->chain, input->chain_count);
    if (from >= input->chain_count)
        return UNWIND_CUT;
    while (from < input->chain_count && *count < max)
        out[(*count)++] = (struct unwind_frame){input->chain[from++], false};
    return from < input->chain_count ? UNWIND_FULL : UNWIND_SPLICED;
}

size_t unwind_stack(struct unwinder *u, const struct unwind_input *input, struct unwind_frame *out, size_t max,
                    enum unwind_ending *ending) {
    size_t count = 0;
    struct walk walk = {.unwinder = u,
                        .space = unwind_spaces_get(u->spaces, input->pid, input->version),
                        .copy = {input->stack, input->registers.sp, input->stack_size},
                        .now = input->registers,
                        .exact = true};
    *ending = walk_stack(&walk, out, max, &count);
    unwind_objects_done(u->objects);
    // With a signal on a stack of its own, the interrupted stack is not in the copy, wherever it is.
    if (*ending == UNWIND_BAD_ADDRESS && walk.signals && walk.now.sp - walk.copy.start >= walk.copy.size)
        *ending = UNWIND_CUT;
    if (*ending == UNWIND_CUT)
        *ending = splice(input, out, max, &count);
    // A trampoline has no call before the address that a handler returns to.
    for (unsigned i = 0; i < walk.trampoline_count; i++)
        out[walk.trampolines[i]].exact = true;
    return count;
}

// ---- frame-pointer chains ----
static enum cfi_result rule_at(struct walk *w, uint64_t address, struct cfi_rule *rule) {
    struct unwind_fde fde;
    struct unwind_object *object;
    uint64_t vaddr;
    const struct unwind_map *map = unwind_space_map(w->unwinder->spaces, w->space, address, &object);
    *rule = (struct cfi_rule){0};
    if (!map || !object || object->state != OBJECT_READY ||
        !unwind_object_vaddr(object, address - map->start + map->offset, &vaddr))
        return CFI_NO_ROW;
    struct unwind_map copy = *map; // a lookup of another address may move the map
    struct unwind_file file = {w->unwinder->objects, object, &copy, w->space->pid};
    return unwind_rules_find(w->unwinder->rules, &file, vaddr, rule, &fde);
}

// The caller of the interrupted instruction, where only the link register has it. 0: a frame record has it.
static uint64_t caller_by_link(struct walk *w, enum cfi_result result, const struct cfi_rule *rule) {
    struct unwind_registers to;
    struct unwind_object *object;
    if (result == CFI_OK)
        return rule->where[CFI_RA] == WHERE_SAME && is_return(w, w->now.lr) ? w->now.lr : 0;
    const struct unwind_map *map = unwind_space_map(w->unwinder->spaces, w->space, w->now.ip, &object);
    if (!map)
        return 0;
    struct unwind_map copy = *map;
    return step_by_link(w, &copy, object, &to) ? to.ip : 0;
}

#if defined(UNWIND_ARM64)
static bool is_trampoline(struct walk *w, uint64_t address) {
    uint8_t code[8];
    struct unwind_object *object;
    struct unwind_registers to;
    enum step step;
    const struct unwind_map *map = unwind_space_map(w->unwinder->spaces, w->space, address, &object);
    if (!map || !object || !object->memory)
        return false;
    struct unwind_map copy = *map;
    struct unwind_file file = {w->unwinder->objects, object, &copy, w->space->pid};
    return unwind_file_pread(&file, address - copy.start + copy.offset, code, sizeof(code)) &&
           unwind_apply_sigreturn(code, &w->copy, &w->now, &to, &step);
}
#else
static bool is_trampoline(struct walk *w, uint64_t address) {
    (void)w, (void)address;
    return false;
}
#endif

size_t unwind_chain(struct unwinder *u, const struct unwind_input *input, struct unwind_frame *out, size_t max,
                    bool *incomplete) {
    size_t count = 0;
    struct cfi_rule rule;
    struct walk walk = {.unwinder = u,
                        .space = unwind_spaces_get(u->spaces, input->pid, input->version),
                        .now = input->registers,
                        .exact = true};
    *incomplete = false;
    for (size_t i = 0; i < input->chain_count && count < max; i++) {
        uint64_t ip = walk.now.ip = input->chain[i];
        bool trampoline = i && is_trampoline(&walk, ip);
        enum cfi_result result = rule_at(&walk, ip - (i > 0), &rule);
        out[count++] = (struct unwind_frame){ip, !i || trampoline};
        uint64_t caller = i ? 0 : caller_by_link(&walk, result, &rule);
        if (caller && count < max) {
            out[count++] = (struct unwind_frame){caller, false};
            result = rule_at(&walk, caller - 1, &rule);
        }
        // The interrupted function is in no frame record: above the handler's comes its caller's.
        *incomplete |=
            trampoline || (result == CFI_OK && rule.where[CFI_RA] == WHERE_CFA && !unwind_keeps_record(&rule));
    }
    unwind_objects_done(u->objects);
    return count;
}
