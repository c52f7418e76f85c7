/*
 * post.h - work for the loop from other threads: one queue, one wake-up.
 */
#ifndef FW_MCP_POST_H
#define FW_MCP_POST_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/call.h>
#include <faultwire/serve.h>

#include "mcp/listen.h"

enum fw_post_kind {
	FW_POST_SEND,
	FW_POST_FINISH,
	FW_POST_CHANGE,
	FW_POST_CLOSE_STREAM,
	FW_POST_PAGE_EVENT,
	FW_POST_PAGE_END
};

struct fw_post {
	struct fw_post *next;
	enum fw_post_kind kind;
	fw_call *call; /* a reference of its own */
	fw_page *page; /* likewise */
	fw_error *err;
	enum fw_change change;
	uint32_t retry_ms;
	size_t len;
	char text[];
};

/* From any thread. Takes the post over. */
void fw_server__post(fw_server *server, struct fw_post *post);
/* On the loop's thread: does all that was posted. */
void fw_server__take_posts(fw_server *server);
void fw_server__drop_post(struct fw_post *post);

#endif
