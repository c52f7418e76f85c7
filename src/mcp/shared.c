/*
 * shared.c - a text that the tools of a set share. A run sees it as it was
 * when the run began, and what the run makes of it counts when the run ends:
 * so no copy is needed, and no lock.
 */
#include <string.h>

#include "base/mem.h"
#include "mcp/impl.h"
#include "mcp/op.h"

/* Never changed; freed by the last who uses it. All on the loop's thread. */
struct fw_version_of_state {
	size_t refs;
	size_t len;
	char text[];
};

struct fw_state {
	struct fw_state *next;
	struct fw_version_of_state *now;
};

static struct fw_version_of_state *version_new(const char *text, size_t len)
{
	struct fw_version_of_state *version = NULL;

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

static void version_unref(struct fw_version_of_state *version)
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
	state->next = server->states;
	server->states = state;
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
	struct fw_version_of_state *version = version_new(text, len);

	if (!version)
		return false;
	version_unref(state->now);
	state->now = version;
	return true;
}

void fw_states_free(fw_server *server)
{
	while (server->states) {
		fw_state *state = server->states;

		server->states = state->next;
		version_unref(state->now);
		fw__release(state);
	}
}

/* ---- a run ------------------------------------------------------------------------ */

void fw_shared_begin(fw_call *call)
{
	call->state = call->offer->state->now;
	call->state->refs++;
}

void fw_shared_end(fw_call *call, bool counts)
{
	version_unref(call->state);
	call->state = NULL;
	if (call->new_state && counts) {
		version_unref(call->offer->state->now);
		call->offer->state->now = call->new_state;
	} else {
		version_unref(call->new_state);
	}
	call->new_state = NULL;
}

/* By whoever runs the handler; the loop looks at it when the run is over. */
void fw_state_apply(fw_call *call, const char *text, size_t len)
{
	struct fw_version_of_state *version;

	if (!call->offer || !call->offer->state) {
		if (!call->fault)
			call->fault = fw_raise_internal_api_misuse("fw_call_set_state",
								   "this tool has no state");
		return;
	}
	version = version_new(text, len);
	if (!version) {
		if (!call->fault)
			call->fault = len > FW_LIMIT_SHARED_BYTES
					      ? fw_raise_input_too_large("state",
									 FW_LIMIT_SHARED_BYTES)
					      : fw_raise_internal_out_of_memory();
		return;
	}
	version_unref(call->new_state);
	call->new_state = version;
}

const char *fw_call_state(const fw_call *call, size_t *ret_len)
{
	if (call->recorder) {
		if (ret_len)
			*ret_len = call->recorder->state_len;
		return call->recorder->state;
	}
	if (ret_len)
		*ret_len = call->state ? call->state->len : 0;
	return call->state ? call->state->text : NULL;
}
