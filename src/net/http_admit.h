/*
 * http_admit.h - accepting connections, and evicting them when there are too many.
 *
 * The one rule to remember: a connection that is answering a request is never
 * evicted.
 */
#ifndef FW_NET_HTTP_ADMIT_H
#define FW_NET_HTTP_ADMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <uv.h>

struct fw_http;
struct fw_http_conn;

enum {
	/* Connections above the limit that are accepted so that they can be refused
	 * with an answer. */
	FW_HTTP_SURPLUS = 64,
	FW_HTTP_ADDRESS_BUCKETS = 256,
};

/* The connections of one IPv4 address or of one IPv6 /64. */
struct fw_http_address {
	struct fw_http_address *next; /* in its bucket */
	uint64_t key;
	unsigned count;
};

struct fw_http_admission {
	unsigned admitted;     /* connections within the limit */
	unsigned surplus;      /* connections above it */
	unsigned admitted_max; /* the limit, or less if there are too few descriptors */
	unsigned surplus_max;
	struct fw_http_address *addresses[FW_HTTP_ADDRESS_BUCKETS];
};

/* Which count of struct fw_http_admission a connection is in. */
enum fw_http_slot { FW_HTTP_NO_SLOT, FW_HTTP_ADMITTED, FW_HTTP_SURPLUS_SLOT };

/* A uv_poll_cb for the listening socket. */
void fw_http__accept(uv_poll_t *handle, int status, int events);
/* Starts polling the listening socket, or stops for a moment. */
void fw_http__watch_listener(struct fw_http *http, bool should);
/* Gives the connection a slot within the limit, and may evict another connection
 * for it. False: there is no slot. */
bool fw_http__admit(struct fw_http_conn *conn);
/* The connection no longer counts against the limit. */
void fw_http__leave_slot(struct fw_http_conn *conn);
/* Counts the connection for its address. False: no memory. */
bool fw_http__join_address(struct fw_http_conn *conn, const struct sockaddr *address);
void fw_http__leave_address(struct fw_http_conn *conn);
/* Takes the slot away: 503, or only a close if the connection is between requests. */
void fw_http__evict(struct fw_http_conn *conn);
/* Keeps the memory of all request bodies below http_unread_bytes: refuses the
 * oldest large one with 503. False: it was the one of this connection. */
bool fw_http__bound_bodies(struct fw_http_conn *conn);

#endif
