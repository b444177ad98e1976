// Network interfaces: /proc/net/dev; speed, state and kind from /sys/class/net. Reading a speed takes the
// kernel's network lock and may be slow, so it is read for a few interfaces per sample, in turn.
// Kernel document: Documentation/ABI/testing/sysfs-class-net.
#include "collectors/system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/mem.h"

#define NET_NAME_MAX 64 // IFNAMSIZ is 16; a forged file may have longer names
#define NET_PATH_SIZE 128
#define NET_LOOKS 4 // interfaces whose speed and state are read in one sample

// Fields after the name.
enum {
    F_RX_BYTES,
    F_RX_PACKETS,
    F_RX_ERRORS,
    F_RX_DROPS,
    F_RX_FIFO,
    F_RX_FRAME,
    F_RX_COMPRESSED,
    F_RX_MULTICAST,
    F_TX_BYTES,
    F_TX_PACKETS,
    F_TX_ERRORS,
    F_TX_DROPS,
    F_TX_FIFO,
    F_TX_COLLISIONS,
    F_TX_CARRIER,
    F_TX_COMPRESSED,
    F_FIELDS
};

enum {
    N_INTERFACE,
    N_RX_BYTES,
    N_TX_BYTES,
    N_RX_PACKETS,
    N_TX_PACKETS,
    N_RX_ERRORS,
    N_TX_ERRORS,
    N_RX_DROPS,
    N_TX_DROPS,
    N_UTIL,
    N_SPEED,
    N_STATE,
    N_MULTICAST,
    N_RX_OVERRUNS,
    N_TX_OVERRUNS,
    N_COLLISIONS,
    N_CARRIER,
    N_CHANGES,
    N_COLUMNS
};
#define NUMBER(name_, title_, unit_, width_, help_) NUMBER_COLUMN(name_, title_, unit_, width_, .help = help_ ".")

static size_t speed_format(union cell value, char *out, size_t size) {
    double mbit = value.num;
    int length = mbit >= 1000 ? snprintf(out, size, "%.3gGb/s", mbit / 1000) : snprintf(out, size, "%.0fMb/s", mbit);
    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

static const struct column net_columns[N_COLUMNS] = {
    [N_INTERFACE] = TEXT_COLUMN("interface", "IFACE", 12, .help = "Network interface."),
    [N_RX_BYTES] = NUMBER("rx_bytes_per_s", "RX/s", UNIT_BYTES_PER_S, 8, "Bytes received per second"),
    [N_TX_BYTES] = NUMBER("tx_bytes_per_s", "TX/s", UNIT_BYTES_PER_S, 8, "Bytes sent per second"),
    [N_RX_PACKETS] = NUMBER("rx_packets_per_s", "RXPKT/s", UNIT_PER_S, 8, "Packets received per second"),
    [N_TX_PACKETS] = NUMBER("tx_packets_per_s", "TXPKT/s", UNIT_PER_S, 8, "Packets sent per second"),
    [N_RX_ERRORS] = NUMBER("rx_errors_per_s", "RXERR/s", UNIT_PER_S, 7, "Receive errors per second"),
    [N_TX_ERRORS] = NUMBER("tx_errors_per_s", "TXERR/s", UNIT_PER_S, 7, "Transmit errors per second"),
    [N_RX_DROPS] = NUMBER("rx_drops_per_s", "RXDROP/s", UNIT_PER_S, 8,
                          "Received packets dropped per second: no buffer, or no protocol handler"),
    [N_TX_DROPS] =
        NUMBER("tx_drops_per_s", "TXDROP/s", UNIT_PER_S, 8, "Packets dropped per second before transmission"),
    [N_UTIL] = COLUMN_UTIL_PCT(.help = "The busier direction in percent of the interface's speed."),
    [N_SPEED] = NUMBER_COLUMN("speed_mbit_per_s", "SPEED", UNIT_NONE, 8, .format = speed_format,
                              .help = "Link speed in Mbit/s, as the driver reports it; virtual interfaces have none."),
    [N_STATE] = COLUMN_STATE(8, .help = "Link state (operstate): up, down, dormant, lowerlayerdown, or unknown."),
    [N_MULTICAST] = NUMBER("rx_multicast_per_s", "MCAST/s", UNIT_PER_S, 7, "Multicast packets received per second"),
    [N_RX_OVERRUNS] = NUMBER("rx_overruns_per_s", "RXOVR/s", UNIT_PER_S, 7,
                             "Packets per second lost because the card's receive queue was full"),
    [N_TX_OVERRUNS] = NUMBER("tx_overruns_per_s", "TXOVR/s", UNIT_PER_S, 7,
                             "Packets per second lost because the card's send queue failed"),
    [N_COLLISIONS] = NUMBER("collisions_per_s", "COLL/s", UNIT_PER_S, 7, "Collisions per second: a half-duplex link"),
    [N_CARRIER] =
        NUMBER("carrier_errors_per_s", "CARR/s", UNIT_PER_S, 7, "Packets per second lost because the link went away"),
    [N_CHANGES] = NUMBER("carrier_changes", "CHANGES", UNIT_COUNT, 7, "How often the link went up or down since boot"),
};
static const uint8_t net_fields[N_COLUMNS] = {
    [N_RX_BYTES] = F_RX_BYTES,     [N_TX_BYTES] = F_TX_BYTES,   [N_RX_PACKETS] = F_RX_PACKETS,
    [N_TX_PACKETS] = F_TX_PACKETS, [N_RX_ERRORS] = F_RX_ERRORS, [N_TX_ERRORS] = F_TX_ERRORS,
    [N_RX_DROPS] = F_RX_DROPS,     [N_TX_DROPS] = F_TX_DROPS,   [N_MULTICAST] = F_RX_MULTICAST,
    [N_RX_OVERRUNS] = F_RX_FIFO,   [N_TX_OVERRUNS] = F_TX_FIFO, [N_COLLISIONS] = F_TX_COLLISIONS,
    [N_CARRIER] = F_TX_CARRIER,
};

const struct table_def system_interfaces_table = {
    .name = "interfaces",
    .help = "Network interfaces, from /proc/net/dev",
    .columns = net_columns,
    .n_columns = N_COLUMNS,
    .n_keys = 1,
};

struct interface {
    char name[NET_NAME_MAX];
    bool seen, card; // was in this reading; has a device behind it
    uint32_t slot;
    double mbit;
    double rx, tx; // bytes/s of this interval
    uint64_t fields[F_FIELDS];
};

struct net {
    struct proc_file file;
    struct table_builder *builder;
    struct interface *interfaces;
    size_t n, capacity, next, next_look; // next: guess of the file's next one
    uint64_t last_ns;
};

static void *net_create(void) {
    struct net *net = xcalloc(1, sizeof *net);
    net->file = PROC_FILE("/proc/net/dev");
    net->builder = table_builder_new(&system_interfaces_table);
    return net;
}

static void net_destroy(void *state) {
    struct net *net = state;
    proc_file_close(&net->file);
    table_builder_free(net->builder);
    free(net->interfaces);
    free(net);
}

static void interface_look(struct net *net, struct interface *interface) {
    char path[NET_PATH_SIZE], state[32];
    uint64_t mbit, changes;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", interface->name);
    // -1 and 2^32 - 1 both mean unknown.
    interface->mbit = proc_read_number(path, &mbit) && mbit && mbit < INT32_MAX ? (double)mbit : NAN;
    table_builder_set_num(net->builder, interface->slot, N_SPEED, interface->mbit);
    snprintf(path, sizeof path, "/sys/class/net/%s/operstate", interface->name);
    bool known = proc_read_line(path, state, sizeof state) == 0 && state[0];
    snprintf(path, sizeof path, "/sys/class/net/%s/carrier_changes", interface->name);
    table_builder_set_num(net->builder, interface->slot, N_CHANGES,
                          proc_read_number(path, &changes) ? (double)changes : NAN);
    const union cell *row = table_builder_row(net->builder, interface->slot);
    if (!known || !row[N_STATE].text || strcmp(text_bytes(row[N_STATE].text), state) != 0)
        table_builder_set_text(net->builder, interface->slot, N_STATE, known ? text_from(state) : NULL);
}

static struct interface *interface_new(struct net *net, const char *name, size_t length) {
    if (net->n == net->capacity) {
        net->capacity = net->capacity ? net->capacity * 2 : 16;
        net->interfaces = xrealloc(net->interfaces, net->capacity * sizeof *net->interfaces);
    }
    struct interface *interface = &net->interfaces[net->n++];
    *interface = (struct interface){.slot = table_builder_add(net->builder), .mbit = NAN, .rx = NAN, .tx = NAN};
    memcpy(interface->name, name, length);
    for (size_t i = 0; i < F_FIELDS; i++)
        interface->fields[i] = PROC_MISSING;
    char path[NET_PATH_SIZE];
    snprintf(path, sizeof path, "/sys/class/net/%s/device", interface->name);
    interface->card = proc_exists(path);
    table_builder_set_text(net->builder, interface->slot, N_INTERFACE, text_from(interface->name));
    interface_look(net, interface);
    return interface;
}

// The file's order is stable: the interface is nearly always the one after the last.
static struct interface *interface_find(struct net *net, const char *name, size_t length) {
    for (size_t i = 0; i < net->n; i++) {
        size_t at = (net->next + i) % net->n;
        struct interface *interface = &net->interfaces[at];
        if (strncmp(interface->name, name, length) == 0 && interface->name[length] == '\0') {
            net->next = at + 1;
            return interface;
        }
    }
    return interface_new(net, name, length);
}

static void interface_forget(struct net *net, struct interface *interface) {
    table_builder_remove(net->builder, interface->slot);
    size_t i = (size_t)(interface - net->interfaces);
    memmove(interface, interface + 1, (net->n - i - 1) * sizeof *interface);
    net->n--;
}

static void interface_fill(struct net *net, struct interface *interface, const uint64_t *now, double seconds) {
    for (uint16_t i = N_RX_BYTES; i < N_CHANGES; i++)
        if (i < N_UTIL || i > N_STATE)
            table_builder_set_num(net->builder, interface->slot, i,
                                  counter_rate(interface->fields[net_fields[i]], now[net_fields[i]], seconds));
    interface->rx = counter_rate(interface->fields[F_RX_BYTES], now[F_RX_BYTES], seconds);
    interface->tx = counter_rate(interface->fields[F_TX_BYTES], now[F_TX_BYTES], seconds);
    double busier = interface->rx > interface->tx ? interface->rx : interface->tx;
    double util = busier * 8 / (interface->mbit * 1e6) * 100;
    table_builder_set_num(net->builder, interface->slot, N_UTIL, util > 100 ? 100 : util);
}

// "  eth0: 185138688 3876 …"; old kernels leave no blank after the colon, and no name has a colon in it.
static void line_interface(struct net *net, const char *line, double seconds) {
    const char *name = line + strspn(line, " ");
    size_t length = strcspn(name, ":\n");
    const char *at = name + length + 1;
    uint64_t now[F_FIELDS];
    if (name[length] != ':' || length == 0 || length >= NET_NAME_MAX || memchr(name, '/', length) ||
        proc_numbers(&at, now, F_FIELDS) < F_FIELDS)
        return;
    struct interface *interface = interface_find(net, name, length);
    if (interface->seen)
        return;
    interface->seen = true;
    interface_fill(net, interface, now, seconds);
    memcpy(interface->fields, now, sizeof now);
}

// Only cards: else a packet counts for the card, its bond, its VLAN and its bridge. A container has no cards.
static void net_sum(const struct net *net, struct system_sample *sample) {
    bool cards = false;
    for (size_t i = 0; i < net->n; i++)
        cards = cards || net->interfaces[i].card;
    sample->series[SYS_NET_RX] = sample->series[SYS_NET_TX] = 0;
    for (size_t i = 0; i < net->n; i++) {
        const struct interface *interface = &net->interfaces[i];
        if ((cards ? !interface->card : !strcmp(interface->name, "lo")) || isnan(interface->rx) || isnan(interface->tx))
            continue;
        sample->series[SYS_NET_RX] += interface->rx;
        sample->series[SYS_NET_TX] += interface->tx;
    }
}

static void net_sample(void *state, struct system_sample *sample) {
    struct net *net = state;
    int error = proc_file_read(&net->file, sample->buffer);
    double seconds = system_elapsed(&net->last_ns, sample->now());
    if (error < 0)
        section_note(sample->out, SEVERITY_WARNING, "rx_bytes_per_s",
                     "no network interfaces: /proc/net/dev is not readable", "mount /proc; CONFIG_NET");
    for (size_t i = 0; i < net->n; i++)
        net->interfaces[i].seen = false;
    const char *end = sample->buffer->bytes + sample->buffer->length;
    net->next = 0;
    for (const char *line = sample->buffer->bytes; line; line = proc_next_line(line, end))
        line_interface(net, line, seconds);
    for (size_t i = net->n; i-- > 0;)
        if (!net->interfaces[i].seen)
            interface_forget(net, &net->interfaces[i]);
    for (size_t i = 0; sample->all && i < NET_LOOKS && i < net->n; i++)
        interface_look(net, &net->interfaces[net->next_look++ % net->n]);
    if (error == 0 && seconds > 0)
        net_sum(net, sample);
    section_table(sample->out, table_builder_seal(net->builder));
}

const struct system_part system_net_part = {
    .name = "net",
    .create = net_create,
    .sample = net_sample,
    .destroy = net_destroy,
};
