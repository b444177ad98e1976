// Where tracefs is, and ktop's own instances there. Never touches the top-level buffer or another tool's instance.
#include "collectors/kernel/tracefs/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/tracefs/sweep.h"

#define TRACEFS_MAGIC 0x74726163
#define USUAL "/sys/kernel/tracing"

static struct {
    pthread_once_t once;
    char where[512]; // "" : none
    int fd;
    const char *reason, *fix;
} tracefs = {.once = PTHREAD_ONCE_INIT, .fd = -1};

void mountinfo_unescape(const char *in, size_t len, char *out, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < len && n + 1 < size; i++) {
        if (in[i] == '\\' && i + 3 < len) {
            out[n++] = (char)((in[i + 1] - '0') << 6 | (in[i + 2] - '0') << 3 | (in[i + 3] - '0'));
            i += 3;
        } else {
            out[n++] = in[i];
        }
    }
    out[n] = '\0';
}

bool mountinfo_match(const char *line, const char *type, char *point, size_t size) {
    int root_at = 0, root_end = 0, point_at = 0, point_end = 0;
    sscanf(line, "%*s %*s %*s %n%*s%n %n%*s%n", &root_at, &root_end, &point_at, &point_end);
    if (!point_end)
        return false;
    const char *dash = strstr(line + point_end, " - ");
    size_t len = strlen(type);
    if (!dash || strncmp(dash + 3, type, len) != 0 || dash[3 + len] != ' ')
        return false;
    if (root_end - root_at != 1 || line[root_at] != '/')
        return false;
    mountinfo_unescape(line + point_at, (size_t)(point_end - point_at), point, size);
    return true;
}

// Looks through the path: opening it triggers debugfs' automount of tracefs, and shows when something is mounted over.
static bool is_tracefs(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct statfs fs;
    if (fd < 0) // not readable: still the right place, so the reason is a permission
        return errno == EACCES && statfs(path, &fs) == 0 && (unsigned long)fs.f_type == TRACEFS_MAGIC;
    bool is = fstatfs(fd, &fs) == 0 && (unsigned long)fs.f_type == TRACEFS_MAGIC;
    close(fd);
    return is;
}

static bool find_mounted(char *where, size_t size) {
    if (is_tracefs(USUAL)) {
        snprintf(where, size, "%s", USUAL);
        return true;
    }
    FILE *in = fopen("/proc/self/mountinfo", "re");
    if (!in)
        return false;
    bool found = false;
    char *line = NULL, point[448], below[512];
    size_t space = 0;
    while (!found && getline(&line, &space, in) > 0) {
        if (mountinfo_match(line, "tracefs", point, sizeof point))
            snprintf(below, sizeof below, "%s", point);
        else if (mountinfo_match(line, "debugfs", point, sizeof point))
            snprintf(below, sizeof below, "%s/tracing", point);
        else
            continue;
        found = is_tracefs(below);
        if (found)
            snprintf(where, size, "%s", below);
    }
    free(line);
    fclose(in);
    return found;
}

static bool kernel_has(const char *filesystem) {
    FILE *in = fopen("/proc/filesystems", "re");
    if (!in)
        return true; // unknown: mount(2) decides
    char line[128];
    bool has = false;
    while (!has && fgets(line, sizeof line, in)) {
        char *name = strrchr(line, '\t');
        line[strcspn(line, "\n")] = '\0';
        has = name && !strcmp(name + 1, filesystem);
    }
    fclose(in);
    return has;
}

// A detached mount. A mount namespace of ktop's own would keep file systems busy that the host unmounts.
static int mount_detached(void) {
    int fs = fsopen("tracefs", FSOPEN_CLOEXEC);
    if (fs < 0)
        return -errno;
    int fd = fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
    if (fd == 0)
        fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    int error = errno;
    close(fs);
    return fd < 0 ? -error : fd;
}

// Slave, not private: later mounts of the host propagate to ktop, and ktop's mounts not to the host.
static int mount_in_namespace(void) {
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
        mount("nodev", USUAL, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return -errno;
    return 0;
}

static void mount_own(void) {
    int fd = mount_detached(), error = 0;
    if (fd >= 0) {
        tracefs.fd = fd;
        snprintf(tracefs.where, sizeof tracefs.where, "/proc/self/fd/%d", fd);
        return;
    }
    error = fd;
    if (error == -ENOSYS)
        error = mount_in_namespace();
    if (!error) {
        snprintf(tracefs.where, sizeof tracefs.where, "%s", USUAL);
        return;
    }
    if (geteuid() != 0) {
        tracefs.reason = "tracefs is not mounted, and only root may mount it";
        tracefs.fix = "run ktop as root, or once as root: mount -t tracefs nodev " USUAL;
    } else {
        tracefs.reason = "tracefs is not mounted, and mounting it was refused (a container without CAP_SYS_ADMIN?)";
        tracefs.fix = "run ktop outside of the container, or give the container the host's " USUAL;
    }
}

static void look(void) {
    ktop_id_self();
    if (find_mounted(tracefs.where, sizeof tracefs.where))
        return;
    if (kernel_has("tracefs")) {
        mount_own();
        return;
    }
    tracefs.reason = "this kernel has no tracefs (CONFIG_FTRACE is off)";
    tracefs.fix = "use a kernel that was built with CONFIG_FTRACE";
}

static void look_and_try(void) {
    look();
    if (!tracefs.where[0])
        return;
    char path[600];
    snprintf(path, sizeof path, "%s/README", tracefs.where);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return;
    }
    static char reason[256], fix[256];
    tracing_explain(-errno, reason, sizeof reason, fix, sizeof fix);
    tracefs.reason = reason;
    tracefs.fix = fix;
    tracefs.where[0] = '\0';
}

const char *tracing_dir(const char **reason, const char **fix) {
    pthread_once(&tracefs.once, look_and_try);
    if (tracefs.where[0])
        return tracefs.where;
    if (reason)
        *reason = tracefs.reason;
    if (fix)
        *fix = tracefs.fix;
    return NULL;
}

int tracing_fd(void) {
    return tracefs.fd;
}

static bool locked_down(void) {
    char text[128] = "";
    int fd = open("/sys/kernel/security/lockdown", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 && strstr(text, "[confidentiality]");
}

void tracing_explain(int error, char *reason, size_t reason_size, char *fix, size_t fix_size) {
    const char *place = tracefs.where[0] ? tracefs.where : USUAL;
    struct stat st;
    if (error == -EPERM && locked_down()) {
        snprintf(reason, reason_size, "the kernel is locked down (confidentiality), which closes tracefs to everybody");
        snprintf(fix, fix_size, "boot without lockdown=confidentiality, or without Secure Boot where that turns it on");
    } else if ((error == -EACCES || error == -EPERM) && geteuid() == 0) {
        snprintf(reason, reason_size, "tracefs is refused even to root: %s (a container, or a security module?)",
                 strerror(-error));
        snprintf(fix, fix_size, "run ktop outside of the container, or let it write %s", USUAL);
    } else if (error == -EACCES || error == -EPERM) {
        if (stat(place, &st))
            memset(&st, 0, sizeof st);
        snprintf(reason, reason_size, "tracefs is for its owner and group only (uid %u, gid %u, mode %04o)", st.st_uid,
                 st.st_gid, st.st_mode & 07777);
        snprintf(fix, fix_size, "run ktop as root");
    } else if (error == -EROFS) {
        snprintf(reason, reason_size, "tracefs is mounted read-only");
        snprintf(fix, fix_size, "mount -o remount,bind,rw %s; a container must be given it writable", place);
    } else if (error == -ENOENT && tracefs.fd >= 0 && access("/proc/self/fd", F_OK)) { // needed for the detached mount
        snprintf(reason, reason_size, "/proc is not mounted, and the way to tracefs leads through it");
        snprintf(fix, fix_size, "mount -t proc proc /proc");
    } else if (error == -ENOENT) {
        snprintf(reason, reason_size, "this kernel's tracefs has no instances");
        snprintf(fix, fix_size, "use Linux 4.1 or later with CONFIG_TRACING");
    } else if (error == -ENOMEM) {
        snprintf(reason, reason_size, "no memory for the trace buffers");
        snprintf(fix, fix_size, "free some memory; ktop tries again by itself");
    } else {
        snprintf(reason, reason_size, "tracefs does not work: %s", strerror(-error));
        snprintf(fix, fix_size, "see ktop --doctor, and the kernel's log (dmesg)");
    }
}

void tracing_explain_events(const struct tracing_failure *failure, char *reason, size_t reason_size, char *fix,
                            size_t fix_size) {
    const char *why = NULL, *what = NULL, *events = failure->events, *detail = failure->detail;
    int error = failure->error;
    char inner[192];
    if (!tracing_dir(&why, &what)) {
        snprintf(reason, reason_size, "no %s: %s", events, why ? why : "no tracefs");
        snprintf(fix, fix_size, "%s", what ? what : "");
    } else if (error == -ENOENT && detail[0]) {
        snprintf(reason, reason_size, "no %s: this kernel does not have %s", events, detail);
        snprintf(fix, fix_size, "use a kernel that was built with %s", failure->built_with);
    } else if (error == -EACCES || error == -EPERM || error == -EROFS || error == -ENOMEM || error == -ENOENT) {
        tracing_explain(error, inner, sizeof(inner), fix, fix_size);
        snprintf(reason, reason_size, "no %s: %s", events, inner);
    } else {
        snprintf(reason, reason_size, "no %s: %s%s%s failed: %s", events, failure->step, detail[0] ? " " : "", detail,
                 strerror(-error));
        snprintf(fix, fix_size, "see ktop --doctor, and the kernel's log (dmesg)");
    }
}

static _Atomic int held; // instances, from before each is made until it is removed

int instances_held(void) {
    return held;
}

static int directory_remove(const char *path) {
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    for (int tries = 0; tries < 100; tries++) {
        if (!rmdir(path) || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            return -errno;
        if (tries == 0) { // removal disables everything; only a busy instance must be disabled first
            instance_write(path, "events/enable", "0");
            instance_write(path, "tracing_on", "0");
        }
        nanosleep(&pause, NULL);
    }
    return -EBUSY;
}

int instance_create(const char *collector, char *path, size_t size) {
    const char *where = tracing_dir(NULL, NULL);
    if (!where)
        return -ENODEV;
    char name[128];
    ktop_instance_name(ktop_id_self(), collector, name, sizeof name);
    int n = snprintf(path, size, "%s/instances/%s", where, name);
    if (n < 0 || (size_t)n >= size)
        return -ENAMETOOLONG;
    held++;
    int error = mkdir(path, 0700) ? -errno : 0;
    if (error == -EEXIST) {
        error = directory_remove(path); // left by an earlier try of this ktop
        if (!error && mkdir(path, 0700))
            error = -errno;
    }
    if (error) {
        held--;
        return error;
    }
    instance_write(path, "tracing_on", "0");
    // From Linux 6.19 on system call events copy what programs write, 63 bytes of each; nothing here reads that.
    instance_write(path, "syscall_user_buf_size", "0");
    return 0;
}

static int file_write(const char *path, const char *file, int flags, const char *text) {
    char full[768];
    int n = snprintf(full, sizeof full, "%s/%s", path, file);
    if (n < 0 || (size_t)n >= sizeof full)
        return -ENAMETOOLONG;
    int fd = open(full, O_WRONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return -errno;
    ssize_t done;
    do
        done = write(fd, text, strlen(text));
    while (done < 0 && errno == EINTR);
    int error = done < 0 ? -errno : 0;
    close(fd);
    return error;
}

int instance_write(const char *path, const char *file, const char *value) {
    return file_write(path, file, 0, value);
}

// As the kernel's hexadecimal words of 32 CPUs, the highest first.
int instance_cpus_set(const char *path, const char *cpus) {
    bool set[CPUS_MAX] = {false};
    char text[CPUS_MAX / 32 * 9 + 1];
    size_t used = 0;
    int n = cpu_list_parse(cpus, set, CPUS_MAX);
    for (int word = (n + 31) / 32 - 1; word >= 0; word--) {
        uint32_t bits = 0;
        for (int bit = 0; bit < 32; bit++)
            bits |= (uint32_t)set[word * 32 + bit] << bit;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%08x%s", bits, word ? "," : "");
    }
    return instance_write(path, "tracing_cpumask", text);
}

int tracing_append(const char *where, const char *file, const char *line) {
    return file_write(where, file, O_APPEND, line);
}

int instance_remove(const char *path) {
    int error = directory_remove(path);
    held -= !error;
    return error;
}
