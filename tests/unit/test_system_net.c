// Network interfaces: names of every kind, rates, speed and state, which of them make the machine's total.
#include "tests/unit/system_root.h"

#define HEAD "Inter-|   Receive        |  Transmit\n face |bytes    packets errs drop|bytes\n"

static void rates_speed_and_total(void **state) {
    (void)state;
    root_write("/sys/class/net/eth0/speed", "100\n");
    root_write("/sys/class/net/eth0/operstate", "up\n");
    root_write("/sys/class/net/eth0/device/vendor", "0x1af4\n");
    root_write("/sys/class/net/br0/speed", "-1\n");
    root_write("/sys/class/net/br0/operstate", "down\n");
    root_write("/proc/net/dev", HEAD "    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"
                                     "  eth0:1000 10 1 2 3 4 0 5 2000 20 6 7 8 9 10 0\n"
                                     "   br0: 50 1 0 0 0 0 0 0 60 1 0 0 0 0 0 0\n");
    struct fixture fixture = fixture_new(&system_net_part);
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interfaces"), 3);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "speed_mbit_per_s"), 100);
    assert_string_equal(text_bytes(fixture_cell(&fixture, "interfaces", "eth0", "state").text), "up");
    assert_nan(fixture_num(&fixture, "interfaces", "br0", "speed_mbit_per_s"));
    assert_null(fixture_cell(&fixture, "interfaces", "lo", "state").text); // no /sys for it here
    assert_nan(fixture_num(&fixture, "interfaces", "eth0", "rx_bytes_per_s"));
    assert_nan(fixture.series[SYS_NET_RX]);
    root_write("/sys/class/net/br0/operstate", "up\n");
    root_write("/proc/net/dev", HEAD "    lo: 3000 30 0 0 0 0 0 0 3000 30 0 0 0 0 0 0\n"
                                     "  eth0: 2501000 110 3 4 5 6 0 9 12000 40 8 9 10 11 12 0\n"
                                     "   br0: 90 1 0 0 0 0 0 0 80 1 0 0 0 0 0 0\n");
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "rx_bytes_per_s"), 1250000);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "tx_bytes_per_s"), 5000);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "rx_packets_per_s"), 50);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "tx_packets_per_s"), 10);
    static const char *const ones[] = {"rx_errors_per_s",  "tx_errors_per_s",     "rx_drops_per_s",
                                       "tx_drops_per_s",   "rx_overruns_per_s",   "tx_overruns_per_s",
                                       "collisions_per_s", "carrier_errors_per_s"};
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        assert_near(fixture_num(&fixture, "interfaces", "eth0", ones[i]), 1);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "rx_multicast_per_s"), 2);
    assert_near(fixture_num(&fixture, "interfaces", "eth0", "util_pct"), 10);
    assert_nan(fixture_num(&fixture, "interfaces", "br0", "util_pct"));
    assert_string_equal(text_bytes(fixture_cell(&fixture, "interfaces", "br0", "state").text), "up");
    assert_near(fixture.series[SYS_NET_RX], 1250000); // the card alone
    fixture_free(&fixture);
}

static void containers_have_no_cards(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_net_part);
    root_write("/proc/net/dev", HEAD "lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\neth0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    fixture_sample(&fixture);
    root_write("/proc/net/dev", HEAD "lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\neth0: 5 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_NET_RX], 5);
    assert_near(fixture.series[SYS_NET_TX], 4);
    fixture_free(&fixture);
}

static void odd_names_that_come_and_go(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_net_part);
    root_write("/proc/net/dev",
               HEAD "  \x1b[31mx: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n  \xff\xfe%s: 5 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n"
                    "wg-0.1@p: 5 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n");
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interfaces"), 3);
    assert_non_null(fixture_row(&fixture, "interfaces", "\x1b[31mx"));
    assert_non_null(fixture_row(&fixture, "interfaces", "\xff\xfe%s"));
    root_write("/proc/net/dev", HEAD "a/b: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\nshort: "
                                     "1 2 3\nwg-0.1@p: 3 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n"
                                     "wg-0.1@p: 5 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\nnew: 5 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interfaces"), 2);
    assert_nan(fixture_num(&fixture, "interfaces", "wg-0.1@p", "rx_bytes_per_s")); // reset
    assert_nan(fixture_num(&fixture, "interfaces", "new", "rx_bytes_per_s"));
    assert_near(fixture.series[SYS_NET_RX], 0);
    root_write("/proc/net/dev", "");
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interfaces"), 0);
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_speed_and_total, root_make, root_drop),
        cmocka_unit_test_setup_teardown(containers_have_no_cards, root_make, root_drop),
        cmocka_unit_test_setup_teardown(odd_names_that_come_and_go, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
