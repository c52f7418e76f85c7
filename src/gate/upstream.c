/*
 * upstream.c - the connection to one upstream. It is made when it is first needed, and
 * again after it has ended.
 *
 * After a crash, the upstream is restarted at once, because most crashes are caused by
 * one call. If the start itself fails, the next attempt is delayed, longer each time.
 * Calls wait for it while the delay is short, and are refused after that. A breaker
 * refuses calls to an upstream that starts but does not answer.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/contract.h>
#include <faultwire/raise.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "gate/gate_impl.h"
#include "core/redact.h"
#include "gate/pins.h"
#include "gate/question.h"
#include "mcp/call.h"
#include "mcp/listen.h"
#include "mcp/server.h"
#include "mcp/session.h"
#include "observe/log/log.h"
#include "rpc/names.h"

enum { BACKOFF_MS = 250, BACKOFF_MOST_MS = 30 * 1000 };

static uint64_t now_of(const struct fw_upstream *upstream)
{
	return uv_now(&upstream->gate->loop->uv);
}

static const char *name_of(const struct fw_upstream *upstream)
{
	return upstream->entry->target.name;
}

/* ---- what the remote reports ----------------------------------------------------- */

static void log_event(const struct fw_upstream *upstream, fw_log_level level, const char *event,
		      const fw_error *err)
{
	const fw_field fields[] = {
		fw_log_text("upstream", name_of(upstream)),
		fw_log_text("reason", err ? fw_error_message(err) : NULL),
		fw_log_text("stderr", err ? fw_error_detail(err) : NULL),
	};

	fw_log_event(level, "gate", event, fields, sizeof fields / sizeof *fields);
}

static void settle(struct fw_upstream *upstream)
{
	struct fw_gate *gate = upstream->gate;

	if (upstream->is_settled)
		return;
	upstream->is_settled = true;
	for (size_t i = 0; i < gate->count; i++)
		if (!gate->upstreams[i].is_settled)
			return;
	fw_gate_write_hello(gate);
	fw_relay_settled(&gate->relay);
}

static void ignore_reply(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	(void)ctx;
	(void)reply;
	fw_error_free(err);
}

/* Called when lists of an upstream have changed, or may have. */
static void announce(struct fw_upstream *upstream, enum fw_change change,
		     enum fw_listing_kind kind)
{
	/* Lists are stored with the first connection. */
	fw_listing_outdate(fw_upstream_owner(upstream), kind);
	if (kind == FW_LISTING_RESOURCES)
		fw_listing_outdate(fw_upstream_owner(upstream), FW_LISTING_TEMPLATES);
	fw_listen_announce(upstream->gate->relay.server, change, NULL);
}

/* Sets again what clients had set in the previous session. */
static void restore(struct fw_upstream *upstream)
{
	if (upstream->log_level >= 0)
		fw_upstream_set_level(upstream, upstream->log_level);
	upstream->stream_key = 0;
	fw_upstream_listen(upstream);
	if (fw_remote_counts(upstream->remote)->connects > 1) {
		announce(upstream, FW_CHANGE_TOOLS, FW_LISTING_TOOLS);
		announce(upstream, FW_CHANGE_PROMPTS, FW_LISTING_PROMPTS);
		announce(upstream, FW_CHANGE_RESOURCES, FW_LISTING_RESOURCES);
	}
}

static void on_ready(void *ctx)
{
	struct fw_upstream *upstream = ctx;

	upstream->failed_starts = 0;
	upstream->retry_ms = 0;
	fw_error_free(upstream->fault);
	upstream->fault = NULL;
	log_event(upstream, FW_LOG_INFO, "upstream_ready", NULL);
	settle(upstream);
	restore(upstream);
	fw_gathering_resume(upstream, NULL);
	while (upstream->waiting) {
		struct fw_job *job = upstream->waiting;

		fw_job_unlink(job);
		fw_job_send(job);
	}
}

fw_error *fw_upstream_copy_error(const fw_error *err)
{
	fw_error *copy = NULL;
	char *text = NULL;
	size_t len = 0;
	fw_error *fault = fw_error_to_text(err, FW_CANONICAL, NULL, &text, &len);

	if (!fault)
		fault = fw_error_decode(text, len, FW_CANONICAL, NULL, &copy);
	fw_free(text);
	fw_error_free(fault);
	if (!copy)
		return fw_raise_internal_out_of_memory();
	if (fw_error_detail(err))
		fw_error_set_detail(copy, fw_error_detail(err));
	return copy;
}

static fw_error *raise_fault(const struct fw_upstream *upstream)
{
	uint64_t now = now_of(upstream);
	fw_error *err = upstream->fault ? fw_upstream_copy_error(upstream->fault) : NULL;

	if (!err)
		err = fw_raise_upstream_start_failed(name_of(upstream), "it is not running");
	fw_error_set_delivery(err, FW_NOT_SENT);
	if (upstream->retry_ms > now && fw_error_retry(err) == FW_RETRY_BACKOFF)
		fw_error_set_retry_after(err, (double)(upstream->retry_ms - now) / 1000);
	return err;
}

static void on_down(void *ctx, fw_error *err)
{
	struct fw_upstream *upstream = ctx;
	bool is_start = !upstream->is_settled || upstream->waiting ||
			fw_error_code(err) == FW_UPSTREAM_START_FAILED ||
			fw_error_code(err) == FW_UPSTREAM_CANNOT_START;

	if (fw_upstream_falls_back(upstream)) {
		fw_error_free(err);
		return;
	}
	fw_error_free(upstream->fault);
	upstream->fault = err;
	/* The next process may run another version of the program. */
	for (int kind = 0; kind < FW_LISTING_KINDS; kind++)
		fw_listing_outdate(fw_upstream_owner(upstream), (enum fw_listing_kind)kind);
	log_event(upstream, FW_LOG_WARNING,
		  is_start ? "upstream_start_failed" : "upstream_ended", err);
	if (is_start) {
		uint64_t delay = BACKOFF_MS;

		for (unsigned i = 0; i < upstream->failed_starts && delay < BACKOFF_MOST_MS;
		     i++)
			delay *= 2;
		upstream->failed_starts++;
		upstream->retry_ms =
			now_of(upstream) + (delay < BACKOFF_MOST_MS ? delay : BACKOFF_MOST_MS);
	}
	fw_gathering_resume(upstream, upstream->fault);
	while (upstream->waiting) {
		struct fw_job *job = upstream->waiting;

		fw_job_unlink(job);
		fw_job_fail(job, raise_fault(upstream));
	}
	settle(upstream);
}

/* Passes on a notification. It may quote what a client has sent (a log message, for
 * example), so only that client may get it. */
static void pass_on(struct fw_upstream *upstream, uint64_t key, const char *method,
		    struct fw_slice params)
{
	struct fw_relay *relay = &upstream->gate->relay;
	const struct fw_job *job = fw_job_of(upstream, key);
	const struct fw_session *session = relay->server->sessions.first;
	bool is_certain =
		key || !upstream->gate->options.is_http ||
		(job && job->call ? fw_question_is_certain(upstream, job)
				  : session && !session->next &&
					    fw_upstream_is_left_to(
						    upstream, fw_hash_text(session->id, 1)));

	/* A parked call has no client at the moment. */
	if (is_certain && (!job || job->call))
		fw_relay_notify(relay, job ? job->call : NULL, method, params);
	else
		log_event(upstream, FW_LOG_DEBUG, "upstream_notification_dropped", NULL);
}

static void on_notified(void *ctx, uint64_t key, const struct fw_scan *message)
{
	struct fw_upstream *upstream = ctx;
	struct fw_relay *relay = &upstream->gate->relay;
	char method[128];

	if (fw_slice_equals(message->method, FW_NOTE_TOOLS_CHANGED)) {
		announce(upstream, FW_CHANGE_TOOLS, FW_LISTING_TOOLS);
	} else if (fw_slice_equals(message->method, FW_NOTE_PROMPTS_CHANGED)) {
		announce(upstream, FW_CHANGE_PROMPTS, FW_LISTING_PROMPTS);
	} else if (fw_slice_equals(message->method, FW_NOTE_RESOURCES_CHANGED)) {
		announce(upstream, FW_CHANGE_RESOURCES, FW_LISTING_RESOURCES);
	} else if (fw_slice_equals(message->method, FW_NOTE_RESOURCE_UPDATED)) {
		char uri[4096];

		if (fw_slice_text(message->uri, uri, sizeof uri) < sizeof uri)
			fw_listen_announce(relay->server, FW_CHANGE_RESOURCE, uri);
	} else if (fw_slice_equals(message->method, FW_NOTE_CANCELLED)) {
		fw_question_cancelled(upstream, message->params);
	} else if (!fw_slice_equals(message->method, FW_NOTE_ACKNOWLEDGED) &&
		   fw_slice_text(message->method, method, sizeof method) < sizeof method) {
		pass_on(upstream, key, method, message->params);
	}
}

static void on_late(void *ctx, uint64_t key)
{
	fw_upstream_replied_late(ctx, key);
}

static void on_asked(void *ctx, uint64_t key, const struct fw_scan *message)
{
	fw_question_asked(ctx, key, message);
}

static void on_stray(void *ctx, const char *text, size_t len)
{
	const struct fw_upstream *upstream = ctx;
	char line[256] = "";
	const fw_field fields[] = { fw_log_text("upstream", name_of(upstream)),
				    fw_log_text("line", line) };

	(void)fw_redact_copy(line, sizeof line, text, len);
	fw_log_event(FW_LOG_DEBUG, "gate", "upstream_stray_line", fields, 2);
}

/* ---- connecting ------------------------------------------------------------------ */

enum fw_remote_era fw_upstream_era(const struct fw_gate *gate,
				   const struct fw_gate_entry *entry)
{
	return entry->era ? entry->era : gate->options.era;
}

fw_error *fw_upstream_init(struct fw_upstream *upstream, struct fw_gate *gate,
			   const struct fw_gate_entry *entry, enum fw_remote_era era)
{
	const uint32_t deadline =
		entry->deadline_ms ? entry->deadline_ms : gate->options.deadline_ms;
	struct fw_remote_options options = {
		.target = entry->target,
		.era = era,
		.handshake_ms = deadline && deadline < FW_LIMIT_HANDSHAKE_MS ? deadline : 0,
		.on = { .ready = on_ready,
			.down = on_down,
			.notified = on_notified,
			.asked = on_asked,
			.late = on_late,
			.stray = on_stray },
		.ctx = upstream,
	};

	options.target.ruleset = gate->options.ruleset;
	options.target.is_by_line = true;
	memset(upstream, 0, sizeof *upstream);
	upstream->gate = gate;
	upstream->entry = entry;
	upstream->log_level = -1;
	upstream->retry_tokens = FW_GATE_RETRY_TOKENS;
	upstream->is_pinned = fw_pins_has(gate->pins, entry->target.name);
	return fw_remote_new(gate->loop, gate->fetcher, &options, &upstream->remote);
}

void fw_upstream_clear(struct fw_upstream *upstream)
{
	if (upstream->legacy)
		fw_upstream_clear(upstream->legacy);
	fw__release(upstream->legacy);
	upstream->legacy = NULL;
	fw_remote_free(upstream->remote);
	upstream->remote = NULL;
	fw_error_free(upstream->fault);
	upstream->fault = NULL;
	for (int i = 0; i < FW_LISTING_KINDS; i++) {
		fw_listing_clear(&upstream->listings[i]);
		fw_error_free(upstream->list_faults[i]);
	}
	fw_definitions_clear(&upstream->definitions);
}

void fw_upstream_connect(struct fw_upstream *upstream)
{
	enum fw_remote_state state = fw_remote_state(upstream->remote);

	if (upstream->gate->is_stopped || state == FW_REMOTE_READY ||
	    state == FW_REMOTE_GREETING || upstream->retry_ms > now_of(upstream))
		return;
	fw_remote_connect(upstream->remote);
}

void fw_upstream_disconnect(struct fw_upstream *upstream)
{
	fw_error *stopped = fw_raise_server_shutting_down();

	if (upstream->legacy)
		fw_upstream_disconnect(upstream->legacy);
	fw_remote_disconnect(upstream->remote);
	fw_gathering_resume(upstream, stopped);
	fw_error_free(stopped);
	while (upstream->waiting) {
		struct fw_job *job = upstream->waiting;
		fw_error *err = fw_raise_server_shutting_down();

		fw_error_set_delivery(err, FW_NOT_SENT);
		fw_job_unlink(job);
		fw_job_fail(job, err);
	}
}

void fw_upstream_set_level(struct fw_upstream *upstream, int level)
{
	static const char *const names[] = { "debug", "info",     "notice", "warning",
					     "error", "critical", "alert",  "emergency" };
	char params[64];
	struct fw_remote_request request = { .method = FW_METHOD_SET_LEVEL,
					     .done = ignore_reply,
					     .deadline_ms = FW_LIMIT_PROBE_MS };

	if (upstream->legacy)
		fw_upstream_set_level(upstream->legacy, level);
	upstream->log_level = level;
	if (fw_remote_state(upstream->remote) != FW_REMOTE_READY ||
	    fw_remote_is_modern(upstream->remote))
		return;
	(void)snprintf(params, sizeof params, "\"level\":\"%s\"", names[level]);
	request.params = (struct fw_slice){ params, strlen(params) };
	fw_error_free(fw_remote_call(upstream->remote, &request, NULL));
}

bool fw_upstream_is_ready(struct fw_upstream *upstream, fw_error **ret_err)
{
	*ret_err = NULL;
	if (fw_remote_takes_requests(upstream->remote))
		return true;
	if (upstream->gate->is_stopped)
		*ret_err = fw_raise_server_shutting_down();
	else if (upstream->retry_ms > now_of(upstream))
		*ret_err = raise_fault(upstream);
	else
		fw_upstream_connect(upstream);
	return false;
}

/* ---- admitting -------------------------------------------------------------------- */

bool fw_upstream_admit(struct fw_upstream *upstream, struct fw_job *job, fw_error **ret_err)
{
	uint64_t wait_ms = 0;

	*ret_err = NULL;
	if (!fw_breaker_admit(&upstream->breaker, now_of(upstream), job, &wait_ms)) {
		fw_error *err = fw_raise_upstream_suspended(name_of(upstream),
							    upstream->breaker.crashes);

		fw_error_set_delivery(err, FW_NOT_SENT);
		fw_error_set_retry_after(err, (double)wait_ms / 1000);
		*ret_err = err;
		return false;
	}
	if (fw_upstream_is_ready(upstream, ret_err))
		return true;
	if (*ret_err)
		fw_breaker_let_go(&upstream->breaker, job);
	return false;
}

static fw_error *over_limit(const struct fw_upstream *upstream, fw_error *err, double wait_s)
{
	fw_error_set_origin(err, FW_ORIGIN_GATEWAY);
	fw_error_add_string(err, "upstream", name_of(upstream));
	fw_error_set_retry_after(err, wait_s);
	return err;
}

fw_error *fw_upstream_count(struct fw_upstream *connection, struct fw_job *job)
{
	struct fw_upstream *upstream = fw_upstream_owner(connection);
	const struct fw_gate_entry *entry = upstream->entry;
	const uint32_t rate = entry->calls_per_second;
	uint64_t now = uv_hrtime();

	if (entry->in_flight && upstream->in_flight >= entry->in_flight)
		return over_limit(
			upstream,
			fw_raise_server_overloaded(entry->in_flight, "calls of one upstream"),
			1);
	if (rate && !fw_rate_take(&upstream->rate, rate, rate, now))
		return over_limit(upstream, fw_raise_governance_rate_limited(),
				  (double)fw_rate_wait_ns(&upstream->rate, rate, rate, now) /
					  1e9);
	job->is_counted = true;
	upstream->in_flight++;
	return NULL;
}

void fw_upstream_uncount(struct fw_job *job)
{
	if (job->is_counted)
		fw_upstream_owner(job->upstream)->in_flight--;
	job->is_counted = false;
}

static bool ends_connection(const fw_error *err)
{
	int code = fw_error_code(err);

	return code == FW_UPSTREAM_EXITED || code == FW_UPSTREAM_CRASHED ||
	       code == FW_UPSTREAM_CLOSED || code == FW_UPSTREAM_START_FAILED ||
	       code == FW_UPSTREAM_CANNOT_START;
}

/* True: the upstream itself has failed. False: it has answered, with a failure. */
static bool is_outage(const fw_error *err)
{
	switch (fw_error_code(err)) {
	case FW_UPSTREAM_EXITED:
	case FW_UPSTREAM_CRASHED:
	case FW_UPSTREAM_CLOSED:
	case FW_UPSTREAM_TIMEOUT:
	case FW_UPSTREAM_CANNOT_START:
	case FW_UPSTREAM_START_FAILED: return true;
	default: return fw_error_origin(err) == FW_ORIGIN_TRANSPORT;
	}
}

void fw_upstream_judge(struct fw_upstream *upstream, const struct fw_job *job,
		       const fw_error *err)
{
	const struct fw_gate_entry *entry = upstream->entry;
	uint32_t limit = entry->breaker_limit ? entry->breaker_limit : FW_GATE_BREAKER_LIMIT;
	uint32_t pause =
		entry->breaker_pause_ms ? entry->breaker_pause_ms : FW_GATE_BREAKER_PAUSE_MS;

	if (!err || !is_outage(err)) {
		fw_breaker_worked(&upstream->breaker);
		return;
	}
	/* If one process ends, many calls fail, but it counts as one failure. */
	if (entry->target.argv && ends_connection(err)) {
		uint64_t connects = fw_remote_counts(upstream->remote)->connects;

		if (upstream->counted_connect == connects) {
			fw_breaker_let_go(&upstream->breaker, job);
			return;
		}
		upstream->counted_connect = connects;
	}
	fw_breaker_crashed(&upstream->breaker, now_of(upstream), job, limit, pause);
}
