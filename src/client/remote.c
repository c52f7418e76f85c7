/*
 * remote.c - see remote.h. The lifecycle of a remote, and sending.
 *
 * Requests are in a list by age and in a hash table by id. One timer serves all
 * deadlines. It is set only if a new deadline is the earliest, and when it fires, all
 * requests are checked, so an ordinary call does not touch it.
 */
#include "client/remote.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "client/remote_impl.h"
#include "rpc/names.h"

#define MODERN_VERSION "2026-07-28"

static const char default_client[] = "{\"name\":\"faultwire\",\"version\":\"" FW_VERSION "\"}";

/* ---- deadlines ---------------------------------------------------------------- */

static void cancel_upstream(struct fw_remote *remote, const struct fw_remote_pending *pending,
			    const char *reason)
{
	struct fw_buf params;

	if (pending->is_waiting || !remote->link || remote->state != FW_REMOTE_READY)
		return;
	if (fw_link_is_http(remote->link)) {
		fw_link_abort(remote->link, pending->id);
		/* A legacy server does not treat a closed response as a cancellation. */
		if (fw_remote_is_modern(remote))
			return;
	}
	fw_buf_init(&params, FW_LIMIT_TEXT_BYTES);
	FW_BUF(&params, "\"requestId\":");
	fw_buf_i64(&params, (int64_t)pending->id);
	FW_BUF(&params, ",\"reason\":");
	fw_buf_json_str(&params, reason);
	if (params.state == FW_BUF_OK)
		fw_remote_notify(remote, FW_NOTE_CANCELLED,
				 (struct fw_slice){ params.text, params.len });
	fw_buf_clear(&params);
}

static void expire(struct fw_remote *remote, struct fw_remote_pending *pending)
{
	/* Progress and questions may have changed the deadline, so add up all the time
	 * that was waited. */
	uint64_t waited_ms = pending->spent_ms + (pending->due_ms - pending->since_ms);
	fw_error *err = fw_raise_upstream_timeout(remote->options.target.name, waited_ms);

	fw_error_set_delivery(err, pending->is_waiting ? FW_NOT_SENT : FW_SENT);
	cancel_upstream(remote, pending, "deadline exceeded");
	fw_remote__finish(remote, pending, NULL, err);
}

/* Callbacks may end other requests and make new ones, so each search starts from the beginning. */
static struct fw_remote_pending *find_expired(const struct fw_remote *remote, uint64_t now)
{
	for (struct fw_remote_pending *at = remote->first; at; at = at->next)
		if (at->due_ms && at->due_ms <= now)
			return at;
	return NULL;
}

static void on_timer(void *ctx)
{
	struct fw_remote *remote = ctx;
	struct fw_remote_pending *pending;
	uint64_t now = uv_now(&remote->loop->uv);
	uint64_t next = 0;

	remote->timer_ms = 0;
	if (remote->start_err) {
		fw_error *err = remote->start_err;

		remote->start_err = NULL;
		fw_remote__go_down(remote, NULL, err);
		return;
	}
	if (remote->alarm_ms && remote->alarm_ms <= now)
		fw_remote__alarm(remote);
	while ((pending = find_expired(remote, now)))
		expire(remote, pending);
	for (pending = remote->first; pending; pending = pending->next)
		if (pending->due_ms && (!next || pending->due_ms < next))
			next = pending->due_ms;
	if (remote->alarm_ms && (!next || remote->alarm_ms < next))
		next = remote->alarm_ms;
	if (next)
		fw_remote__watch(remote, next);
}

void fw_remote__watch(struct fw_remote *remote, uint64_t due_ms)
{
	uint64_t now = uv_now(&remote->loop->uv);

	if (remote->timer_ms && remote->timer_ms <= due_ms)
		return;
	remote->timer_ms = due_ms;
	fw_timer_set(remote->timer, due_ms > now ? due_ms - now : 0);
}

/* 0: no deadline. */
static void set_deadline(struct fw_remote *remote, struct fw_remote_pending *pending,
			 uint32_t deadline_ms)
{
	uint64_t now = uv_now(&remote->loop->uv);

	if (pending->due_ms)
		pending->spent_ms += now - pending->since_ms;
	pending->since_ms = now;
	pending->due_ms = deadline_ms ? now + deadline_ms : 0;
	if (pending->due_ms)
		fw_remote__watch(remote, pending->due_ms);
}

/* ---- the table of requests ------------------------------------------------------ */

struct fw_remote_pending *fw_remote__find(const struct fw_remote *remote, uint64_t id)
{
	struct fw_remote_pending *at = remote->buckets[id % FW_REMOTE_BUCKETS];

	while (at && at->id != id)
		at = at->bucket_next;
	return at;
}

static struct fw_remote_pending *add_pending(struct fw_remote *remote)
{
	struct fw_remote_pending *pending = remote->unused;
	struct fw_remote_pending **bucket;

	if (pending)
		remote->unused = pending->next;
	else
		pending = fw__allocate(sizeof *pending);
	if (!pending)
		return NULL;
	memset(pending, 0, sizeof *pending);
	pending->id = ++remote->last_id;
	fw_buf_init(&pending->text, FW_LIMIT_CHILD_UNSENT_BYTES);
	pending->previous = remote->last;
	if (remote->last)
		remote->last->next = pending;
	else
		remote->first = pending;
	remote->last = pending;
	bucket = &remote->buckets[pending->id % FW_REMOTE_BUCKETS];
	pending->bucket_next = *bucket;
	*bucket = pending;
	return pending;
}

static void remove_pending(struct fw_remote *remote, struct fw_remote_pending *pending)
{
	struct fw_remote_pending **at = &remote->buckets[pending->id % FW_REMOTE_BUCKETS];

	while (*at != pending)
		at = &(*at)->bucket_next;
	*at = pending->bucket_next;
	if (pending->previous)
		pending->previous->next = pending->next;
	else
		remote->first = pending->next;
	if (pending->next)
		pending->next->previous = pending->previous;
	else
		remote->last = pending->previous;
	/* The alarm (see fw_remote__sound()) is about a call, and none is outstanding any
	 * more. */
	if (!pending->is_stream && !--remote->outstanding)
		remote->alarm_ms = 0;
	fw_buf_clear(&pending->text);
	fw__release(pending->method);
	fw__release(pending->name);
	pending->next = remote->unused;
	remote->unused = pending;
}

void fw_remote__finish(struct fw_remote *remote, struct fw_remote_pending *pending,
		       const struct fw_remote_reply *reply, fw_error *err)
{
	fw_remote_done_fn *done = pending->done;
	void *ctx = pending->ctx;

	remove_pending(remote, pending);
	done(ctx, reply, err);
}

/* ---- sending ---------------------------------------------------------------------- */

static void put_slice(struct fw_buf *out, struct fw_slice slice, const char *otherwise)
{
	if (slice.p)
		fw_buf_put(out, slice.p, slice.n);
	else
		fw_buf_str(out, otherwise);
}

/* The members of `_meta` that each modern message has. */
static void put_modern_meta(const struct fw_remote *remote,
			    const struct fw_remote_request *request, struct fw_buf *out)
{
	const struct fw_remote_options *options = &remote->options;

	FW_BUF(out,
	       "\"" FW_META_VERSION "\":\"" MODERN_VERSION "\",\"" FW_META_CLIENT_INFO "\":");
	put_slice(out, request->client, options->client ? options->client : default_client);
	FW_BUF(out, ",\"" FW_META_CLIENT_CAPABILITIES "\":");
	put_slice(out, request->capabilities,
		  options->capabilities ? options->capabilities : "{}");
}

static bool speaks_modern(const struct fw_remote *remote)
{
	return remote->greeting.step == FW_STEP_PROBE ||
	       (remote->greeting.step == FW_STEP_NONE && fw_remote_is_modern(remote));
}

/* Members come without braces. If there are none, there must be no comma. */
static void put_members(struct fw_buf *out, struct fw_slice members)
{
	if (!members.n)
		return;
	if (out->len && out->text[out->len - 1] != '{')
		FW_BUF(out, ",");
	fw_buf_put(out, members.p, members.n);
}

static void put_params(const struct fw_remote *remote, const struct fw_remote_request *request,
		       uint64_t token, struct fw_buf *out)
{
	bool is_modern = speaks_modern(remote);

	FW_BUF(out, ",\"params\":{");
	put_members(out, request->params);
	if (is_modern || request->meta.n || token) {
		if (out->len && out->text[out->len - 1] != '{')
			FW_BUF(out, ",");
		FW_BUF(out, "\"_meta\":{");
		put_members(out, request->meta);
		if (token) {
			if (out->len && out->text[out->len - 1] != '{')
				FW_BUF(out, ",");
			FW_BUF(out, "\"" FW_META_PROGRESS "\":");
			fw_buf_i64(out, (int64_t)token);
		}
		if (is_modern) {
			if (out->len && out->text[out->len - 1] != '{')
				FW_BUF(out, ",");
			put_modern_meta(remote, request, out);
		}
		FW_BUF(out, "}");
	}
	FW_BUF(out, "}}");
}

static struct fw_buf *begin_message(struct fw_remote *remote)
{
	fw_buf_reset(&remote->out, FW_LIMIT_CHILD_KEPT_BYTES);
	FW_BUF(&remote->out, "{\"jsonrpc\":\"2.0\"");
	return &remote->out;
}

static fw_error *check_out(const struct fw_remote *remote)
{
	fw_error *err = NULL;

	if (remote->out.state == FW_BUF_TOO_LARGE)
		err = fw_raise_input_too_large("message", remote->out.max);
	else if (remote->out.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	fw_error_set_delivery(err, FW_NOT_SENT);
	return err;
}

/* HTTP: stores what is needed to send the request again. */
static bool keep(const struct fw_remote *remote, struct fw_remote_pending *pending,
		 const struct fw_remote_request *request)
{
	if (!fw_link_is_http(remote->link))
		return true;
	fw_buf_put(&pending->text, remote->out.text, remote->out.len);
	pending->method = fw_strdup(request->method);
	pending->name = request->name ? fw_strdup(request->name) : NULL;
	return pending->text.state == FW_BUF_OK && pending->method &&
	       !pending->name == !request->name;
}

/* A process that has closed its input cannot get requests any more, but may keep running.
 * The connection is ended, from the loop, so that the next one starts another process. */
void fw_remote__give_up_input(struct fw_remote *remote)
{
	/* During the handshake, wait for the exit status, which explains more. */
	if (remote->start_err || remote->state != FW_REMOTE_READY)
		return;
	remote->start_err = fw_raise_upstream_closed(remote->options.target.name);
	fw_error_set_delivery(remote->start_err, FW_NOT_SENT);
	fw_remote__watch(remote, uv_now(&remote->loop->uv));
}

static fw_error *send_traced(struct fw_remote *remote, const struct fw_link_message *message)
{
	if (remote->options.on.trace)
		remote->options.on.trace(remote->options.ctx, true, message->text,
					 message->len);
	return fw_link_send(remote->link, message);
}

fw_error *fw_remote__request(struct fw_remote *remote, const struct fw_remote_request *request,
			     bool may_wait, uint64_t *ret_key)
{
	struct fw_remote_pending *pending = add_pending(remote);
	struct fw_buf *out;
	struct fw_link_message message;
	fw_error *err;

	if (!pending)
		return fw_raise_internal_out_of_memory();
	pending->done = request->done;
	pending->progress = request->progress;
	pending->ctx = request->ctx;
	pending->is_stream = request->is_stream;
	if (!pending->is_stream)
		remote->outstanding++;
	pending->is_tool = strcmp(request->method, FW_METHOD_TOOLS_CALL) == 0;
	out = begin_message(remote);
	FW_BUF(out, ",\"id\":");
	fw_buf_i64(out, (int64_t)pending->id);
	FW_BUF(out, ",\"method\":");
	fw_buf_json_str(out, request->method);
	put_params(remote, request, request->progress ? pending->id : 0, out);
	err = check_out(remote);
	if (!err && !keep(remote, pending, request))
		err = fw_raise_internal_out_of_memory();
	message = (struct fw_link_message){ .text = out->text,
					    .len = out->len,
					    .key = pending->id,
					    .method = request->method,
					    .name = request->name,
					    .headers = request->headers };
	pending->is_waiting = may_wait && remote->state == FW_REMOTE_GREETING;
	if (!err && !pending->is_waiting)
		err = send_traced(remote, &message);
	if (err) {
		remove_pending(remote, pending);
		if (fw_error_code(err) == FW_TRANSPORT_BROKEN_PIPE)
			fw_remote__give_up_input(remote);
		return err;
	}
	pending->serial = pending->is_waiting ? 0 : fw_link_accepted(remote->link);
	pending->session = fw_link_session(remote->link);
	remote->counts.sent++;
	set_deadline(remote, pending, request->deadline_ms);
	if (ret_key)
		*ret_key = pending->id;
	return NULL;
}

bool fw_remote_takes_requests(const struct fw_remote *remote)
{
	return remote->state == FW_REMOTE_READY ||
	       (remote->state == FW_REMOTE_GREETING && remote->greeting.is_renewal);
}

fw_error *fw_remote_call(struct fw_remote *remote, const struct fw_remote_request *request,
			 uint64_t *ret_key)
{
	if (!fw_remote_takes_requests(remote)) {
		fw_error *err = fw_raise_upstream_closed(remote->options.target.name);

		fw_error_set_delivery(err, FW_NOT_SENT);
		return err;
	}
	return fw_remote__request(remote, request, true, ret_key);
}

void fw_remote__send_waiting(struct fw_remote *remote)
{
	struct fw_remote_pending *at = remote->first;

	while (at) {
		struct fw_remote_pending *next = at->next;
		fw_error *err;

		if (at->is_waiting) {
			at->is_waiting = false;
			at->session = fw_link_session(remote->link);
			err = send_traced(remote,
					  &(struct fw_link_message){ .text = at->text.text,
								     .len = at->text.len,
								     .key = at->id,
								     .method = at->method,
								     .name = at->name });
			if (err) {
				fw_remote__finish(remote, at, NULL, err);
				/* The callback may have ended the next one. */
				next = remote->first;
			}
		}
		at = next;
	}
}

void fw_remote_cancel(struct fw_remote *remote, uint64_t key, const char *reason)
{
	struct fw_remote_pending *pending = fw_remote__find(remote, key);

	if (!pending)
		return;
	cancel_upstream(remote, pending, reason);
	remove_pending(remote, pending);
}

void fw_remote_set_deadline(struct fw_remote *remote, uint64_t key, uint32_t deadline_ms)
{
	struct fw_remote_pending *pending = fw_remote__find(remote, key);

	if (!pending)
		return;
	set_deadline(remote, pending, deadline_ms);
}

void fw_remote_prefer_legacy(struct fw_remote *remote)
{
	remote->greeting.prefers_legacy = true;
}

void fw_remote_set_handshake(struct fw_remote *remote, uint32_t limit_ms)
{
	remote->options.handshake_ms = limit_ms;
}

void fw_remote_set_capabilities(struct fw_remote *remote, const char *capabilities)
{
	remote->options.capabilities = capabilities;
}

void fw_remote_notify(struct fw_remote *remote, const char *method, struct fw_slice params)
{
	const struct fw_remote_request request = { .params = params };
	struct fw_buf *out;

	if (!remote->link)
		return;
	out = begin_message(remote);
	FW_BUF(out, ",\"method\":");
	fw_buf_json_str(out, method);
	put_params(remote, &request, 0, out);
	if (out->state == FW_BUF_OK)
		fw_error_free(
			send_traced(remote, &(struct fw_link_message){ .text = out->text,
								       .len = out->len,
								       .method = method }));
}

void fw_remote_answer(struct fw_remote *remote, struct fw_slice id, struct fw_slice result,
		      struct fw_slice error)
{
	struct fw_buf *out;

	if (!remote->link)
		return;
	out = begin_message(remote);
	FW_BUF(out, ",\"id\":");
	fw_buf_put(out, id.p, id.n);
	fw_buf_str(out, result.p ? ",\"result\":" : ",\"error\":");
	put_slice(out, result.p ? result : error, "{\"code\":-32603,\"message\":\"failed\"}");
	FW_BUF(out, "}");
	if (out->state == FW_BUF_OK)
		fw_error_free(
			send_traced(remote, &(struct fw_link_message){ .text = out->text,
								       .len = out->len }));
}

/* ---- lifecycle ------------------------------------------------------------------ */

fw_error *fw_remote_new(struct fw_loop *loop, struct fw_fetcher *fetcher,
			const struct fw_remote_options *options, struct fw_remote **ret_remote)
{
	struct fw_remote *remote = fw__allocate(sizeof *remote);
	struct fw_timer *timer = fw__allocate(sizeof *timer);

	if (!remote || !timer) {
		fw__release(remote);
		fw__release(timer);
		return fw_raise_internal_out_of_memory();
	}
	memset(remote, 0, sizeof *remote);
	remote->loop = loop;
	remote->fetcher = fetcher;
	remote->options = *options;
	remote->version = FW_V_NONE;
	remote->greeting.era = options->era;
	if (!remote->options.handshake_ms)
		remote->options.handshake_ms = FW_LIMIT_HANDSHAKE_MS;
	if (!remote->options.depth)
		remote->options.depth = FW_LIMIT_REPLY_DEPTH;
	fw_buf_init(&remote->out, FW_LIMIT_CHILD_UNSENT_BYTES);
	fw_buf_init(&remote->greeting.hello, FW_LIMIT_HELLO_BYTES);
	fw_timer_init(&loop->uv, timer, on_timer, remote);
	remote->timer = timer;
	*ret_remote = remote;
	return NULL;
}

static void timer_closed(uv_handle_t *handle)
{
	fw__release(handle);
}

void fw_remote_free(struct fw_remote *remote)
{
	if (!remote)
		return;
	fw_link_free(remote->link);
	while (remote->first)
		remove_pending(remote, remote->first);
	while (remote->unused) {
		struct fw_remote_pending *next = remote->unused->next;

		fw__release(remote->unused);
		remote->unused = next;
	}
	fw_error_free(remote->start_err);
	fw_error_free(remote->greeting.refused);
	fw_timer_close(remote->timer, timer_closed);
	fw_buf_clear(&remote->out);
	fw_buf_clear(&remote->greeting.hello);
	fw__release(remote);
}

void fw_remote__open(struct fw_remote *remote)
{
	fw_error *err;

	remote->state = FW_REMOTE_GREETING;
	remote->greeting.step = FW_STEP_NONE;
	remote->greeting.is_renewal = false;
	fw_error_free(remote->greeting.refused);
	remote->greeting.refused = NULL;
	remote->version = FW_V_NONE;
	remote->is_compressed = false;
	remote->counts.connects++;
	remote->first_id = remote->last_id + 1;
	err = fw_link_open(remote->loop, remote->fetcher, &remote->options.target,
			   &fw_remote__callbacks, remote, &remote->link);
	if (err) {
		/* Reported from the loop, so that no callback is called before this
		 * function returns. */
		remote->start_err = err;
		fw_remote__watch(remote, uv_now(&remote->loop->uv));
		return;
	}
	remote->greeting.is_opening = true;
	fw_remote__greet(remote);
	remote->greeting.is_opening = false;
}

void fw_remote_connect(struct fw_remote *remote)
{
	if (remote->state == FW_REMOTE_GREETING || remote->state == FW_REMOTE_READY)
		return;
	/* Its requests would fail together with those of the last connection. */
	if (remote->is_ending) {
		remote->is_wanted = true;
		return;
	}
	remote->greeting.due_ms = uv_now(&remote->loop->uv) + remote->options.handshake_ms;
	fw_remote__open(remote);
}

void fw_remote__go_down(struct fw_remote *remote, const struct fw_link_ending *ending,
			fw_error *err)
{
	const char *name = remote->options.target.name;
	struct fw_link *link = remote->link;

	remote->state = FW_REMOTE_DOWN;
	remote->link = NULL;
	remote->greeting.step = FW_STEP_NONE;
	remote->is_ending = true;
	remote->is_wanted = false;
	remote->options.on.down(remote->options.ctx, err);
	while (remote->first) {
		const struct fw_remote_pending *first = remote->first;
		fw_delivery delivery =
			first->is_waiting || first->is_unsent ? FW_NOT_SENT : FW_SENT;
		fw_error *each = ending ? fw_link_raise_ending(link, ending, delivery)
				 : first->is_unsent ? fw_raise_transport_broken_pipe(name)
						    : fw_raise_upstream_closed(name);

		fw_error_set_delivery(each, delivery);
		fw_remote__finish(remote, remote->first, NULL, each);
	}
	fw_link_free(link);
	remote->is_ending = false;
	if (remote->is_wanted && remote->state == FW_REMOTE_DOWN)
		fw_remote_connect(remote);
}

void fw_remote_disconnect(struct fw_remote *remote)
{
	struct fw_link *link = remote->link;

	remote->link = NULL;
	remote->state = FW_REMOTE_IDLE;
	while (remote->first) {
		fw_error *err = fw_raise_server_shutting_down();

		fw_error_set_delivery(err, remote->first->is_waiting ? FW_NOT_SENT : FW_SENT);
		fw_remote__finish(remote, remote->first, NULL, err);
	}
	if (link) {
		fw_link_end(link);
		fw_link_free(link);
	}
}

/* ---- questions about it ----------------------------------------------------------- */

enum fw_remote_state fw_remote_state(const struct fw_remote *remote)
{
	return remote->state;
}

const struct fw_remote_counts *fw_remote_counts(const struct fw_remote *remote)
{
	return &remote->counts;
}

enum fw_version fw_remote_version(const struct fw_remote *remote)
{
	return remote->version;
}

bool fw_remote_is_modern(const struct fw_remote *remote)
{
	return fw_version_is_modern(remote->version);
}

struct fw_slice fw_remote_hello(const struct fw_remote *remote)
{
	if (!remote->greeting.hello.len)
		return (struct fw_slice){ NULL, 0 };
	return (struct fw_slice){ remote->greeting.hello.text, remote->greeting.hello.len };
}

size_t fw_remote_outstanding(const struct fw_remote *remote)
{
	return remote->outstanding;
}

size_t fw_remote_stderr(const struct fw_remote *remote, char *ret_text, size_t size)
{
	if (remote->link)
		return fw_link_stderr(remote->link, ret_text, size);
	if (size)
		ret_text[0] = '\0';
	return 0;
}
