// Code in anonymous memory, named by a perf map: a loop, and a function between two native ones.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "parts.h"

#if defined(__x86_64__)
// push rbp; mov rbp, rsp; mov eax, 1; L: imul rax, rdi; add rax, rdi; dec rdi; jnz L; pop rbp; ret
static const unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0xb8, 0x01, 0x00, 0x00, 0x00, 0x48, 0x0f, 0xaf,
                                     0xc7, 0x48, 0x01, 0xf8, 0x48, 0xff, 0xcf, 0x75, 0xf4, 0x5d, 0xc3};
// push rbp; mov rbp, rsp; call rsi; pop rbp; ret
static const unsigned char between[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
#else
// stp x29, x30, [sp, #-16]!; mov x29, sp; mov x2, #1; L: madd x2, x2, x0, x0; subs x0, x0, #1; b.ne L;
// ldp x29, x30, [sp], #16; ret
static const unsigned loop[] = {0xa9bf7bfd, 0x910003fd, 0xd2800022, 0x9b000042,
                                0xf1000400, 0x54ffffc1, 0xa8c17bfd, 0xd65f03c0};
// stp x29, x30, [sp, #-16]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #16; ret
static const unsigned between[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
#endif

static void (*jit_loop)(uint64_t turns);
static void (*jit_between)(uint64_t turns, void (*native)(uint64_t));

FUNCTION void native(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void run_loop(uint64_t turns) {
    jit_loop(turns);
    __asm__ volatile("");
}

FUNCTION void run_native(uint64_t turns) {
    jit_between(turns, native);
    __asm__ volatile("");
}

int main(void) {
    struct part parts[] = {{"jit_loop", run_loop, 5, 0}, {"native", run_native, 5, 0}};
    char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), path[64];
    memcpy(code, loop, sizeof loop);
    memcpy(code + 256, between, sizeof between);
    __builtin___clear_cache(code, code + 4096);
    memcpy(&jit_loop, &code, sizeof code);
    code += 256;
    memcpy(&jit_between, &code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "we");
    if (!map)
        return 1;
    fprintf(map, "%lx %zx jit_loop\n%lx %zx jit_between\n", (unsigned long)code - 256, sizeof loop, (unsigned long)code,
            sizeof between);
    fclose(map);
    parts_print(parts, 2, parts_run(parts, 2));
    unlink(path);
    return 0;
}
