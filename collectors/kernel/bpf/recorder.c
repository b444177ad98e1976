#include "collectors/kernel/bpf/recorder.h"

#include <unistd.h>

int bpf_recorder_open(struct bpf_recorder *recorder, uint32_t ring_bytes, uint32_t scratch_bytes) {
    *recorder = (struct bpf_recorder){.ring.fd = -1, .scratch = -1, .dropped = -1, .program = -1, .link = -1};
    int error = bpf_ring_open(&recorder->ring, ring_bytes);
    if (!error && scratch_bytes && (recorder->scratch = bpf_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, scratch_bytes, 1)) < 0)
        error = recorder->scratch;
    if (!error && (recorder->dropped = bpf_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 1)) < 0)
        error = recorder->dropped;
    if (error)
        bpf_recorder_close(recorder);
    return error;
}

int bpf_recorder_start(struct bpf_recorder *recorder, const struct bpf_code *code, const char *name,
                       const char *tracepoint) {
    recorder->program = bpf_load(code, BPF_PROG_TYPE_RAW_TRACEPOINT, name);
    if (recorder->program < 0)
        return recorder->program;
    recorder->link = bpf_attach_raw(recorder->program, tracepoint);
    return recorder->link < 0 ? recorder->link : 0;
}

void bpf_recorder_close(struct bpf_recorder *recorder) {
    int *const fds[] = {&recorder->link, &recorder->program, &recorder->dropped, &recorder->scratch};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    bpf_ring_close(&recorder->ring);
}

uint64_t bpf_recorder_dropped(const struct bpf_recorder *recorder) {
    return bpf_sum(recorder->dropped, 0);
}

// ---- its program ----

// reg = address of the value at index 0 of an array.
static size_t put_lookup(struct bpf_code *code, uint8_t reg, int map) {
    bpf_put(code, BPF_STORE_IMM(BPF_W, BPF_REG_10, -4, 0));
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, -4));
    bpf_put_map(code, BPF_REG_1, map);
    bpf_put(code, BPF_HELPER(BPF_FUNC_map_lookup_elem));
    size_t jump = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    bpf_put(code, BPF_MOVE(reg, BPF_REG_0));
    return jump;
}

size_t bpf_put_scratch(struct bpf_code *code, uint8_t reg, const struct bpf_recorder *recorder) {
    return put_lookup(code, reg, recorder->scratch);
}

void bpf_put_record(struct bpf_code *code, uint8_t reg, uint8_t size, uint8_t flags,
                    const struct bpf_recorder *recorder) {
    bpf_put(code, BPF_MOVE(BPF_REG_4, flags));
    bpf_put(code, BPF_MOVE(BPF_REG_2, reg));
    bpf_put(code, BPF_MOVE(BPF_REG_3, size));
    bpf_put_map(code, BPF_REG_1, recorder->ring.fd);
    bpf_put(code, BPF_HELPER(BPF_FUNC_ringbuf_output));
    size_t done = bpf_put(code, BPF_JUMP_IF(BPF_JEQ, BPF_REG_0, 0));
    size_t none = put_lookup(code, BPF_REG_1, recorder->dropped);
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_2, BPF_REG_1, 0));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, 1));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_1, 0, BPF_REG_2));
    bpf_land(code, done);
    bpf_land(code, none);
}
