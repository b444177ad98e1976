// Whole user stacks: programs with known call chains, sampled live; every sample is compared with the chain, and by
// libunwind as the oracle.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <time.h>

#include "collectors/kernel/unwind/private.h"
#include "tests/unit/stack_programs.h"
#include "tests/unit/stack_samples.h"

#define FUNCTIONS_MAX 16
#define FRAMES_MAX 128
#define SAMPLES_WANTED 200

static char folder[64];

struct child {
    pid_t pid;
    char binary[128];
    struct {
        char name[16];
        uint64_t address;
    } functions[FUNCTIONS_MAX];
    unsigned function_count;
    struct test_maps maps;
};

static bool write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    bool good = file && fputs(text, file) >= 0;
    return file && !fclose(file) && good;
}

static bool compile(const char *name, const char *source, const char *flags) {
    char path[128], command[1024];
    snprintf(path, sizeof(path), "%s/%s.c", folder, name);
    if (!write_text(path, source))
        return false;
    snprintf(command, sizeof(command), "${CC:-gcc} -w -O2 -o %s/%s %s %s 2>%s/errors", folder, name, path, flags,
             folder);
    return !system(command);
}

// Starts a program, and reads the addresses of its functions until it is ready.
static void child_start(struct child *child, const char *name) {
    int pipes[2];
    memset(child, 0, sizeof(*child));
    snprintf(child->binary, sizeof(child->binary), "%s/%s", folder, name);
    assert_int_equal(pipe(pipes), 0);
    child->pid = fork();
    if (!child->pid) {
        dup2(pipes[1], 1);
        close(pipes[0]);
        close(pipes[1]);
        execl(child->binary, child->binary, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    FILE *output = fdopen(pipes[0], "r");
    char line[64];
    bool ready = false;
    while (!ready && fgets(line, sizeof(line), output)) {
        void *address;
        ready = !strcmp(line, "ready\n");
        if (child->function_count < FUNCTIONS_MAX &&
            sscanf(line, "%15s %p", child->functions[child->function_count].name, &address) == 2)
            child->functions[child->function_count++].address = (uint64_t)address;
    }
    fclose(output);
    assert_true(ready);
    usleep(30000); // from "ready" into the chain
    assert_true(test_maps_read(&child->maps, child->pid));
}

static void child_stop(struct child *child) {
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
}

static const char *function_of(const struct child *child, const struct unwind_frame *frame) {
    uint64_t ip = frame->ip - !frame->exact, best = 0;
    const char *name = "?";
    for (unsigned i = 0; i < child->function_count; i++) {
        uint64_t start = child->functions[i].address;
        if (start > ip || ip - start > 1024 || start <= best)
            continue;
        best = start;
        name = child->functions[i].name;
    }
    return name;
}

// The names of the known functions from `spin` to main; runs of one name as "name*N".
static void names_of(const struct child *child, const struct unwind_frame *frames, size_t count, char *out,
                     size_t size) {
    bool begun = false, ended = false; // above main and thread is the C library, whose code lies near
    size_t length = 0;
    out[0] = 0;
    for (size_t i = 0; i < count && !ended;) {
        const char *name = function_of(child, &frames[i]);
        size_t run = 1;
        ended = !strcmp(name, "main") || !strcmp(name, "thread");
        while (!ended && i + run < count && function_of(child, &frames[i + run]) == name)
            run++;
        i += run;
        begun |= !strcmp(name, "spin");
        if (begun && *name != '?' && length < size)
            length += (size_t)snprintf(out + length, size - length, run > 1 ? "%s%s*%zu" : "%s%s", length ? " " : "",
                                       name, run);
    }
}

static pid_t last_thread(pid_t pid) {
    char path[64];
    pid_t last = pid;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        if (atoi(entry->d_name) > last)
            last = atoi(entry->d_name);
    closedir(tasks);
    return last;
}

static bool sampler_start(struct stack_sampler *sampler, const struct child *child) {
    int error = stack_sampler_open(sampler, last_thread(child->pid), 999, 8192);
    if (error)
        print_message("skipped: perf_event_open: %s\n", strerror(-error));
    return !error;
}

typedef void sample_fn(struct child *child, const struct unwind_input *input, void *context);

// Calls fn for samples of a running child until enough came. False: this kernel gives none.
static bool child_sample(struct child *child, sample_fn *fn, void *context) {
    struct stack_sampler sampler;
    struct unwind_input input;
    unsigned count = 0;
    if (!sampler_start(&sampler, child))
        return false;
    for (int wait = 0; wait < 300 && count < SAMPLES_WANTED; wait++) {
        usleep(10000);
        while (count < SAMPLES_WANTED && stack_sampler_next(&sampler, &input)) {
            input.pid = child->pid; // a thread's samples carry the process
            fn(child, &input, context);
            count++;
        }
    }
    stack_sampler_close(&sampler);
    assert_true(count >= SAMPLES_WANTED);
    return true;
}

struct expected {
    const char *names;
    enum unwind_ending ending;
    struct unwinder *rules, *oracle;
    unsigned good, samples;
    bool leaf_lost; // a function without a row that has no frame record yet: its caller may be missing
    bool any_names; // only the ending is certain
    unsigned exact; // frames that are no return addresses; 0: not checked
    bool unloaded;  // the tables are not loaded: libunwind does not find them
};

static void compare(struct child *child, const struct unwind_input *input, void *context) {
    struct expected *expected = context;
    struct unwind_frame frames[FRAMES_MAX], other[FRAMES_MAX];
    enum unwind_ending ending, other_ending;
    char names[512];
    size_t count = unwind_stack(expected->rules, input, frames, FRAMES_MAX, &ending);
    size_t other_count = expected->oracle ? unwind_stack(expected->oracle, input, other, FRAMES_MAX, &other_ending) : 0;
    names_of(child, frames, count, names, sizeof(names));
    expected->samples++;
    bool good = ending == expected->ending && (expected->any_names || !strcmp(names, expected->names));
    unsigned exact = 0;
    for (size_t i = 0; i < count; i++)
        exact += frames[i].exact;
    good &= !expected->exact || exact == expected->exact;
    expected->good += good;
    if (!good && !expected->leaf_lost)
        print_message("%s, %zu frames, %s; expected %s, %s\n", names, count, unwind_ending_text(ending),
                      expected->names, unwind_ending_text(expected->ending));
    if (!expected->oracle)
        return;
    assert_int_equal(ending, other_ending);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++)
        assert_true(frames[i].ip == other[i].ip && frames[i].exact == other[i].exact);
}

static void check_running(const char *name, struct expected expected) {
    struct child child;
    child_start(&child, name);
    struct unwind_source source = {&child.maps, test_maps_find, test_file_read, NULL};
    expected.rules = unwinder_new(&source);
    expected.oracle = expected.unloaded ? NULL : unwinder_new_oracle(&source);
    bool sampled = child_sample(&child, compare, &expected);
    unwinder_free(expected.rules);
    unwinder_free(expected.oracle);
    child_stop(&child);
    if (!sampled)
        skip();
    if (expected.leaf_lost)
        assert_true(expected.good * 10 >= expected.samples); // how many depends on where the samples fall
    else
        assert_int_equal(expected.good, expected.samples);
}

static void check(const char *name, const char *source, const char *flags, const char *names,
                  enum unwind_ending ending) {
    if (!compile(name, source, flags)) {
        print_message("skipped: no C compiler, or it refuses %s\n", flags);
        skip();
    }
    check_running(name, (struct expected){.names = names, .ending = ending});
}

struct chains {
    struct unwinder *unwinder;
    unsigned complete, samples;
};

// The innermost frames, all of the program itself.
static void chain_compare(struct child *child, const struct unwind_input *input, void *context) {
    struct chains *chains = context;
    struct unwind_frame frames[FRAMES_MAX];
    struct unwind_input part = *input;
    bool incomplete;
    (void)child;
    part.chain_count = input->chain_count < 3 ? input->chain_count : 3;
    size_t count = unwind_chain(chains->unwinder, &part, frames, FRAMES_MAX, &incomplete);
    assert_true(count >= part.chain_count && frames[0].exact && frames[0].ip == part.chain[0]);
    assert_true(frames[count - 1].ip == part.chain[part.chain_count - 1]);
    chains->samples++;
    chains->complete += !incomplete;
}

// Percent of the frame-pointer chains that have no function without a frame record.
static unsigned chains_complete(const char *name, const char *flags) {
    struct child child;
    if (!compile(name, program_chain, flags))
        skip();
    child_start(&child, name);
    struct unwind_source source = {&child.maps, test_maps_find, test_file_read, NULL};
    struct chains chains = {.unwinder = unwinder_new(&source)};
    bool sampled = child_sample(&child, chain_compare, &chains);
    unwinder_free(chains.unwinder);
    child_stop(&child);
    if (!sampled)
        skip();
    return 100 * chains.complete / chains.samples;
}

#define OMIT "-fomit-frame-pointer -fasynchronous-unwind-tables "
#define KEEP "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fasynchronous-unwind-tables "

static void omitted_frame_pointers(void **state) {
    (void)state;
    check("omit", program_chain, OMIT, "spin c b a main", UNWIND_WHOLE);
}

static void chains_that_lack_callers(void **state) {
    (void)state;
    assert_true(chains_complete("kept", KEEP) >= 40); // some samples are in a function's first instructions
    assert_true(chains_complete("omitted", OMIT) <= 20);
}

static void unoptimised(void **state) {
    (void)state;
    check("plain", program_chain, "-O0", "spin c b a main", UNWIND_WHOLE);
}

static void static_program(void **state) {
    (void)state;
    check("static", program_chain, OMIT "-static", "spin c b a main", UNWIND_WHOLE);
}

static void tail_call(void **state) {
    (void)state;
    check("tail", program_tail, OMIT, "spin b main", UNWIND_WHOLE);
}

static void thread_start(void **state) {
    (void)state;
    check("thread", program_thread, OMIT "-pthread", "spin c b a thread", UNWIND_WHOLE);
}

static void signal_handler(void **state) {
    (void)state;
    if (!compile("signal", program_signal, OMIT "-DALTERNATE=0"))
        skip();
    // The innermost frame, the trampoline that the handler returns to, and the frame that was interrupted.
    check_running("signal", (struct expected){.names = "spin handler busy a main", .ending = UNWIND_WHOLE, .exact = 3});
}

static void alternate_stack_is_cut(void **state) {
    (void)state;
#if defined(__x86_64__)
    check("alternate", program_signal, OMIT "-DALTERNATE=1", "spin handler busy", UNWIND_CUT);
#else // gcc keeps the frame pointers of functions that call others
    check("alternate", program_signal, OMIT "-DALTERNATE=1", "spin handler busy a main", UNWIND_SPLICED);
#endif
}

static void shared_library(void **state) {
    char flags[256];
    (void)state;
    snprintf(flags, sizeof(flags), OMIT "-L%s -Wl,-rpath,%s -Wl,-z,lazy -l:libchain.so", folder, folder);
    if (!compile("libchain.so", library, OMIT "-shared -fPIC"))
        skip();
    check("library", program_library, flags, "spin c b main", UNWIND_WHOLE);
}

static void jit_between_native_frames(void **state) {
    (void)state;
#if defined(__x86_64__)
    const char *flags = OMIT;
#else // a frame record says nothing of its caller's stack pointer: the caller needs a frame pointer as well
    const char *flags = KEEP;
#endif
    check("jit", program_jit, flags, "spin c jit a main", UNWIND_WHOLE);
}

static void recursion(void **state) {
    (void)state;
    check("deep", program_deep, OMIT "-DFRAME=64", "spin deep*60 main", UNWIND_WHOLE);
}

// 60 frames of 600 bytes do not fit into 8 KiB.
static void cut_copy_is_continued_by_frame_pointers(void **state) {
    (void)state;
    check("spliced", program_deep, KEEP "-DFRAME=600", "spin deep*60 main", UNWIND_SPLICED);
}

static void no_table_with_frame_pointers(void **state) {
    (void)state;
    if (!compile(
            "untabled", program_chain,
            "-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables"))
        skip();
    check_running("untabled", (struct expected){.names = "spin c b a main", .ending = UNWIND_WHOLE, .leaf_lost = true});
}

static void debug_frame_alone(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        char name[16], flags[160];
        snprintf(name, sizeof(name), "debug%d", i);
        snprintf(flags, sizeof(flags), "-fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables %s %s",
                 i & 1 ? "-gdwarf-4" : "-gdwarf-2", i & 2 ? "-static" : "-pie -fPIE");
        if (!compile(name, program_chain, flags))
            skip();
        check_running(name, (struct expected){.names = "spin c b a main", .ending = UNWIND_WHOLE, .unloaded = true});
    }
}

#if defined(__x86_64__)
static void no_table_without_frame_pointers(void **state) {
    (void)state;
    if (!compile("nothing", program_tail, "-fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables"))
        skip();
    check_running("nothing", (struct expected){.names = "", .ending = UNWIND_NO_ROW, .any_names = true});
}
#endif

static int folder_make(void **state) {
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/test_unwind.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(omitted_frame_pointers),
        cmocka_unit_test(chains_that_lack_callers),
        cmocka_unit_test(unoptimised),
        cmocka_unit_test(static_program),
        cmocka_unit_test(tail_call),
        cmocka_unit_test(thread_start),
        cmocka_unit_test(signal_handler),
        cmocka_unit_test(alternate_stack_is_cut),
        cmocka_unit_test(shared_library),
        cmocka_unit_test(jit_between_native_frames),
        cmocka_unit_test(recursion),
        cmocka_unit_test(cut_copy_is_continued_by_frame_pointers),
        cmocka_unit_test(no_table_with_frame_pointers),
        cmocka_unit_test(debug_frame_alone),
#if defined(__x86_64__) // arm64 code leaves x29 alone: the callers' chain is not lost
        cmocka_unit_test(no_table_without_frame_pointers),
#endif
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
