/*
 * post.c - work for the loop from other threads: one queue, one wake-up.
 */
#include <string.h>

#include <uv.h>

#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/hold.h"
#include "mcp/listen.h"
#include "mcp/op.h"
#include "mcp/page.h"
#include "mcp/post.h"
#include "mcp/run.h"
#include "mcp/server.h"

void fw_server__post(fw_server *server, struct fw_post *post)
{
	post->next = NULL;
	uv_mutex_lock(&server->inbox.lock);
	if (server->inbox.is_closed) {
		uv_mutex_unlock(&server->inbox.lock);
		fw_error_free(post->err);
		fw__release(post);
		return;
	}
	if (server->inbox.last_post)
		server->inbox.last_post->next = post;
	else
		server->inbox.posts = post;
	server->inbox.last_post = post;
	fw_server__wake(server);
	uv_mutex_unlock(&server->inbox.lock);
}

void fw_server__drop_post(struct fw_post *post)
{
	fw_error_free(post->err);
	if (post->call)
		fw_call__unref(post->call);
	if (post->page)
		fw_page_unref(post->page);
	fw__release(post);
}

static void take_event(const struct fw_post *post)
{
	const char *name = post->text + post->len + 1;
	const char *id = name + strlen(name) + 1;

	(void)atomic_fetch_sub(&post->page->queued_bytes, post->len + 1);
	(void)fw_page_send_now(post->page, &(fw_page_event){ .data = post->text,
							     .len = post->len,
							     .name = *name ? name : NULL,
							     .id = *id ? id : NULL });
}

static void take(fw_server *server, struct fw_post *post)
{
	switch (post->kind) {
	case FW_POST_SEND: fw_call_send(post->call, post->text, post->len); break;
	case FW_POST_FINISH: {
		fw_error *err = post->err;

		post->err = NULL;
		fw_call_complete(post->call, err);
		break;
	}
	case FW_POST_CLOSE_STREAM: fw_op_apply_close_stream(post->call, post->retry_ms); break;
	case FW_POST_PAGE_EVENT: take_event(post); break;
	case FW_POST_PAGE_END: {
		fw_error *err = post->err;

		post->err = NULL;
		fw_page_end(post->page, err);
		break;
	}
	case FW_POST_CHANGE:
		fw_listen_announce(server, post->change, post->len ? post->text : NULL);
		break;
	}
}

void fw_server__take_posts(fw_server *server)
{
	struct fw_post *posts;
	fw_hold *released;

	uv_mutex_lock(&server->inbox.lock);
	posts = server->inbox.posts;
	server->inbox.posts = NULL;
	server->inbox.last_post = NULL;
	released = server->inbox.released;
	server->inbox.released = NULL;
	server->inbox.last_released = NULL;
	uv_mutex_unlock(&server->inbox.lock);
	while (released) {
		fw_hold *next = released->next_released;
		fw_error *err = released->instead;

		released->instead = NULL;
		fw_hold_end(released, err);
		released = next;
	}
	while (posts) {
		struct fw_post *next = posts->next;

		take(server, posts);
		fw_server__drop_post(posts);
		posts = next;
	}
}

static void post_change(fw_server *server, enum fw_change change, const char *uri)
{
	size_t len = uri ? strlen(uri) : 0;
	struct fw_post *post = fw__allocate(sizeof *post + len + 1);

	/* If there is no memory, the client notices the change with its next list. */
	if (!post)
		return;
	*post = (struct fw_post){ .kind = FW_POST_CHANGE, .change = change, .len = len };
	memcpy(post->text, uri ? uri : "", len + 1);
	fw_server__post(server, post);
}

void fw_server_tools_changed(fw_server *server)
{
	post_change(server, FW_CHANGE_TOOLS, NULL);
}

void fw_server_prompts_changed(fw_server *server)
{
	post_change(server, FW_CHANGE_PROMPTS, NULL);
}

void fw_server_resources_changed(fw_server *server)
{
	post_change(server, FW_CHANGE_RESOURCES, NULL);
}

void fw_server_resource_updated(fw_server *server, const char *uri)
{
	if (uri)
		post_change(server, FW_CHANGE_RESOURCE, uri);
}
