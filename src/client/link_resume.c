/*
 * link_resume.c - resumes a stream of events that ended before the answer. If the server
 * has numbered its events, the client asks for those after the last one (Last-Event-ID).
 */
#include <faultwire/error.h>

#include "base/mem.h"
#include "client/link_http.h"

enum { RETRY_MS = 1000, RETRY_MOST_MS = 30 * 1000, RESUMPTIONS = 5 };
/* The GET stream is resumed forever, so there must be a delay even if the server asks for
 * none. */
enum { LISTEN_LEAST_MS = 250 };

static void timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

void fw_link__stop_timer(struct fw_link_post *post)
{
	if (!post->timer)
		return;
	uv_close((uv_handle_t *)post->timer, timer_closed);
	post->timer = NULL;
}

static void on_timer(uv_timer_t *timer)
{
	struct fw_link_post *post = timer->data;
	const struct fw_link *link = &post->link->base;
	fw_error *err;

	fw_link__stop_timer(post);
	/* Another session has no events of this stream. */
	if (!post->is_listener && post->session != fw_link__session(link)) {
		fw_link__end_post(post, NULL);
		return;
	}
	fw_sse_reader_clear(&post->events);
	fw_link__read_events(post);
	fw_buf_clear(&post->body);
	err = fw_link__fetch(post, NULL);
	if (err)
		fw_link__end_post(post, err);
}

bool fw_link__may_resume(struct fw_link_post *post, int status)
{
	const struct fw_link_http *link = post->link;
	uint32_t delay = post->events.has_retry ? post->events.retry_ms : RETRY_MS;
	uv_timer_t *timer;

	if (link->is_modern || post->form != FW_POST_EVENTS || status != 200)
		return false;
	/* The GET stream is always opened again, with or without numbers. */
	if (!post->is_listener && (!post->last_id[0] || post->resumptions >= RESUMPTIONS ||
				   !link->base.on.is_open(link->base.ctx, post->key)))
		return false;
	if (post->is_listener && delay < LISTEN_LEAST_MS)
		delay = LISTEN_LEAST_MS;
	timer = fw__allocate(sizeof *timer);
	if (!timer)
		return false;
	post->resumptions++;
	(void)uv_timer_init(&link->loop->uv, timer);
	timer->data = post;
	post->timer = timer;
	(void)uv_timer_start(timer, on_timer, delay < RETRY_MOST_MS ? delay : RETRY_MOST_MS, 0);
	return true;
}
