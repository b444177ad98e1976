// Address spaces: which executable file, at which offset, a process has at an address. Kept up to date by records, in
// the order of their times; of a process that ran before sampling began, or whose records were lost, /proc/PID/maps is
// read when an address of it is first looked up, in another thread: until it answers, no mapping is known. A process
// that ended keeps its mappings for a while, since samples of its other threads may follow.
//
// Bounded: SPACES_MAX processes and MAPS_MAX mappings; the process that was sampled longest ago is forgotten first. One
// thread owns it.
#ifndef COLLECTORS_PROFILE_MAPS_H
#define COLLECTORS_PROFILE_MAPS_H

#include "collectors/profile/record.h"

#define SPACES_MAX 8192
#define MAPS_MAX 400000           // 32 bytes each
#define MAPS_OF_PROCESS_MAX 65536 // vm.max_map_count is 65530
#define SPACE_COMM_MAX 64

struct symbols_object;
struct slow_calls;

// An object that is mapped, shared by all processes that map it.
struct map_file {
    struct map_file *next; // of the same hash
    uint32_t refs;
    uint64_t hash;
    uint64_t device, inode;
    uint8_t build_id[RECORD_BUILD_ID_MAX], build_id_size;
    bool anonymous;                // memory without a file: "//anon", "[heap]", "[stack]"
    bool jitdump;                  // "jit-PID.dump": mapped to announce itself
    struct symbols_object *object; // the user's; NULL: not looked up yet
    char path[];
};

struct map {
    uint64_t start, end, offset; // offset: of start, in the file
    struct map_file *file;
};

struct map_list { // sorted by address, without overlaps; shared by processes after a fork
    uint32_t refs, n, capacity;
    struct map *maps;
};

struct space {
    pid_t pid, parent;
    // Which state of which mappings this is: a key for caches of what addresses mean. Processes that share their
    // mappings share it; a change gives it a new one. Never 0.
    uint32_t version;
    bool read;  // the mappings are complete; false: they are read when needed
    bool ended; // its leader has ended
    uint64_t ended_ns, used_ns;
    char comm[SPACE_COMM_MAX]; // "": unknown
    struct map_list *list;     // NULL: none
    struct maps_call *reading; // /proc/PID/maps; NULL: it is not being read
    struct space *next, *newer, *older;
    // Of the collector; zero in a new process, and after an exec.
    struct {
        bool judged, wanted, is_named;
        uint32_t name; // ID of the process in the name table
        struct symbols_object *jit;
    } known;
    struct space_counts {
        uint64_t samples, user, kernel, period;
    } counts; // of the interval
};

struct space_maps;
// proc: "/proc", or a test's. `gone` is called for each process that ends, execs or is forgotten.
struct space_maps *space_maps_new(const char *proc, void (*gone)(void *context, pid_t pid), void *context);
void space_maps_free(struct space_maps *maps);

// The process of a sample. Never NULL; valid until the next call that takes `maps`, but for space_maps_find.
struct space *space_maps_get(struct space_maps *maps, pid_t pid, uint64_t now_ns);
// NULL: no mapping is known there, or not yet: then `read` is false. tid: of the sample, whose /proc entry is there
// when the leader has ended.
const struct map *space_maps_find(struct space_maps *maps, struct space *space, pid_t tid, uint64_t address);

void space_maps_record(struct space_maps *maps, const struct profile_record *record); // MMAP, COMM, EXEC, FORK, EXIT
void space_maps_lost(struct space_maps *maps); // records were lost: all mappings are read again when needed
// Once per interval, after the counts were used: forgets processes that ended before it, and zeroes the counts.
void space_maps_prune(struct space_maps *maps, uint64_t begin_ns);
void space_maps_objects_forget(struct space_maps *maps); // map_file.object and space.known of all

void space_maps_each(struct space_maps *maps, void (*fn)(void *context, struct space *space), void *context);
struct slow_calls *space_maps_calls(const struct space_maps *maps); // for what else may block
size_t space_maps_count(const struct space_maps *maps, size_t *n_maps);

#endif
