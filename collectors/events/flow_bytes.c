#include "collectors/events/flow_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/bpf/btf.h"
#include "collectors/kernel/bpf/recorder.h"
#include "model/mem.h"

#define RING_BYTES (1u << 20) // 16,000 connections
#define CLOSES 16384          // a power of two
#define CHAIN_MAX 256
#define SAME_NS 2000000ull // at most between the times of one event in two clocks
#define TCP_CLOSE 7
#define SOCK_DONE                                                                                                      \
    2ull // bit of sk_flags, in a part that begins the socket: the peer's FIN was received, and counts as a byte

enum { SENT, RETRANS, RECEIVED, FLAGS, VALUES };
struct closed {
    uint64_t socket, ns, values[VALUES];
};
struct entry {
    struct closed closed;
    uint32_t next; // index + 1 of an older one of the same chain; may be of another chain when it was overwritten
};
struct flow_bytes {
    struct bpf_recorder recorder;
    struct entry entries[CLOSES]; // a ring: the kernel uses a socket's memory again at once
    uint32_t heads[CLOSES];       // by socket: index + 1 of the newest one of a chain
    uint64_t n;
};

// ctx: the socket, its old and its new state.
static void program(struct bpf_code *code, const struct btf_wanted *members, int ring) {
    const int16_t record = -(int16_t)sizeof(struct closed);
    code->n = 0;
    bpf_put(code, BPF_MOVE(BPF_REG_6, BPF_REG_1));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_1, BPF_REG_6, 16));
    size_t other = bpf_put(code, BPF_JUMP_IF(BPF_JNE, BPF_REG_1, TCP_CLOSE));
    bpf_put(code, BPF_HELPER(BPF_FUNC_ktime_get_ns));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, (int16_t)(record + 8), BPF_REG_0));
    bpf_put(code, BPF_LOAD(BPF_DW, BPF_REG_7, BPF_REG_6, 0));
    bpf_put(code, BPF_STORE(BPF_DW, BPF_REG_10, record, BPF_REG_7));
    for (int i = 0; i < VALUES; i++) {
        bpf_put(code, BPF_MOVE(BPF_REG_1, BPF_REG_10));
        bpf_put(code, BPF_ADD_IMM(BPF_REG_1, record + 16 + 8 * i));
        bpf_put(code, BPF_MOVE_IMM(BPF_REG_2, 8));
        bpf_put(code, BPF_MOVE(BPF_REG_3, BPF_REG_7));
        bpf_put(code, BPF_ADD_IMM(BPF_REG_3, members[i].offset));
        bpf_put(code, BPF_HELPER(BPF_FUNC_probe_read_kernel));
    }
    bpf_put_map(code, BPF_REG_1, ring);
    bpf_put(code, BPF_MOVE(BPF_REG_2, BPF_REG_10));
    bpf_put(code, BPF_ADD_IMM(BPF_REG_2, record));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_3, sizeof(struct closed)));
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_4, BPF_RB_NO_WAKEUP));
    bpf_put(code, BPF_HELPER(BPF_FUNC_ringbuf_output));
    bpf_land(code, other);
    bpf_put(code, BPF_MOVE_IMM(BPF_REG_0, 0));
    bpf_put(code, BPF_RETURN);
}

int flow_bytes_open(struct flow_bytes **out) {
    struct btf_wanted members[VALUES] = {{"tcp_sock", "bytes_sent", -1},
                                         {"tcp_sock", "bytes_retrans", -1},
                                         {"tcp_sock", "bytes_received", -1},
                                         {"sock_common", "skc_flags", -1}};
    int error = btf_members("/sys/kernel/btf/vmlinux", members, VALUES);
    *out = NULL;
    if (error)
        return error;
    struct flow_bytes *bytes = xcalloc(1, sizeof(*bytes));
    struct bpf_code *code = xcalloc(1, sizeof(*code));
    error = bpf_recorder_open(&bytes->recorder, RING_BYTES, 0);
    if (!error) {
        program(code, members, bytes->recorder.ring.fd);
        error = bpf_recorder_start(&bytes->recorder, code, "ktop_tcp", "inet_sock_set_state");
    }
    free(code);
    if (error) {
        flow_bytes_close(bytes);
        return error;
    }
    *out = bytes;
    return 0;
}

void flow_bytes_close(struct flow_bytes *bytes) {
    if (!bytes)
        return;
    bpf_recorder_close(&bytes->recorder);
    free(bytes);
}

static size_t slot_of(uint64_t socket) {
    return (socket >> 6) * 2654435761u >> 7 & (CLOSES - 1);
}

static void take(void *context, const uint8_t *record, uint32_t size) {
    struct flow_bytes *bytes = context;
    struct closed closed;
    if (size < sizeof(closed))
        return;
    memcpy(&closed, record, sizeof(closed));
    uint32_t at = (uint32_t)(bytes->n++ & (CLOSES - 1)), *head = &bytes->heads[slot_of(closed.socket)];
    bytes->entries[at] = (struct entry){closed, *head == at + 1 ? 0 : *head};
    *head = at + 1;
}

void flow_bytes_drain(struct flow_bytes *bytes) {
    bpf_ring_drain(&bytes->recorder.ring, take, bytes);
}

bool flow_bytes_find(const struct flow_bytes *bytes, uint64_t socket, uint64_t ns, uint64_t *sent, uint64_t *received) {
    const struct closed *closed = NULL;
    uint64_t nearest = SAME_NS;
    uint32_t at = bytes->heads[slot_of(socket)];
    for (int i = 0; at && i < CHAIN_MAX; i++, at = bytes->entries[at - 1].next) {
        const struct closed *other = &bytes->entries[at - 1].closed;
        uint64_t distance = other->ns > ns ? other->ns - ns : ns - other->ns;
        if (other->socket != socket || distance >= nearest)
            continue;
        nearest = distance;
        closed = other;
    }
    if (!closed)
        return false;
    uint64_t fin = closed->values[FLAGS] & SOCK_DONE && closed->values[RECEIVED] ? 1 : 0;
    *sent = closed->values[SENT] >= closed->values[RETRANS] ? closed->values[SENT] - closed->values[RETRANS] : 0;
    *received = closed->values[RECEIVED] - fin;
    return true;
}
