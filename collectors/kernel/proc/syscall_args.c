#include "collectors/kernel/proc/syscall_args.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name, *kinds;
} usual[] = {
    {"read", "fxu"},
    {"write", "fxu"},
    {"open", "pOo"},
    {"openat", "dpOo"},
    {"openat2", "dpxu"},
    {"creat", "po"},
    {"close", "f"},
    {"stat", "px"},
    {"lstat", "px"},
    {"fstat", "fx"},
    {"newfstatat", "dpxx"},
    {"statx", "dpxxx"},
    {"access", "po"},
    {"faccessat", "dpo"},
    {"faccessat2", "dpox"},
    {"lseek", "fiW"},
    {"mmap", "xuPMfx"},
    {"mprotect", "xuP"},
    {"munmap", "xu"},
    {"brk", "x"},
    {"pread64", "fxuu"},
    {"pwrite64", "fxuu"},
    {"readv", "fxu"},
    {"writev", "fxu"},
    {"preadv", "fxuu"},
    {"preadv2", "fxuux"},
    {"pwritev", "fxuu"},
    {"pwritev2", "fxuux"},
    {"fsync", "f"},
    {"syncfs", "f"},
    {"fdatasync", "f"},
    {"sync_file_range", "fuux"},
    {"fallocate", "fxuu"},
    {"ftruncate", "fu"},
    {"truncate", "pu"},
    {"sendfile", "ffxu"},
    {"splice", "fxfxux"},
    {"copy_file_range", "fxfxux"},
    {"dup", "f"},
    {"dup2", "ff"},
    {"dup3", "ffO"},
    {"fcntl", "fCx"},
    {"flock", "fi"},
    {"ioctl", "fxx"},
    {"getdents", "fxu"},
    {"getdents64", "fxu"},
    {"readlink", "pxu"},
    {"readlinkat", "dpxu"},
    {"mkdir", "po"},
    {"mkdirat", "dpo"},
    {"rmdir", "p"},
    {"unlink", "p"},
    {"unlinkat", "dpx"},
    {"rename", "pp"},
    {"renameat", "dpdp"},
    {"renameat2", "dpdpx"},
    {"link", "pp"},
    {"linkat", "dpdpx"},
    {"symlink", "pp"},
    {"symlinkat", "pdp"},
    {"chmod", "po"},
    {"fchmodat", "dpo"},
    {"fchmod", "fo"},
    {"chown", "pii"},
    {"fchownat", "dpiix"},
    {"chdir", "p"},
    {"fchdir", "f"},
    {"execve", "pxx"},
    {"execveat", "dpxxx"},
    {"mount", "pppxx"},
    {"umount2", "px"},
    {"statfs", "px"},
    {"fstatfs", "fx"},
    {"utimensat", "dpxx"},
    {"getxattr", "ppxu"},
    {"lgetxattr", "ppxu"},
    {"inotify_add_watch", "fpx"},
    {"poll", "xui"},
    {"ppoll", "xuT"},
    {"select", "ixxxx"},
    {"pselect6", "ixxxT"},
    {"epoll_wait", "fxii"},
    {"epoll_pwait", "fxii"},
    {"epoll_ctl", "fEfx"},
    {"recvfrom", "fxuxxx"},
    {"sendto", "fxuxxx"},
    {"recvmsg", "fxx"},
    {"sendmsg", "fxx"},
    {"recvmmsg", "fxuxT"},
    {"accept", "fxx"},
    {"accept4", "fxxx"},
    {"connect", "fxu"},
    {"bind", "fxu"},
    {"listen", "fi"},
    {"shutdown", "fi"},
    {"setsockopt", "fiixu"},
    {"getsockopt", "fiixx"},
    {"futex", "xFuTxu"},
    {"nanosleep", "Tx"},
    {"clock_nanosleep", "iaTx"},
    {"wait4", "ixxx"},
    {"waitid", "iixxx"},
    {"kill", "iS"},
    {"tgkill", "iiS"},
    {"rt_sigaction", "Sxxu"},
    {"rt_sigtimedwait", "xxTu"},
    {"pause", ""},
    {"getpid", ""},
    {"getppid", ""},
    {"gettid", ""},
    {"getuid", ""},
    {"sched_yield", ""},
    {"sync", ""},
    {"exit_group", "i"},
    {"exit", "i"},
    {"vfork", ""},
    {"fork", ""},
    {"rt_sigreturn", ""},
    {"restart_syscall", ""},
    {"io_uring_enter", "fuuxxu"},
};

const char *syscall_arg_kinds(const char *name) {
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (!strcmp(usual[i].name, name))
            return usual[i].kinds;
    return NULL;
}

int syscall_file_arg(const char *name, bool *is_path) {
    // Calls that do not wait for their first path or descriptor.
    static const struct {
        const char *name;
        int argument;
    } others[] = {{"sendfile", 1}, {"mount", 1}, {"symlink", 1}, {"symlinkat", 2}};
    const char *kinds = syscall_arg_kinds(name), *at = kinds ? strchr(kinds, 'p') : NULL;
    *is_path = at != NULL;
    if (kinds && !at)
        at = strchr(kinds, 'f');
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (!strcmp(others[i].name, name))
            return others[i].argument;
    return at ? (int)(at - kinds) : -1;
}
