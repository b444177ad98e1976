// Bytes that TCP connections carried: a BPF program reads them from the socket at its end. Payload only, each byte
// once. One thread owns it.
#ifndef COLLECTORS_EVENTS_FLOW_BYTES_H
#define COLLECTORS_EVENTS_FLOW_BYTES_H

#include <stdbool.h>
#include <stdint.h>

struct flow_bytes;
// 0; -errno: no BPF, or no type information.
int flow_bytes_open(struct flow_bytes **out);
void flow_bytes_close(struct flow_bytes *bytes); // NULL is allowed
void flow_bytes_drain(struct flow_bytes *bytes);
// Of the connection whose socket was closed at that time (CLOCK_MONOTONIC). False: unknown.
bool flow_bytes_find(const struct flow_bytes *bytes, uint64_t socket, uint64_t ns, uint64_t *sent, uint64_t *received);

#endif
