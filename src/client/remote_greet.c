/*
 * remote_greet.c - the handshake, in both eras.
 *
 * A modern server describes itself in answer to server/discover. A legacy one answers
 * that with some error, with silence, or by exiting; then the handshake is initialize.
 * The era that worked is stored, so that a restart needs no second attempt.
 *
 * On behalf of a legacy client, initialize comes first, so that a server of both eras
 * uses the client's era, and a legacy server is not probed.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "client/remote_impl.h"
#include "rpc/names.h"

static void initialize(struct fw_remote *remote);
static void discover(struct fw_remote *remote);

/* True: the server could not be reached or refuses access, so another handshake would
 * fail in the same way, and the error needs no further explanation. */
static bool is_final(const fw_error *err)
{
	return fw_error_origin(err) == FW_ORIGIN_TRANSPORT ||
	       fw_error_code(err) == FW_UPSTREAM_UNAUTHORIZED;
}

/* Consumes `cause`, which may be NULL. */
static fw_error *raise_failure(const struct fw_remote *remote, const char *reason,
			       fw_error *cause)
{
	fw_error *err = cause;

	if (!cause || !is_final(cause)) {
		if (!reason)
			reason = cause ? fw_error_message(cause) : "the handshake failed";
		return fw_link_raise_not_started(remote->options.target.name, reason, cause,
						 remote->greeting.has_succeeded);
	}
	fw_error_set_delivery(err, FW_NOT_SENT);
	return err;
}

/* Consumes `cause`, which may be NULL. */
static void fail(struct fw_remote *remote, const char *reason, fw_error *cause)
{
	/* The process is about to exit. Wait for its status, which explains more. */
	if (cause && fw_error_code(cause) == FW_TRANSPORT_BROKEN_PIPE) {
		fw_error_free(remote->start_err);
		remote->start_err = fw_link_raise_not_started(remote->options.target.name,
							      fw_error_message(cause), cause,
							      remote->greeting.has_succeeded);
		fw_remote__watch(remote, uv_now(&remote->loop->uv) + 4 * FW_LIMIT_DEATH_MS);
		return;
	}
	cause = raise_failure(remote, reason, cause);
	if (!remote->greeting.is_opening) {
		fw_remote__go_down(remote, NULL, cause);
		return;
	}
	/* Reported from the loop, because fw_remote_connect() has not returned yet. */
	fw_error_free(remote->start_err);
	remote->start_err = cause;
	fw_remote__watch(remote, uv_now(&remote->loop->uv));
}

/* The server has refused initialize. It may support only the modern era. Consumes
 * `cause`, which may be NULL. */
static void refuse(struct fw_remote *remote, const char *reason, fw_error *cause)
{
	if (remote->greeting.era != FW_REMOTE_AUTO || !remote->greeting.prefers_legacy ||
	    (cause && (is_final(cause) || fw_error_code(cause) == FW_UPSTREAM_TIMEOUT))) {
		fail(remote, reason, cause);
		return;
	}
	fw_error_free(remote->greeting.refused);
	remote->greeting.refused = raise_failure(remote, reason, cause);
	discover(remote);
}

static bool keep_hello(struct fw_remote *remote, struct fw_slice result)
{
	fw_buf_reset(&remote->greeting.hello, FW_LIMIT_HELLO_BYTES);
	fw_buf_put(&remote->greeting.hello, result.p, result.n);
	return remote->greeting.hello.state == FW_BUF_OK;
}

static void become_ready(struct fw_remote *remote, enum fw_version version,
			 struct fw_slice hello)
{
	bool is_renewal = remote->greeting.is_renewal;
	bool is_modern = fw_version_is_modern(version);

	if (!keep_hello(remote, hello)) {
		bool is_large = remote->greeting.hello.state == FW_BUF_TOO_LARGE;

		fail(remote, is_large ? "its answer to the handshake is too large" : NULL,
		     is_large ? NULL : fw_raise_internal_out_of_memory());
		return;
	}
	remote->version = version;
	remote->greeting.step = FW_STEP_NONE;
	remote->greeting.is_renewal = false;
	remote->greeting.has_succeeded = true;
	fw_error_free(remote->greeting.refused);
	remote->greeting.refused = NULL;
	remote->greeting.era = is_modern ? FW_REMOTE_MODERN : FW_REMOTE_LEGACY;
	fw_link_set_version(remote->link, fw_version_names[version], is_modern);
	remote->state = FW_REMOTE_READY;
	if (!is_modern) {
		fw_remote_notify(remote, FW_NOTE_INITIALIZED, (struct fw_slice){ NULL, 0 });
		fw_link_listen(remote->link);
	}
	if (is_renewal)
		fw_remote__send_waiting(remote);
	/* A callback may have ended the connection. */
	if (remote->state == FW_REMOTE_READY)
		remote->options.on.ready(remote->options.ctx);
}

/* Remaining time for the handshake in ms, at least 1. */
static uint32_t time_left(const struct fw_remote *remote)
{
	uint64_t now = uv_now(&remote->loop->uv);

	return remote->greeting.due_ms > now ? (uint32_t)(remote->greeting.due_ms - now) : 1;
}

/* ---- modern ------------------------------------------------------------------- */

static bool offers_modern(struct fw_slice result)
{
	struct fw_scan_member versions = { .name = "supportedVersions" };
	struct fw_slice key;
	struct fw_slice value;
	const char *at = NULL;

	if (!fw_slice_members(result, &versions, 1))
		return false;
	while (versions.value.p && fw_slice_next(versions.value, &at, &key, &value))
		if (fw_slice_equals(value, fw_version_names[FW_V_2026_07_28]))
			return true;
	return false;
}

static void discovered(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fw_remote *remote = ctx;
	/* The connection has ended. fw_remote__go_down() reports that. */
	if (remote->state != FW_REMOTE_GREETING) {
		fw_error_free(err);
		return;
	}
	if (!err && reply->result.p && offers_modern(reply->result)) {
		become_ready(remote, FW_V_2026_07_28, reply->result);
	} else if (remote->greeting.refused) {
		/* It supports neither era. Report why it refused initialize. */
		fw_error *refused = remote->greeting.refused;

		remote->greeting.refused = NULL;
		fw_error_free(err);
		fw_remote__go_down(remote, NULL, refused);
	} else if (remote->greeting.era == FW_REMOTE_MODERN || (err && is_final(err))) {
		fail(remote, err ? NULL : "it does not speak 2026-07-28", err);
	} else {
		fw_error_free(err);
		initialize(remote);
	}
}

/* How long to wait for the answer to a probe. Without an answer there must be time left
 * for initialize. */
static uint32_t probe_time(const struct fw_remote *remote)
{
	uint32_t most =
		fw_link_is_http(remote->link) ? FW_LIMIT_PROBE_MS : FW_LIMIT_PROBE_START_MS;
	uint32_t left = time_left(remote);

	if (remote->greeting.era == FW_REMOTE_MODERN || remote->greeting.refused)
		return left;
	return left / 2 < most ? left / 2 + 1 : most;
}

static void discover(struct fw_remote *remote)
{
	const struct fw_remote_request request = {
		.method = FW_METHOD_DISCOVER,
		.done = discovered,
		.ctx = remote,
		.deadline_ms = probe_time(remote),
	};
	fw_error *err;

	remote->greeting.step = FW_STEP_PROBE;
	fw_link_set_version(remote->link, fw_version_names[FW_V_2026_07_28], true);
	err = fw_remote__request(remote, &request, false, NULL);
	if (err)
		fail(remote, NULL, err);
}

/* ---- legacy ------------------------------------------------------------------- */

static void initialized(void *ctx, const struct fw_remote_reply *reply, fw_error *err)
{
	struct fw_remote *remote = ctx;
	struct fw_scan_member agreed = { .name = "protocolVersion" };
	enum fw_version version;
	char name[64];
	char reason[256];

	if (remote->state != FW_REMOTE_GREETING) {
		fw_error_free(err);
		return;
	}
	if (err) {
		bool is_silent = fw_error_code(err) == FW_UPSTREAM_TIMEOUT;

		refuse(remote, is_silent ? "it gave no answer to the handshake" : NULL, err);
		return;
	}
	if (!reply->result.p) {
		char text[128];

		(void)fw_slice_text(reply->scan->message, text, sizeof text);
		(void)snprintf(reason, sizeof reason, "it refused the handshake: %s", text);
		refuse(remote, reason, NULL);
		return;
	}
	(void)fw_slice_members(reply->result, &agreed, 1);
	(void)fw_slice_text(agreed.value, name, sizeof name);
	/* Servers built with the first SDKs still answer with the oldest version. It does
	 * not differ in anything that is used here. */
	version = strcmp(name, "2024-11-05") == 0 ? FW_V_2025_03_26 : fw_version_named(name);
	if (version >= FW_V_2026_07_28) {
		(void)snprintf(reason, sizeof reason, "it speaks protocol version \"%s\"",
			       name);
		refuse(remote, reason, NULL);
		return;
	}
	become_ready(remote, version, reply->result);
}

static void initialize(struct fw_remote *remote)
{
	const struct fw_remote_options *options = &remote->options;
	struct fw_remote_request request = {
		.method = FW_METHOD_INITIALIZE,
		.done = initialized,
		.ctx = remote,
		.deadline_ms = time_left(remote),
	};
	struct fw_buf params;
	fw_error *err;

	remote->greeting.step = FW_STEP_INITIALIZE;
	fw_link_set_version(remote->link, NULL, false);
	fw_buf_init(&params, FW_LIMIT_HELLO_BYTES);
	FW_BUF(&params, "\"protocolVersion\":\"");
	fw_buf_str(&params, fw_version_names[FW_V_2025_11_25]);
	FW_BUF(&params, "\",\"capabilities\":");
	fw_buf_str(&params, options->capabilities ? options->capabilities : "{}");
	FW_BUF(&params, ",\"clientInfo\":");
	fw_buf_str(&params,
		   options->client ? options->client
				   : "{\"name\":\"faultwire\",\"version\":\"" FW_VERSION "\"}");
	request.params = (struct fw_slice){ params.text, params.len };
	err = params.state == FW_BUF_OK ? fw_remote__request(remote, &request, false, NULL)
					: fw_raise_internal_out_of_memory();
	fw_buf_clear(&params);
	if (err)
		fail(remote, NULL, err);
}

void fw_remote__greet(struct fw_remote *remote)
{
	if (remote->greeting.era == FW_REMOTE_LEGACY ||
	    (remote->greeting.era == FW_REMOTE_AUTO && remote->greeting.prefers_legacy))
		initialize(remote);
	else
		discover(remote);
}

void fw_remote__renew(struct fw_remote *remote, struct fw_remote_pending *pending)
{
	pending->is_waiting = true;
	pending->is_repeated = true;
	if (remote->state == FW_REMOTE_GREETING)
		return;
	/* It was sent before another request has begun this session. */
	if (pending->session != fw_link_session(remote->link)) {
		fw_remote__send_waiting(remote);
		return;
	}
	remote->state = FW_REMOTE_GREETING;
	remote->greeting.is_renewal = true;
	remote->greeting.due_ms = uv_now(&remote->loop->uv) + remote->options.handshake_ms;
	remote->counts.connects++;
	fw_link_forget_session(remote->link);
	initialize(remote);
}
