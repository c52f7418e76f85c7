/*
 * names.c - which upstream a request is for, and what all of them together can do.
 */
#include <string.h>

#include <faultwire/raise.h>

#include "gate/gate_impl.h"
#include "base/limits.h"
#include "mcp/call.h"

const char *fw_gate_own_name(const struct fw_job *job)
{
	(void)job;
	return NULL;
}

fw_error *fw_gate_route(struct fw_gate *gate, const fw_call *call,
			struct fw_upstream **ret_upstream)
{
	(void)call;
	*ret_upstream = &gate->upstreams[0];
	return NULL;
}

/* ---- the hello -------------------------------------------------------------------- */

struct abilities {
	bool tools;
	bool prompts;
	bool resources;
	bool completions;
	bool logging;
};

static void add_abilities(const struct fw_upstream *upstream, struct abilities *all)
{
	struct fw_scan_member capabilities = { .name = "capabilities" };
	struct fw_scan_member members[] = { { .name = "tools" },
					    { .name = "prompts" },
					    { .name = "resources" },
					    { .name = "completions" },
					    { .name = "logging" } };

	(void)fw_slice_members(fw_remote_hello(upstream->remote), &capabilities, 1);
	(void)fw_slice_members(capabilities.value, members, 5);
	all->tools |= members[0].value.p != NULL;
	all->prompts |= members[1].value.p != NULL;
	all->resources |= members[2].value.p != NULL;
	all->completions |= members[3].value.p != NULL;
	all->logging |= members[4].value.p != NULL;
}

static void put_ability(struct fw_buf *out, bool has, const char *text)
{
	if (!has)
		return;
	if (out->text[out->len - 1] != '{')
		FW_BUF(out, ",");
	fw_buf_str(out, text);
}

static void put_capabilities(struct fw_gate *gate, const struct abilities *all)
{
	struct fw_buf *out = &gate->hello_capabilities;

	fw_buf_reset(out, FW_LIMIT_HELLO_BYTES);
	FW_BUF(out, "{");
	put_ability(out, all->tools, "\"tools\":{\"listChanged\":true}");
	put_ability(out, all->resources,
		    "\"resources\":{\"subscribe\":true,\"listChanged\":true}");
	put_ability(out, all->prompts, "\"prompts\":{\"listChanged\":true}");
	put_ability(out, all->completions, "\"completions\":{}");
	put_ability(out, all->logging, "\"logging\":{}");
	FW_BUF(out, "}");
}

/* A single upstream is shown under its own name. */
static void put_identity(struct fw_gate *gate)
{
	struct fw_scan_member members[] = { { .name = "serverInfo" },
					    { .name = "instructions" },
					    { .name = "_meta" } };
	struct fw_scan_member info = { .name = "io.modelcontextprotocol/serverInfo" };
	struct fw_slice found;

	fw_buf_reset(&gate->hello_server, FW_LIMIT_HELLO_BYTES);
	fw_buf_reset(&gate->hello_instructions, FW_LIMIT_HELLO_BYTES);
	if (gate->count != 1)
		return;
	(void)fw_slice_members(fw_remote_hello(gate->upstreams[0].remote), members, 3);
	(void)fw_slice_members(members[2].value, &info, 1);
	found = fw_slice_is_object(members[0].value) ? members[0].value : info.value;
	if (fw_slice_is_object(found))
		fw_buf_put(&gate->hello_server, found.p, found.n);
	if (fw_slice_is_string(members[1].value))
		fw_buf_put(&gate->hello_instructions, members[1].value.p, members[1].value.n);
}

void fw_gate_write_hello(struct fw_gate *gate)
{
	struct abilities all = { false, false, false, false, false };
	struct fw_relay_hello *hello = &gate->relay.hello;
	bool is_known = false;

	for (size_t i = 0; i < gate->count; i++) {
		is_known |= fw_remote_hello(gate->upstreams[i].remote).p != NULL;
		add_abilities(&gate->upstreams[i], &all);
	}
	/* Nothing is known of upstreams that have not started: they may offer anything. */
	if (!is_known)
		all = (struct abilities){ true, true, true, true, true };
	put_capabilities(gate, &all);
	put_identity(gate);
	*hello = (struct fw_relay_hello){
		.capabilities = gate->hello_capabilities.state == FW_BUF_OK
					? gate->hello_capabilities.text
					: NULL,
		.instructions =
			gate->hello_instructions.len ? gate->hello_instructions.text : NULL,
		.server = gate->hello_server.len ? gate->hello_server.text : NULL,
		.has_tools = all.tools,
		.has_prompts = all.prompts,
		.has_resources = all.resources,
	};
}
