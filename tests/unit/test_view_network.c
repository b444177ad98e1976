// The literal screens of the pane `network`.
#include "tests/unit/forge_machine.h"

extern const struct view view_network;

static void test_screens(void **state) {
    (void)state;
    check_pane(&view_network,
               "─ Interfaces ───────────────────────────────────────────────────────────────────\n"
               "IFACE           ▼RX/s     TX/s  UTIL% RXDROP/s TXDROP/s RXERR/s TXERR/s    SPEED\n"
               "eth0             112M     2.0K   94.4       12        0       0       0    1Gb/s\n"
               "lo               100B     100B      -        0        0       0       0        -\n"
               "─ TCP ──────────────────────────────────────────────────────────────────────────\n"
               "retransmits/s         41  accepted/s            20  backlog drops/s        0\n"
               "retransmitted %      2.5  failed opens/s         0  prunes/s               0\n"
               "established           97  timeouts/s           4.0  SYN cookies/s          0\n"
               "listen drops/s       3.0  SYN again/s            0  in TIME-WAIT          12\n"
               "listen overflow/s    3.0  segments in/s      81.2k  orphans                0\n"
               "resets in/s          1.0  segments out/s      1640  socket memory       732K\n"
               "resets out/s           0  out of order/s         0\n"
               "opened/s              10  zero windows/s         0\n"
               "─ UDP ──────────────────────────────────────────────────────────────────────────\n"
               "in/s                 5.0  no port/s              0  full senders/s         0\n"
               "out/s                5.0  full receivers/s       0  errors/s               0\n",
               "─ Interfaces ───────────────────────────\n"
               "IFACE           ▼RX/s     TX/s  UTIL%\n"
               "eth0             112M     2.0K   94.4\n"
               "lo               100B     100B      -\n"
               "─ TCP ──────────────────────────────────\n"
               "retransmits/s    41  retransmitted % 2.5\n"
               "established      97  listen drops/s  3.0\n"
               "listen overflow 3.0  resets in/s     1.0\n"
               "resets out/s      0  opened/s         10\n"
               "▸Interfaces  •TCP   UDP\n",
               (const char *const[]){"interfaces", "tcp", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
