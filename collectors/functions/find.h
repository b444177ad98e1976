// From specifications to functions in the files that processes map: which processes, which files, and where each
// function begins in its file. Reads files of other processes: any thread, may block.
#ifndef COLLECTORS_FUNCTIONS_FIND_H
#define COLLECTORS_FUNCTIONS_FIND_H

#include <sys/types.h>

#include "collectors/functions/spec.h"
#include "collectors/kernel/symbols/elf_file.h"

#define FUNCTIONS_MAX 256         // of one choice
#define FUNCTION_OBJECTS_MAX 64   // files
#define FUNCTION_PROCESSES_MAX 64 // that map them
#define FUNCTION_NAME_SIZE 160

// Why a function has no times. A return probe would end the program, or corrupt it.
enum function_untimed { UNTIMED_NOT, UNTIMED_GO, UNTIMED_UNWINDS, UNTIMED_NAME };

struct function_object {
    uint64_t device, inode; // as /proc/PID/maps has them
    char *path;             // as the process sees it
    int fd;                 // keeps the file; /proc/self/fd/N is its path for the kernel
    uint32_t specs;         // bit per specification that names it
    bool is64, go, unwinds; // unwinds: it has C++ or Rust exception handlers
    bool kernel;            // path: "[kernel]", "[nfs]"
    uint16_t machine;
};

struct function {
    char name[FUNCTION_NAME_SIZE]; // demangled
    uint8_t object, spec;          // spec: one that counts it, if there is one
    uint8_t roles;                 // bits of enum function_role, of all that name it
    enum function_untimed untimed;
    uint64_t offset; // in the file
};

// Another specification names the function too.
void function_join(struct function *function, uint8_t spec, uint8_t roles);

#define FUNCTION_KERNEL_PID (-1)
struct function_user { // a process that maps an object
    pid_t pid;         // FUNCTION_KERNEL_PID; 0: it ended, and the next one with this object takes its place
    uint8_t object;
    bool fresh; // added since the owner of the choice cleared this
};

struct function_choice {
    struct function_specs specs;
    struct function_object objects[FUNCTION_OBJECTS_MAX];
    size_t n_objects;
    struct function *functions;
    size_t n_functions;
    struct function_user users[FUNCTION_PROCESSES_MAX];
    size_t n_users;
    size_t left_out; // processes above the limit
    size_t ifuncs;   // that match and are left out
};

// Resolves those of programs. `pids` n_pids 0: every process but ktop. 0, or -errno with the sentence and the place in
// the list; free it in each case.
int function_choice_find(struct function_choice *choice, const pid_t *pids, size_t n_pids, struct choice_error *error);
// The first step alone: files and the processes that map them.
int function_objects_find(struct function_choice *choice, const pid_t *pids, size_t n_pids, struct choice_error *error);
void function_choice_free(struct function_choice *choice);
// Adds a process, if it maps one of the objects and is unknown.
void function_choice_add(struct function_choice *choice, pid_t pid);
// Every file that these processes map as code, once for each mapping; n_pids 0: as above.
typedef void mapped_file_fn(void *context, const char *path);
void mapped_files_each(const pid_t *pids, size_t n_pids, mapped_file_fn *fn, void *context);

#endif
