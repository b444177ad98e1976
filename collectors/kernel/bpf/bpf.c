#include "collectors/kernel/bpf/bpf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "model/mem.h"

// ---- instructions ----

size_t bpf_put(struct bpf_code *code, struct bpf_insn insn) {
    if (code->n < BPF_CODE_MAX)
        code->insns[code->n] = insn;
    return code->n++;
}

void bpf_put_map(struct bpf_code *code, uint8_t reg, int map_fd) {
    bpf_put(code, BPF_I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_FD, 0, map_fd));
    bpf_put(code, BPF_I(0, 0, 0, 0, 0));
}

void bpf_put_map_value(struct bpf_code *code, uint8_t reg, int map_fd) {
    bpf_put(code, BPF_I(BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_VALUE, 0, map_fd));
    bpf_put(code, BPF_I(0, 0, 0, 0, 0));
}

void bpf_put_pointer(struct bpf_code *code, int16_t stack, int32_t offset) {
    bpf_put(code, BPF_ADD_IMM(BPF_REG_3, offset));
    bpf_put(code, BPF_MOVE(BPF_REG_1, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, stack));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 8));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel));
}

void bpf_put_word(struct bpf_code *code, uint8_t reg, int16_t stack, int32_t offset) {
    bpf_put(code, BPF_ADD_IMM(BPF_REG_3, offset));
    bpf_put(code, BPF_STORE_IMM(BPF_DW, BPF_REG_10, stack, 0));
    bpf_put(code, BPF_MOVE(BPF_REG_1, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_1, stack));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 4));
    bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel));
    bpf_put(code, BPF_LOAD(BPF_W, reg, BPF_REG_10, stack));
}

void bpf_put_lookup(struct bpf_code *code, int map_fd, int16_t key) {
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, key));
    bpf_put_map(code, BPF_REG_1, map_fd);
    bpf_put(code, BPF_HELPER(BPF_FUNC_map_lookup_elem));
}

void bpf_put_update(struct bpf_code *code, int map_fd, int16_t key, int16_t value, int flags) {
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, key));
    bpf_put(code, BPF_MOVE(BPF_REG_3, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_3, value));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_4, flags));
    bpf_put_map(code, BPF_REG_1, map_fd);
    bpf_put(code, BPF_HELPER(BPF_FUNC_map_update_elem));
}

void bpf_land(struct bpf_code *code, size_t jump) {
    if (jump < BPF_CODE_MAX)
        code->insns[jump].off = (int16_t)(code->n - jump - 1);
}

void bpf_jump_to(struct bpf_code *code, size_t to) {
    struct bpf_insn jump = BPF_JUMP;
    jump.off = (int16_t)((int)to - (int)code->n - 1);
    bpf_put(code, jump);
}

// ---- the kernel's side ----

static int call(int command, union bpf_attr *attr) {
    long rc = syscall(SYS_bpf, command, attr, sizeof(*attr));
    return rc < 0 ? -errno : (int)rc;
}

// Before 5.11 maps count against the limit of locked memory, whatever the capabilities.
static int call_unlimited(int command, union bpf_attr *attr) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    int rc = call(command, attr);
    if (rc == -EPERM && !setrlimit(RLIMIT_MEMLOCK, &limit))
        rc = call(command, attr);
    return rc;
}

int bpf_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t entries) {
    return bpf_map_flags(type, key_size, value_size, entries, 0);
}

int bpf_map_flags(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t entries, uint32_t flags) {
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.map_type = type;
    attr.key_size = key_size;
    attr.value_size = value_size;
    attr.max_entries = entries;
    attr.map_flags = flags;
    return call_unlimited(BPF_MAP_CREATE, &attr);
}

static int load(const struct bpf_code *code, enum bpf_prog_type type, uint32_t attach_type, const char *name) {
    union bpf_attr attr;
    if (code->n > BPF_CODE_MAX)
        return -E2BIG;
    memset(&attr, 0, sizeof(attr));
    attr.prog_type = type;
    attr.insns = (uintptr_t)code->insns;
    attr.insn_cnt = (uint32_t)code->n;
    attr.license = (uintptr_t) "GPL";
    attr.expected_attach_type = attach_type;
    snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
    return call_unlimited(BPF_PROG_LOAD, &attr);
}

int bpf_load(const struct bpf_code *code, enum bpf_prog_type type, const char *name) {
    return load(code, type, 0, name);
}

int bpf_load_multi(const struct bpf_code *code, enum bpf_multi multi, const char *name) {
    return load(code, BPF_PROG_TYPE_KPROBE, multi, name);
}

// union bpf_attr's link_create.uprobe_multi.
struct uprobe_multi {
    uint32_t program, target, attach_type, flags;
    uint64_t path, offsets, ref_ctr_offsets, cookies;
    uint32_t n, multi_flags, pid, path_fd;
};

int bpf_link_uprobes(int program, const struct bpf_uprobes *uprobes) {
    union {
        union bpf_attr attr;
        struct uprobe_multi link;
    } all;
    memset(&all, 0, sizeof(all));
    all.link = (struct uprobe_multi){.program = (uint32_t)program,
                                     .attach_type = BPF_UPROBE_MULTI,
                                     .path = (uintptr_t)uprobes->path,
                                     .offsets = (uintptr_t)uprobes->offsets,
                                     .cookies = (uintptr_t)uprobes->cookies,
                                     .n = uprobes->n,
                                     .multi_flags = uprobes->returns, // BPF_F_UPROBE_MULTI_RETURN
                                     .pid = (uint32_t)uprobes->pid};
    return call(BPF_LINK_CREATE, &all.attr);
}

// union bpf_attr's link_create.kprobe_multi.
struct kprobe_multi {
    uint32_t program, target, attach_type, flags;
    uint32_t multi_flags, n;
    uint64_t names, addresses, cookies;
};

int bpf_link_kprobes(int program, const struct bpf_kprobes *kprobes) {
    union {
        union bpf_attr attr;
        struct kprobe_multi link;
    } all;
    memset(&all, 0, sizeof(all));
    all.link = (struct kprobe_multi){.program = (uint32_t)program,
                                     .attach_type = BPF_KPROBE_MULTI,
                                     .multi_flags = kprobes->returns, // BPF_F_KPROBE_MULTI_RETURN
                                     .n = kprobes->n,
                                     .names = (uintptr_t)kprobes->names,
                                     .cookies = (uintptr_t)kprobes->cookies};
    return call(BPF_LINK_CREATE, &all.attr);
}

int bpf_attach_raw(int program, const char *tracepoint) {
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.raw_tracepoint.name = (uintptr_t)tracepoint;
    attr.raw_tracepoint.prog_fd = (uint32_t)program;
    return call(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

int bpf_attach_perf(int program, int event) {
    return ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ? -errno : 0;
}

static int possible_cpus(void) {
    static const struct perf_cpus_ops none = {NULL, NULL};
    struct perf_cpus cpus;
    perf_cpus_init(&cpus, &none, NULL);
    int n = cpus.n;
    perf_cpus_close(&cpus);
    return n;
}

uint64_t bpf_sum(int map_fd, uint32_t index) {
    union bpf_attr attr;
    size_t n = (size_t)possible_cpus();
    uint64_t *values = xcalloc(n, sizeof(*values)), sum = 0;
    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (uint32_t)map_fd;
    attr.key = (uintptr_t)&index;
    attr.value = (uintptr_t)values;
    if (!call(BPF_MAP_LOOKUP_ELEM, &attr))
        for (size_t i = 0; i < n; i++)
            sum += values[i];
    free(values);
    return sum;
}

// value: also the next key, which is at the same place.
static int element(int command, int map_fd, const void *key, const void *value) {
    union bpf_attr attr;
    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (uint32_t)map_fd;
    attr.key = (uintptr_t)key;
    attr.value = (uintptr_t)value;
    return call(command, &attr);
}

int bpf_next_key(int map_fd, const void *key, void *next) {
    return element(BPF_MAP_GET_NEXT_KEY, map_fd, key, next);
}

int bpf_lookup(int map_fd, const void *key, void *value) {
    return element(BPF_MAP_LOOKUP_ELEM, map_fd, key, value);
}

int bpf_update(int map_fd, const void *key, const void *value) {
    return element(BPF_MAP_UPDATE_ELEM, map_fd, key, value);
}

void bpf_explain(int error, char *reason, size_t reason_size, char *fix, size_t fix_size) {
    const char *why = error == -EPERM ? "bpf(2) needs CAP_BPF and CAP_PERFMON"
                      : error == -ENOSYS || error == -EINVAL || error == -ENOENT
                          ? "this kernel's bpf(2) lacks what ktop needs (Linux 5.8, CONFIG_DEBUG_INFO_BTF)"
                          : NULL;
    if (why)
        snprintf(reason, reason_size, "%s", why);
    else
        snprintf(reason, reason_size, "bpf(2): %s", strerror(-error));
    snprintf(fix, fix_size, "%s",
             error == -EPERM ? "run ktop as root; the kernel must not be locked down"
             : why           ? "use a kernel that has it"
                             : "");
}

// ---- a ring buffer ----

int bpf_ring_open(struct bpf_ring *ring, uint32_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *ring = (struct bpf_ring){.fd = bpf_map(BPF_MAP_TYPE_RINGBUF, 0, 0, size), .size = size};
    if (ring->fd < 0)
        return ring->fd;
    void *consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    void *kernel = mmap(NULL, page + 2 * (size_t)size, PROT_READ, MAP_SHARED, ring->fd, (off_t)page);
    int rc = consumer == MAP_FAILED || kernel == MAP_FAILED ? -errno : 0;
    ring->consumer = consumer == MAP_FAILED ? NULL : consumer;
    ring->kernel = kernel == MAP_FAILED ? NULL : kernel;
    if (rc)
        bpf_ring_close(ring);
    return rc;
}

void bpf_ring_close(struct bpf_ring *ring) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (ring->consumer)
        munmap(ring->consumer, page);
    if (ring->kernel)
        munmap((void *)(uintptr_t)ring->kernel, page + 2 * (size_t)ring->size);
    if (ring->fd >= 0)
        close(ring->fd);
    *ring = (struct bpf_ring){.fd = -1};
}

size_t bpf_ring_drain(struct bpf_ring *ring, void (*fn)(void *context, const uint8_t *record, uint32_t size),
                      void *context) {
    const uint8_t *data = ring->kernel + sysconf(_SC_PAGESIZE);
    uint64_t at = *ring->consumer;
    size_t n = 0;
    // Pairs with the release in bpf_ringbuf_reserve.
    while (at < __atomic_load_n((const uint64_t *)ring->kernel, __ATOMIC_ACQUIRE)) {
        const uint8_t *header = data + (at & (ring->size - 1));
        // Pairs with the exchange in bpf_ringbuf_commit.
        uint32_t length = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
        if (length & BPF_RINGBUF_BUSY_BIT)
            break;
        if (!(length & BPF_RINGBUF_DISCARD_BIT)) {
            fn(context, header + BPF_RINGBUF_HDR_SZ, length);
            n++;
        }
        at += ((length & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
        __atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
    }
    return n;
}
