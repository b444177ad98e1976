// A packet socket that sees the first bytes of the DNS datagrams of a network namespace, while a process seems to wait
// for an answer.
//
// A classic BPF program leaves all other packets out, so the cost is that of the program for each packet, and a ring
// that the kernel fills holds a second of 500 look-ups and more. The ring has the time of each datagram; a socket
// option for it would make the kernel take the time of every packet of the machine. An open tap keeps its network
// namespace: its owner closes it soon. Kernel documents: packet(7), Documentation/networking/{filter,packet_mmap}.rst.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collectors/sockets/parts.h"
#include "model/clock.h"
#include "model/mem.h"

#define TAPS_MAX 8
#define DATAGRAM_BYTES 80  // the longest IPv4 header, or that of IPv6 and of a fragment; UDP; the header of DNS
#define FRAME_BYTES 256u   // with the kernel's own headers
#define BLOCK_BYTES 65536u // whole pages on all machines
#define BLOCKS 4u
#define RING_BYTES ((size_t)BLOCK_BYTES * BLOCKS)
#define FRAMES (RING_BYTES / FRAME_BYTES)

struct tap {
    int fd;
    uint8_t *ring;
    size_t next;      // frame
    uint64_t read_ns; // last
};

static size_t taps; // that are open

#define DROP(at) (26 - (at)-1)
#define LOAD(size, offset) BPF_STMT(BPF_LD | (size) | BPF_ABS, offset)
#define LOAD_META(what) LOAD(BPF_W, SKF_AD_OFF + (what))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define GO(skip) BPF_STMT(BPF_JMP | BPF_JA, skip)

// Queries that leave, from the host itself or forwarded, and answers that arrive. So on a name server's own host its
// clients are left out, and on "lo" each datagram passes once. The first fragment of a long answer passes.
static struct sock_filter filter[] = {
    /*  0 */ LOAD_META(SKF_AD_PROTOCOL),
    /*  1 */ EQUAL(ETH_P_IP, 0, 6),
    /*  2 */ LOAD(BPF_B, 9), // protocol
    /*  3 */ EQUAL(IPPROTO_UDP, 0, DROP(3)),
    /*  4 */ LOAD(BPF_H, 6),
    /*  5 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, DROP(5), 0), // fragment offset
    /*  6 */ BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),                   // X: length of the header
    /*  7 */ GO(11),
    /*  8 */ EQUAL(ETH_P_IPV6, 0, DROP(8)),
    /*  9 */ LOAD(BPF_B, 6), // next header
    /* 10 */ EQUAL(IPPROTO_UDP, 5, 0),
    /* 11 */ EQUAL(IPPROTO_FRAGMENT, 0, DROP(11)),
    /* 12 */ LOAD(BPF_B, 40),
    /* 13 */ EQUAL(IPPROTO_UDP, 0, DROP(13)),
    /* 14 */ LOAD(BPF_H, 42),
    /* 15 */ BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0xfff8, DROP(15), 2),
    /* 16 */ BPF_STMT(BPF_LDX | BPF_IMM, 40),
    /* 17 */ GO(1),
    /* 18 */ BPF_STMT(BPF_LDX | BPF_IMM, 48),
    /* 19 */ LOAD_META(SKF_AD_PKTTYPE),
    /* 20 */ EQUAL(PACKET_OUTGOING, 2, 0),
    /* 21 */ BPF_STMT(BPF_LD | BPF_H | BPF_IND, 0), // source port of what arrives
    /* 22 */ GO(1),
    /* 23 */ BPF_STMT(BPF_LD | BPF_H | BPF_IND, 2), // destination port of what leaves
    /* 24 */ EQUAL(DNS_PORT, 0, DROP(24)),
    /* 25 */ BPF_STMT(BPF_RET | BPF_K, DATAGRAM_BYTES),
    /* 26 */ BPF_STMT(BPF_RET | BPF_K, 0),
};

// The filter and the ring are there before bind(2), which lets packets in.
static int socket_prepare(struct tap *tap) {
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    const struct tpacket_req ring = {
        .tp_block_size = BLOCK_BYTES, .tp_block_nr = BLOCKS, .tp_frame_size = FRAME_BYTES, .tp_frame_nr = FRAMES};
    const struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    const int version = TPACKET_V2;
    tap->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (tap->fd < 0 || setsockopt(tap->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
        setsockopt(tap->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
        setsockopt(tap->fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)))
        return -errno;
    void *mapped = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, tap->fd, 0);
    if (mapped == MAP_FAILED)
        return -errno;
    tap->ring = mapped;
    return bind(tap->fd, (const struct sockaddr *)&all, sizeof(all)) ? -errno : 0;
}

struct tap *tap_open(int *error) {
    *error = -EBUSY;
    if (taps == TAPS_MAX)
        return NULL;
    struct tap *tap = xcalloc(1, sizeof(*tap));
    taps++;
    *error = socket_prepare(tap);
    tap->read_ns = now_ns();
    if (!*error)
        return tap;
    tap_close(tap);
    return NULL;
}

void tap_close(struct tap *tap) {
    if (!tap)
        return;
    if (tap->ring)
        munmap(tap->ring, RING_BYTES);
    if (tap->fd >= 0)
        close(tap->fd);
    free(tap);
    taps--;
}

bool tap_read(struct tap *tap, uint64_t now_ns, void (*fn)(void *, const uint8_t *, size_t, uint64_t), void *context) {
    const uint64_t wall_ns = clock_ns(CLOCK_REALTIME), oldest_ns = now_ns - tap->read_ns;
    struct tpacket_stats stats = {0};
    socklen_t size = sizeof(stats);
    for (size_t i = 0; i < FRAMES; i++) { // no more: they may come as fast as they are read
        struct tpacket2_hdr *frame = (void *)(tap->ring + tap->next * FRAME_BYTES);
        // Pairs with smp_wmb() in the kernel's tpacket_rcv(); the release below with smp_rmb() in its
        // __packet_get_status().
        if (!(__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
            break;
        // The wall clock may have been set meanwhile.
        uint64_t age_ns = wall_ns - (frame->tp_sec * 1000000000ull + frame->tp_nsec);
        if (frame->tp_net + frame->tp_snaplen <= FRAME_BYTES)
            fn(context, (const uint8_t *)frame + frame->tp_net, frame->tp_snaplen,
               (int64_t)age_ns < 0 ? now_ns : now_ns - (age_ns < oldest_ns ? age_ns : oldest_ns));
        __atomic_store_n(&frame->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        tap->next = (tap->next + 1) % FRAMES;
    }
    tap->read_ns = now_ns;
    return getsockopt(tap->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) || !stats.tp_drops;
}
