// Programs with known call chains, compiled when the test runs, for test_unwind. Each prints "NAME ADDRESS" of its
// functions, then "ready", and spins in the chain that its comment names, innermost first.
#ifndef TESTS_STACK_PROGRAMS_H
#define TESTS_STACK_PROGRAMS_H

#define PRELUDE                                                                                                        \
    "#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"        \
    "#include <sys/mman.h>\n#include <sys/time.h>\n#include <unistd.h>\n"                                              \
    "#define NI __attribute__((noinline, noclone, noipa))\n"                                                           \
    "#define SHOW(f) printf(\"%s %p\\n\", #f, (void *)f)\n"                                                            \
    "#define READY() (puts(\"ready\"), fflush(stdout))\n"                                                              \
    "extern volatile unsigned long sink; void spin(void); void work(unsigned long n);\n"

#define SPIN                                                                                                           \
    "volatile unsigned long sink;\n"                                                                                   \
    "NI void work(unsigned long n) { volatile char s[64]; for (int i = 0; i < 64; i++) s[i] = (char)n; sink += s[n & " \
    "63]; }\n"                                                                                                         \
    "NI void spin(void) { for (unsigned long n = 0; n < ~0ul; n++) work(n); sink++; }\n"

// spin c b a main
static const char *const program_chain = PRELUDE SPIN
    "NI void c(long x) { sink += x; spin(); sink++; }\n"
    "NI void b(long x) { long y[8]; memset(y, x, sizeof(y)); c(x + 1); sink += y[x & 7]; }\n"
    "NI void a(long x, ...) { volatile char v[x * 100 + 16]; v[0] = 1; b(x + 1); sink += v[0]; }\n"
    "int main(void) { SHOW(work); SHOW(spin); SHOW(c); SHOW(b); SHOW(a); SHOW(main); READY(); a(1); return 0; }\n";

// spin, then 60 frames of deep, main; FRAME bytes each
static const char *const program_deep = PRELUDE SPIN
    "NI void deep(int n) { volatile char v[FRAME]; v[0] = 1; if (n) deep(n - 1); else spin(); sink += v[0]; }\n"
    "int main(void) { SHOW(work); SHOW(spin); SHOW(deep); SHOW(main); READY(); deep(59); return 0; }\n";

// spin handler busy a main; with ALTERNATE the handler runs on a stack of its own
static const char *const program_signal =
    PRELUDE SPIN "static char other[65536];\n"
                 "NI void handler(int s) { READY(); spin(); sink += s; }\n"
                 "NI void busy(void) { for (;;) sink++; }\n"
                 "NI void a(void) { busy(); sink++; }\n"
                 "int main(void) {\n"
                 "  SHOW(work); SHOW(spin); SHOW(handler); SHOW(busy); SHOW(a); SHOW(main); fflush(stdout);\n"
                 "  stack_t st = {.ss_sp = other, .ss_size = sizeof(other)};\n"
                 "  struct sigaction sa = {.sa_handler = handler, .sa_flags = ALTERNATE ? SA_ONSTACK : 0};\n"
                 "  struct itimerval t = {.it_value = {0, 10000}};\n"
                 "  sigaltstack(&st, 0); sigaction(SIGALRM, &sa, 0); setitimer(ITIMER_REAL, &t, 0); a(); return 0; }\n";

// spin b main: a's call of b is a jump
static const char *const program_tail = PRELUDE SPIN
    "NI long b(long x) { spin(); return sink += x; }\n"
    "NI long a(long x) { sink += x; return b(x + 1); }\n"
    "int main(void) { SHOW(work); SHOW(spin); SHOW(b); SHOW(a); SHOW(main); READY(); sink = a(1); return 0; }\n";

// spin c b a thread, in a thread: the outermost frames are start_thread and clone3
static const char *const program_thread = PRELUDE SPIN
    "NI void c(long x) { sink += x; spin(); sink++; }\n"
    "NI void b(long x) { c(x + 1); sink++; }\n"
    "NI void a(long x) { b(x + 1); sink++; }\n"
    "NI void *thread(void *x) { (void)x; a(1); sink++; return 0; }\n"
    "int main(void) { pthread_t t; SHOW(work); SHOW(spin); SHOW(c); SHOW(b); SHOW(a); SHOW(thread); SHOW(main);\n"
    "  READY(); pthread_create(&t, 0, thread, 0); pthread_join(t, 0); return 0; }\n";

// A library: spin and c; and a program: b calls c through the PLT. spin c b main
static const char *const library = PRELUDE SPIN "NI void c(long x) { sink += x; spin(); sink++; }\n";
static const char *const program_library =
    PRELUDE "void c(long x);\n"
            "NI void b(long x) { c(x + 1); sink++; }\n"
            "int main(void) { SHOW(work); SHOW(spin); SHOW(c); SHOW(b); SHOW(main); READY(); b(1); return 0; }\n";

// spin, code in anonymous memory with a frame record, a, main
static const char *const program_jit = PRELUDE SPIN
    "#if defined(__x86_64__)\n"
    "static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};\n"
    "#else\n"
    "static const unsigned char code[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 3, 0, 0x91, 0, 0, 0x3f, 0xd6,\n"
    "  0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 3, 0x5f, 0xd6};\n"
    "#endif\n"
    "NI void c(void) { spin(); sink++; }\n"
    "NI void a(void (*jit)(void (*)(void))) { jit(c); sink++; }\n"
    "int main(void) { void *m = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); memcpy(m, code, sizeof(code));\n"
    "  __builtin___clear_cache(m, (char *)m + 4096); SHOW(work); SHOW(spin); SHOW(c); SHOW(a); SHOW(main);\n"
    "  printf(\"jit %p\\n\", m); READY(); a((void (*)(void (*)(void)))m); return 0; }\n";

#endif
