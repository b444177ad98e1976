# A process looks for files that do not exist: each name takes memory of the kernel (negative dentries).
from incident import DIRECTORY, decoy, go, program

decoy()
go((program("prober", """#include <stdio.h>
#include <sys/stat.h>
int main(int argc, char **argv) {
    char path[512];
    struct stat is;
    for (unsigned long i = 0;; i++) {
        snprintf(path, sizeof(path), "%s/%lu-a-name-that-is-longer-than-those-kept-within-the-entry-itself", argv[1], i);
        stat(path, &is);
    }
}""", DIRECTORY), "prober"), kinds=["slab_growth", "failing_calls"])
