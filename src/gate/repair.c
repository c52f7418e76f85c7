/*
 * repair.c - see repair.h.
 *
 * Items are copied member by member. The copy is used only if something was changed, so
 * that a valid list passes byte for byte. Nulls inside schemas are kept, because they can
 * be intended there (`"default": null`).
 */
#include "gate/repair.h"

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "gate/gate_impl.h"
#include "observe/log/log.h"

enum { NAME_BYTES = 256, CURSOR_BYTES = 4096 };

/* A copy, and what was changed in it. */
struct copy {
	struct fw_buf *out;
	const char *change; /* the last change; NULL: none */
};

static const struct {
	const char *list;
	const char *id;
} kinds[FW_LISTING_KINDS] = {
	[FW_LISTING_TOOLS] = { "tools", "name" },
	[FW_LISTING_PROMPTS] = { "prompts", "name" },
	[FW_LISTING_RESOURCES] = { "resources", "uri" },
	[FW_LISTING_TEMPLATES] = { "resourceTemplates", "uriTemplate" },
};

/* ---- writing ---------------------------------------------------------------------- */

static void put_comma(struct fw_buf *out)
{
	if (out->len && !strchr("{[", out->text[out->len - 1]))
		FW_BUF(out, ",");
}

static void put_key(struct copy *copy, struct fw_slice key)
{
	put_comma(copy->out);
	fw_buf_put(copy->out, key.p, key.n);
	FW_BUF(copy->out, ":");
}

static void put_value(struct copy *copy, struct fw_slice value)
{
	fw_buf_put(copy->out, value.p, value.n);
}

/* Copies an object without the members that are null. */
static void put_object(struct copy *copy, struct fw_slice object)
{
	struct fw_slice key, value;
	const char *at = NULL;

	FW_BUF(copy->out, "{");
	while (fw_slice_next(object, &at, &key, &value)) {
		if (fw_slice_is(value, "null")) {
			copy->change = "a member is null";
			continue;
		}
		put_key(copy, key);
		put_value(copy, value);
	}
	FW_BUF(copy->out, "}");
}

static void put_objects(struct copy *copy, struct fw_slice array)
{
	struct fw_slice none, item;
	const char *at = NULL;

	FW_BUF(copy->out, "[");
	while (fw_slice_next(array, &at, &none, &item)) {
		put_comma(copy->out);
		if (fw_slice_is_object(item))
			put_object(copy, item);
		else
			put_value(copy, item);
	}
	FW_BUF(copy->out, "]");
}

/* ---- input schemas ------------------------------------------------------------------ */

static bool has_object(struct fw_slice types)
{
	struct fw_slice none, type;
	const char *at = NULL;

	while (fw_slice_is_array(types) && fw_slice_next(types, &at, &none, &type))
		if (fw_slice_equals(type, "object"))
			return true;
	return false;
}

/* Arguments are always an object, so a missing `type` can only mean "object". */
static bool put_input(struct copy *copy, struct fw_slice schema)
{
	struct fw_scan_member type = { .name = "type" };
	struct fw_slice key, value;
	const char *at = NULL;

	if (!fw_slice_members(schema, &type, 1))
		return false;
	if (fw_slice_equals(type.value, "object")) {
		put_value(copy, schema);
		return true;
	}
	if (type.value.p && !has_object(type.value))
		return false;
	copy->change = "its inputSchema is not of type object";
	FW_BUF(copy->out, "{\"type\":\"object\"");
	while (fw_slice_next(schema, &at, &key, &value)) {
		if (fw_slice_equals(key, "type"))
			continue;
		put_key(copy, key);
		put_value(copy, value);
	}
	FW_BUF(copy->out, "}");
	return true;
}

/* ---- items -------------------------------------------------------------------------- */

/* False: it cannot be corrected. */
static bool put_member(struct copy *copy, enum fw_listing_kind kind, bool has_output,
		       struct fw_slice key, struct fw_slice value)
{
	bool is_tool = kind == FW_LISTING_TOOLS;

	if (fw_slice_is(value, "null")) {
		copy->change = "a member is null";
		return true;
	}
	if (is_tool && fw_slice_equals(key, "outputSchema") && !has_output) {
		copy->change = "its outputSchema cannot be used";
		return true;
	}
	put_key(copy, key);
	if (is_tool && fw_slice_equals(key, "inputSchema"))
		return put_input(copy, value);
	if (fw_slice_equals(key, "annotations") && fw_slice_is_object(value))
		put_object(copy, value);
	else if (kind == FW_LISTING_PROMPTS && fw_slice_equals(key, "arguments") &&
		 fw_slice_is_array(value))
		put_objects(copy, value);
	else
		put_value(copy, value);
	return true;
}

static bool put_item(struct copy *copy, enum fw_listing_kind kind, bool has_output,
		     struct fw_slice item)
{
	struct fw_scan_member parts[] = { { .name = "inputSchema" },
					  { .name = "name" },
					  { .name = kinds[kind].id } };
	struct fw_slice key, value;
	const char *at = NULL;

	(void)fw_slice_members(item, parts, 3);
	FW_BUF(copy->out, "{");
	while (fw_slice_next(item, &at, &key, &value))
		if (!put_member(copy, kind, has_output, key, value))
			return false;
	if (kind == FW_LISTING_TOOLS &&
	    (!parts[0].value.p || fw_slice_is(parts[0].value, "null"))) {
		copy->change = "it has no inputSchema";
		put_comma(copy->out);
		FW_BUF(copy->out, "\"inputSchema\":{\"type\":\"object\"}");
	}
	if (kind >= FW_LISTING_RESOURCES &&
	    (!parts[1].value.p || fw_slice_is(parts[1].value, "null"))) {
		copy->change = "it has no name";
		put_comma(copy->out);
		FW_BUF(copy->out, "\"name\":");
		put_value(copy, parts[2].value);
	}
	FW_BUF(copy->out, "}");
	return true;
}

static void log_item(const struct fw_upstream *upstream, enum fw_listing_kind kind,
		     const char *event, const char *name, const char *reason)
{
	const fw_field fields[] = { fw_log_text("upstream", upstream->entry->target.name),
				    fw_log_text("list", kinds[kind].list),
				    fw_log_text("item", name), fw_log_text("reason", reason) };
	bool is_lost = strcmp(event, "list_item_left_out") == 0;

	fw_log_event(is_lost ? FW_LOG_WARNING : FW_LOG_INFO, "gate", event, fields, 4);
}

static enum fw_repair leave_out(const struct fw_upstream *upstream, enum fw_listing_kind kind,
				const char *name, const char *reason)
{
	log_item(upstream, kind, "list_item_left_out", name, reason);
	return FW_REPAIR_LEFT_OUT;
}

enum fw_repair fw_repair_item(struct fw_upstream *upstream, enum fw_listing_kind kind,
			      struct fw_slice item, struct fw_buf *out)
{
	struct fw_scan_member id = { .name = kinds[kind].id };
	struct copy copy = { .out = out };
	size_t before = out->len;
	bool has_output = true;
	char name[NAME_BYTES] = "";

	if (!fw_slice_members(item, &id, 1) || !fw_slice_is_string(id.value))
		return leave_out(upstream, kind, "", "it has no name");
	(void)fw_slice_text(id.value, name, sizeof name);
	if (kind == FW_LISTING_TOOLS) {
		/* fw_upstream_learns() logs the reason. */
		if (!fw_upstream_learns(upstream, name, item))
			return FW_REPAIR_LEFT_OUT;
		has_output = fw_definitions_has_output(
			&upstream->definitions, upstream->entry->target.name, name, item);
	}
	if (!put_item(&copy, kind, has_output, item)) {
		out->len = before;
		return leave_out(upstream, kind, name, "its inputSchema is not of type object");
	}
	if (!copy.change) {
		out->len = before;
		return FW_REPAIR_NONE;
	}
	log_item(upstream, kind, "list_item_repaired", name, copy.change);
	return FW_REPAIR_DONE;
}

/* ---- lists -------------------------------------------------------------------------- */

bool fw_repair_is_same(struct fw_slice next, struct fw_text cursor)
{
	char text[CURSOR_BYTES];
	size_t len;

	if (!cursor.p || !fw_slice_is_string(next))
		return false;
	len = fw_slice_text(next, text, sizeof text);
	return len < sizeof text && len == cursor.n && memcmp(text, cursor.p, len) == 0;
}

/* True: something was changed. */
static bool put_items(struct fw_upstream *upstream, enum fw_listing_kind kind,
		      struct fw_slice list, struct fw_buf *out)
{
	struct fw_slice none, item;
	const char *at = NULL;
	bool is_changed = false;

	FW_BUF(out, "[");
	while (fw_slice_next(list, &at, &none, &item)) {
		size_t before = out->len;
		enum fw_repair done;

		put_comma(out);
		done = fw_repair_item(upstream, kind, item, out);
		if (done == FW_REPAIR_NONE)
			fw_buf_put(out, item.p, item.n);
		else if (done == FW_REPAIR_LEFT_OUT)
			out->len = before;
		is_changed = is_changed || done != FW_REPAIR_NONE;
	}
	FW_BUF(out, "]");
	return is_changed;
}

bool fw_repair_list(struct fw_upstream *upstream, enum fw_listing_kind kind,
		    struct fw_slice result, struct fw_text cursor, struct fw_buf *out)
{
	struct copy copy = { .out = out };
	struct fw_slice key, value;
	const char *at = NULL;
	bool is_changed = false;

	FW_BUF(out, "{");
	while (fw_slice_next(result, &at, &key, &value)) {
		if (fw_slice_is(value, "null") ||
		    (fw_slice_equals(key, "nextCursor") && fw_repair_is_same(value, cursor))) {
			is_changed = true;
			continue;
		}
		put_key(&copy, key);
		if (fw_slice_equals(key, kinds[kind].list) && fw_slice_is_array(value))
			is_changed = put_items(upstream, kind, value, out) || is_changed;
		else
			put_value(&copy, value);
	}
	FW_BUF(out, "}");
	return is_changed;
}

fw_error *fw_repair_check(const struct fw_upstream *upstream, enum fw_listing_kind kind,
			  struct fw_slice result)
{
	struct fw_scan_member list = { .name = kinds[kind].list };
	char reason[64];
	fw_error *err;

	(void)fw_slice_members(result, &list, 1);
	if (fw_slice_is_array(list.value))
		return NULL;
	(void)snprintf(reason, sizeof reason, "it has no array \"%s\"", kinds[kind].list);
	err = fw_raise_upstream_invalid_reply(upstream->entry->target.name, reason);
	fw_error_set_delivery(err, FW_REPLIED);
	return err;
}
