// Maps numbers to names. The tables are split into words once; no lookup per event.
#include "collectors/kernel/proc/syscall_names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/syscall_numbers.h"

static const char *names[SYSCALLS_MACHINES][SYSCALLS_NUMBERS];
static char words[SYSCALLS_MACHINES][8192];
static pthread_once_t once = PTHREAD_ONCE_INIT;

_Static_assert(sizeof(numbers_x86_64) < sizeof(words[0]) && sizeof(numbers_i386) < sizeof(words[0]) &&
                   sizeof(numbers_arm64) < sizeof(words[0]),
               "the tables fit");

static void split(enum syscalls_machine machine, const char *text) {
    char *at = strcpy(words[machine], text), *keep;
    uint32_t number = 0;
    for (char *word = strtok_r(at, " ", &keep); word && number < SYSCALLS_NUMBERS; word = strtok_r(NULL, " ", &keep))
        if (*word == '+')
            number += (uint32_t)atoi(word + 1);
        else
            names[machine][number++] = word;
}

static void split_all(void) {
    split(SYSCALLS_X86_64, numbers_x86_64);
    split(SYSCALLS_I386, numbers_i386);
    split(SYSCALLS_ARM64, numbers_arm64);
}

const char *syscalls_name_of(enum syscalls_machine machine, uint32_t number) {
    pthread_once(&once, split_all);
    return number < SYSCALLS_NUMBERS ? names[machine][number] : NULL;
}

int32_t syscalls_number_of(enum syscalls_machine machine, const char *name) {
    for (uint32_t number = 0; number < SYSCALLS_NUMBERS; number++) {
        const char *there = syscalls_name_of(machine, number);
        if (there && !strcmp(there, name))
            return (int32_t)number;
    }
    return -1;
}

const char *syscalls_plain_name(enum syscalls_abi abi, uint32_t number) {
    if (abi == SYSCALLS_ABI_32)
        return SYSCALLS_MACHINE == SYSCALLS_X86_64 ? syscalls_name_of(SYSCALLS_I386, number) : NULL;
    return syscalls_name_of(SYSCALLS_MACHINE, number);
}

void syscalls_name(enum syscalls_abi abi, uint32_t number, char *out, size_t size) {
    static const char *const of_32 = SYSCALLS_MACHINE == SYSCALLS_X86_64 ? "i386:" : "arm:";
    const char *table = abi == SYSCALLS_ABI_32 ? of_32 : abi == SYSCALLS_ABI_X32 ? "x32:" : "";
    const char *name = syscalls_plain_name(abi, number);
    if (number >= SYSCALLS_NUMBERS - 1)
        snprintf(out, size, "%sunknown", table);
    else if (name)
        snprintf(out, size, "%s%s", table, name);
    else
        snprintf(out, size, "%s#%u", table, number);
}

void syscalls_error_name(uint32_t error, char *out, size_t size) {
    const char *name = strerrorname_np((int)error);
    if (name)
        snprintf(out, size, "%s", name);
    else
        snprintf(out, size, "%u", error);
}
