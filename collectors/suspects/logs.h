// The pieces of logs.c, for its BPF program and its tests. Private to collectors/suspects.
#ifndef COLLECTORS_SUSPECTS_LOGS_H
#define COLLECTORS_SUSPECTS_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/kernel/bpf/bpf.h"
#include "collectors/kernel/proc/syscall.h"

#define LOGS_READS 0x80000000u // in logs_key.fd: calls that read; else calls that send

struct logs_key {
    uint32_t pid, tid, fd, zero;
};

// logs_program.c: counts the calls that succeed of each thread with each descriptor, by struct logs_key in the map.
// False: the registers of this architecture are unknown.
bool logs_program(struct bpf_code *code, int map);
// Whether a thread sleeps in such a call that sends, with that descriptor: the receiver's queue is full.
bool logs_send_waits(const struct proc_syscall *call, uint32_t fd);
// Whether a thread in that function of the kernel (/proc/TID/wchan) may wait to send to a Unix socket.
bool logs_sleeps_in_send(const char *wchan);

// Whether a socket with that path receives log lines: syslog(3), or the journal.
bool logs_is_log_path(const char *path);
// A line of /proc/PID/net/unix; path: within the line, "" for a socket without a name. False: the head of the file.
bool logs_socket_parse(const char *line, uint64_t *inode, const char **path);

#endif
