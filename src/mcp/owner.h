/*
 * owner.h - who owns sessions: one token at one address. The number of sessions
 * per owner is limited.
 */
#ifndef FW_MCP_OWNER_H
#define FW_MCP_OWNER_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/serve.h>

struct fw_exchange;

struct fw_owner {
	struct fw_owner *next;
	uint64_t key;
	size_t sessions;
};

/* The owner of the requests on `exchange`, created if needed; NULL: no memory. */
struct fw_owner *fw_owner_of(struct fw_exchange *exchange);
/* Removes one session; an owner without sessions is freed. NULL is a no-op. */
void fw_owner_leave(fw_server *server, struct fw_owner *owner);
/* `owner` already counts a session that is about to be created: ends another one
 * if there are too many. Raises session.limit_reached if none can be ended. */
fw_error *fw_owner_make_room(fw_server *server, const struct fw_owner *owner);

#endif
