#include "collectors/events/call_table.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

// ---- flags ----

#define F(flag)                                                                                                        \
    { flag, 0, #flag }
#define END                                                                                                            \
    { 0, 0, NULL }
#if defined(__x86_64__)
#define LARGEFILE 0100000 // of the kernel: 0 in the C library
#else
#define LARGEFILE 0400000
#endif

static const struct call_flag open_flags[] = {
    {O_RDONLY, O_ACCMODE, "O_RDONLY"},
    {O_WRONLY, O_ACCMODE, "O_WRONLY"},
    {O_RDWR, O_ACCMODE, "O_RDWR"},
    F(O_CREAT),
    F(O_EXCL),
    F(O_NOCTTY),
    F(O_TRUNC),
    F(O_APPEND),
    F(O_NONBLOCK),
    {O_SYNC, O_SYNC, "O_SYNC"},
    {O_DSYNC, O_SYNC, "O_DSYNC"},
    F(O_ASYNC),
    F(O_DIRECT),
    {LARGEFILE, 0, "O_LARGEFILE"},
    {O_TMPFILE, O_TMPFILE, "O_TMPFILE"},
    {O_DIRECTORY, O_TMPFILE, "O_DIRECTORY"},
    F(O_NOFOLLOW),
    F(O_NOATIME),
    F(O_CLOEXEC),
    F(O_PATH),
    END,
};
static const struct call_flag mount_flags[] = {
    F(MS_RDONLY),   F(MS_NOSUID),  F(MS_NODEV),       F(MS_NOEXEC),    F(MS_SYNCHRONOUS), F(MS_REMOUNT),
    F(MS_MANDLOCK), F(MS_DIRSYNC), F(MS_NOSYMFOLLOW), F(MS_NOATIME),   F(MS_NODIRATIME),  F(MS_BIND),
    F(MS_MOVE),     F(MS_REC),     F(MS_SILENT),      F(MS_POSIXACL),  F(MS_UNBINDABLE),  F(MS_PRIVATE),
    F(MS_SLAVE),    F(MS_SHARED),  F(MS_RELATIME),    F(MS_KERNMOUNT), F(MS_I_VERSION),   F(MS_STRICTATIME),
    F(MS_LAZYTIME), END,
};
static const struct call_flag umount_flags[] = {
    {1, 0, "MNT_FORCE"}, {2, 0, "MNT_DETACH"}, {4, 0, "MNT_EXPIRE"}, {8, 0, "UMOUNT_NOFOLLOW"}, END,
};
static const struct call_flag move_flags[] = {
    F(MOVE_MOUNT_F_SYMLINKS),           F(MOVE_MOUNT_F_AUTOMOUNTS),       F(MOVE_MOUNT_F_EMPTY_PATH),
    F(MOVE_MOUNT_T_SYMLINKS),           F(MOVE_MOUNT_T_AUTOMOUNTS),       F(MOVE_MOUNT_T_EMPTY_PATH),
    {0x100, 0, "MOVE_MOUNT_SET_GROUP"}, {0x200, 0, "MOVE_MOUNT_BENEATH"}, END,
};
static const struct call_flag tree_flags[] = {
    F(OPEN_TREE_CLONE),
    {O_CLOEXEC, 0, "OPEN_TREE_CLOEXEC"},
    F(AT_EMPTY_PATH),
    {0x8000, 0, "AT_RECURSIVE"},
    F(AT_SYMLINK_NOFOLLOW),
    F(AT_NO_AUTOMOUNT),
    END,
};
static const struct call_flag fsopen_flags[] = {F(FSOPEN_CLOEXEC), END};
static const struct call_flag fsmount_flags[] = {F(FSMOUNT_CLOEXEC), END};
static const struct call_flag fspick_flags[] = {
    F(FSPICK_CLOEXEC), F(FSPICK_SYMLINK_NOFOLLOW), F(FSPICK_NO_AUTOMOUNT), F(FSPICK_EMPTY_PATH), END,
};
static const struct call_flag attr_flags[] = {
    {0x1, 0, "MOUNT_ATTR_RDONLY"},
    {0x2, 0, "MOUNT_ATTR_NOSUID"},
    {0x4, 0, "MOUNT_ATTR_NODEV"},
    {0x8, 0, "MOUNT_ATTR_NOEXEC"},
    {0x10, 0x70, "MOUNT_ATTR_NOATIME"},
    {0x20, 0x70, "MOUNT_ATTR_STRICTATIME"},
    {0x80, 0, "MOUNT_ATTR_NODIRATIME"},
    {0x100000, 0, "MOUNT_ATTR_IDMAP"},
    {0x200000, 0, "MOUNT_ATTR_NOSYMFOLLOW"},
    END,
};
#define VALUE(n, name)                                                                                                 \
    { n, ~0ull, name }
static const struct call_flag fsconfig_commands[] = {
    VALUE(0, "SET_FLAG"),        VALUE(1, "SET_STRING"),
    VALUE(2, "SET_BINARY"),      VALUE(3, "SET_PATH"),
    VALUE(4, "SET_PATH_EMPTY"),  VALUE(5, "SET_FD"),
    VALUE(6, "CMD_CREATE"),      VALUE(7, "CMD_RECONFIGURE"),
    VALUE(8, "CMD_CREATE_EXCL"), END,
};

// ---- calls ----

#if !defined(SYS_open) // arm64 never had the older forms
#define SYS_open -1
#define SYS_creat -1
#define SYS_dup2 -1
#endif
// Constant since Linux 5.12, also where the C library's headers are older.
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

#define DIRFD(name)                                                                                                    \
    { name, CALL_DIRFD, NULL }
#define PATH(name)                                                                                                     \
    { name, CALL_PATH, NULL }
#define STRING(name)                                                                                                   \
    { name, CALL_STRING, NULL }
#define OPTIONS(name)                                                                                                  \
    { name, CALL_OPTIONS, NULL }
#define FLAGS(name, flags)                                                                                             \
    { name, CALL_FLAGS, flags }
#define MODE                                                                                                           \
    { "mode", CALL_MODE, NULL }
#define FD                                                                                                             \
    { "fd", CALL_FD, NULL }

const struct call calls_table[] = {
    {"open", SYS_open, CALL_OPENS, false, {PATH("path"), FLAGS("flags", open_flags), MODE}},
    {"openat", SYS_openat, CALL_OPENS, false, {DIRFD("dirfd"), PATH("path"), FLAGS("flags", open_flags), MODE}},
    {"openat2", SYS_openat2, CALL_OPENS, false, {DIRFD("dirfd"), PATH("path"), {"flags", CALL_HOW, open_flags}}},
    {"creat", SYS_creat, CALL_OPENS, false, {PATH("path"), MODE}},
    {"mount",
     SYS_mount,
     CALL_PLAIN,
     false,
     {STRING("source"), PATH("target"), STRING("type"), FLAGS("flags", mount_flags), OPTIONS("options")}},
    {"umount2", SYS_umount2, CALL_PLAIN, false, {PATH("target"), FLAGS("flags", umount_flags)}},
    {"pivot_root", SYS_pivot_root, CALL_PLAIN, false, {PATH("new_root"), PATH("put_old")}},
    {"open_tree", SYS_open_tree, CALL_OPENS, false, {DIRFD("dirfd"), PATH("path"), FLAGS("flags", tree_flags)}},
    {"move_mount",
     SYS_move_mount,
     CALL_PLAIN,
     false,
     {DIRFD("from_dirfd"), PATH("from"), DIRFD("to_dirfd"), PATH("to"), FLAGS("flags", move_flags)}},
    {"fsopen", SYS_fsopen, CALL_MOUNT_FD, false, {STRING("type"), FLAGS("flags", fsopen_flags)}},
    {"fsconfig",
     SYS_fsconfig,
     CALL_PLAIN,
     false,
     {FD, {"command", CALL_VALUE, fsconfig_commands}, STRING("key"), OPTIONS("value"), {"aux", CALL_NUMBER, NULL}}},
    {"fsmount",
     SYS_fsmount,
     CALL_MOUNT_FD,
     false,
     {FD, FLAGS("flags", fsmount_flags), FLAGS("attributes", attr_flags)}},
    {"fspick", SYS_fspick, CALL_MOUNT_FD, false, {DIRFD("dirfd"), PATH("path"), FLAGS("flags", fspick_flags)}},
    {"mount_setattr", SYS_mount_setattr, CALL_PLAIN, false, {DIRFD("dirfd"), PATH("path"), FLAGS("flags", tree_flags)}},
    {"chdir", SYS_chdir, CALL_MOVES, true, {PATH("path")}},
    {"fchdir", SYS_fchdir, CALL_MOVES, true, {FD}},
    {"chroot", SYS_chroot, CALL_MOVES, true, {{NULL, CALL_NONE, NULL}}},
    {"setns", SYS_setns, CALL_MOVES, true, {{NULL, CALL_NONE, NULL}}},
    {"dup", SYS_dup, CALL_DUPS, true, {FD}},
    {"dup2", SYS_dup2, CALL_DUPS, true, {FD}},
    {"dup3", SYS_dup3, CALL_DUPS, true, {FD}},
    {"fcntl", SYS_fcntl, CALL_DUPS, true, {FD}},
};
const size_t calls_table_n = sizeof(calls_table) / sizeof(calls_table[0]);

size_t call_names(char *out, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < calls_table_n && at < size; i++)
        if (!calls_table[i].hidden)
            at += (size_t)snprintf(out + at, size - at, CALL_SYSTEM ":%s\n", calls_table[i].name);
    return at < size ? at : size - 1;
}

int call_find(const char *name) {
    for (size_t i = 0; i < calls_table_n; i++)
        if (!calls_table[i].hidden && !strcmp(calls_table[i].name, name))
            return (int)i;
    return -1;
}

size_t call_flags_text(const struct call_arg *arg, uint64_t value, char *out, size_t size) {
    size_t at = 0;
    uint64_t rest = value;
    if (size)
        *out = '\0';
    for (const struct call_flag *flag = arg->flags; flag->name && at < size; flag++) {
        uint64_t of = flag->of ? flag->of : flag->bits;
        // A part of a flag that was named already: O_DIRECTORY in O_TMPFILE.
        if ((value & of) != flag->bits || (flag->bits && !(rest & flag->bits)))
            continue;
        at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "|" : "", flag->name);
        rest &= ~flag->bits;
    }
    if ((rest || !at) && at < size)
        at += (size_t)snprintf(out + at, size - at, rest ? "%s0x%llx" : "%s0", at ? "|" : "", (unsigned long long)rest);
    return at < size ? at : size - 1;
}
