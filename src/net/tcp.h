/*
 * tcp.h - what only the kernel knows of a connection.
 *
 * The one rule to remember: apart from the rest, because <linux/tcp.h> and the
 * C library's header of that name cannot be used together.
 */
#ifndef FW_NET_TCP_H
#define FW_NET_TCP_H

#include <stdbool.h>
#include <stdint.h>

/* How many bytes have come over it so far, read or not. False: not known. */
bool fw_tcp_received(int fd, uint64_t *ret_bytes);

#endif
