// Shows what an event string is parsed to: a line for each event with its attributes, and whether it opens (on one CPU
// that it is for, in its group). For t_event_syntax.py and the VM. Exit status 2 with a line of words when it is wrong.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/perf/event/parse.h"
#include "collectors/kernel/perf/perf.h"

static int cpu_of(const struct perf_parsed_event *event) {
    for (int cpu = 0; cpu < 4096; cpu++)
        if (perf_parsed_on_cpu(event, cpu))
            return cpu;
    return 0;
}

static void show(const struct perf_parsed_event *event, int opened) {
    const struct perf_event_attr *a = &event->attr;
    printf("%s\tgroup=%u type=%u config=%#" PRIx64 " config1=%#" PRIx64 " config2=%#" PRIx64 " bp_type=%u eu=%d ek=%d "
           "eh=%d eH=%d eG=%d eI=%d precise=%d pinned=%d exclusive=%d weak=%d scale=%.17g unit=%s cpus=%s open=%s\n",
           event->name, event->group, a->type, (uint64_t)a->config, (uint64_t)a->config1, (uint64_t)a->config2,
           a->bp_type, a->exclude_user, a->exclude_kernel, a->exclude_hv, a->exclude_host, a->exclude_guest,
           a->exclude_idle, a->precise_ip, a->pinned, a->exclusive, event->weak, event->scale,
           event->unit ? event->unit : "-", event->cpus ? event->cpus : "-",
           opened < 0 ? strerrorname_np(-opened) : "ok");
}

int main(int argc, char **argv) {
    int status = 0;
    for (int i = 1; i < argc; i++) {
        struct perf_event_list spec = {0};
        char error[PERF_EVENT_ERROR];
        if (perf_event_parse(&spec, argv[i], NULL, error)) {
            fflush(stdout);
            fprintf(stderr, "%s\n", error);
            status = 2;
        }
        int leader = -1, *fds = calloc(spec.n + 1, sizeof *fds);
        for (size_t j = 0; j < spec.n; j++) {
            if (!j || spec.events[j].group != spec.events[j - 1].group)
                leader = -1;
            fds[j] = perf_parsed_open(&spec.events[j], PERF_FORMAT_GROUP, -1, cpu_of(&spec.events[j]), leader);
            leader = leader < 0 ? fds[j] : leader;
            show(&spec.events[j], fds[j]);
        }
        for (size_t j = 0; j < spec.n; j++)
            if (fds[j] >= 0)
                close(fds[j]);
        free(fds);
        perf_event_list_free(&spec);
    }
    return status;
}
