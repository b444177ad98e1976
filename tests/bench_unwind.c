// bench_unwind SECONDS STACK_BYTES COMMAND...: samples the command at 999 Hz with copies of its stack, then unwinds
// what was captured several times: microseconds a stack by rules, the same by libunwind alone, and how they ended.
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "collectors/kernel/unwind/private.h"
#include "tests/unit/stack_samples.h"

#define SAMPLES_MAX 4096
#define ROUNDS 5
#define FRAMES_MAX 512

struct sample {
    struct unwind_input input;
    uint8_t *stack;
    uint64_t *chain;
};
static struct sample samples[SAMPLES_MAX];
static unsigned sample_count;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void keep(const struct unwind_input *input) {
    struct sample *s = &samples[sample_count++];
    s->input = *input;
    s->stack = xmalloc(input->stack_size + 1);
    s->chain = xmalloc(input->chain_count * 8 + 8);
    memcpy(s->stack, input->stack, input->stack_size);
    memcpy(s->chain, input->chain, input->chain_count * 8);
    s->input.stack = s->stack;
    s->input.chain = s->chain;
}

static void measure(struct unwinder *unwinder, const char *name) {
    static struct unwind_frame frames[FRAMES_MAX];
    unsigned endings[UNWIND_ENDINGS] = {0};
    uint64_t depth = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = now_us();
        for (unsigned i = 0; i < sample_count; i++) {
            enum unwind_ending ending;
            size_t count = unwind_stack(unwinder, &samples[i].input, frames, FRAMES_MAX, &ending);
            if (round == 0) {
                endings[ending]++;
                depth += count;
            }
        }
        if (round == 0 || round == ROUNDS - 1)
            printf("%-9s %s: %8.2f us a stack\n", name, round ? "warm" : "cold", (now_us() - begin) / sample_count);
    }
    printf("%-9s %u stacks, %.1f frames a stack, %lu bytes:", name, sample_count, (double)depth / sample_count,
           (unsigned long)unwind_bytes(unwinder));
    for (int e = 0; e < UNWIND_ENDINGS; e++)
        if (endings[e])
            printf(" %s %u;", unwind_ending_text((enum unwind_ending)e), endings[e]);
    printf("\n");
}

int main(int argc, char **argv) {
    static struct test_maps maps;
    struct stack_sampler sampler;
    struct unwind_input input;
    if (argc < 4) {
        fprintf(stderr, "usage: bench_unwind SECONDS STACK_BYTES COMMAND...\n");
        return 2;
    }
    pid_t pid = fork();
    if (!pid) {
        freopen("/dev/null", "w", stdout);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    usleep(500000); // started, its libraries mapped
    test_maps_read(&maps, pid);
    int error = stack_sampler_open(&sampler, pid, 999, (unsigned)atoi(argv[2]));
    if (error) {
        fprintf(stderr, "perf_event_open: %s\n", strerror(-error));
        kill(pid, SIGKILL);
        return 1;
    }
    for (int i = 0; i < atoi(argv[1]) * 100; i++) {
        usleep(10000);
        while (stack_sampler_next(&sampler, &input) && sample_count < SAMPLES_MAX)
            keep(&input);
    }
    stack_sampler_close(&sampler);
    struct unwind_source source = {&maps, test_maps_find, test_file_read, NULL};
    struct unwinder *rules = unwinder_new(&source), *oracle = unwinder_new_oracle(&source);
    if (sample_count) {
        measure(rules, "rules");
        measure(oracle, "libunwind");
    }
    unwinder_free(rules);
    unwinder_free(oracle);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    for (unsigned i = 0; i < sample_count; i++) {
        free(samples[i].stack);
        free(samples[i].chain);
    }
    return !sample_count;
}
