// The unwind tables of ELF files: where a file's code has them, and bytes of it, through a bounded cache of blocks.
// Objects are shared by all processes that map the file. Formats: elf(5), LSB .eh_frame and .eh_frame_hdr.
#ifndef COLLECTORS_KERNEL_UNWIND_OBJECT_H
#define COLLECTORS_KERNEL_UNWIND_OBJECT_H

#include "collectors/kernel/unwind/unwind.h"

#define UNWIND_LOADS_MAX 12

struct unwind_load {
    uint64_t vaddr, offset, size; // size: bytes in the file
    bool executable;
};
// An entry of the search table: a function's first address and its frame description, as addresses in the file.
struct unwind_fde {
    uint64_t start, fde;
};

// The header of .gopclntab (go_frames.h); offsets are in the section.
struct unwind_go {
    uint64_t offset, size; // in the file; size 0: none
    uint64_t count, entries, functions, steps;
    uint64_t text; // what starts are relative to
    uint8_t word;  // bytes of a start
    uint8_t quantum, flags_at;
};

// OBJECT_LATER: a part of its headers could not be read yet.
enum { OBJECT_FREE, OBJECT_READY, OBJECT_NO_TABLE, OBJECT_NOT_ELF, OBJECT_UNREADABLE, OBJECT_LATER };
struct unwind_object {
    uint64_t identity[2];
    uint32_t id; // never reused: key of its blocks and rules
    uint8_t state;
    uint64_t used;                 // clock of the last use
    uint64_t size;                 // of `memory`
    bool stated;                   // the state of its file is known
    struct unwind_file_state file; // when it was first read
    const uint8_t *memory;         // [vdso]: our own mapping of it, `size` bytes; else NULL
    struct unwind_load loads[UNWIND_LOADS_MAX];
    unsigned load_count;
    uint64_t header, table, table_count; // .eh_frame_hdr and its search table
    uint64_t frames, frames_end;         // .eh_frame
    uint64_t debug, debug_size;          // .debug_frame: offset in the file; size 0: none
    struct unwind_go go;
    struct unwind_fde *index; // made where there is no search table, or .debug_frame
    size_t index_count;
};
// .debug_frame is in no segment: its records get addresses from here on. The file's own are lower.
#define UNWIND_DEBUG_FRAME (1ull << 62)

struct unwind_objects;
struct unwind_objects *unwind_objects_new(const struct unwind_source *source);
void unwind_objects_free(struct unwind_objects *objects);
uint64_t unwind_objects_bytes(const struct unwind_objects *objects);
void unwind_objects_done(struct unwind_objects *objects); // call after each stack: what was refused is asked for again

// A reader of the file of one mapping: with `map` and `pid` it is read when a block is not cached.
struct unwind_file {
    struct unwind_objects *objects;
    struct unwind_object *object;
    const struct unwind_map *map;
    pid_t pid;
};
// The object of a mapping, its headers read; its slot, for unwind_objects_at. NULL: code of no file.
struct unwind_object *unwind_objects_find(struct unwind_objects *objects, pid_t pid, const struct unwind_map *map,
                                          unsigned *slot);
// The object of a slot. NULL: evicted, or to be read again; find it again.
struct unwind_object *unwind_objects_at(struct unwind_objects *objects, unsigned slot, uint32_t id);

// Address in the file of an offset in its code, and the reverse for `size` bytes of any segment. False: in no segment.
bool unwind_object_vaddr(const struct unwind_object *object, uint64_t offset, uint64_t *vaddr);
bool unwind_object_offset(const struct unwind_object *object, uint64_t vaddr, size_t size, uint64_t *offset);
// Bytes at an address or offset of the file. False: not there, or the file is not as it was.
bool unwind_file_read(const struct unwind_file *file, uint64_t vaddr, void *out, size_t size);
bool unwind_file_pread(const struct unwind_file *file, uint64_t offset, void *out, size_t size);

// The last function that starts at or below vaddr. False: none.
bool unwind_file_search(const struct unwind_file *file, uint64_t vaddr, struct unwind_fde *out);
// Reads the record (CIE or FDE) at vaddr into `bytes`, one of .debug_frame in the form of .eh_frame. False: malformed,
// or longer than UNWIND_RECORD_MAX.
struct cfi_bytes;
bool unwind_file_record(const struct unwind_file *file, uint64_t vaddr, uint8_t *bytes, struct cfi_bytes *out);
#define UNWIND_RECORD_MAX 32768

#endif
