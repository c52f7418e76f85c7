/*
 * shared.c - text that several tools share. A run reads the version that was
 * current when it began, and what it sets becomes current when it ends: so
 * neither copies nor locks are needed.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mcp/call.h"
#include "mcp/op.h"
#include "mcp/server.h"
#include "mcp/shared.h"

/* Immutable; freed with the last reference. On the loop's thread only. */
struct fw_shared_version {
	size_t refs;
	size_t len;
	char text[];
};

struct fw_state {
	struct fw_state *next;
	struct fw_shared_version *now;
};

static struct fw_shared_version *version_new(const char *text, size_t len)
{
	struct fw_shared_version *version = NULL;

	if (len <= FW_LIMIT_SHARED_BYTES && (text || !len))
		version = fw__allocate(sizeof *version + len + 1);
	if (!version)
		return NULL;
	version->refs = 1;
	version->len = len;
	if (len)
		memcpy(version->text, text, len);
	version->text[len] = '\0';
	return version;
}

static void version_unref(struct fw_shared_version *version)
{
	if (version && --version->refs == 0)
		fw__release(version);
}

fw_error *fw_server_add_state(fw_server *server, const char *text, size_t len,
			      fw_state **ret_state)
{
	fw_state *state;

	if (!server || !ret_state || (!text && len))
		return fw_raise_internal_api_misuse("fw_server_add_state", "NULL argument");
	if (len > FW_LIMIT_SHARED_BYTES)
		return fw_raise_input_too_large("state", FW_LIMIT_SHARED_BYTES);
	state = fw__allocate(sizeof *state);
	if (!state)
		return fw_raise_internal_out_of_memory();
	state->now = version_new(text, len);
	if (!state->now) {
		fw__release(state);
		return fw_raise_internal_out_of_memory();
	}
	state->next = server->offers.states;
	server->offers.states = state;
	*ret_state = state;
	return NULL;
}

const char *fw_state_text(const fw_state *state, size_t *ret_len)
{
	if (ret_len)
		*ret_len = state->now->len;
	return state->now->text;
}

bool fw_state_set(fw_state *state, const char *text, size_t len)
{
	struct fw_shared_version *version = version_new(text, len);

	if (!version)
		return false;
	version_unref(state->now);
	state->now = version;
	return true;
}

void fw_shared_free_all(fw_server *server)
{
	while (server->offers.states) {
		fw_state *state = server->offers.states;

		server->offers.states = state->next;
		version_unref(state->now);
		fw__release(state);
	}
}

/* ---- a run ------------------------------------------------------------------------ */

static fw_state *state_of(const fw_call *call)
{
	return call->run.own_state ? call->run.own_state : call->request.offer->state;
}

void fw_call_use_state(fw_call *call, fw_state *state)
{
	call->run.own_state = state;
}

void fw_shared_begin(fw_call *call)
{
	call->run.state = state_of(call)->now;
	call->run.state->refs++;
}

void fw_shared_end(fw_call *call, bool counts)
{
	version_unref(call->run.state);
	call->run.state = NULL;
	if (call->run.new_state && counts) {
		version_unref(state_of(call)->now);
		state_of(call)->now = call->run.new_state;
	} else {
		version_unref(call->run.new_state);
	}
	call->run.new_state = NULL;
}

/* On the thread that runs the handler; the loop reads it when the run is over. */
void fw_shared_apply(fw_call *call, const char *text, size_t len)
{
	struct fw_shared_version *version;

	if (!call->request.offer || !call->request.offer->state) {
		if (!call->result.fault)
			call->result.fault = fw_raise_internal_api_misuse(
				"fw_call_set_state", "this tool has no state");
		return;
	}
	version = version_new(text, len);
	if (!version) {
		if (!call->result.fault)
			call->result.fault = len > FW_LIMIT_SHARED_BYTES
						     ? fw_raise_input_too_large(
							       "state", FW_LIMIT_SHARED_BYTES)
						     : fw_raise_internal_out_of_memory();
		return;
	}
	version_unref(call->run.new_state);
	call->run.new_state = version;
}

const char *fw_call_state(const fw_call *call, size_t *ret_len)
{
	if (call->run.recorder) {
		if (ret_len)
			*ret_len = call->run.recorder->state_len;
		return call->run.recorder->state;
	}
	if (ret_len)
		*ret_len = call->run.state ? call->run.state->len : 0;
	return call->run.state ? call->run.state->text : NULL;
}
