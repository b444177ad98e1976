# A process sends small datagrams to this machine as fast as it can: its CPU is busy with soft interrupts.
from incident import decoy, go, program

decoy()
go((program("flooder", """#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sys/socket.h>
#include <string.h>
int main(void) {
    struct sockaddr_in to = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, {0}};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    static struct mmsghdr messages[64];
    static char data[16];
    struct iovec part = {data, sizeof(data)};
    for (int i = 0; i < 64; i++)
        messages[i].msg_hdr = (struct msghdr){&to, sizeof(to), &part, 1, 0, 0, 0};
    for (;;)
        sendmmsg(fd, messages, 64, 0);
}"""), "flooder"), kinds=["interrupt_load"])
