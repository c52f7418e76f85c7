/*
 * gate.c - see gate.h. The lifecycle of a gateway, and the callbacks from its server.
 */
#include "gate/gate.h"

#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "gate/gate_impl.h"
#include "gate/pins.h"
#include "gate/question.h"
#include "io/fetch.h"
#include "mcp/call.h"
#include "mcp/principal.h"
#include "mcp/server.h"
#include "rpc/names.h"

static struct fw_gate *gate_of(struct fw_relay *relay)
{
	return (struct fw_gate *)relay;
}

/* ---- what the server calls --------------------------------------------------------- */

static void connect_all(struct fw_gate *gate)
{
	for (size_t i = 0; i < gate->count; i++)
		fw_upstream_connect(&gate->upstreams[i]);
}

static void on_start(struct fw_relay *relay)
{
	struct fw_gate *gate = gate_of(relay);

	if (gate->options.is_http) {
		fw_question_offer(gate, NULL);
		connect_all(gate);
	}
}

/* With a single client, its capabilities decide what upstreams may ask. */
static void offer(struct fw_gate *gate, const fw_call *call)
{
	if (gate->has_offer || gate->options.is_http)
		return;
	gate->has_offer = true;
	gate->is_greeting = strcmp(call->request.method_name, FW_METHOD_INITIALIZE) == 0;
	fw_question_offer(gate, call);
	for (size_t i = 0; i < gate->count && !call->request.is_modern; i++)
		fw_remote_prefer_legacy(gate->upstreams[i].remote);
}

static bool is_settled(struct fw_relay *relay, const fw_call *call)
{
	struct fw_gate *gate = gate_of(relay);
	bool is_all = true;

	offer(gate, call);
	connect_all(gate);
	for (size_t i = 0; i < gate->count; i++)
		is_all &= gate->upstreams[i].is_settled;
	return is_all;
}

static void on_take(struct fw_relay *relay, fw_call *call)
{
	offer(gate_of(relay), call);
	fw_job_take(gate_of(relay), call);
}

static void on_abandon(struct fw_relay *relay, fw_call *call)
{
	(void)relay;
	fw_job_abandon(call);
}

/* Every upstream has to be notified when the client's roots have changed. */
static void on_notified(struct fw_relay *relay, const fw_call *call)
{
	struct fw_gate *gate = gate_of(relay);
	const struct fw_slice none = { NULL, 0 };

	for (size_t i = 0; i < gate->count; i++) {
		const struct fw_upstream *legacy = gate->upstreams[i].legacy;
		struct fw_remote *remote = (legacy ? legacy : &gate->upstreams[i])->remote;

		if (fw_remote_state(remote) == FW_REMOTE_READY && !fw_remote_is_modern(remote))
			fw_remote_notify(remote, call->request.method_name, none);
	}
}

static void on_levelled(struct fw_relay *relay, int level)
{
	struct fw_gate *gate = gate_of(relay);

	for (size_t i = 0; i < gate->count; i++)
		fw_upstream_set_level(&gate->upstreams[i], level);
}

/* The resources that a client subscribes to may belong to any upstream. */
static void on_listening(struct fw_relay *relay, bool is_legacy, char *const *uris,
			 size_t count)
{
	struct fw_gate *gate = gate_of(relay);

	for (size_t i = 0; i < gate->count && count; i++)
		fw_upstream_listen_to(&gate->upstreams[i], is_legacy, uris, count);
}

static const char *on_toolset_of(struct fw_relay *relay, const char *tool)
{
	return fw_gate_upstream_of(gate_of(relay), tool);
}

/* A caller that waits for the merged list. */
struct asked_list {
	struct fw_gate *gate;
	fw_principal *principal;
	struct fw_gathering *gathering;
	fw_relay_listed_fn *done;
	void *ctx;
};

static void on_listed(void *ctx)
{
	struct asked_list *asked = ctx;
	const fw_server *server = asked->gate->relay.server;
	struct fw_buf out;
	fw_error *err;

	fw_buf_init(&out, server->limits.result_bytes);
	err = fw_gate_merge(asked->gate, FW_LISTING_TOOLS, asked->principal, &out);
	asked->done(asked->ctx, (struct fw_slice){ err ? NULL : out.text, out.len }, err);
	fw_buf_clear(&out);
	fw_principal_unref(asked->principal);
	fw__release(asked);
}

static void on_list(struct fw_relay *relay, const fw_principal *principal,
		    fw_relay_listed_fn *done, void *ctx)
{
	struct asked_list *asked = fw__allocate(sizeof *asked);

	if (!asked) {
		done(ctx, (struct fw_slice){ NULL, 0 }, fw_raise_internal_out_of_memory());
		return;
	}
	*asked = (struct asked_list){ gate_of(relay),
				      fw_principal_ref((fw_principal *)principal), NULL, done,
				      ctx };
	fw_gathering_begin(asked->gate, FW_LISTING_TOOLS, false, on_listed, asked,
			   &asked->gathering);
}

static void on_stop(struct fw_relay *relay)
{
	struct fw_gate *gate = gate_of(relay);

	gate->is_stopped = true;
	for (size_t i = 0; i < gate->count; i++)
		fw_upstream_disconnect(&gate->upstreams[i]);
	fw_question_stop(gate);
}

static void on_initialized(struct fw_relay *relay)
{
	fw_question_greeted(gate_of(relay));
}

static void on_answered(struct fw_relay *relay, void *asker, const fw_call *message)
{
	fw_question_answered(gate_of(relay), asker, message);
}

/* ---- lifecycle ------------------------------------------------------------------------ */

static fw_error *add_upstreams(struct fw_gate *gate)
{
	size_t size = gate->options.count * sizeof *gate->upstreams;

	gate->upstreams = fw__allocate(size);
	if (!gate->upstreams)
		return fw_raise_internal_out_of_memory();
	memset(gate->upstreams, 0, size);
	for (size_t i = 0; i < gate->options.count; i++) {
		const struct fw_gate_entry *entry = &gate->options.entries[i];

		if (!entry->target.argv && !gate->fetcher)
			FW_TRY(fw_fetcher_new(gate->loop, &gate->fetcher));
		FW_TRY(fw_upstream_init(&gate->upstreams[i], gate, entry,
					fw_upstream_era(gate, entry)));
		gate->count++;
	}
	return NULL;
}

fw_error *fw_gate_new(struct fw_loop *loop, const struct fw_gate_options *options,
		      struct fw_gate **ret_gate)
{
	struct fw_gate *gate = fw__allocate(sizeof *gate);
	fw_error *err;

	if (!gate)
		return fw_raise_internal_out_of_memory();
	memset(gate, 0, sizeof *gate);
	gate->loop = loop;
	gate->options = *options;
	fw_buf_init(&gate->params, FW_LIMIT_CHILD_UNSENT_BYTES);
	fw_buf_init(&gate->meta, FW_LIMIT_HELLO_BYTES);
	fw_buf_init(&gate->scratch, FW_LIMIT_HELLO_BYTES);
	fw_buf_init(&gate->capabilities, FW_LIMIT_HELLO_BYTES);
	fw_buf_init(&gate->hello_capabilities, FW_LIMIT_HELLO_BYTES);
	fw_buf_init(&gate->hello_instructions, FW_LIMIT_HELLO_BYTES);
	fw_buf_init(&gate->hello_server, FW_LIMIT_HELLO_BYTES);
	err = fw_pins_new(options->pin_file, &gate->pins);
	if (!err)
		err = add_upstreams(gate);
	if (err) {
		fw_gate_free(gate);
		return err;
	}
	*ret_gate = gate;
	return NULL;
}

void fw_gate_attach(struct fw_gate *gate, fw_server *server)
{
	static const struct fw_relay_ops ops = { .start = on_start,
						 .is_settled = is_settled,
						 .take = on_take,
						 .abandon = on_abandon,
						 .notified = on_notified,
						 .levelled = on_levelled,
						 .listening = on_listening,
						 .list = on_list,
						 .initialized = on_initialized,
						 .answered = on_answered,
						 .toolset_of = on_toolset_of,
						 .stop = on_stop };

	gate->relay.ops = &ops;
	fw_relay_attach(&gate->relay, server);
}

fw_error *fw_gate_each_breaker(struct fw_gate *gate,
			       fw_error *(*use)(void *ctx, const char *url,
						struct fw_breaker *breaker),
			       void *ctx)
{
	for (size_t i = 0; i < gate->count; i++) {
		struct fw_upstream *upstream = &gate->upstreams[i];

		if (upstream->entry->target.url)
			FW_TRY(use(ctx, upstream->entry->target.url, &upstream->breaker));
	}
	return NULL;
}

void fw_gate_free(struct fw_gate *gate)
{
	if (!gate)
		return;
	fw_question_stop(gate);
	for (size_t i = 0; i < gate->count; i++)
		fw_upstream_clear(&gate->upstreams[i]);
	fw__release(gate->upstreams);
	fw_pins_free(gate->pins);
	fw_fetcher_free(gate->fetcher);
	fw_buf_clear(&gate->params);
	fw_buf_clear(&gate->meta);
	fw_buf_clear(&gate->scratch);
	fw_buf_clear(&gate->capabilities);
	fw_buf_clear(&gate->hello_capabilities);
	fw_buf_clear(&gate->hello_instructions);
	fw_buf_clear(&gate->hello_server);
	fw__release(gate);
}

bool fw_gate_status(const struct fw_gate *gate, size_t index, struct fw_gate_status *ret_status)
{
	const struct fw_upstream *upstream;
	const struct fw_remote_counts *counts;

	if (index >= gate->count)
		return false;
	upstream = &gate->upstreams[index];
	counts = fw_remote_counts(upstream->remote);
	*ret_status = (struct fw_gate_status){
		.name = upstream->entry->target.name,
		.is_up = fw_remote_state(upstream->remote) == FW_REMOTE_READY,
		.connects = counts->connects,
		.late = counts->late,
		.stray = counts->stray,
		.unmatched = counts->unmatched,
		.changed_tools = upstream->changed_tools,
		.is_suspended = upstream->breaker.is_open,
		.is_tried = upstream->breaker.trial != NULL,
		.fault = upstream->fault,
		.in_flight = upstream->in_flight,
	};
	if (upstream->legacy) {
		const struct fw_upstream *legacy = upstream->legacy;

		counts = fw_remote_counts(legacy->remote);
		/* The first connection is not a restart, so it is not added. */
		ret_status->connects += counts->connects ? counts->connects - 1 : 0;
		ret_status->late += counts->late;
		ret_status->stray += counts->stray;
		ret_status->unmatched += counts->unmatched;
		ret_status->is_suspended |= legacy->breaker.is_open;
		ret_status->is_tried |= legacy->breaker.trial != NULL;
	}
	memcpy(ret_status->outcomes, upstream->outcomes, sizeof ret_status->outcomes);
	return true;
}
