// One row per TCP connection, from the events sock:inet_sock_set_state, tcp:tcp_receive_reset and
// tcp:tcp_retransmit_skb: addresses, duration, how it ended, and how many segments were sent again. The event path
// updates fixed memory, indexed by the kernel's socket. One thread owns it. Kernel sources: net/ipv4/tcp.c
// (tcp_set_state), include/net/tcp_states.h.
#ifndef COLLECTORS_EVENTS_FLOWS_H
#define COLLECTORS_EVENTS_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/collector.h"
#include "collectors/event_names.h"
#include "collectors/events/choice.h"
#include "collectors/kernel/tracefs/stream.h"

#define FLOWS_MAX 16384 // at a time
#define FLOWS_ROWS 2000 // of one interval

struct flows;
// For a choice whose stream is open; dir: tracefs. NULL: it has none of the events.
struct flows *flows_open(const struct choice *choice, const struct stream_event *events, const char *dir);
void flows_close(struct flows *flows); // NULL is allowed

void flows_drain(struct flows *flows); // before the stream is drained
// On the event path: index in the choice. Other events than those above are ignored.
// ns: CLOCK_MONOTONIC.
void flows_event(struct flows *flows, size_t index, const uint8_t *record, uint32_t size, uint64_t ns, int32_t tid);
// Whether flows_event takes it.
bool flows_takes(const struct flows *flows, size_t index);

extern const struct table_def events_connections_table;
// Once per interval: connections that ended in it, and those with retransmissions in it.
void flows_sample(struct flows *flows, struct event_names *names, const struct collect_options *options,
                  int64_t wall_ns, struct section *out);

#endif
