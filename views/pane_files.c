// The file formats of a pane: those of its parts, the focused part's first.
#include <errno.h>
#include <string.h>

#include "views/pane_parts.h"

// The part at that place when they are counted from the focused one.
static size_t part_from_focus(const struct pane *pane, size_t step) {
    return ((size_t)pane->focus + step) % pane->view->n_parts;
}

static const struct part_file *part_files(const struct part *part) {
    static const struct part_file none[] = {{0}};
    return part->kind->files && !part->hidden ? part->kind->files : none;
}

size_t pane_files(const struct pane *pane, const struct part_file *files[PANE_FILES_MAX]) {
    size_t n = 0;

    for (size_t step = 0; step < pane->view->n_parts; step++) {
        const struct part_file *file = part_files(&pane->view->parts[part_from_focus(pane, step)]);
        for (; file->suffix && n < PANE_FILES_MAX; file++) {
            size_t same = 0;
            while (same < n && strcmp(files[same]->suffix, file->suffix))
                same++;
            if (same == n)
                files[n++] = file;
        }
    }
    return n;
}

const struct part_file *pane_file(const struct pane *pane, const char *name) {
    const struct part_file *files[PANE_FILES_MAX];
    size_t n = pane_files(pane, files), length = strlen(name);

    for (size_t i = 0; i < n; i++) {
        size_t suffix = strlen(files[i]->suffix);
        if (length >= suffix && !strcmp(name + length - suffix, files[i]->suffix))
            return files[i];
    }
    return NULL;
}

int pane_write_file(struct pane *pane, const struct look *look, const struct part_file *file,
                    const struct write_info *info, FILE *out) {
    for (size_t step = 0; step < pane->view->n_parts; step++) {
        struct part_context ctx = part_context(pane, look, part_from_focus(pane, step));
        for (const struct part_file *own = part_files(ctx.part); own->suffix; own++)
            if (own == file)
                return !file->write(&ctx, info, out) ? -ENODATA : ferror(out) ? -EIO : 0;
    }
    return -ENODATA;
}
