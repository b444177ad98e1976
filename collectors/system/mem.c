// Memory: the values of /proc/meminfo and the rates of /proc/vmstat. One row, and its series.
// Kernel documents: Documentation/filesystems/proc.rst (meminfo), mm/vmstat.c (names of the counters).
#include "collectors/system/system.h"

#include <math.h>
#include <stdlib.h>

#include "model/columns.h"
#include "model/mem.h"

// Fields of /proc/meminfo, in the kernel's order; KiB but for the counts of huge pages.
enum {
    MI_TOTAL,
    MI_FREE,
    MI_AVAILABLE,
    MI_BUFFERS,
    MI_CACHED,
    MI_SWAP_CACHED,
    MI_ACTIVE,
    MI_INACTIVE,
    MI_UNEVICTABLE,
    MI_MLOCKED,
    MI_SWAP_TOTAL,
    MI_SWAP_FREE,
    MI_ZSWAP,
    MI_ZSWAPPED,
    MI_DIRTY,
    MI_WRITEBACK,
    MI_ANON,
    MI_MAPPED,
    MI_SHMEM,
    MI_SLAB,
    MI_RECLAIMABLE,
    MI_UNRECLAIMABLE,
    MI_KERNEL_STACK,
    MI_PAGE_TABLES,
    MI_COMMIT_LIMIT,
    MI_COMMITTED,
    MI_VMALLOC,
    MI_PERCPU,
    MI_CORRUPTED,
    MI_ANON_HUGE,
    MI_HUGE_TOTAL,
    MI_HUGE_FREE,
    MI_HUGE_RESERVED,
    MI_HUGE_SIZE,
    MI_FIELDS
};
static const char *const meminfo_names[MI_FIELDS] = {
    [MI_TOTAL] = "MemTotal",
    [MI_FREE] = "MemFree",
    [MI_AVAILABLE] = "MemAvailable",
    [MI_BUFFERS] = "Buffers",
    [MI_CACHED] = "Cached",
    [MI_SWAP_CACHED] = "SwapCached",
    [MI_ACTIVE] = "Active",
    [MI_INACTIVE] = "Inactive",
    [MI_UNEVICTABLE] = "Unevictable",
    [MI_MLOCKED] = "Mlocked",
    [MI_SWAP_TOTAL] = "SwapTotal",
    [MI_SWAP_FREE] = "SwapFree",
    [MI_ZSWAP] = "Zswap",
    [MI_ZSWAPPED] = "Zswapped",
    [MI_DIRTY] = "Dirty",
    [MI_WRITEBACK] = "Writeback",
    [MI_ANON] = "AnonPages",
    [MI_MAPPED] = "Mapped",
    [MI_SHMEM] = "Shmem",
    [MI_SLAB] = "Slab",
    [MI_RECLAIMABLE] = "SReclaimable",
    [MI_UNRECLAIMABLE] = "SUnreclaim",
    [MI_KERNEL_STACK] = "KernelStack",
    [MI_PAGE_TABLES] = "PageTables",
    [MI_COMMIT_LIMIT] = "CommitLimit",
    [MI_COMMITTED] = "Committed_AS",
    [MI_VMALLOC] = "VmallocUsed",
    [MI_PERCPU] = "Percpu",
    [MI_CORRUPTED] = "HardwareCorrupted",
    [MI_ANON_HUGE] = "AnonHugePages",
    [MI_HUGE_TOTAL] = "HugePages_Total",
    [MI_HUGE_FREE] = "HugePages_Free",
    [MI_HUGE_RESERVED] = "HugePages_Rsvd",
    [MI_HUGE_SIZE] = "Hugepagesize",
};

// Counters of /proc/vmstat. Older kernels have some of them per zone (pgscan_kswapd_normal): these are summed. Names
// that a later '*' would match come first.
enum {
    VM_REFAULT,
    VM_SWAP_IN,
    VM_SWAP_OUT,
    VM_STALLS,
    VM_FAULTS,
    VM_MAJOR,
    VM_THROTTLED,
    VM_STEAL_KSWAPD,
    VM_STEAL_DIRECT,
    VM_SCAN_KSWAPD,
    VM_SCAN_DIRECT,
    VM_OOM,
    VM_COMPACT_STALLS,
    VM_THP_FAULT,
    VM_THP_FALLBACK,
    VM_FIELDS
};
static const char *const vmstat_names[VM_FIELDS] = {
    [VM_REFAULT] = "workingset_refault*",
    [VM_SWAP_IN] = "pswpin",
    [VM_SWAP_OUT] = "pswpout",
    [VM_STALLS] = "allocstall*",
    [VM_FAULTS] = "pgfault",
    [VM_MAJOR] = "pgmajfault",
    [VM_THROTTLED] = "pgscan_direct_throttle",
    [VM_STEAL_KSWAPD] = "pgsteal_kswapd*",
    [VM_STEAL_DIRECT] = "pgsteal_direct*",
    [VM_SCAN_KSWAPD] = "pgscan_kswapd*",
    [VM_SCAN_DIRECT] = "pgscan_direct*",
    [VM_OOM] = "oom_kill",
    [VM_COMPACT_STALLS] = "compact_stall",
    [VM_THP_FAULT] = "thp_fault_alloc",
    [VM_THP_FALLBACK] = "thp_fault_fallback",
};

enum {
    MEM_TOTAL,
    MEM_AVAILABLE,
    MEM_USED,
    MEM_FREE,
    MEM_CACHED,
    MEM_BUFFERS,
    MEM_SHMEM,
    MEM_DIRTY,
    MEM_WRITEBACK,
    MEM_ANON,
    MEM_MAPPED,
    MEM_SLAB,
    MEM_RECLAIMABLE,
    MEM_UNRECLAIMABLE,
    MEM_KERNEL_STACK,
    MEM_PAGE_TABLES,
    MEM_PERCPU,
    MEM_VMALLOC,
    MEM_ACTIVE,
    MEM_INACTIVE,
    MEM_UNEVICTABLE,
    MEM_MLOCKED,
    MEM_COMMITTED,
    MEM_COMMIT_LIMIT,
    MEM_SWAP_TOTAL,
    MEM_SWAP_USED,
    MEM_SWAP_FREE,
    MEM_SWAP_CACHED,
    MEM_ZSWAP,
    MEM_ZSWAPPED,
    MEM_ANON_HUGE,
    MEM_HUGE_TOTAL,
    MEM_HUGE_FREE,
    MEM_HUGE_RESERVED,
    MEM_HUGE_SIZE,
    MEM_CORRUPTED,
    MEM_SOME_AVG10,
    MEM_FULL_AVG10,
    MEM_SOME,
    MEM_FULL,
    MEM_MINOR,
    MEM_MAJOR,
    MEM_SWAP_IN,
    MEM_SWAP_OUT,
    MEM_SCAN_KSWAPD,
    MEM_SCAN_DIRECT,
    MEM_STEALS,
    MEM_STALLS,
    MEM_REFAULTS,
    MEM_COMPACT_STALLS,
    MEM_THP_FAULTS,
    MEM_THP_FALLBACKS,
    MEM_OOM,
    MEM_COLUMNS
};
#define KIB(name_, title_, help_) NUMBER_COLUMN(name_, title_, UNIT_KIB, 8, .help = help_ ".")
#define COUNT(name_, title_, help_) NUMBER_COLUMN(name_, title_, UNIT_COUNT, 8, .help = help_ ".")
#define PCT(name_, title_, help_) NUMBER_COLUMN(name_, title_, UNIT_PCT, 8, .help = help_ ".")
#define PER_S(name_, title_, help_) NUMBER_COLUMN(name_, title_, UNIT_PER_S, 8, .help = help_ ".")

static const struct column mem_columns[MEM_COLUMNS] = {
    [MEM_TOTAL] = COLUMN_TOTAL_KIB(.help = "Memory managed by the kernel (MemTotal)."),
    [MEM_AVAILABLE] =
        COLUMN_AVAILABLE_KIB(.help = "Available to new work without swapping (MemAvailable, the kernel's estimate)."),
    [MEM_USED] = COLUMN_USED_KIB(.help = "Total minus available."),
    [MEM_FREE] = COLUMN_FREE_KIB(.help = "Unused memory (MemFree)."),
    [MEM_CACHED] = KIB("cached_kib", "CACHED", "Page cache, shared memory included (Cached)"),
    [MEM_BUFFERS] = KIB("buffers_kib", "BUFFERS", "Cache of block devices read raw (Buffers)"),
    [MEM_SHMEM] = COLUMN_SHMEM_KIB(.help = "Shared memory and tmpfs: in the cache, but only swap can free it (Shmem)."),
    [MEM_DIRTY] = COLUMN_DIRTY_KIB(.help = "Dirty page cache, not yet under writeback (Dirty)."),
    [MEM_WRITEBACK] = KIB("writeback_kib", "WRBACK", "Page cache under writeback (Writeback)"),
    [MEM_ANON] = COLUMN_ANON_KIB(.help = "Anonymous memory: heaps and stacks (AnonPages)."),
    [MEM_MAPPED] = COLUMN_MAPPED_KIB(.help = "Page cache mapped by processes (Mapped)."),
    [MEM_SLAB] = COLUMN_SLAB_KIB(.help = "Kernel slab objects (Slab)."),
    [MEM_RECLAIMABLE] = KIB("slab_reclaimable_kib", "SLABREC", "Reclaimable slab: inodes, dentries (SReclaimable)"),
    [MEM_UNRECLAIMABLE] = KIB("slab_unreclaimable_kib", "SLABUNR", "Unreclaimable slab (SUnreclaim)"),
    [MEM_KERNEL_STACK] = KIB("kernel_stack_kib", "KSTACK", "Kernel stacks of all threads (KernelStack)"),
    [MEM_PAGE_TABLES] = KIB("page_tables_kib", "PGTABLE", "Page tables (PageTables)"),
    [MEM_PERCPU] = KIB("percpu_kib", "PERCPU", "Per-CPU memory of the kernel (Percpu)"),
    [MEM_VMALLOC] = KIB("vmalloc_kib", "VMALLOC", "Memory mapped by vmalloc (VmallocUsed)"),
    [MEM_ACTIVE] = KIB("active_kib", "ACTIVE", "Recently used: reclaimed last (Active)"),
    [MEM_INACTIVE] = KIB("inactive_kib", "INACT", "Not recently used: reclaimed first (Inactive)"),
    [MEM_UNEVICTABLE] =
        KIB("unevictable_kib", "UNEVICT", "Cannot be reclaimed: locked, ramfs and the like (Unevictable)"),
    [MEM_MLOCKED] = KIB("mlocked_kib", "MLOCKED", "Locked by mlock (Mlocked)"),
    [MEM_COMMITTED] = KIB("committed_kib", "COMMIT", "Memory promised to processes (Committed_AS)"),
    [MEM_COMMIT_LIMIT] =
        KIB("commit_limit_kib", "LIMIT", "Limit of committed memory when overcommit is off (CommitLimit)"),
    [MEM_SWAP_TOTAL] = KIB("swap_total_kib", "SWAP", "Size of the swap space (SwapTotal)"),
    [MEM_SWAP_USED] = KIB("swap_used_kib", "SWUSED", "Swap space in use"),
    [MEM_SWAP_FREE] = KIB("swap_free_kib", "SWFREE", "Swap space that is free (SwapFree)"),
    [MEM_SWAP_CACHED] = KIB("swap_cached_kib", "SWCACHE", "In swap and in memory at once (SwapCached)"),
    [MEM_ZSWAP] = KIB("zswap_kib", "ZSWAP", "Memory that holds compressed swap (Zswap)"),
    [MEM_ZSWAPPED] = KIB("zswapped_kib", "ZSWAPPED", "Original size of the pages held compressed (Zswapped)"),
    [MEM_ANON_HUGE] = KIB("anon_huge_kib", "THP", "Anonymous memory in transparent huge pages (AnonHugePages)"),
    [MEM_HUGE_TOTAL] = COLUMN_HUGE_PAGES_TOTAL(.help = "Huge pages of the default size reserved (HugePages_Total)."),
    [MEM_HUGE_FREE] = COLUMN_HUGE_PAGES_FREE(.help = "Huge pages reserved and unused (HugePages_Free)."),
    [MEM_HUGE_RESERVED] =
        COUNT("huge_pages_reserved", "HUGERSVD", "Free huge pages that are promised (HugePages_Rsvd)"),
    [MEM_HUGE_SIZE] = KIB("huge_page_kib", "HUGESIZE", "Default size of a huge page (Hugepagesize)"),
    [MEM_CORRUPTED] = KIB("corrupted_kib", "CORRUPT", "Memory disabled as faulty (HardwareCorrupted)"),
    [MEM_SOME_AVG10] = PCT("some_avg10_pct", "SOME10", "PSI some: time in which tasks stalled on memory, 10 s average"),
    [MEM_FULL_AVG10] =
        PCT("full_avg10_pct", "FULL10", "PSI full: time in which all non-idle tasks stalled on memory, 10 s average"),
    [MEM_SOME] = PCT("some_pct", "SOME%", "PSI some: share of the interval in which tasks stalled on memory"),
    [MEM_FULL] =
        PCT("full_pct", "FULL%", "PSI full: share of the interval in which all non-idle tasks stalled on memory"),
    [MEM_MINOR] =
        COLUMN_MINOR_FAULTS_PER_S(.help = "Page faults per second that needed no I/O (pgfault less pgmajfault)."),
    [MEM_MAJOR] = COLUMN_MAJOR_FAULTS_PER_S(.help = "Page faults per second that waited for I/O (pgmajfault)."),
    [MEM_SWAP_IN] = PER_S("swap_in_per_s", "SWIN/s", "Pages read back from swap per second (pswpin)"),
    [MEM_SWAP_OUT] = PER_S("swap_out_per_s", "SWOUT/s", "Pages written to swap per second (pswpout)"),
    [MEM_SCAN_KSWAPD] =
        PER_S("kswapd_scans_per_s", "KSCAN/s", "Pages per second scanned by kswapd in the background (pgscan_kswapd)"),
    [MEM_SCAN_DIRECT] =
        PER_S("direct_scans_per_s", "DSCAN/s", "Pages per second scanned in direct reclaim (pgscan_direct)"),
    [MEM_STEALS] =
        PER_S("steals_per_s", "STEAL/s", "Pages per second reclaimed by both (pgsteal_kswapd, pgsteal_direct)"),
    [MEM_STALLS] =
        PER_S("allocation_stalls_per_s", "STALLS/s", "Allocations per second that entered direct reclaim (allocstall)"),
    [MEM_REFAULTS] = PER_S("refaults_per_s", "REFLT/s",
                           "Pages per second faulted in again soon after reclaim: thrashing (workingset_refault)"),
    [MEM_COMPACT_STALLS] = PER_S("compaction_stalls_per_s", "COMPCT/s",
                                 "Allocations per second that waited for compaction (compact_stall)"),
    [MEM_THP_FAULTS] =
        PER_S("thp_faults_per_s", "THPFLT/s", "Page faults per second served with a huge page (thp_fault_alloc)"),
    [MEM_THP_FALLBACKS] = PER_S("thp_fallbacks_per_s", "THPFBK/s",
                                "Page faults per second that fell back to small pages (thp_fault_fallback)"),
    [MEM_OOM] = PER_S("oom_kills_per_s", "OOM/s", "OOM kills per second (oom_kill)"),
};

const struct table_def system_memory_table = {
    .name = "memory",
    .help = "Memory of the machine, from /proc/meminfo, /proc/vmstat and /proc/pressure/memory: one row",
    .columns = mem_columns,
    .n_columns = MEM_COLUMNS,
    .n_keys = 0,
};

// Columns that are a field or a rate without conversion.
static const struct {
    uint8_t column, field;
} meminfo_columns[] = {
    {MEM_TOTAL, MI_TOTAL},
    {MEM_FREE, MI_FREE},
    {MEM_CACHED, MI_CACHED},
    {MEM_BUFFERS, MI_BUFFERS},
    {MEM_SHMEM, MI_SHMEM},
    {MEM_DIRTY, MI_DIRTY},
    {MEM_WRITEBACK, MI_WRITEBACK},
    {MEM_ANON, MI_ANON},
    {MEM_MAPPED, MI_MAPPED},
    {MEM_SLAB, MI_SLAB},
    {MEM_RECLAIMABLE, MI_RECLAIMABLE},
    {MEM_UNRECLAIMABLE, MI_UNRECLAIMABLE},
    {MEM_KERNEL_STACK, MI_KERNEL_STACK},
    {MEM_PAGE_TABLES, MI_PAGE_TABLES},
    {MEM_PERCPU, MI_PERCPU},
    {MEM_VMALLOC, MI_VMALLOC},
    {MEM_ACTIVE, MI_ACTIVE},
    {MEM_INACTIVE, MI_INACTIVE},
    {MEM_UNEVICTABLE, MI_UNEVICTABLE},
    {MEM_MLOCKED, MI_MLOCKED},
    {MEM_COMMITTED, MI_COMMITTED},
    {MEM_COMMIT_LIMIT, MI_COMMIT_LIMIT},
    {MEM_SWAP_TOTAL, MI_SWAP_TOTAL},
    {MEM_SWAP_FREE, MI_SWAP_FREE},
    {MEM_SWAP_CACHED, MI_SWAP_CACHED},
    {MEM_ZSWAP, MI_ZSWAP},
    {MEM_ZSWAPPED, MI_ZSWAPPED},
    {MEM_ANON_HUGE, MI_ANON_HUGE},
    {MEM_HUGE_TOTAL, MI_HUGE_TOTAL},
    {MEM_HUGE_FREE, MI_HUGE_FREE},
    {MEM_HUGE_RESERVED, MI_HUGE_RESERVED},
    {MEM_HUGE_SIZE, MI_HUGE_SIZE},
    {MEM_CORRUPTED, MI_CORRUPTED},
};
static const struct {
    uint8_t column, field;
} vmstat_columns[] = {
    {MEM_MAJOR, VM_MAJOR},
    {MEM_SWAP_IN, VM_SWAP_IN},
    {MEM_SWAP_OUT, VM_SWAP_OUT},
    {MEM_SCAN_KSWAPD, VM_SCAN_KSWAPD},
    {MEM_SCAN_DIRECT, VM_SCAN_DIRECT},
    {MEM_STALLS, VM_STALLS},
    {MEM_REFAULTS, VM_REFAULT},
    {MEM_COMPACT_STALLS, VM_COMPACT_STALLS},
    {MEM_THP_FAULTS, VM_THP_FAULT},
    {MEM_THP_FALLBACKS, VM_THP_FALLBACK},
    {MEM_OOM, VM_OOM},
};
static const struct {
    uint8_t series, column;
} series_columns[] = {
    {SYS_MEM_TOTAL, MEM_TOTAL},     {SYS_MEM_AVAILABLE, MEM_AVAILABLE}, {SYS_MEM_USED, MEM_USED},
    {SYS_MEM_FREE, MEM_FREE},       {SYS_MEM_CACHED, MEM_CACHED},       {SYS_MEM_BUFFERS, MEM_BUFFERS},
    {SYS_MEM_DIRTY, MEM_DIRTY},     {SYS_MEM_WRITEBACK, MEM_WRITEBACK}, {SYS_SWAP_TOTAL, MEM_SWAP_TOTAL},
    {SYS_SWAP_USED, MEM_SWAP_USED}, {SYS_SWAP_IN, MEM_SWAP_IN},         {SYS_SWAP_OUT, MEM_SWAP_OUT},
    {SYS_MAJOR_FAULTS, MEM_MAJOR},  {SYS_MINOR_FAULTS, MEM_MINOR},      {SYS_OOM_KILLS, MEM_OOM},
};
#define LENGTH(array) (sizeof(array) / sizeof *(array))

struct memory {
    struct proc_file meminfo, vmstat;
    struct table_builder *builder;
    uint32_t row;
    uint64_t last_ns;
    uint64_t counters[VM_FIELDS];
};

static void *memory_create(void) {
    struct memory *memory = xcalloc(1, sizeof *memory);
    memory->meminfo = PROC_FILE("/proc/meminfo");
    memory->vmstat = PROC_FILE("/proc/vmstat");
    memory->builder = table_builder_new(&system_memory_table);
    memory->row = table_builder_add(memory->builder);
    for (size_t i = 0; i < VM_FIELDS; i++)
        memory->counters[i] = PROC_MISSING;
    return memory;
}

static void memory_destroy(void *state) {
    struct memory *memory = state;
    proc_file_close(&memory->meminfo);
    proc_file_close(&memory->vmstat);
    table_builder_free(memory->builder);
    free(memory);
}

static int meminfo_sample(struct memory *memory, struct system_sample *sample, double *row) {
    uint64_t now[MI_FIELDS];
    int error = proc_file_read(&memory->meminfo, sample->buffer);
    proc_pairs(sample->buffer, meminfo_names, MI_FIELDS, now);
    for (size_t i = 0; i < LENGTH(meminfo_columns); i++)
        row[meminfo_columns[i].column] = counter_value(now[meminfo_columns[i].field]);
    double available = counter_value(now[MI_AVAILABLE]);
    if (isnan(available)) // before Linux 3.14: the estimate of free(1) of that time
        available = row[MEM_FREE] + row[MEM_BUFFERS] + row[MEM_CACHED];
    if (available > row[MEM_TOTAL])
        available = row[MEM_TOTAL];
    row[MEM_AVAILABLE] = available;
    row[MEM_USED] = row[MEM_TOTAL] - available;
    double swapped = row[MEM_SWAP_TOTAL] - row[MEM_SWAP_FREE];
    row[MEM_SWAP_USED] = swapped < 0 ? 0 : swapped;
    return error;
}

static void vmstat_sample(struct memory *memory, struct system_sample *sample, double *row) {
    uint64_t now[VM_FIELDS];
    double rates[VM_FIELDS];
    proc_file_read(&memory->vmstat, sample->buffer);
    double seconds = system_elapsed(&memory->last_ns, sample->now());
    proc_pairs(sample->buffer, vmstat_names, VM_FIELDS, now);
    for (size_t i = 0; i < VM_FIELDS; i++) {
        rates[i] = counter_rate(memory->counters[i], now[i], seconds);
        memory->counters[i] = now[i];
    }
    for (size_t i = 0; i < LENGTH(vmstat_columns); i++)
        row[vmstat_columns[i].column] = rates[vmstat_columns[i].field];
    row[MEM_STEALS] = rates[VM_STEAL_KSWAPD] + rates[VM_STEAL_DIRECT];
    double minor = rates[VM_FAULTS] - rates[VM_MAJOR];
    row[MEM_MINOR] = minor < 0 ? 0 : minor;
}

static void memory_sample(void *state, struct system_sample *sample) {
    struct memory *memory = state;
    double row[MEM_COLUMNS];
    for (size_t i = 0; i < MEM_COLUMNS; i++)
        row[i] = NAN;
    if (meminfo_sample(memory, sample, row) < 0)
        section_note(sample->out, SEVERITY_WARNING, "total_kib", "no memory figures: /proc/meminfo is not readable",
                     "mount /proc");
    vmstat_sample(memory, sample, row);
    row[MEM_SOME_AVG10] = sample->pressure.memory_some_avg10;
    row[MEM_FULL_AVG10] = sample->pressure.memory_full_avg10;
    row[MEM_SOME] = sample->pressure.memory_some;
    row[MEM_FULL] = sample->pressure.memory_full;
    for (uint16_t i = 0; i < MEM_COLUMNS; i++)
        table_builder_set_num(memory->builder, memory->row, i, row[i]);
    for (size_t i = 0; i < LENGTH(series_columns); i++)
        sample->series[series_columns[i].series] = row[series_columns[i].column];
    section_table(sample->out, table_builder_seal(memory->builder));
}

const struct system_part system_mem_part = {
    .name = "memory",
    .create = memory_create,
    .sample = memory_sample,
    .destroy = memory_destroy,
};
