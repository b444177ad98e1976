# Two processes wake each other for each byte.
from incident import decoy, go, program

decoy()
pinger = program("pinger", """#include <unistd.h>
#include <sys/prctl.h>
int main(void) {
    int a[2], b[2];
    char c = 0;
    if (pipe(a) || pipe(b))
        return 1;
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, 9);
        for (;;)
            if (read(a[0], &c, 1) != 1 || write(b[1], &c, 1) != 1)
                return 1;
    }
    for (;;)
        if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
            return 1;
}""")
go((pinger, "pinger"), (0, "pinger"))
