// A device-mapper device that sends all I/O on to another disk, without the dmsetup program: dm_linear NAME DISK
// [CHUNK [STRIDE]]. What crosses a multiple of CHUNK (sectors) is cut there; what follows goes STRIDE chunks further on
// (no divisor of how many there are), else to the next one. Prints its numbers, MAJOR:MINOR.
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
} ask;

static void control(int fd, unsigned long what, const char *name, const char *word) {
    ask.head.version[0] = DM_VERSION_MAJOR;
    ask.head.version[1] = 0;
    ask.head.version[2] = 0;
    ask.head.data_size = sizeof(ask);
    ask.head.data_start = sizeof(ask.head);
    snprintf(ask.head.name, sizeof(ask.head.name), "%s", name);
    if (ioctl(fd, what, &ask)) {
        fprintf(stderr, "dm_linear: %s: %s\n", word, strerror(errno));
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
    dev_t dev = ask.head.dev;
    memset(&ask, 0, sizeof(ask));
    uint64_t chunk = argc > 3 ? strtoull(argv[3], NULL, 10) : bytes / 512, at = sizeof(ask.head);
    uint64_t stride = argc > 4 ? strtoull(argv[4], NULL, 10) : 1, whole = bytes / 512 / chunk * chunk;
    for (uint64_t first = 0, end; first < bytes / 512; first = end) {
        struct dm_target_spec *target = (struct dm_target_spec *)(ask.bytes + at);
        end = first + chunk < bytes / 512 ? first + chunk : bytes / 512;
        target->sector_start = first;
        target->length = end - first;
        strcpy(target->target_type, "linear");
        int length =
            snprintf((char *)(target + 1), 256, "%s %lu", argv[2], first < whole ? first * stride % whole : first);
        target->next = (uint32_t)(sizeof(*target) + ((size_t)length + 8) / 8 * 8);
        at += target->next;
        ask.head.target_count++;
    }
    control(fd, DM_TABLE_LOAD, argv[1], "load");
    memset(&ask, 0, sizeof(ask));
    control(fd, DM_DEV_SUSPEND, argv[1], "resume"); // without the flag: it resumes
    printf("%u:%u\n", major(dev), minor(dev));
    return 0;
}
