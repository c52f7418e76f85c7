/*
 * names.c - finds the upstream of a request, and merges the capabilities of all
 * upstreams.
 */
#include "gate/names.h"

#include <stdio.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "gate/gate_impl.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/text.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/offer.h"

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

void fw_gate_prefix(const char *server, char ret_prefix[FW_GATE_PREFIX_SIZE])
{
	size_t len = 0;

	for (; *server && len < FW_GATE_PREFIX_SIZE - 1; server++)
		ret_prefix[len++] = is_plain(*server) ? *server : '_';
	ret_prefix[len] = '\0';
}

void fw_gate_full_name(const struct fw_upstream *upstream, const char *name,
		       char ret_name[FW_GATE_NAME_SIZE])
{
	char prefix[FW_GATE_PREFIX_SIZE];

	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are `count` of them */
	fw_gate_prefix(upstream->entry->target.name, prefix);
	(void)snprintf(ret_name, FW_GATE_NAME_SIZE, "%s__%s", prefix, name);
}

const char *fw_gate_bare_name(const struct fw_upstream *upstream, const char *name)
{
	char prefix[FW_GATE_NAME_SIZE];
	size_t len;

	fw_gate_full_name(upstream, "", prefix);
	len = strlen(prefix);
	return strncmp(name, prefix, len) == 0 && name[len] ? name + len : NULL;
}

const char *fw_gate_own_name(const struct fw_job *job)
{
	return job->own_name;
}

/* ---- routing ------------------------------------------------------------------------ */

/* Returns the name in the call, and the kind of list to look it up in. */
static const char *named(const fw_call *call, int *ret_kind)
{
	yyjson_val *ref = fw_json_member(call->request.params, "ref");
	const char *name = fw_text_str(fw_text_of(fw_json_member(ref, "name")));

	*ret_kind = -1;
	if (!call->request.method)
		return NULL;
	switch (call->request.kind) {
	case FW_CALL_TOOL: *ret_kind = FW_LISTING_TOOLS; return call->request.name;
	case FW_CALL_PROMPT: *ret_kind = FW_LISTING_PROMPTS; return call->request.name;
	case FW_CALL_RESOURCE: *ret_kind = FW_LISTING_RESOURCES; return call->request.name;
	case FW_CALL_COMPLETE:
		*ret_kind = name ? FW_LISTING_PROMPTS : FW_LISTING_RESOURCES;
		return name ? name : fw_text_str(fw_text_of(fw_json_member(ref, "uri")));
	case FW_CALL_OTHER: break;
	}
	name = fw_text_str(fw_text_of(fw_json_member(call->request.params, "uri")));
	if (name)
		*ret_kind = FW_LISTING_RESOURCES;
	return name;
}

int fw_gate_route_kind(const fw_call *call)
{
	int kind;

	(void)named(call, &kind);
	return kind;
}

static bool matches_template(const struct fw_upstream *upstream, const char *uri)
{
	const struct fw_listing *templates = &upstream->listings[FW_LISTING_TEMPLATES];

	for (size_t i = 0; i < templates->count; i++)
		if (strcmp(templates->items[i].name, uri) == 0 ||
		    fw_template_match(templates->items[i].name, uri, strlen(uri), NULL, NULL))
			return true;
	return false;
}

/* The only upstream that has this name. NULL: none has it, or several have it. */
static struct fw_upstream *find_exact(struct fw_gate *gate, int kind, const char *name,
				      const struct fw_listing_item **ret_item)
{
	struct fw_upstream *found = NULL;

	for (size_t i = 0; i < gate->count; i++) {
		struct fw_upstream *upstream = &gate->upstreams[i];
		const struct fw_listing_item *item =
			fw_listing_find(&upstream->listings[kind], name);

		if (!item &&
		    (kind != FW_LISTING_RESOURCES || !matches_template(upstream, name)))
			continue;
		/* Two upstreams may offer the same resource. The first one is used. */
		if (found && kind != FW_LISTING_RESOURCES)
			return NULL;
		if (!found) {
			found = upstream;
			*ret_item = item;
		}
	}
	return found;
}

static struct fw_upstream *find_prefixed(struct fw_gate *gate, int kind, const char *name,
					 const struct fw_listing_item **ret_item,
					 const char **ret_bare)
{
	for (size_t i = 0; i < gate->count && kind != FW_LISTING_RESOURCES; i++) {
		struct fw_upstream *upstream = &gate->upstreams[i];
		const char *bare = fw_gate_bare_name(upstream, name);

		if (!bare)
			continue;
		*ret_item = fw_listing_find(&upstream->listings[kind], bare);
		*ret_bare = bare;
		/* If the list is not known, the prefix is enough: the upstream checks the
		 * name itself. */
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are `count` of them */
		if (*ret_item || !upstream->listings[kind].is_loaded)
			return upstream;
	}
	return NULL;
}

/* True: the name has a prefix that is not an upstream's. It is copied to `ret_prefix`. */
static bool has_unknown_prefix(struct fw_gate *gate, const char *name, char *ret_prefix,
			       size_t size)
{
	const char *end = strstr(name, "__");

	if (gate->count < 2 || !end || end == name || !end[2] || (size_t)(end - name) >= size)
		return false;
	for (size_t i = 0; i < gate->count; i++)
		if (fw_gate_bare_name(&gate->upstreams[i], name))
			return false;
	(void)snprintf(ret_prefix, size, "%.*s", (int)(end - name), name);
	return true;
}

/* Why a list is not known. NULL: all lists are known. */
static const fw_error *fault_of_list(const struct fw_gate *gate, int kind)
{
	for (size_t i = 0; i < gate->count; i++)
		if (!gate->upstreams[i].listings[kind].is_loaded &&
		    gate->upstreams[i].list_faults[kind])
			return gate->upstreams[i].list_faults[kind];
	return NULL;
}

static fw_error *not_found(struct fw_gate *gate, const fw_call *call, int kind,
			   const char *name)
{
	const fw_error *fault = fault_of_list(gate, kind);
	char prefix[128];

	if ((call->request.kind == FW_CALL_TOOL || call->request.kind == FW_CALL_PROMPT) &&
	    has_unknown_prefix(gate, name, prefix, sizeof prefix))
		return fw_raise_upstream_unknown(prefix);
	if (!fault && kind == FW_LISTING_RESOURCES)
		fault = fault_of_list(gate, FW_LISTING_TEMPLATES);
	/* The name may belong to the upstream whose list could not be fetched. */
	if (fault)
		return fw_upstream_copy_error(fault);
	switch (call->request.kind) {
	case FW_CALL_TOOL: return fw_raise_protocol_unknown_tool(name);
	case FW_CALL_PROMPT: return fw_raise_protocol_prompt_not_found(name);
	default: return fw_raise_protocol_resource_not_found(name);
	}
}

/* The operator restricts which tools may be called, so the list must be up to date before
 * the first call. */
static bool needs_own_list(const struct fw_upstream *upstream, int kind)
{
	const struct fw_gate_entry *entry = upstream->entry;

	return kind == FW_LISTING_TOOLS && !upstream->listings[kind].is_loaded &&
	       (entry->allow || entry->deny || upstream->gate->options.pin_file);
}

fw_error *fw_gate_route(struct fw_job *job, bool is_final)
{
	struct fw_gate *gate = job->gate;
	const struct fw_listing_item *item = NULL;
	const char *bare = NULL;
	int kind;
	const char *name = named(job->call, &kind);

	if (kind < 0 || !fw_gate_needs_lists(gate, (enum fw_listing_kind)kind)) {
		if (gate->count > 1)
			return fw_raise_protocol_method_not_found(
				job->call->request.method_name);
		job->upstream = &gate->upstreams[0];
		return NULL;
	}
	if (!name)
		return fw_raise_protocol_invalid_params("/params", "the name of what is meant");
	job->upstream = find_exact(gate, kind, name, &item);
	if (!job->upstream)
		job->upstream = find_prefixed(gate, kind, name, &item, &bare);
	if (job->upstream && needs_own_list(job->upstream, kind))
		job->upstream = NULL;
	if (!job->upstream)
		return is_final ? not_found(gate, job->call, kind, name) : NULL;
	if (item && item->is_refused)
		return fw_raise_upstream_tool_changed(job->upstream->entry->target.name,
						      item->name);
	job->is_safe = item && item->is_safe && gate->options.trusts_annotations;
	if (bare) {
		job->own_name = fw_strdup(bare);
		if (!job->own_name)
			return fw_raise_internal_out_of_memory();
	}
	return NULL;
}

const char *fw_gate_upstream_of(struct fw_gate *gate, const char *tool)
{
	const struct fw_listing_item *item;
	const struct fw_upstream *upstream = NULL;
	const char *bare;

	if (!tool)
		return NULL;
	if (gate->count == 1)
		upstream = &gate->upstreams[0];
	else
		upstream = find_exact(gate, FW_LISTING_TOOLS, tool, &item);
	if (!upstream)
		upstream = find_prefixed(gate, FW_LISTING_TOOLS, tool, &item, &bare);
	return upstream ? upstream->entry->target.name : NULL;
}

/* ---- the reply to a handshake ----------------------------------------------------- */

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
	if (out->len && out->text[out->len - 1] != '{')
		FW_BUF(out, ",");
	fw_buf_str(out, text);
}

#define TOOLS "\"tools\":{\"listChanged\":true}"
#define RESOURCES "\"resources\":{\"subscribe\":true,\"listChanged\":true}"
#define PROMPTS "\"prompts\":{\"listChanged\":true}"
#define COMPLETIONS "\"completions\":{}"
#define LOGGING "\"logging\":{}"

static const char everything[] =
	"{" TOOLS "," RESOURCES "," PROMPTS "," COMPLETIONS "," LOGGING "}";

static const char *put_capabilities(struct fw_gate *gate, const struct abilities *all)
{
	struct fw_buf *out = &gate->hello_capabilities;

	fw_buf_reset(out, FW_LIMIT_HELLO_BYTES);
	FW_BUF(out, "{");
	put_ability(out, all->tools, TOOLS);
	put_ability(out, all->resources, RESOURCES);
	put_ability(out, all->prompts, PROMPTS);
	put_ability(out, all->completions, COMPLETIONS);
	put_ability(out, all->logging, LOGGING);
	FW_BUF(out, "}");
	/* Out of memory: offer everything. A client never asks for what is not offered,
	 * but an empty list does no harm. */
	return out->state == FW_BUF_OK ? out->text : everything;
}

/* With a single upstream, the gateway presents itself under that upstream's name. */
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
	bool is_known = true;

	for (size_t i = 0; i < gate->count; i++) {
		is_known &= fw_remote_hello(gate->upstreams[i].remote).p != NULL;
		add_abilities(&gate->upstreams[i], &all);
	}
	/* An upstream that has not started yet may offer anything. */
	if (!is_known)
		all = (struct abilities){ true, true, true, true, true };
	put_identity(gate);
	*hello = (struct fw_relay_hello){
		.capabilities = put_capabilities(gate, &all),
		.instructions =
			gate->hello_instructions.len ? gate->hello_instructions.text : NULL,
		.server = gate->hello_server.len ? gate->hello_server.text : NULL,
		.has_tools = all.tools,
		.has_prompts = all.prompts,
		.has_resources = all.resources,
	};
}
