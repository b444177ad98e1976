// A "disk" with a known latency on any Linux with FUSE: one file, "disk", served straight from /dev/fuse, whose reads,
// writes, flushes and discards each take DELAY_US. With a loop device on it (losetup -f --show MNT/disk) every request
// takes that long; with losetup's --direct-io=on also when up to THREADS of them are under way (else they are served
// one by one).
//
//     slowfuse MNT SIZE_MB DELAY_US
//
// The delay is kept to a few microseconds: the thread sleeps most of it and spins the rest. When many are under way
// they only sleep: they would keep each other from the CPU.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS 64
#define IN_MAX (2 << 20)
#define OUT_MAX ((1 << 20) + 4096)
#define SPIN_NS 150000

static int fuse_fd;
static char *data;
static size_t data_size;
static long delay_us;

static void reply(uint64_t unique, int error, const void *body, size_t size) {
    static _Thread_local char out[sizeof(struct fuse_out_header) + OUT_MAX];
    struct fuse_out_header *head = (void *)out;
    if (error)
        size = 0;
    *head = (struct fuse_out_header){.unique = unique, .error = error, .len = (uint32_t)(sizeof(*head) + size)};
    if (size)
        memcpy(head + 1, body, size);
    if (write(fuse_fd, out, head->len) < 0)
        perror("reply");
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static atomic_int napping;

static void nap(int64_t until) {
    int64_t wake = atomic_fetch_add(&napping, 1) < 2 ? until - SPIN_NS : until;
    struct timespec at = {.tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000};
    if (now_ns() < wake)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    while (now_ns() < until)
        ;
    atomic_fetch_sub(&napping, 1);
}

static struct fuse_attr attributes(uint64_t node) {
    return (struct fuse_attr){.ino = node,
                              .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644,
                              .size = node == 1 ? 0 : data_size,
                              .blksize = 4096,
                              .blocks = data_size / 512};
}

static void on_init(const struct fuse_in_header *head) {
    const struct fuse_init_out out = {.major = 7,
                                      .minor = 31,
                                      .flags = FUSE_MAX_PAGES | FUSE_BIG_WRITES | FUSE_ASYNC_READ | FUSE_ASYNC_DIO,
                                      .max_write = 1 << 20,
                                      .max_pages = 256,
                                      .time_gran = 1,
                                      .max_background = 2 * THREADS,
                                      .congestion_threshold = 2 * THREADS};
    reply(head->unique, 0, &out, sizeof(out));
}

static void on_open(const struct fuse_in_header *head) {
    struct fuse_open_out out = {.fh = 1};
    if (head->opcode == FUSE_OPEN)
        out.open_flags = FOPEN_DIRECT_IO;
    reply(head->unique, 0, &out, sizeof(out));
}

static void on_read(const struct fuse_in_header *head, const struct fuse_read_in *in, int64_t begun) {
    size_t size = in->offset >= data_size ? 0 : in->size;
    if (size > data_size - in->offset)
        size = data_size - in->offset;
    nap(begun + delay_us * 1000);
    reply(head->unique, 0, data + in->offset, size);
}

static void on_write(const struct fuse_in_header *head, const struct fuse_write_in *in, int64_t begun) {
    const struct fuse_write_out out = {.size = in->size};
    if (in->offset + in->size <= data_size)
        memcpy(data + in->offset, in + 1, in->size);
    nap(begun + delay_us * 1000);
    reply(head->unique, 0, &out, sizeof(out));
}

static void serve(const struct fuse_in_header *head, const void *body, int64_t begun) {
    struct fuse_entry_out entry = {.nodeid = 2, .attr_valid = 1000, .entry_valid = 1000};
    struct fuse_attr_out attr = {.attr_valid = 1000};
    const struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .frsize = 4096}}; // else it is no disk for discards
    switch (head->opcode) {
    case FUSE_INIT:
        on_init(head);
        return;
    case FUSE_LOOKUP:
        entry.attr = attributes(2);
        reply(head->unique, strcmp(body, "disk") ? -ENOENT : 0, &entry, sizeof(entry));
        return;
    case FUSE_GETATTR:
    case FUSE_SETATTR:
        attr.attr = attributes(head->nodeid);
        reply(head->unique, 0, &attr, sizeof(attr));
        return;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        on_open(head);
        return;
    case FUSE_READ:
        on_read(head, body, begun);
        return;
    case FUSE_WRITE:
        on_write(head, body, begun);
        return;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
        return; // these want no answer
    case FUSE_FSYNC:
    case FUSE_FALLOCATE: // a discard of the loop device
        nap(begun + delay_us * 1000);
        reply(head->unique, 0, NULL, 0);
        return;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_ACCESS:
        reply(head->unique, 0, NULL, 0);
        return;
    case FUSE_STATFS:
        reply(head->unique, 0, &statfs, sizeof(statfs));
        return;
    case FUSE_DESTROY:
        reply(head->unique, 0, NULL, 0);
        exit(0);
    default:
        reply(head->unique, -ENOSYS, NULL, 0);
    }
}

static void *server(void *unused) {
    char *in = malloc(IN_MAX);
    (void)unused;
    while (in) {
        ssize_t n = read(fuse_fd, in, IN_MAX);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            exit(0); // unmounted
        if (n > 0)
            serve((const void *)in, in + sizeof(struct fuse_in_header), now_ns());
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: slowfuse MNT SIZE_MB DELAY_US\n");
        return 2;
    }
    data_size = (size_t)atoi(argv[2]) << 20;
    delay_us = atol(argv[3]);
    data = calloc(1, data_size);
    fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    char options[100];
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse_fd);
    if (!data || mount("slowfuse", argv[1], "fuse.slowfuse", MS_NODEV | MS_NOSUID, options)) {
        perror("slowfuse: mount");
        return 1;
    }
    prctl(PR_SET_TIMERSLACK, 1); // threads inherit it
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, server, NULL))
            return 1;
    }
    for (;;)
        pause();
}
