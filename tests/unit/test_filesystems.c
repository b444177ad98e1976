// Which file systems are looked at, and which disk they are on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collectors/filesystems/filesystems.h"

#define ROOT "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"

static bool is_directory(const char *path) {
    return strncmp(path, "/etc/", 5) != 0;
}

// The paths to ask, from a text of mountinfo: "/, /var".
static const char *chosen_of(const char *text, size_t most, bool *left_out) {
    static char out[512];
    char copy[2048];
    struct filesystem_mount mounts[8];
    out[0] = '\0';
    assert_true(strlen(text) < sizeof(copy));
    strcpy(copy, text);
    size_t n = filesystems_choose(copy, is_directory, mounts, most, left_out);
    for (size_t i = 0, used = 0; i < n; i++)
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s", i ? ", " : "", mounts[i].path);
    return out;
}

static const char *chosen(const char *text) {
    bool left_out;
    const char *paths = chosen_of(text, 8, &left_out);
    assert_false(left_out);
    return paths;
}

static void which(void **state) {
    (void)state;
    assert_string_equal(chosen(ROOT), "/");
    assert_string_equal(chosen("9 1 253:0 / /var/log rw,nodev shared:1 master:2 - xfs /dev/mapper/a-b rw,x=remount-ro"),
                        "/var/log");
    assert_string_equal(chosen("9 1 0:9 / /tmp rw - tmpfs tmpfs rw,size=4k\n"), "/tmp");
    assert_string_equal(chosen("9 1 0:9 / /tmp rw - tmpfs  rw,size=4k\n"), "/tmp"); // without a source
    assert_string_equal(chosen("9 1 0:9 / /home rw - zfs pool/home rw\n"), "/home");
    assert_string_equal(chosen("9 1 0:9 / / rw - overlay overlay rw,lowerdir=/a\n"), "/");
    assert_string_equal(chosen("9 1 8:2 / /a\\040room\\134x rw - ext4 /dev/sda2 rw\n"), "/a room\\x");
    // Read-only, of the network, of a program, of the kernel, and a container seen from its host.
    assert_string_equal(chosen("9 1 7:3 / /snap ro,nodev - squashfs /dev/loop3 ro\n"), "");
    assert_string_equal(chosen("9 1 8:2 / /a ro,nodev - ext4 /dev/sda2 rw\n"), "");
    assert_string_equal(chosen("9 1 8:2 / /a rw,nodev - ext4 /dev/sda2 ro,errors=x\n"), "");
    assert_string_equal(chosen("9 1 0:9 / /home rw - nfs4 server:/home rw\n"), "");
    assert_string_equal(chosen("9 1 0:9 / /mnt rw - cifs //server/share rw\n"), "");
    assert_string_equal(chosen("9 1 0:9 / /stick rw - fuseblk /dev/sdb1 rw\n"), "");
    assert_string_equal(chosen("9 1 0:9 / /mnt rw - fuse.sshfs me@there: rw\n"), "");
    assert_string_equal(chosen("9 1 0:9 / /proc rw - proc proc rw\n"), "");
    assert_string_equal(chosen("9 1 0:9 / /merged rw - overlay overlay rw\n"), "");
    // What is cut off, or no such text.
    assert_string_equal(chosen(""), "");
    assert_string_equal(chosen("9 1 8:2 / /a rw - ext4 /dev/sda2"), "");
    assert_string_equal(chosen("9 1 8:2 / /a rw ext4 /dev/sda2 rw\n9 1 8 / /a rw - ext4 /dev/sda2 rw\nx\n"), "");
}

// What is mounted over a path is what is asked there.
static void hidden(void **state) {
    (void)state;
    assert_string_equal(chosen(ROOT "21 20 8:2 / /a rw - ext4 /dev/sda2 rw\n22 21 0:9 / /a rw - nfs4 s:/ rw\n"), "/");
    assert_string_equal(chosen("22 21 0:9 / /a rw - fuse.x x rw\n21 20 8:2 / /a rw - ext4 /dev/sda2 rw\n" ROOT), "/");
    assert_string_equal(chosen(ROOT "21 20 8:2 / /a rw - ext4 /dev/sda2 rw\n22 20 0:9 / /a rw - nfs4 s:/ rw\n"), "/");
    assert_string_equal(chosen(ROOT "21 20 8:2 / /a rw - ext4 /dev/sda2 rw\n22 21 8:3 / /a rw - xfs /dev/sda3 rw\n"
                                    "23 22 8:4 / /a/b rw - xfs /dev/sda4 rw\n"),
                        "/, /a, /a/b");
    // Over a directory on the way, and on the way to what it is mounted in; not over one whose name begins alike.
    assert_string_equal(chosen(ROOT
                               "21 20 8:2 / /a/b rw - ext4 /dev/sda2 rw\n22 21 8:3 / /a/b/c rw - xfs /dev/sda3 rw\n"
                               "23 20 0:9 / /a rw - tmpfs x rw\n24 20 8:4 / /ab rw - xfs /dev/sda4 rw\n"),
                        "/, /ab, /a");
    // Whoever has a root keeps it.
    assert_string_equal(chosen(ROOT "21 20 8:2 / /a rw - ext4 /dev/sda2 rw\n22 20 8:3 / / rw - ext4 /dev/sda3 rw\n"
                                    "23 22 8:4 / /b rw - ext4 /dev/sda4 rw\n"),
                        "/, /a");
}

// No path leads over what may never answer, or mounts something when it is looked at.
static void way(void **state) {
    (void)state;
    assert_string_equal(chosen(ROOT "21 20 0:8 / /a rw - autofs systemd-1 rw\n22 21 8:2 / /a rw - ext4 /dev/sda2 rw\n"),
                        "/");
    assert_string_equal(chosen(ROOT
                               "21 20 0:8 / /a rw - autofs auto.a rw\n22 21 8:2 / /a/b rw - ext4 /dev/sda2 rw\n"
                               "23 22 8:3 / /a/b/c rw - ext4 /dev/sda3 rw\n24 20 8:4 / /c rw - ext4 /dev/sda4 rw\n"),
                        "/, /c");
    assert_string_equal(chosen(ROOT "21 20 0:8 / /a rw - nfs4 s:/ rw\n22 21 8:2 / /a/b rw - ext4 /dev/sda2 rw\n"), "/");
    assert_string_equal(chosen(ROOT "21 20 0:8 / /dev rw - devtmpfs udev rw\n22 21 0:9 / /dev/shm rw - tmpfs x rw\n"),
                        "/, /dev/shm");
    assert_string_equal(chosen("20 1 0:8 / / rw - nfs4 s:/ rw\n22 20 8:2 / /b rw - ext4 /dev/sda2 rw\n"), "/b");
    assert_string_equal(chosen("20 21 8:1 / /a rw - ext4 /dev/sda1 rw\n21 20 8:2 / /b rw - ext4 /dev/sda2 rw\n"), "");
}

// Each file system once, where most of it is seen; files are not where one looks for it.
static void once(void **state) {
    (void)state;
    assert_string_equal(chosen("20 1 0:9 / / rw - overlay overlay rw\n21 20 8:1 /x/resolv.conf /etc/resolv.conf rw - "
                               "ext4 /dev/sda1 rw\n22 20 8:1 /x/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"),
                        "/");
    assert_string_equal(chosen("21 1 8:1 /x/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
                               "22 1 8:1 /volumes/1 /var/lib/data rw - ext4 /dev/sda1 rw\n"),
                        "/var/lib/data");
#define RUN ROOT "21 20 0:9 /snapd/ns /run/ns rw - tmpfs t rw\n22 20 0:9 / /run/whole rw - tmpfs t rw\n"
    assert_string_equal(chosen(RUN "24 20 8:1 /x /x rw - ext4 /dev/sda1 rw\n"), "/, /run/whole");
    assert_string_equal(chosen(RUN "23 20 0:9 / /run rw - tmpfs t rw\n"), "/, /run");
    assert_string_equal(chosen("21 1 0:9 / /tank/home rw - zfs tank/home rw\n22 1 0:8 / /tank rw - zfs tank rw\n"
                               "23 1 0:7 / /tan rw - zfs tan/k rw\n"),
                        "/tank, /tan");
}

// What is on disks comes first.
static void many(void **state) {
    (void)state;
    bool left_out;
    static const char text[] = "21 1 0:1 / /t1 rw - tmpfs t rw\n22 1 0:2 / /t2 rw - tmpfs t rw\n"
                               "23 1 8:1 / /d1 rw - ext4 /dev/sda1 rw\n24 1 8:2 / /d2 rw - ext4 /dev/sda2 rw\n";
    assert_string_equal(chosen_of(text, 3, &left_out), "/d1, /d2, /t1");
    assert_true(left_out);
    assert_string_equal(chosen_of(text, 4, &left_out), "/d1, /d2, /t1, /t2");
    assert_false(left_out);
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
        cmocka_unit_test(which), cmocka_unit_test(hidden), cmocka_unit_test(way),
        cmocka_unit_test(once),  cmocka_unit_test(many),   cmocka_unit_test(disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
