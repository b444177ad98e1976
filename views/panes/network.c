// The pane `network`: utilisation, errors and drops of interfaces, and TCP and UDP errors.
#include <string.h>

#include "views/part_fields.h"
#include "views/part_table.h"

static bool is_one_of(const char *name, const char *const *names) {
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

static enum role interface_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    static const char *const bad[] = {
        "rx_errors_per_s",   "tx_errors_per_s",   "rx_drops_per_s",       "tx_drops_per_s",
        "rx_overruns_per_s", "tx_overruns_per_s", "carrier_errors_per_s", NULL};

    (void)join;
    (void)row;
    if (column->type == COLUMN_TEXT)
        return !strcmp(column->name, "state") && value.text && !strcmp(text_bytes(value.text), "down") ? ROLE_DIM
                                                                                                       : ROLE_TEXT;
    if (!strcmp(column->name, "util_pct"))
        return value.num >= 90 ? ROLE_CRITICAL : value.num >= 70 ? ROLE_WARNING : ROLE_TEXT;
    return is_one_of(column->name, bad) && value.num > 0 ? ROLE_WARNING : ROLE_TEXT;
}

static enum role tcp_role(const char *name, double value) {
    static const char *const bad[] = {"listen_drops_per_s",
                                      "listen_overflows_per_s",
                                      "timeouts_per_s",
                                      "syn_retransmits_per_s",
                                      "lost_retransmits_per_s",
                                      "backlog_drops_per_s",
                                      "prunes_per_s",
                                      "syn_cookies_per_s",
                                      "in_errors_per_s",
                                      "receive_buffer_errors_per_s",
                                      "send_buffer_errors_per_s",
                                      NULL};

    if (!strcmp(name, "retransmit_pct"))
        return value >= 5 ? ROLE_CRITICAL : value >= 1 ? ROLE_WARNING : ROLE_TEXT;
    return is_one_of(name, bad) && value > 0 ? ROLE_WARNING : ROLE_TEXT;
}

static enum role namespace_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    return column->type == COLUMN_TEXT ? ROLE_TEXT : tcp_role(column->name, value.num);
}

static const struct part parts[] = {
    {
        .kind = &part_table,
        .name = "interfaces",
        .title = "Interfaces",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"interfaces"}, .sort = "rx_bytes_per_s"},
                .shown = "interface rx_bytes_per_s tx_bytes_per_s util_pct rx_drops_per_s tx_drops_per_s "
                         "rx_errors_per_s tx_errors_per_s speed_mbit_per_s rx_packets_per_s tx_packets_per_s state "
                         "rx_overruns_per_s tx_overruns_per_s carrier_errors_per_s collisions_per_s "
                         "rx_multicast_per_s",
                .role = interface_role,
                .empty = "no interface",
            },
        .min_height = 3,
        .weight = 1,
    },
    {
        .kind = &part_fields,
        .name = "tcp",
        .title = "TCP",
        .spec =
            &(const struct fields_spec){
                .source = {.tables = {"tcp"}},
                .shown = "retransmits_per_s=retransmits/s retransmit_pct=retransmitted_% established=established "
                         "listen_drops_per_s=listen_drops/s listen_overflows_per_s=listen_overflow/s "
                         "resets_in_per_s=resets_in/s resets_out_per_s=resets_out/s active_opens_per_s=opened/s "
                         "passive_opens_per_s=accepted/s attempt_fails_per_s=failed_opens/s "
                         "timeouts_per_s=timeouts/s syn_retransmits_per_s=SYN_again/s "
                         "segments_in_per_s=segments_in/s segments_out_per_s=segments_out/s "
                         "out_of_order_per_s=out_of_order/s zero_windows_per_s=zero_windows/s "
                         "backlog_drops_per_s=backlog_drops/s prunes_per_s=prunes/s syn_cookies_per_s=SYN_cookies/s "
                         "time_wait=in_TIME-WAIT orphans=orphans socket_kib=socket_memory",
                .role = tcp_role,
                .width = 24,
            },
        .min_height = 3,
    },
    {
        .kind = &part_fields,
        .name = "udp",
        .title = "UDP",
        .spec =
            &(const struct fields_spec){
                .source = {.tables = {"udp"}},
                .shown = "datagrams_in_per_s=in/s datagrams_out_per_s=out/s no_port_per_s=no_port/s "
                         "receive_buffer_errors_per_s=full_receivers/s send_buffer_errors_per_s=full_senders/s "
                         "in_errors_per_s=errors/s",
                .role = tcp_role,
                .width = 24,
            },
        .min_height = 2,
    },
    {
        .kind = &part_table,
        .name = "network_namespaces",
        .title = "Network namespaces",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"network_namespaces"}, .sort = "segments_out_per_s"},
                .shown = "pid comm segments_out_per_s retransmits_per_s listen_drops_per_s resets_in_per_s "
                         "resets_out_per_s receive_buffer_errors_per_s established udp_in_per_s "
                         "listen_overflows_per_s netns",
                .role = namespace_role,
                .empty = "all processes are in the network namespace of ktop",
            },
        .min_height = 3,
        .weight = 1,
        .toggle = 'c',
        .toggle_help = "show or hide TCP and UDP of other network namespaces (containers)",
        .needs = (const char *const[]){"tasks", "sockets", NULL},
    },
};

const struct view view_network = {
    .name = "network",
    .key = '6',
    .title = "Network",
    .question = "Which interface is busy, full or losing packets, and does TCP retransmit, reset or drop?",
    .needs = (const char *const[]){"system", "system.detail", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
