/*
 * merge.c - merges the lists of all upstreams into one. A name that occurs twice gets a
 * prefix.
 */
#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "gate/gate_impl.h"
#include "gate/names.h"
#include "mcp/authority.h"

bool fw_gate_needs_lists(const struct fw_gate *gate, enum fw_listing_kind kind)
{
	const struct fw_gate_entry *entry = gate->upstreams[0].entry;

	if (gate->count > 1)
		return true;
	return kind == FW_LISTING_TOOLS &&
	       (entry->allow || entry->deny || gate->options.pin_file ||
		gate->options.trusts_annotations);
}

bool fw_gate_is_shared(const struct fw_gate *gate, enum fw_listing_kind kind, const char *name)
{
	size_t count = 0;

	if (kind != FW_LISTING_TOOLS && kind != FW_LISTING_PROMPTS)
		return false;
	for (size_t i = 0; i < gate->count; i++)
		count += fw_listing_find(&gate->upstreams[i].listings[kind], name) != NULL;
	return count > 1;
}

/* Writes the item with another name and all other members unchanged, in their order. */
static void put_renamed(struct fw_buf *out, const struct fw_upstream *upstream,
			struct fw_slice item, const char *name)
{
	char full[FW_GATE_NAME_SIZE];
	struct fw_slice key;
	struct fw_slice value;
	const char *at = NULL;
	bool is_first = true;

	fw_gate_full_name(upstream, name, full);
	FW_BUF(out, "{");
	while (fw_slice_next(item, &at, &key, &value)) {
		if (!is_first)
			FW_BUF(out, ",");
		is_first = false;
		fw_buf_put(out, key.p, key.n);
		FW_BUF(out, ":");
		if (fw_slice_equals(key, "name"))
			fw_buf_json_str(out, full);
		else
			fw_buf_put(out, value.p, value.n);
	}
	FW_BUF(out, "}");
}

/* Access rules name a tool as clients see it, so the name in the merged list is checked. */
static bool is_shown(const struct fw_gate *gate, enum fw_listing_kind kind,
		     const struct fw_upstream *upstream, const struct fw_listing_item *item,
		     const fw_principal *principal)
{
	/* Assume that every tool changes something: an upstream's own annotations are not
	 * trusted here. */
	struct fw_listed listed = { .toolset = upstream->entry->target.name, .changes = true };
	char full[FW_GATE_NAME_SIZE];

	if (item->is_refused)
		return false;
	if (kind == FW_LISTING_TOOLS) {
		listed.tool = item->name;
		if (fw_gate_is_shared(gate, kind, item->name)) {
			fw_gate_full_name(upstream, item->name, full);
			listed.tool = full;
		}
	}
	return fw_authority_shows(gate->relay.server, principal, &listed);
}

static void put_items(const struct fw_gate *gate, enum fw_listing_kind kind,
		      const fw_principal *principal, struct fw_buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < gate->count; i++) {
		const struct fw_upstream *upstream = &gate->upstreams[i];
		const struct fw_listing *listing = &upstream->listings[kind];

		/* Leave out an upstream that has failed since. */
		for (size_t n = 0; n < listing->count && !upstream->list_faults[kind]; n++) {
			const struct fw_listing_item *item = &listing->items[n];
			const struct fw_slice json = { listing->text.text + item->offset,
						       item->len };

			if (!is_shown(gate, kind, upstream, item, principal))
				continue;
			if (!is_first)
				FW_BUF(out, ",");
			is_first = false;
			if (fw_gate_is_shared(gate, kind, item->name))
				put_renamed(out, upstream, json, item->name);
			else
				fw_buf_put(out, json.p, json.n);
		}
	}
}

static void put_missing(const struct fw_gate *gate, enum fw_listing_kind kind,
			struct fw_buf *out)
{
	bool is_first = true;

	for (size_t i = 0; i < gate->count; i++) {
		const struct fw_upstream *upstream = &gate->upstreams[i];
		const fw_error *fault = upstream->list_faults[kind];

		if (!fault)
			continue;
		fw_buf_str(out, is_first ? ",\"_meta\":{\"dev.faultwire/missing\":[" : ",");
		is_first = false;
		FW_BUF(out, "{\"upstream\":");
		fw_buf_json_str(out, upstream->entry->target.name);
		FW_BUF(out, ",\"code\":");
		fw_buf_json_str(out, fw_error_name(fault));
		FW_BUF(out, ",\"message\":");
		fw_buf_json_str(out, fw_error_message(fault));
		FW_BUF(out, "}");
	}
	if (!is_first)
		FW_BUF(out, "]}");
}

fw_error *fw_gate_merge(const struct fw_gate *gate, enum fw_listing_kind kind,
			const fw_principal *principal, struct fw_buf *out)
{
	static const char *const members[] = { "tools", "prompts", "resources",
					       "resourceTemplates" };
	const fw_error *fault = NULL;
	size_t faults = 0;

	for (size_t i = 0; i < gate->count; i++) {
		if (!gate->upstreams[i].list_faults[kind])
			continue;
		fault = fault ? fault : gate->upstreams[i].list_faults[kind];
		faults++;
	}
	if (fault && (gate->options.is_strict || faults == gate->count))
		return fw_upstream_copy_error(fault);
	FW_BUF(out, "{\"");
	fw_buf_str(out, members[kind]);
	FW_BUF(out, "\":[");
	put_items(gate, kind, principal, out);
	FW_BUF(out, "]");
	put_missing(gate, kind, out);
	FW_BUF(out, "}");
	if (out->state == FW_BUF_OK)
		return NULL;
	return out->state == FW_BUF_TOO_LARGE ? fw_raise_tool_result_too_large(out->max)
					      : fw_raise_internal_out_of_memory();
}
