// The literal screens of the pane `cpus`.
#include "tests/forge_machine.h"

extern const struct view view_cpus;

static void test_screens(void **state) {
    (void)state;
    check_pane(&view_cpus,
               "user %        61.3  steal %        0.0  idle %         5.0  running          5\n"
               "system %      12.5  irq %          0.2  pressure %    33.3  switches/s   12.3k\n"
               "iowait %      20.0  softirq %      1.0  load          4.25  interrupts/s  8200\n"
               "─ ▸ CPUs: % of each CPU's time ─────────────────────────────────────────────────\n"
               "▲CPU  USER%   SYS%   IRQ%  SIRQ% STEAL%  WAIT%  IDLE%   IPC   CSW/s  MIGR/s\n"
               "   0   90.5    5.5    0.2    1.8    0.0    1.0    1.0     -   10.0k      12\n"
               "   1   32.0   19.5    0.2    0.2    0.0   39.0    9.1     -    2345     9.0\n"
               "─ Interrupts ────────────────────────── ─ Soft interrupts ──────────────────────\n"
               "IRQ     CPU   ▼PER/s NAME               SOFTIRQ     CPU   ▼PER/s\n"
               "LOC       0     1000 Local timer inter… BLOCK         0      812\n"
               "36        0      812 virtio1-req.0      TIMER         0      500\n"
               "LOC       1      250 Local timer inter…\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "! no hardware PMU: this virtual machine has none\n"
               "  fix: give the virtual machine a PMU\n",
               "user %        61.3  system %      12.5\n"
               "─ ▸ CPUs: % of each CPU's time ─────────\n"
               "▲CPU  USER%   SYS%   IRQ%  SIRQ% STEAL%\n"
               "   0   90.5    5.5    0.2    1.8    0.0\n"
               "   1   32.0   19.5    0.2    0.2    0.0\n"
               "─ Interrupts ──────────────── 1-2 of 3 ─\n"
               "IRQ     CPU   ▼PER/s NAME\n"
               "LOC       0     1000 Local timer interr…\n"
               "36        0      812 virtio1-req.0\n"
               "! no hardware PMU: this virtual machine…\n",
               (const char *const[]){"cpus", "interrupts", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
