/*
 * client.c - see client.h. The lifecycle of a client, and its event loop.
 *
 * A call blocks by running the loop until a callback reports its end. One timer limits
 * every wait. An interruption only stops the loop, because a signal handler may do no
 * more.
 */
#include <faultwire/client.h>

#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "client/client_impl.h"
#include "core/options.h"
#include "io/fetch.h"

static const double timeout_default = 60;
/* How long to wait for the end of an HTTP session, and how often to check. */
enum { GOODBYE_MS = 1000, GOODBYE_STEP_MS = 5 };

void fw_client__report(const fw_client *client, const fw_client_event *event)
{
	if (client->options.event)
		client->options.event(client->options.ctx, event);
}

/* ---- the loop -------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
	fw_client *client = timer->data;

	client->timer_fired = true;
	fw_loop_stop(&client->loop);
}

void fw_client__wait(fw_client *client, const bool *is_over, double seconds)
{
	static const double longest = 30.0 * 24 * 3600;

	client->timer_fired = false;
	uv_update_time(&client->loop.uv);
	if (seconds >= 0)
		(void)uv_timer_start(&client->timer, on_timer,
				     (uint64_t)((seconds < longest ? seconds : longest) * 1000),
				     0);
	while (!(is_over && *is_over) && !client->timer_fired &&
	       !atomic_load(&client->is_interrupted) && uv_loop_alive(&client->loop.uv))
		fw_loop_run(&client->loop);
	(void)uv_timer_stop(&client->timer);
}

void fw_client__flush(fw_client *client)
{
	atomic_store(&client->is_interrupted, false);
	for (int passed_ms = 0;
	     passed_ms < GOODBYE_MS && client->fetcher && fw_fetcher_is_busy(client->fetcher);
	     passed_ms += GOODBYE_STEP_MS)
		fw_client__wait(client, NULL, GOODBYE_STEP_MS / 1000.0);
}

void fw_client_interrupt(fw_client *client)
{
	atomic_store(&client->is_interrupted, true);
	fw_loop_stop(&client->loop);
}

bool fw_client__left(const fw_client *client, double *ret_seconds)
{
	uint64_t passed_ms = uv_hrtime() / 1000000 - client->started_ms;
	double passed = (double)passed_ms / 1000;

	if (!(client->options.deadline > 0))
		return false;
	*ret_seconds =
		client->options.deadline > passed ? client->options.deadline - passed : 0;
	return true;
}

/* ---- the connection ----------------------------------------------------------------- */

static void on_ready(void *ctx)
{
	fw_client *client = ctx;
	const char *version = fw_version_names[fw_remote_version(client->remote)];
	struct fw_slice hello = fw_remote_hello(client->remote);

	fw__release(client->server);
	client->server = fw__allocate(hello.n + 1);
	if (client->server) {
		memcpy(client->server, hello.p, hello.n);
		client->server[hello.n] = '\0';
	}
	client->is_settled = true;
	fw_client__report(client, &(fw_client_event){ .kind = FW_CLIENT_READY,
						      .text = version,
						      .len = strlen(version) });
	fw_loop_stop(&client->loop);
}

static void on_down(void *ctx, fw_error *err)
{
	fw_client *client = ctx;

	fw_error_free(client->down);
	client->down = err;
	client->is_settled = true;
	fw_loop_stop(&client->loop);
}

static void on_notified(void *ctx, uint64_t key, const struct fw_scan *message)
{
	fw_client *client = ctx;

	(void)key;
	if (fw_slice_equals(message->method, "notifications/message"))
		fw_client__report(client, &(fw_client_event){ .kind = FW_CLIENT_LOG,
							      .attempt = client->attempts,
							      .text = message->params.p,
							      .len = message->params.n });
}

static void on_stray(void *ctx, const char *text, size_t len)
{
	fw_client__report(
		ctx, &(fw_client_event){ .kind = FW_CLIENT_STRAY, .text = text, .len = len });
}

static void on_trace(void *ctx, bool is_sent, const char *text, size_t len)
{
	fw_client__report(
		ctx, &(fw_client_event){ .kind = is_sent ? FW_CLIENT_SENT : FW_CLIENT_RECEIVED,
					 .text = text,
					 .len = len });
}

/* The handshake must end before the deadline of the request that needs it. */
static void limit_handshake(fw_client *client)
{
	uint32_t limit_ms = FW_LIMIT_HANDSHAKE_MS;
	double left;

	if (fw_client__left(client, &left) && left * 1000 < limit_ms)
		limit_ms = left * 1000 >= 1 ? (uint32_t)(left * 1000) : 1;
	fw_remote_set_handshake(client->remote, limit_ms);
}

fw_error *fw_client__connect(fw_client *client)
{
	fw_error *err;

	if (fw_remote_state(client->remote) == FW_REMOTE_READY)
		return NULL;
	client->is_settled = false;
	fw_error_free(client->down);
	client->down = NULL;
	limit_handshake(client);
	fw_remote_connect(client->remote);
	fw_client__wait(client, &client->is_settled, -1);
	if (fw_remote_state(client->remote) == FW_REMOTE_READY)
		return NULL;
	if (atomic_load(&client->is_interrupted))
		return fw_raise_runtime_cancelled();
	err = client->down;
	client->down = NULL;
	return err ? err : fw_raise_upstream_closed(client->options.name);
}

/* ---- lifecycle ------------------------------------------------------------------------ */

static fw_error *open_remote(fw_client *client)
{
	const fw_client_options *options = &client->options;
	struct fw_remote_options how = {
		.target = { .name = options->name,
			    .argv = options->command,
			    .environment = options->environment ? options->environment
								: (const char *const *)environ,
			    .directory = options->directory,
			    .url = options->url,
			    .headers = options->headers },
		.era = options->era == FW_CLIENT_LEGACY   ? FW_REMOTE_LEGACY
		       : options->era == FW_CLIENT_MODERN ? FW_REMOTE_MODERN
							  : FW_REMOTE_AUTO,
		.client = options->client,
		.capabilities = options->capabilities,
		.on = { .ready = on_ready,
			.down = on_down,
			.notified = on_notified,
			.asked = fw_client__asked,
			.stray = on_stray,
			.trace = on_trace },
		.ctx = client,
	};

	if (options->url)
		FW_TRY(fw_fetcher_new(&client->loop, &client->fetcher));
	return fw_remote_new(&client->loop, client->fetcher, &how, &client->remote);
}

fw_error *fw_client_new(const fw_client_options *options, fw_client **ret_client)
{
	fw_client_options known = FW_CLIENT_OPTIONS_INIT;
	fw_client *client;
	fw_error *err;

	FW_TRY(fw_options_read("fw_client_new", options, &known, sizeof known));
	if (!known.command == !known.url)
		return fw_raise_internal_api_misuse("fw_client_new",
						    "either command or url must be given");
	if (!known.name)
		known.name = "server";
	if (!(known.timeout > 0))
		known.timeout = timeout_default;
	client = fw__allocate(sizeof *client);
	if (!client)
		return fw_raise_internal_out_of_memory();
	memset(client, 0, sizeof *client);
	client->options = known;
	fw_buf_init(&client->text, FW_LIMIT_CHILD_LINE_BYTES);
	if (fw_loop_init(&client->loop) != 0) {
		fw__release(client);
		return fw_raise_internal_out_of_memory();
	}
	(void)uv_timer_init(&client->loop.uv, &client->timer);
	client->timer.data = client;
	err = open_remote(client);
	if (err) {
		fw_client_free(client);
		return err;
	}
	*ret_client = client;
	return NULL;
}

void fw_client_free(fw_client *client)
{
	if (!client)
		return;
	if (client->remote) {
		fw_remote_disconnect(client->remote);
		/* Allow the request that ends an HTTP session to be sent. */
		fw_client__flush(client);
		fw_remote_free(client->remote);
	}
	fw_fetcher_free(client->fetcher);
	uv_close((uv_handle_t *)&client->timer, NULL);
	fw_loop_close(&client->loop);
	fw_error_free(client->down);
	fw_error_free(client->err);
	fw_buf_clear(&client->text);
	yyjson_doc_free(client->tools);
	fw__release(client->failure);
	fw__release(client->server);
	fw__release(client);
}

/* ---- questions about it ----------------------------------------------------------------- */

const fw_decision *fw_client_decision(const fw_client *client)
{
	return &client->decision;
}

unsigned fw_client_attempts(const fw_client *client)
{
	return client->attempts;
}

const char *fw_client_failure(const fw_client *client)
{
	return client->failure;
}

const char *fw_client_server(const fw_client *client)
{
	return client->server;
}

size_t fw_client_stderr(const fw_client *client, char *buf, size_t cap)
{
	return fw_remote_stderr(client->remote, buf, cap);
}

void fw_client_result_clear(fw_client_result *result)
{
	fw__release(result->text);
	*result = (fw_client_result){ .text = NULL };
}
