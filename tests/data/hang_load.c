// Spins in hang_spin of a library until its standard input ends: hang_load LIBRARY. Prints a line once it spins.
#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*spin)(uint64_t) = library ? (void (*)(uint64_t))dlsym(library, "hang_spin") : NULL;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    if (!spin) {
        fprintf(stderr, "hang_load: %s\n", argc > 1 ? dlerror() : "no library");
        return 1;
    }
    spin(1000);
    if (write(1, "spins\n", 6) != 6)
        return 1;
    while (!poll(&in, 1, 0))
        spin(2000000);
    return 0;
}
