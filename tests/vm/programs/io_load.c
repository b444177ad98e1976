// A disk load that counts its own I/Os: io_load PATH OP COUNT THREADS BYTES random|sequential [FIRST]
// OP: read, write, mix (half reads, half writes), fsync (a write and an fdatasync each); append: writes at the end of
// the file (a zone of zonefs); on a block device discard, zero (write zeroes), zone (zone reset), open, close and
// finish (of zones), which are all counted as discards. Each thread has one operation in flight, with O_DIRECT, so
// THREADS is the queue depth. FIRST is the byte at which sequential I/O starts. Prints one line: the number of
// operations of each kind, the number of failed ones, and their latency in user space (ns: min, mean, p50, p99, max).
#include <errno.h>
#include <fcntl.h>
#include <linux/blkzoned.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int fd;
static const char *op;
static uint64_t size, bytes, count, first_byte;
static uint64_t *latencies; // `count` entries; each thread has its own range
static int sequential;
static unsigned long range_ioctl; // 0: the operation is not an ioctl

struct worker {
    pthread_t thread;
    uint64_t first, todo, seed, reads, writes, syncs, discards, errors;
};

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void fail(const char *what) {
    fprintf(stderr, "io_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void *work(void *argument) {
    struct worker *w = argument;
    char *buffer;
    if (posix_memalign((void **)&buffer, 4096, bytes))
        abort();
    memset(buffer, 0x5a, bytes);
    uint64_t blocks = size / bytes;
    for (uint64_t i = 0; i < w->todo; i++) {
        uint64_t block = sequential ? first_byte / bytes + w->first + i : next_random(&w->seed);
        uint64_t at = block % blocks * bytes, range[2] = {at, bytes};
        int reads = !strcmp(op, "read") || (!strcmp(op, "mix") && next_random(&w->seed) & 1);
        uint64_t start = now();
        if (range_ioctl) {
            struct blk_zone_range zone = {at / 512, bytes / 512};
            w->errors += ioctl(fd, range_ioctl, _IOC_SIZE(range_ioctl) ? (void *)&zone : (void *)range) != 0;
            w->discards++;
        } else if (reads) {
            w->errors += pread(fd, buffer, bytes, (off_t)at) != (ssize_t)bytes;
            w->reads++;
        } else {
            w->errors += pwrite(fd, buffer, bytes, (off_t)at) != (ssize_t)bytes;
            w->writes++;
            if (!strcmp(op, "fsync")) {
                w->errors += fdatasync(fd) != 0;
                w->syncs++;
            }
        }
        latencies[w->first + i] = now() - start;
    }
    free(buffer);
    return NULL;
}

static int compare(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv) {
    if (argc != 7 && argc != 8) {
        fprintf(stderr, "usage: io_load PATH read|write|mix|fsync|append|discard|zero|zone|open|close|finish COUNT "
                        "THREADS BYTES random|sequential [FIRST]\n");
        return 2;
    }
    op = argv[2];
    range_ioctl = !strcmp(op, "discard")  ? BLKDISCARD
                  : !strcmp(op, "zero")   ? BLKZEROOUT
                  : !strcmp(op, "zone")   ? BLKRESETZONE
                  : !strcmp(op, "open")   ? BLKOPENZONE
                  : !strcmp(op, "close")  ? BLKCLOSEZONE
                  : !strcmp(op, "finish") ? BLKFINISHZONE
                                          : 0;
    count = strtoull(argv[3], NULL, 10);
    int threads = atoi(argv[4]);
    bytes = strtoull(argv[5], NULL, 10);
    sequential = !strcmp(argv[6], "sequential");
    first_byte = argc > 7 ? strtoull(argv[7], NULL, 10) : 0;
    fd = open(argv[1], (strcmp(op, "read") ? O_RDWR : O_RDONLY) | O_DIRECT);
    if (fd < 0)
        fail(argv[1]);
    struct stat st;
    if (fstat(fd, &st))
        fail("stat");
    size = !strcmp(op, "append") ? (uint64_t)st.st_blocks * 512 : (uint64_t)st.st_size;
    if (S_ISBLK(st.st_mode) && ioctl(fd, BLKGETSIZE64, &size))
        fail("size");
    latencies = calloc(count, sizeof *latencies);
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    if (!count || threads < 1 || !latencies || !workers)
        fail("count and threads");
    struct worker all = {0};
    uint64_t share = count / (uint64_t)threads, sum = 0;
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){
            .first = share * (uint64_t)i, .todo = share, .seed = 0x9e3779b97f4a7c15u + (uint64_t)i * 7919};
        if (i == threads - 1)
            workers[i].todo += count % (uint64_t)threads;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
            fail("thread");
    }
    for (int i = 0; i < threads; i++) {
        struct worker *w = &workers[i];
        pthread_join(w->thread, NULL);
        all.reads += w->reads, all.writes += w->writes, all.syncs += w->syncs, all.discards += w->discards;
        all.errors += w->errors;
    }
    for (uint64_t i = 0; i < count; i++)
        sum += latencies[i];
    qsort(latencies, count, sizeof *latencies, compare);
    printf(
        "io_load reads %lu writes %lu syncs %lu discards %lu errors %lu min_ns %lu mean_ns %lu p50_ns %lu p99_ns %lu "
        "max_ns %lu\n",
        all.reads, all.writes, all.syncs, all.discards, all.errors, latencies[0], sum / count,
        latencies[(count - 1) / 2], latencies[(count * 99 - 1) / 100], latencies[count - 1]);
    free(workers);
    free(latencies);
    return 0;
}
