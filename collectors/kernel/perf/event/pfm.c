// Names of libpfm4: the events of processors by the names of their manuals ("INST_RETIRED:ANY_P", "skl::UOPS_ISSUED").
// Used only for names unknown elsewhere: its initialization is slow.
#include "collectors/kernel/perf/event/private.h" // before libpfm4's, which has a copy of the kernel's header

#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

// Its tables "perf" and "perf_raw" only repeat what names.c has, and read every tracepoint for it.
static bool pfm_start(void) {
    static enum { UNKNOWN, WORKS, FAILED } started;
    if (started == UNKNOWN) {
        const char *given = getenv("LIBPFM_DISABLED_PMUS");
        char disabled[512];
        snprintf(disabled, sizeof disabled, "perf,perf_raw%s%s", given ? "," : "", given ? given : "");
        setenv("LIBPFM_DISABLED_PMUS", disabled, 1);
        started = pfm_initialize() == PFM_SUCCESS ? WORKS : FAILED;
    }
    return started == WORKS;
}

int pfm_event(struct parse *parse, const char *text) {
    struct perf_event_attr attr = {.size = sizeof attr, .exclude_guest = 1}; // without a size config2 is lost
    pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof arg};
    if (!pfm_start())
        return 0;
    int error = pfm_get_os_event_encoding(text, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
    switch (error) {
    case PFM_SUCCESS:
        break;
    case PFM_ERR_ATTR:
    case PFM_ERR_ATTR_VAL:
    case PFM_ERR_ATTR_SET:
    case PFM_ERR_UMASK:
    case PFM_ERR_FEATCOMB:
        return parse_wrong(parse, "'%s': libpfm4 has this event, but rejects this form: %s", text, pfm_strerror(error));
    default:
        return 0;
    }
    attr.size = sizeof attr;
    attr.disabled = attr.inherit = attr.enable_on_exec = 0;
    struct perf_parsed_event *event = parse_add(parse, attr.type, attr.config, text);
    event->attr = attr;
    return 1;
}

static void names_of(pfm_pmu_info_t *pmu, void (*each)(void *context, const char *name, const char *help),
                     void *context) {
    for (int i = pmu->first_event; i != -1; i = pfm_get_event_next(i)) {
        pfm_event_info_t info = {.size = sizeof info};
        char name[256];
        if (pfm_get_event_info(i, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
            continue;
        bool units = false;
        for (int j = 0; j < info.nattrs; j++) {
            pfm_event_attr_info_t attribute = {.size = sizeof attribute};
            if (pfm_get_event_attr_info(i, j, PFM_OS_PERF_EVENT_EXT, &attribute) != PFM_SUCCESS ||
                attribute.type != PFM_ATTR_UMASK)
                continue;
            units = true;
            snprintf(name, sizeof name, "%s:%s", info.name, attribute.name);
            each(context, name, attribute.desc ? attribute.desc : "");
        }
        if (!units)
            each(context, info.name, info.desc ? info.desc : "");
    }
}

void pfm_names(void (*each)(void *context, const char *name, const char *help), void *context) {
    if (!pfm_start())
        return;
    for (int i = 0; i < PFM_PMU_MAX; i++) {
        pfm_pmu_info_t pmu = {.size = sizeof pmu};
        if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) == PFM_SUCCESS && pmu.is_present)
            names_of(&pmu, each, context);
    }
}
