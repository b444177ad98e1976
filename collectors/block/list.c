// The list of single I/Os in order of completion: the rare ones, then the newest without a gap.
#include <math.h>

#include "collectors/block/filler.h"

const struct text *block_error_text(int32_t error) {
    const char *name = error ? strerrorname_np(-error) : NULL;
    return !error ? NULL : name ? text_from(name) : text_printf("%d", -error);
}

static double wall_s(const struct block_fill *fill, uint64_t ns) {
    return (double)((int64_t)ns + fill->wall_offset_ns) / 1e9;
}

struct list {
    const struct block_filler *filler;
    struct table_builder *builder;
    const struct text *rwbs; // of the last row: equal values come in runs
};

// why NULL: one of the newest.
static void list_add(struct list *list, const struct block_recent *io, const struct block_unattributed *unattributed,
                     const struct text *why) {
    const struct block_fill *fill = list->filler->fill;
    struct table_builder *builder = list->builder;
    const struct block_proc *proc = io->proc != UINT32_MAX ? &fill->stat->procs[io->proc] : NULL;
    const struct block_task *task = proc && proc->task != UINT32_MAX ? block_task_get(fill->submitters, proc) : NULL;
    if (task ? !task->wanted : list->filler->filters)
        return;
    if (!list->rwbs || strcmp(text_bytes(list->rwbs), io->rwbs) != 0) {
        text_unref(list->rwbs);
        list->rwbs = text_from(io->rwbs);
    }
    uint32_t row = table_builder_add(builder);
    table_builder_set_num(builder, row, BLOCK_E_TIME, wall_s(fill, io->issue_ns));
    table_builder_set_num(builder, row, BLOCK_E_END, wall_s(fill, io->end_ns));
    table_builder_set_text(builder, row, BLOCK_E_COMM,
                           task && task->comm ? text_ref(task->comm)
                                              : block_comm_text(proc ? proc->comm : unattributed->comm));
    table_builder_set_num(builder, row, BLOCK_E_PID, task ? task->pid : proc ? proc->tid : unattributed->tid);
    table_builder_set_text(builder, row, BLOCK_E_OP, text_ref(list->rwbs));
    table_builder_set_text(builder, row, BLOCK_E_DEVICE,
                           block_filler_device(list->filler, proc ? proc->dev : unattributed->dev));
    if (io->sector != BLOCK_NO_SECTOR)
        table_builder_set_num(builder, row, BLOCK_E_SECTOR, (double)io->sector);
    double per_sector = proc ? fill->stat->devices[proc->device].per_sector : 0;
    if (io->sector != BLOCK_NO_SECTOR && per_sector > 0)
        table_builder_set_num(builder, row, BLOCK_E_OFFSET,
                              fmin((double)io->sector * per_sector, BLOCK_PARTS) * (100.0 / BLOCK_PARTS));
    table_builder_set_num(builder, row, BLOCK_E_BYTES, io->bytes);
    if (io->arrival_ns)
        table_builder_set_num(builder, row, BLOCK_E_QUEUE, (double)(io->issue_ns - io->arrival_ns) / 1000);
    table_builder_set_num(builder, row, BLOCK_E_LATENCY, (double)(io->end_ns - io->issue_ns) / 1000);
    table_builder_set_text(builder, row, BLOCK_E_ERROR, block_error_text(io->error));
    if (io->bio_ns)
        table_builder_set_num(builder, row, BLOCK_E_TOTAL, (double)(io->end_ns - io->bio_ns) / 1000);
    if (task && task->cgroup)
        table_builder_set_text(builder, row, BLOCK_E_CGROUP, text_ref(task->cgroup));
    if (why)
        table_builder_set_text(builder, row, BLOCK_E_KEPT, text_ref(why));
}

void block_list_fill(const struct block_filler *filler, struct section *out) {
    const struct block_stat *stat = filler->stat;
    struct list list = {.filler = filler, .builder = table_builder_new(&block_events_table)};
    const struct text *whys[BLOCK_WHYS];
    const struct block_chosen *rare;
    uint32_t n_rare = block_stat_rare(stat, &rare);
    uint64_t older = block_stat_left_out(stat);
    for (int why = 0; why < BLOCK_WHYS; why++)
        whys[why] = text_from(block_why_names[why]);
    for (uint32_t i = 0; i < n_rare; i++)
        list_add(&list, &rare[i].pick->io, &rare[i].pick->task, whys[rare[i].why]);
    for (uint64_t i = older; i < stat->n_recent; i++)
        list_add(&list, &stat->recent[i % BLOCK_EVENTS_KEPT], &stat->unattributed[i % BLOCK_EVENTS_KEPT], NULL);
    for (int why = 0; why < BLOCK_WHYS; why++)
        text_unref(whys[why]);
    text_unref(list.rwbs);
    section_stream(out, table_builder_seal(list.builder), older - n_rare);
    table_builder_free(list.builder);
}
