// The literal screens of the pane `memory`.
#include "tests/unit/forge_machine.h"

extern const struct view view_memory;

static void test_screens(void **state) {
    (void)state;
    check_pane(&view_memory,
               "─ Memory ───────────────────────────────────────────────────────────────────────\n"
               "available           512M  minor faults/s      4321  kernel slab        64.0M\n"
               "used                7.5G  swap pages in/s      300  slab not freeable  32.0M\n"
               "free                128M  swap pages out/s     812  page tables        20.0M\n"
               "total               8.0G  programs (anon)     7.0G  committed          12.0G\n"
               "swap used           1.0G  page cache          400M  alloc stalls/s       2.0\n"
               "swap                2.0G  buffers             2.0M  refaults/s            55\n"
               "pressure some %     23.4  shared and tmpfs   10.0M  OOM kills/s            0\n"
               "pressure full %      5.5  dirty               1.0M  direct scans/s      1000\n"
               "major faults/s       321  writeback              0\n"
               "─ ▸ Page faults by task ─────────────────────────────────────────────── 2 of 5 ─\n"
               "    PID USER     ▼MAJFLT/s MINFLT/s    RSS   VIRT RBYTES/s CMDLINE\n"
               "   4242 bob            320       21  64.0M   293M     100M fio --name=randread …\n"
               "    812 anna             0     4000   512M   586M        0 /usr/lib/gcc/cc1 -qu…\n"
               "─ Page faults by mapping ───────────────────────────────────────────────────────\n"
               "    PID COMMAND        ▼MAJFLT/s MINFLT/s SHARE%  ERR% MAPPING\n"
               "   4242 fio                  320       11   97.0   0.0 /srv/data.0\n"
               "    812 cc1                    0     3600   90.0  10.3 [anon]\n"
               "    812 cc1                    0      400   10.0  31.0 [unmapped]\n"
               "   4242 fio                    0       10    3.0   0.0 -\n"
               "─ NUMA nodes ───────────────────────────────────────────────────────────────────\n"
               "NODE    TOTAL     USED     FREE     FILE     ANON   MISS/s  OTHER/s    DIRTY\n"
               "   0     8.0G     7.9G     128M     400M     7.0G        0        0     1.0M\n",
               "─ Memory ───────────────────────────────\n"
               "available      512M  used           7.5G\n"
               "free           128M  total          8.0G\n"
               "swap used      1.0G  swap           2.0G\n"
               "pressure some  23.4  pressure full % 5.5\n"
               "─ Page faults by task ───────── 2 of 5 ─\n"
               "    PID USER     ▼MAJFLT/s CMDLINE\n"
               "   4242 bob            320 fio --name=r…\n"
               "    812 anna             0 /usr/lib/gcc…\n"
               "more: Page faults by map…   NUMA nodes\n",
               (const char *const[]){"memory", "numa", "top_faulters", "fault_mappings", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
