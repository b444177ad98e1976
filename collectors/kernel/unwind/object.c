// Identity of files and the cache of their blocks. A block is read once with pread into memory of our own; a file that
// changed since its headers were read (size or modification time) gives no more bytes.
#include "collectors/kernel/unwind/object_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/mem.h"

#define OBJECTS_MAX 512
#define BLOCK_SIZE 16384u
#define BLOCK_WAYS 4
#define BLOCK_SETS 384 // 24 MiB
#define VDSO_SIZE_MAX (64u << 10)

struct block {
    uint32_t id;
    uint32_t size; // bytes read: less at the end of the file
    uint64_t number, used;
    uint8_t *bytes;
};

struct unwind_objects {
    struct unwind_source source;
    struct unwind_object objects[OBJECTS_MAX];
    struct block blocks[BLOCK_SETS][BLOCK_WAYS];
    uint64_t clock, block_bytes;
    size_t index_entries;
    uint32_t last_id;
    uint32_t refused_id; // could not be read during this stack
    bool later;          // something could not be read yet during this stack
};

struct unwind_objects *unwind_objects_new(const struct unwind_source *source) {
    struct unwind_objects *objects = xcalloc(1, sizeof(*objects));
    objects->source = *source;
    return objects;
}

uint64_t unwind_objects_bytes(const struct unwind_objects *objects) {
    return sizeof(*objects) + objects->block_bytes + objects->index_entries * sizeof(struct unwind_fde);
}

void unwind_objects_free(struct unwind_objects *objects) {
    if (!objects)
        return;
    for (unsigned i = 0; i < OBJECTS_MAX; i++)
        free(objects->objects[i].index);
    for (unsigned set = 0; set < BLOCK_SETS; set++)
        for (unsigned way = 0; way < BLOCK_WAYS; way++)
            free(objects->blocks[set][way].bytes);
    free(objects);
}

void unwind_objects_done(struct unwind_objects *objects) {
    objects->refused_id = 0;
    objects->later = false;
}

// ---- bytes ----
ssize_t unwind_read(int fd, uint64_t offset, void *out, size_t size, struct unwind_file_state *state) {
    struct stat st;
    ssize_t got = -EINVAL;
    if (fd < 0)
        return fd;
    if (fstat(fd, &st)) {
        got = -errno;
    } else if (S_ISREG(st.st_mode)) {
        *state = (struct unwind_file_state){(uint64_t)st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
        got = pread(fd, out, size, (off_t)offset);
        got = got < 0 ? -errno : got;
    }
    close(fd);
    return got;
}

static ssize_t block_read(const struct unwind_file *file, uint64_t number, uint8_t *bytes) {
    struct unwind_objects *objects = file->objects;
    struct unwind_object *object = file->object;
    struct unwind_file_state state;
    const struct unwind_source *source = &objects->source;
    ssize_t got = source->read(source->context, file->pid, file->map, number * BLOCK_SIZE, bytes, BLOCK_SIZE, &state);
    if (got < 0)
        return got;
    if (object->stated && (object->file.size != state.size || object->file.mtime_s != state.mtime_s ||
                           object->file.mtime_ns != state.mtime_ns))
        return -ESTALE;
    object->file = state;
    object->stated = true;
    return got;
}

static struct block *block_get(const struct unwind_file *file, uint64_t number) {
    struct unwind_objects *objects = file->objects;
    uint32_t id = file->object->id;
    struct block *set = objects->blocks[(id * 2654435761u + number * 40503u) % BLOCK_SETS], *oldest = set;
    for (struct block *b = set; b < set + BLOCK_WAYS; b++) {
        if (b->bytes && b->id == id && b->number == number) {
            b->used = ++objects->clock;
            return b;
        }
        if (b->used < oldest->used)
            oldest = b;
    }
    if (objects->refused_id == id)
        return NULL;
    if (!oldest->bytes) {
        oldest->bytes = xmalloc(BLOCK_SIZE);
        objects->block_bytes += BLOCK_SIZE;
    }
    ssize_t got = block_read(file, number, oldest->bytes);
    *oldest = (struct block){got < 0 ? 0 : id, got < 0 ? 0 : (uint32_t)got, number, ++objects->clock, oldest->bytes};
    if (got >= 0)
        return oldest;
    objects->refused_id = id;
    objects->later |= got == -EAGAIN;
    return NULL;
}

bool unwind_file_pread(const struct unwind_file *file, uint64_t offset, void *out, size_t size) {
    uint8_t *to = out;
    if (file->object->memory) {
        if (offset > file->object->size || size > file->object->size - offset)
            return false;
        memcpy(out, file->object->memory + offset, size);
        return true;
    }
    if (offset > INT64_MAX - (1 << 20))
        return false;
    while (size) {
        struct block *block = block_get(file, offset / BLOCK_SIZE);
        uint32_t from = offset % BLOCK_SIZE;
        if (!block || from >= block->size)
            return false;
        size_t part = block->size - from < size ? block->size - from : size;
        memcpy(to, block->bytes + from, part);
        to += part;
        offset += part;
        size -= part;
    }
    return true;
}

bool unwind_object_vaddr(const struct unwind_object *object, uint64_t offset, uint64_t *vaddr) {
    for (unsigned i = 0; i < object->load_count; i++) {
        const struct unwind_load *load = &object->loads[i];
        if (load->executable && offset - load->offset < load->size) {
            *vaddr = offset - load->offset + load->vaddr;
            return true;
        }
    }
    return false;
}

bool unwind_object_offset(const struct unwind_object *object, uint64_t vaddr, size_t size, uint64_t *offset) {
    for (unsigned i = 0; i < object->load_count; i++) {
        const struct unwind_load *load = &object->loads[i];
        if (vaddr - load->vaddr < load->size && size <= load->size - (vaddr - load->vaddr)) {
            *offset = vaddr - load->vaddr + load->offset;
            return true;
        }
    }
    return false;
}

bool unwind_file_read(const struct unwind_file *file, uint64_t vaddr, void *out, size_t size) {
    uint64_t offset;
    return unwind_object_offset(file->object, vaddr, size, &offset) && unwind_file_pread(file, offset, out, size);
}

// ---- identity ----
static bool is_file(const char *path) {
    return path && path[0] == '/' && path[1] != '/';
}

static bool vdso_open(struct unwind_object *object) {
    const uint8_t *memory = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    uint64_t sections;
    uint16_t entry, count;
    if (!memory)
        return false;
    // The image is as long as its section headers say, which are at its end.
    memcpy(&sections, memory + 40, 8);
    memcpy(&entry, memory + 58, 2);
    memcpy(&count, memory + 60, 2);
    object->size = sections + (uint64_t)entry * count;
    object->memory = memory;
    return object->size <= VDSO_SIZE_MAX;
}

static void evict(struct unwind_objects *objects, struct unwind_object *object) {
    objects->index_entries -= object->index_count;
    free(object->index);
    *object = (struct unwind_object){0};
}

struct unwind_object *unwind_objects_at(struct unwind_objects *objects, unsigned slot, uint32_t id) {
    struct unwind_object *object = &objects->objects[slot % OBJECTS_MAX];
    if (object->id != id || (object->state == OBJECT_LATER && objects->refused_id != id))
        return NULL;
    object->used = ++objects->clock;
    return object;
}

static void object_load(struct unwind_objects *objects, struct unwind_object *object, pid_t pid,
                        const struct unwind_map *map, bool vdso) {
    struct unwind_file file = {objects, object, map, pid};
    bool later = objects->later; // of another object
    objects->later = false;
    if (vdso && !vdso_open(object))
        object->state = OBJECT_UNREADABLE;
    else
        object->state = unwind_object_load(&file, UNWIND_INDEX_MAX - objects->index_entries);
    objects->index_entries += object->index_count;
    if (objects->refused_id == object->id) {
        struct unwind_object empty = {.id = object->id, .stated = object->stated, .file = object->file};
        empty.state = objects->later ? OBJECT_LATER : OBJECT_UNREADABLE;
        memcpy(empty.identity, object->identity, sizeof(empty.identity));
        evict(objects, object);
        *object = empty;
    }
    objects->later |= later;
}

struct unwind_object *unwind_objects_find(struct unwind_objects *objects, pid_t pid, const struct unwind_map *map,
                                          unsigned *slot) {
    bool vdso = map->path && !strcmp(map->path, "[vdso]");
    struct unwind_object *object = objects->objects;
    if (!vdso && !is_file(map->path))
        return NULL;
    for (struct unwind_object *o = objects->objects; o < objects->objects + OBJECTS_MAX; o++) {
        if (o->id && (vdso ? o->memory != NULL : !o->memory) &&
            (vdso || (o->identity[0] == map->identity[0] && o->identity[1] == map->identity[1]))) {
            object = o;
            // Its process had ended, or may not be looked at: this one may do.
            if (o->state == OBJECT_UNREADABLE || (o->state == OBJECT_LATER && objects->refused_id != o->id))
                break;
            goto found;
        }
        if (o->used < object->used)
            object = o;
    }
    struct unwind_object before = *object;
    bool again = before.state == OBJECT_LATER && !memcmp(before.identity, map->identity, sizeof(before.identity));
    evict(objects, object);
    object->id = again ? before.id : ++objects->last_id; // blocks of it may have been read
    object->stated = again && before.stated;
    object->file = before.file;
    memcpy(object->identity, map->identity, sizeof(object->identity));
    object_load(objects, object, pid, map, vdso);
found:
    object->used = ++objects->clock;
    *slot = (unsigned)(object - objects->objects);
    return object;
}
