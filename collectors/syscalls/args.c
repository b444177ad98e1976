// Decoding arguments. A kind is one letter: see kind_text. Nothing here may block for long: memory is read with
// process_vm_readv, descriptors with readlink.
#include "collectors/syscalls/args.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/proc/memory.h"
#include "collectors/kernel/proc/syscall_args.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

#define ARGS_MAX 200  // bytes of text
#define PATH_SHOWN 96 // bytes of a path

struct syscalls_args {
    char tracefs[512], proc[128];
    char *learned[SYSCALLS_NUMBERS]; // of this kernel's own table, from the tracepoints; "" : not there
};

// ---- one argument ----

struct call {
    const struct syscalls_args *args;
    int32_t pid;
    bool is_64, over;
};

struct out {
    char text[ARGS_MAX + 1];
    size_t used;
};

static void put(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *out, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(out->text + out->used, sizeof(out->text) - out->used, format, list);
    va_end(list);
    if (n > 0)
        out->used += (size_t)n < sizeof(out->text) - out->used ? (size_t)n : sizeof(out->text) - 1 - out->used;
}

struct bit_name {
    uint64_t bit;
    const char *name;
};

static void put_bits(struct out *out, uint64_t value, const struct bit_name *names, size_t n, const char *before) {
    for (size_t i = 0; i < n; i++) {
        if (!names[i].bit || (value & names[i].bit) != names[i].bit)
            continue;
        put(out, "%s%s", before, names[i].name);
        before = "|";
        value &= ~names[i].bit;
    }
    if (value)
        put(out, "%s0x%llx", before, (unsigned long long)value);
}

#define BIT(name_)                                                                                                     \
    { name_, #name_ }
static void put_open_flags(struct out *out, uint64_t value) {
    static const struct bit_name names[] = {
        BIT(O_CREAT),   BIT(O_EXCL),     BIT(O_NOCTTY),    BIT(O_TRUNC),
        BIT(O_APPEND),  BIT(O_NONBLOCK), BIT(O_SYNC),      BIT(O_DSYNC),
        BIT(O_TMPFILE), BIT(O_DIRECT),   BIT(O_PATH),      BIT(O_NOATIME),
        BIT(O_CLOEXEC), BIT(O_NOFOLLOW), BIT(O_DIRECTORY), {0100000, "O_LARGEFILE"},
    };
    static const char *const modes[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "3"};
    put(out, "%s", modes[value & 3]);
    put_bits(out, value & ~3ull, names, sizeof(names) / sizeof(names[0]), "|");
}

static void put_protection(struct out *out, uint64_t value) {
    static const struct bit_name names[] = {BIT(PROT_READ), BIT(PROT_WRITE), BIT(PROT_EXEC)};
    if (!value)
        put(out, "PROT_NONE");
    put_bits(out, value, names, 3, "");
}

static void put_map_flags(struct out *out, uint64_t value) {
    static const struct bit_name names[] = {
        {3, "MAP_SHARED_VALIDATE"}, BIT(MAP_SHARED),   BIT(MAP_PRIVATE),   BIT(MAP_FIXED),
        BIT(MAP_ANONYMOUS),         BIT(MAP_POPULATE), BIT(MAP_NORESERVE), BIT(MAP_STACK),
        BIT(MAP_HUGETLB),           BIT(MAP_LOCKED),   BIT(MAP_DENYWRITE),
    };
    put_bits(out, value, names, sizeof(names) / sizeof(names[0]), "");
}

static void put_of(struct out *out, uint64_t value, const char *const *names, size_t n) {
    if (value < n && names[value])
        put(out, "%s", names[value]);
    else
        put(out, "%lld", (long long)(int32_t)value);
}

static void put_futex(struct out *out, uint64_t value) {
    static const char *const names[] = {"FUTEX_WAIT",        "FUTEX_WAKE",        "FUTEX_FD",         "FUTEX_REQUEUE",
                                        "FUTEX_CMP_REQUEUE", "FUTEX_WAKE_OP",     "FUTEX_LOCK_PI",    "FUTEX_UNLOCK_PI",
                                        "FUTEX_TRYLOCK_PI",  "FUTEX_WAIT_BITSET", "FUTEX_WAKE_BITSET"};
    put_of(out, value & 127, names, sizeof(names) / sizeof(names[0]));
    if (value & 128)
        put(out, "_PRIVATE");
}

// The memory is read some time after the call was made: where it is no path any more, it is none.
static bool is_path(const char *path, size_t length, bool may_be_empty) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)path[i] < ' ' || path[i] == 127)
            return false;
    return length || may_be_empty;
}

// What it says is what the call got, if the call goes on, or if the program cannot have written there since.
static void put_path(const struct call *call, struct out *out, uint64_t address, bool may_be_empty) {
    char path[PATH_SHOWN + 1];
    if (!address) {
        put(out, "NULL");
        return;
    }
    size_t n = process_memory_read(call->pid, address, path, sizeof(path)), length = strnlen(path, n);
    if (!n || (length == n && n < sizeof(path)))
        put(out, "0x%llx", (unsigned long long)address);
    else if (!is_path(path, length, may_be_empty))
        put(out, "?");
    else
        put(out, "%s\"%.*s\"%s",
            call->over && !process_memory_is_constant(call->args->proc, call->pid, address, length) ? "~" : "",
            (int)(length < PATH_SHOWN ? length : PATH_SHOWN), path, length > PATH_SHOWN ? "..." : "");
}

// A time of the clock has ten digits before the point.
static void put_seconds(struct out *out, double seconds) {
    put(out, seconds >= 1e5 || seconds <= -1e5 ? "%.3fs" : "%gs", seconds);
}

static void put_time(const struct call *call, struct out *out, uint64_t address) {
    int64_t time[2];
    int32_t time_32[2];
    if (!address)
        put(out, "NULL");
    else if (call->is_64 && process_memory_read(call->pid, address, time, sizeof(time)) == sizeof(time))
        put_seconds(out, (double)time[0] + (double)time[1] / 1e9);
    else if (!call->is_64 && process_memory_read(call->pid, address, time_32, sizeof(time_32)) == sizeof(time_32))
        put_seconds(out, (double)time_32[0] + (double)time_32[1] / 1e9);
    else
        put(out, "0x%llx", (unsigned long long)address);
}

static void put_descriptor(const struct call *call, struct out *out, int32_t fd, bool directory) {
    char path[192], there[PATH_SHOWN + 1];
    if (directory && fd == AT_FDCWD) {
        put(out, "AT_FDCWD");
        return;
    }
    snprintf(path, sizeof(path), "%s/%d/fd/%d", call->args->proc, call->pid, fd);
    ssize_t n = fd < 0 ? -1 : readlink(path, there, sizeof(there) - 1);
    put(out, "%d", fd);
    if (n > 0)
        put(out, "<%.*s>", (int)n, there);
}

static void put_kind(const struct call *call, struct out *out, char kind, uint64_t value) {
    static const char *const epoll[] = {NULL, "EPOLL_CTL_ADD", "EPOLL_CTL_DEL", "EPOLL_CTL_MOD"};
    static const char *const whence[] = {"SEEK_SET", "SEEK_CUR", "SEEK_END", "SEEK_DATA", "SEEK_HOLE"};
    static const char *const command[] = {"F_DUPFD", "F_GETFD", "F_SETFD", "F_GETFL",
                                          "F_SETFL", "F_GETLK", "F_SETLK", "F_SETLKW"};
    const char *name;
    switch (kind) {
    case 'd':
    case 'f':
        put_descriptor(call, out, (int32_t)value, kind == 'd');
        break;
    case 'p':
        put_path(call, out, value, false);
        break;
    case 'O':
        put_open_flags(out, value & UINT32_MAX);
        break;
    case 'P':
        put_protection(out, value);
        break;
    case 'M':
        put_map_flags(out, value);
        break;
    case 'F':
        put_futex(out, value & UINT32_MAX);
        break;
    case 'E':
        put_of(out, value, epoll, 4);
        break;
    case 'W':
        put_of(out, value, whence, 5);
        break;
    case 'C':
        put_of(out, value, command, 8);
        break;
    case 'T':
        put_time(call, out, value);
        break;
    case 'a':
        if (value == TIMER_ABSTIME)
            put(out, "TIMER_ABSTIME");
        else
            put(out, value ? "0x%llx" : "%lld", (unsigned long long)value);
        break;
    case 'S':
        name = sigabbrev_np((int)value);
        put(out, name ? "SIG%s" : "%.0s%d", name ? name : "", (int)value);
        break;
    case 'o':
        put(out, "0%llo", (unsigned long long)value & 07777);
        break;
    case 'i':
        put(out, "%d", (int)value);
        break;
    case 'u':
        put(out, "%llu", (unsigned long long)value);
        break;
    default:
        put(out, value ? "0x%llx" : "%lld", (unsigned long long)value);
    }
}

// ---- which kinds ----

static char kind_of_field(const char *type, const char *name) {
    bool text = strstr(type, "char *"), pointer = strchr(type, '*');
    if (text && (strstr(name, "name") || strstr(name, "path") || strstr(name, "library")))
        return 'p';
    if (!pointer && strstr(name, "dfd"))
        return 'd';
    if (!pointer && (!strcmp(name, "fd") || !strcmp(name, "epfd") || !strcmp(name, "ufd") || !strcmp(name, "fildes") ||
                     strstr(name, "_fd")))
        return 'f';
    if (!pointer && !strcmp(name, "sig"))
        return 'S';
    if (strstr(type, "mode_t"))
        return 'o';
    if (!pointer && (strstr(type, "size_t") || strstr(name, "len") || strstr(name, "count")))
        return 'u';
    return !pointer && (!strcmp(type, "int") || strstr(type, "pid_t")) && !strstr(name, "flag") ? 'i' : 'x';
}

// "\tfield:const char * filename;\toffset:24;..." of a format file, those behind the number.
static void learn(const struct syscalls_args *args, const char *name, char *kinds) {
    char path[640], text[8192];
    size_t n = 0;
    snprintf(path, sizeof(path), "%s/events/syscalls/sys_enter_%s/format", args->tracefs, name);
    if (format_file(path, text, sizeof(text)) <= 0)
        return;
    char *line = strstr(text, "__syscall_nr");
    while (line && n < 6 && (line = strstr(line, "field:"))) {
        char *end = strchr(line += 6, ';'), *last;
        if (!end)
            break;
        *end = 0;
        last = strrchr(line, ' ');
        if (last) {
            *last = 0;
            kinds[n++] = kind_of_field(line, last + 1);
        }
        line = end + 1;
    }
    kinds[n] = 0;
}

// NULL when nothing is known.
static const char *kinds_of(struct syscalls_args *args, enum syscalls_abi abi, uint32_t number) {
    const char *name = syscalls_plain_name(abi, number);
    const char *usual = name ? syscall_arg_kinds(name) : NULL;
    if (usual)
        return usual;
    if (!name || abi != SYSCALLS_ABI_NATIVE || number >= SYSCALLS_NUMBERS || !args->tracefs[0])
        return NULL;
    if (!args->learned[number]) {
        char kinds[8] = "?";
        learn(args, name, kinds);
        args->learned[number] = xstrdup(kinds);
    }
    return args->learned[number][0] == '?' ? NULL : args->learned[number];
}

struct syscalls_args *syscalls_args_new(const char *tracefs, const char *proc) {
    struct syscalls_args *args = xcalloc(1, sizeof(*args));
    snprintf(args->tracefs, sizeof(args->tracefs), "%s", tracefs ? tracefs : "");
    snprintf(args->proc, sizeof(args->proc), "%s", proc ? proc : "");
    return args;
}

void syscalls_args_free(struct syscalls_args *args) {
    if (!args)
        return;
    for (int i = 0; i < SYSCALLS_NUMBERS; i++)
        free(args->learned[i]);
    free(args);
}

const struct text *syscalls_args_text(struct syscalls_args *args, int32_t pid, enum syscalls_abi abi, uint32_t number,
                                      const uint64_t values[6], bool over) {
    const char *kinds = kinds_of(args, abi, number);
    const struct call call = {
        .args = args, .pid = args->proc[0] ? pid : 0, .is_64 = abi != SYSCALLS_ABI_32, .over = over};
    struct out out = {.used = 0};
    for (size_t i = 0; kinds ? kinds[i] != 0 : i < 6; i++) {
        uint64_t value = call.is_64 ? values[i] : values[i] & UINT32_MAX;
        put(&out, "%s", i ? ", " : "");
        // "" means the descriptor before it (AT_EMPTY_PATH).
        if (kinds && kinds[i] == 'p' && i && kinds[i - 1] == 'd' && (int32_t)values[i - 1] != AT_FDCWD) {
            put_path(&call, &out, value, true);
            continue;
        }
        if (kinds && kinds[i] == 'T' && i && kinds[i - 1] == 'a' && values[i - 1] & TIMER_ABSTIME)
            put(&out, "until ");
        put_kind(&call, &out, kinds ? kinds[i] : 'x', value);
    }
    return text_new(out.text, out.used);
}

// ---- idle calls ----

static bool is_one_of(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

// "3</dev/pts/0>, ...": a terminal, or what somebody else must write to first.
static bool reads_idly(const char *text) {
    static const char *const there[] = {"</dev/tty",
                                        "</dev/pts/",
                                        "</dev/console>",
                                        "</dev/fuse>",
                                        "</dev/input/",
                                        "</dev/kmsg>",
                                        "<anon_inode:[eventfd]>",
                                        "<anon_inode:[timerfd]>",
                                        "<anon_inode:[signalfd]>",
                                        "<anon_inode:inotify>",
                                        "<pipe:[",
                                        "<socket:["};
    const char *at = text + strspn(text, "0123456789");
    for (size_t i = 0; i < sizeof(there) / sizeof(there[0]); i++)
        if (!strncmp(at, there[i], strlen(there[i])))
            return true;
    return false;
}

bool syscalls_args_idle(enum syscalls_abi abi, uint32_t number, const uint64_t values[6], const struct text *text) {
    static const char *const waits[] = {
        "poll",
        "ppoll",
        "ppoll_time64",
        "select",
        "_newselect",
        "pselect6",
        "pselect6_time64",
        "epoll_wait",
        "epoll_pwait",
        "epoll_pwait2",
        "io_getevents",
        "io_pgetevents",
        "wait4",
        "waitid",
        "waitpid",
        "nanosleep",
        "clock_nanosleep",
        "clock_nanosleep_time64",
        "pause",
        "rt_sigsuspend",
        "rt_sigtimedwait",
        "rt_sigtimedwait_time64",
        "sigsuspend",
        "accept",
        "accept4",
        "recvfrom",
        "recvmsg",
        "recvmmsg",
        "mq_timedreceive",
        "msgrcv",
        "futex_wait",
        "futex_waitv",
        "restart_syscall", // of one of these
    };
    enum { WAIT = 0, WAIT_BITSET = 9, WAIT_REQUEUE_PI = 11 };
    const char *name = syscalls_plain_name(abi, number);
    if (!name)
        return false;
    if (!strncmp(name, "futex", 5) && (!name[5] || !strcmp(name + 5, "_time64"))) {
        uint64_t op = values[1] & 127;
        return op == WAIT || op == WAIT_BITSET || op == WAIT_REQUEUE_PI;
    }
    if (!strcmp(name, "read") || !strcmp(name, "readv"))
        return text && reads_idly(text_bytes(text));
    return is_one_of(name, waits, sizeof(waits) / sizeof(waits[0]));
}
