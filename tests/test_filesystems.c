// Which file systems are looked at, and which disk they are on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collectors/filesystems.h"

static bool wanted(const char *source, const char *path, const char *type, const char *options) {
    return filesystem_wanted(
        &(struct mntent){(char *)source, (char *)path, (char *)type, (char *)options, .mnt_freq = 0});
}

static void which(void **state) {
    (void)state;
    assert_true(wanted("/dev/vda1", "/", "ext4", "rw,relatime"));
    assert_true(wanted("/dev/mapper/data-logs", "/var/log", "xfs", "rw,errors=remount-ro"));
    assert_true(wanted("tmpfs", "/tmp", "tmpfs", "rw,size=4k"));
    assert_true(wanted("pool/home", "/home", "zfs", "rw"));
    assert_true(wanted("overlay", "/", "overlay", "rw,lowerdir=/a"));
    // Read-only, of the network, of a program, of the kernel, and a container seen from its host.
    assert_false(wanted("/dev/loop3", "/snap/core/1", "squashfs", "ro,nodev"));
    assert_false(wanted("server:/home", "/home", "nfs4", "rw"));
    assert_false(wanted("//server/share", "/mnt", "cifs", "rw"));
    assert_false(wanted("/dev/sdb1", "/media/stick", "fuseblk", "rw"));
    assert_false(wanted("me@there:", "/mnt", "fuse.sshfs", "rw"));
    assert_false(wanted("proc", "/proc", "proc", "rw"));
    assert_false(wanted("overlay", "/var/lib/docker/overlay2/1/merged", "overlay", "rw"));
}

static void disk(void **state) {
    (void)state;
    char name[64];
    assert_true(filesystem_disk("../../devices/virtio0/block/vda", false, name, sizeof(name)));
    assert_string_equal(name, "vda");
    assert_true(filesystem_disk("../../devices/virtio0/block/vda/vda1", true, name, sizeof(name)));
    assert_string_equal(name, "vda");
    assert_true(filesystem_disk("../../devices/virtio0/block/vda", false, name, 3));
    assert_string_equal(name, "vd");
    assert_false(filesystem_disk("vda", false, name, sizeof(name)));
    assert_false(filesystem_disk("a/vda1", true, name, sizeof(name)));
    assert_false(filesystem_disk("", false, name, sizeof(name)));
    assert_false(filesystem_disk("/", true, name, sizeof(name)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which),
        cmocka_unit_test(disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
