// Origins: the strings follow the struct in one block.
#include "model/origin.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "model/mem.h"

struct counted_origin {
    struct origin origin;
    atomic_uint refs;
    size_t size;
    char strings[];
};

struct origin *origin_new(const struct origin *values) {
    const char *const from[] = {values->host, values->boot_id, values->kernel, values->version};
    size_t size = sizeof(struct counted_origin);
    for (int i = 0; i < 4; i++)
        size += strlen(from[i] ? from[i] : "") + 1;
    struct counted_origin *made = mem_alloc(size);
    const char **to[] = {&made->origin.host, &made->origin.boot_id, &made->origin.kernel, &made->origin.version};
    char *end = made->strings;
    for (int i = 0; i < 4; i++) {
        *to[i] = end;
        end = stpcpy(end, from[i] ? from[i] : "") + 1;
    }
    made->origin.cpus = values->cpus;
    made->size = size;
    atomic_init(&made->refs, 1);
    return &made->origin;
}

const struct origin *origin_ref(const struct origin *origin) {
    if (origin)
        atomic_fetch_add_explicit(&((struct counted_origin *)origin)->refs, 1, memory_order_relaxed);
    return origin;
}

void origin_unref(const struct origin *origin) {
    struct counted_origin *counted = (struct counted_origin *)origin;
    if (counted && atomic_fetch_sub_explicit(&counted->refs, 1, memory_order_acq_rel) == 1)
        mem_free(counted, counted->size);
}
