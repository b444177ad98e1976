// flows N: sends a datagram to N ports of this machine, so that N connections are tracked; then waits to be killed.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; fd >= 0 && i < (argc > 1 ? atoi(argv[1]) : 0); i++) {
        to.sin_port = htons((uint16_t)(20000 + i));
        (void)sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)); // refused while the table is full
    }
    puts("sent");
    fflush(stdout);
    pause();
    return 0;
}
