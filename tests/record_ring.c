// Records sub-buffers of the block events with the formats that belong to them, for tests/data:
//
//     record_ring DIR SECONDS [SUBBUF_KIB]
//
// writes DIR/formats (the format files one after the other, each headed by "== NAME"), DIR/header_page and
// DIR/cpuN.raw (whole sub-buffers, one after the other; the first line of DIR/about says their size). Run it as root
// with some I/O beside it. Uses ktop's own instance, reader and events, so it records what ktop would see.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectors/block/event.h"
#include "collectors/kernel/tracefs/ring_pipe.h"
#include "collectors/kernel/tracefs/tracefs.h"

static FILE *file_in(const char *dir, const char *name) {
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

static void record_formats(const char *instance, const char *dir) {
    static char path[512], text[16384];
    FILE *out = file_in(dir, "formats");
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        snprintf(path, sizeof(path), "%s/events/block/%s/format", instance, block_event_names[kind]);
        if (format_file(path, text, sizeof(text)) <= 0)
            continue;
        fprintf(out, "== %s\n%s", block_event_names[kind], text);
        if (kind == BLOCK_START) // the bio tells it
            continue;
        snprintf(path, sizeof(path), "events/block/%s/enable", block_event_names[kind]);
        instance_write(instance, path, "1");
    }
    fclose(out);
    snprintf(path, sizeof(path), "%s/events/header_page", instance);
    out = file_in(dir, "header_page");
    if (format_file(path, text, sizeof(text)) > 0)
        fputs(text, out);
    fclose(out);
}

static void record_pages(struct ring_pipe *pipe, const char *dir) {
    const struct ring_source source = ring_pipe_source(pipe);
    char *page = malloc(source.page_size), name[32];
    for (uint32_t cpu = 0; page && cpu < source.n_cpus; cpu++) {
        snprintf(name, sizeof(name), "cpu%u.raw", cpu);
        FILE *out = file_in(dir, name);
        ssize_t n;
        while ((n = source.read(source.ctx, cpu, page, source.page_size)) > 0) {
            memset(page + n, 0, source.page_size - (size_t)n);
            fwrite(page, source.page_size, 1, out);
        }
        fclose(out);
    }
    free(page);
    FILE *about = file_in(dir, "about");
    fprintf(about, "%u bytes a sub-buffer, clock mono\n", source.page_size);
    fclose(about);
}

int main(int argc, char **argv) {
    char instance[256];
    const char *step = "";
    struct ring_pipe *pipe;
    if (argc < 3) {
        fprintf(stderr, "usage: record_ring DIR SECONDS [SUBBUF_KIB]\n");
        return 2;
    }
    mkdir(argv[1], 0777);
    int error = instance_create("record", instance, sizeof(instance));
    if (error) {
        fprintf(stderr, "record_ring: no tracefs instance: %s\n", strerror(-error));
        return 1;
    }
    const struct ring_pipe_config config = {.instance = instance,
                                            .clock = "mono",
                                            .buffer_kib = 4096,
                                            .max_kib = 4096,
                                            .subbuf_kib = argc > 3 ? (uint32_t)atoi(argv[3]) : 4};
    error = ring_pipe_open(&config, &pipe, &step);
    if (!error) {
        record_formats(instance, argv[1]);
        instance_write(instance, "tracing_on", "1");
        double seconds = atof(argv[2]);
        nanosleep(&(struct timespec){(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)}, NULL);
        instance_write(instance, "tracing_on", "0");
        record_pages(pipe, argv[1]);
        ring_pipe_free(pipe);
    } else {
        fprintf(stderr, "record_ring: %s: %s\n", step, strerror(-error));
    }
    instance_remove(instance);
    return error ? 1 : 0;
}
