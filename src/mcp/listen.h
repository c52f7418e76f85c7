/*
 * listen.h - clients that are notified of changes: modern listeners
 * (subscriptions/listen) and legacy sessions.
 */
#ifndef FW_MCP_LISTEN_H
#define FW_MCP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

enum fw_change { FW_CHANGE_TOOLS, FW_CHANGE_PROMPTS, FW_CHANGE_RESOURCES, FW_CHANGE_RESOURCE };

/* What a listener subscribed to. */
struct fw_listening {
	bool tools;
	bool prompts;
	bool resources;
	char **uris;
	size_t uri_count;
};

/* To the clients of all replicas. */
void fw_listen_announce(fw_server *server, enum fw_change change, const char *uri);
/* To those of this server. `number` is that of the event in the streams of sessions, if
 * replicas share them; else 0. */
void fw_listen_deliver(fw_server *server, enum fw_change change, const char *uri,
		       uint64_t number);
/* The notification for a legacy session, in `server->out`. False: no memory. */
bool fw_listen_put(fw_server *server, enum fw_change change, const char *uri);
void fw_listen_end(fw_call *call);

#endif
