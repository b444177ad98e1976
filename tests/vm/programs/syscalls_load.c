// The program that knows its system calls, for guests.
#include "../../data/syscalls_load.c"
