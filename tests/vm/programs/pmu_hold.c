// Occupies all hardware counters of CPU 0 with pinned events until it is killed: later events get no counter.
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    int n = 0;
    for (int i = 0; i < 16; i++) {
        struct perf_event_attr attr = {.size = sizeof attr,
                                       .type = PERF_TYPE_HARDWARE,
                                       .config = i ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES,
                                       .pinned = 1};
        n += syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) >= 0;
    }
    printf("held %d\n", n);
    fflush(stdout);
    pause();
    return 0;
}
