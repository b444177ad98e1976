// The finding about UDP datagrams that are not read in time.
#include "tests/unit/forge.h"

#include <math.h>

#include "model/findings.h"

static const struct column udp_columns[] = {{.name = "datagrams_in_per_s"}, {.name = "receive_buffer_errors_per_s"}};
static const struct table_def udp_def = {
    .name = "udp", .help = "", .columns = udp_columns, .n_columns = 2, .n_keys = 0};

// The finding in the second of two equal frames: "severity resource kind: evidence", or "".
static const char *reported(const char *udp) {
    static char out[512];
    struct findings *findings = findings_new();
    out[0] = '\0';
    for (uint64_t number = 1; number <= 2; number++) {
        struct section *section = forge_section("system", number);
        section_table(section, forge_table(&udp_def, (const char *const[]){udp, NULL}));
        struct frame *frame = forge_frame(number);
        frame_add_section(frame, section, 0);
        struct section *result = findings_section(findings, frame, NULL);
        size_t cursor = 0;
        const union cell *row = table_next(section_find_table(result, "findings"), &cursor);
        if (row)
            snprintf(out, sizeof(out), "%s %s %s: %s", text_bytes(row[table_column(&findings_table, "severity")].text),
                     text_bytes(row[table_column(&findings_table, "resource")].text),
                     text_bytes(row[table_column(&findings_table, "kind")].text),
                     text_bytes(row[table_column(&findings_table, "evidence")].text));
        section_unref(result);
        frame_unref(frame);
    }
    findings_free(findings);
    return out;
}

static void udp_drops(void **state) {
    (void)state;
    assert_string_equal(reported("datagrams_in_per_s=9700|receive_buffer_errors_per_s=300"),
                        "warning network udp_drops: 300 UDP datagrams/s dropped, 3 % of those received: a program does "
                        "not read in time (ss -uanp shows its Recv-Q)");
    // Also where none at all gets through.
    assert_int_equal(strncmp(reported("datagrams_in_per_s=0|receive_buffer_errors_per_s=300"), "critical network", 16),
                     0);
    assert_string_equal(reported("datagrams_in_per_s=9|receive_buffer_errors_per_s=5"), "");
    assert_string_equal(reported("datagrams_in_per_s=1e6|receive_buffer_errors_per_s=20"), "");
    assert_string_equal(reported("datagrams_in_per_s=1e6"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(udp_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
