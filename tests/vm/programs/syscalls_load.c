// The program that counts its own system calls, for guests.
#include "../../data/syscalls_load.c"
