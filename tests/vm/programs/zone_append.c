// zone_append DISK COUNT BYTES ZONE: sends NVMe zone append commands to a zone (counted from 0) by passthrough, because
// no file system here uses them. Prints one line like io_load.
#include <errno.h>
#include <fcntl.h>
#include <linux/blkzoned.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#define ZONE_APPEND 0x7d

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv) {
    int fd = argc == 5 ? open(argv[1], O_RDWR) : -1;
    uint32_t zone_sectors;
    if (fd < 0 || ioctl(fd, BLKGETZONESZ, &zone_sectors)) {
        fprintf(stderr, "usage: zone_append DISK COUNT BYTES ZONE: %s\n", strerror(errno));
        return 2;
    }
    uint64_t count = strtoull(argv[2], NULL, 10), bytes = strtoull(argv[3], NULL, 10), errors = 0, most = 0;
    uint64_t block = 512, first = strtoull(argv[4], NULL, 10) * zone_sectors * 512;
    int size;
    if (!ioctl(fd, _IO(0x12, 104), &size)) // BLKSSZGET
        block = (uint64_t)size;
    void *buffer = NULL;
    if (posix_memalign(&buffer, 4096, bytes))
        return 1;
    memset(buffer, 0x5a, bytes);
    for (uint64_t i = 0; i < count; i++) {
        struct nvme_passthru_cmd64 command = {.opcode = ZONE_APPEND,
                                              .nsid = (uint32_t)ioctl(fd, NVME_IOCTL_ID),
                                              .addr = (uint64_t)(uintptr_t)buffer,
                                              .data_len = (uint32_t)bytes,
                                              .cdw10 = (uint32_t)(first / block),
                                              .cdw11 = (uint32_t)(first / block >> 32),
                                              .cdw12 = (uint32_t)(bytes / block - 1)};
        uint64_t start = now();
        int status = ioctl(fd, NVME_IOCTL_IO64_CMD, &command);
        uint64_t ns = now() - start;
        most = ns > most ? ns : most;
        if (status || command.result != (first + i * bytes) / block) {
            if (!errors++)
                fprintf(stderr, "zone_append: status %d, %s, at %llu\n", status, strerror(errno),
                        (unsigned long long)command.result);
        }
    }
    printf("io_load reads 0 writes %lu syncs 0 discards 0 errors %lu max_ns %lu\n", count, errors, most);
    return 0;
}
