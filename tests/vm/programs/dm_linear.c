// dm_linear NAME DISK [CHUNK [STRIDE]]: creates a device-mapper device that remaps all I/O to another disk, without
// dmsetup. I/O that crosses a multiple of CHUNK (sectors) is split there. Chunk i maps to chunk i * STRIDE modulo the
// number of chunks; STRIDE must be coprime to it (default 1). Prints the device number, MAJOR:MINOR.
#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static union {
    struct dm_ioctl head;
    char bytes[1 << 16];
} request;

static void control(int fd, unsigned long what, const char *name, const char *verb) {
    request.head.version[0] = DM_VERSION_MAJOR;
    request.head.version[1] = 0;
    request.head.version[2] = 0;
    request.head.data_size = sizeof(request);
    request.head.data_start = sizeof(request.head);
    snprintf(request.head.name, sizeof(request.head.name), "%s", name);
    if (ioctl(fd, what, &request)) {
        fprintf(stderr, "dm_linear: %s: %s\n", verb, strerror(errno));
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: dm_linear NAME DISK [CHUNK [STRIDE]]\n");
        return 2;
    }
    uint64_t bytes;
    int disk = open(argv[2], O_RDONLY), fd = open("/dev/mapper/control", O_RDWR);
    if (disk < 0 || fd < 0 || ioctl(disk, BLKGETSIZE64, &bytes)) {
        fprintf(stderr, "dm_linear: %s: %s\n", disk < 0 ? argv[2] : "/dev/mapper/control", strerror(errno));
        return 1;
    }
    close(disk);
    control(fd, DM_DEV_CREATE, argv[1], "create");
    dev_t dev = request.head.dev;
    memset(&request, 0, sizeof(request));
    uint64_t chunk = argc > 3 ? strtoull(argv[3], NULL, 10) : bytes / 512, at = sizeof(request.head);
    uint64_t stride = argc > 4 ? strtoull(argv[4], NULL, 10) : 1, whole = bytes / 512 / chunk * chunk;
    for (uint64_t first = 0, end; first < bytes / 512; first = end) {
        struct dm_target_spec *target = (struct dm_target_spec *)(request.bytes + at);
        end = first + chunk < bytes / 512 ? first + chunk : bytes / 512;
        target->sector_start = first;
        target->length = end - first;
        strcpy(target->target_type, "linear");
        int length =
            snprintf((char *)(target + 1), 256, "%s %lu", argv[2], first < whole ? first * stride % whole : first);
        target->next = (uint32_t)(sizeof(*target) + ((size_t)length + 8) / 8 * 8);
        at += target->next;
        request.head.target_count++;
    }
    control(fd, DM_TABLE_LOAD, argv[1], "load");
    memset(&request, 0, sizeof(request));
    control(fd, DM_DEV_SUSPEND, argv[1], "resume"); // without DM_SUSPEND_FLAG it resumes
    printf("%u:%u\n", major(dev), minor(dev));
    return 0;
}
