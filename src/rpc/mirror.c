/*
 * mirror.c - see mirror.h.
 *
 * Only a value that is reached through `properties` alone has one place in the arguments,
 * so an annotation anywhere else is a fault. Schemas come from peers, so the walk is bounded
 * in depth: annotations below that do not count.
 */
#include "rpc/mirror.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <faultwire/raise.h>

#include "base/json.h"
#include "base/mem.h"
#include "rpc/header.h"
#include "rpc/names.h"

#define ANNOTATION "x-mcp-header"

enum {
	DEPTH = 64,          /* of a schema */
	POINTER_BYTES = 512, /* of a place in the arguments */
	NAME_BYTES = 200     /* of a header */
};

struct walk {
	struct fw_mirrors found;
	const char *fault; /* NULL: none */
	bool is_out_of_memory;
};

static bool goes_on(const struct walk *walk)
{
	return !walk->fault && !walk->is_out_of_memory;
}

/* ---- reading ---------------------------------------------------------------------- */

/* A name of a header field, RFC 9110. */
static bool is_header_name(yyjson_val *value)
{
	const char *text = yyjson_get_str(value);
	size_t len = text ? strspn(text, "!#$%&'*+.^_`|~-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "abcdefghijklmnopqrstuvwxyz")
			  : 0;

	return len > 0 && len == yyjson_get_len(value) && len <= NAME_BYTES;
}

static bool has_mirrored_type(yyjson_val *schema)
{
	yyjson_val *type = fw_json_member(schema, "type");

	return yyjson_equals_str(type, "string") || yyjson_equals_str(type, "integer") ||
	       yyjson_equals_str(type, "boolean");
}

static void add(struct walk *walk, yyjson_val *schema, yyjson_val *header, const char *pointer)
{
	struct fw_mirrors *found = &walk->found;
	char name[sizeof FW_HEADER_PARAM_PREFIX + NAME_BYTES];
	struct fw_mirror *more;

	if (!is_header_name(header)) {
		walk->fault = "x-mcp-header must be a header name";
		return;
	}
	if (!has_mirrored_type(schema)) {
		walk->fault = "x-mcp-header needs a string, an integer or a boolean";
		return;
	}
	(void)snprintf(name, sizeof name, FW_HEADER_PARAM_PREFIX "%s", yyjson_get_str(header));
	for (size_t i = 0; i < found->count; i++)
		if (strcasecmp(found->items[i].header, name) == 0) {
			walk->fault = "x-mcp-header is used twice";
			return;
		}
	if (found->count == FW_MIRRORS_MAX) {
		walk->fault = "x-mcp-header is used too often";
		return;
	}
	more = fw__reallocate(found->items, (found->count + 1) * sizeof *more);
	if (!more) {
		walk->is_out_of_memory = true;
		return;
	}
	found->items = more;
	more[found->count] =
		(struct fw_mirror){ .header = fw_strdup(name), .pointer = fw_strdup(pointer) };
	if (!more[found->count].header || !more[found->count].pointer)
		walk->is_out_of_memory = true;
	found->count++;
}

/* Writes the pointer of a member; false: it is too long. */
static bool extend(const char *pointer, yyjson_val *key, char path[POINTER_BYTES])
{
	const char *name = yyjson_get_str(key);
	size_t at = (size_t)snprintf(path, POINTER_BYTES, "%s/", pointer);

	if (strlen(name) != yyjson_get_len(key))
		return false;
	for (; *name; name++) {
		if (at >= POINTER_BYTES - 2)
			return false;
		if (*name == '~' || *name == '/') {
			path[at++] = '~';
			path[at++] = *name == '~' ? '0' : '1';
		} else {
			path[at++] = *name;
		}
	}
	if (at >= POINTER_BYTES)
		return false;
	path[at] = '\0';
	return true;
}

/* Keywords whose members are named by the author of the schema. */
static bool has_named_members(yyjson_val *keyword)
{
	static const char *const maps[] = { "properties", "patternProperties", "$defs",
					    "definitions", "dependentSchemas" };

	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		if (yyjson_equals_str(keyword, maps[i]))
			return true;
	return false;
}

/* Keywords that hold values and no schemas. */
static bool holds_data(yyjson_val *keyword)
{
	static const char *const data[] = { "default", "const", "enum", "examples", "example" };

	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		if (yyjson_equals_str(keyword, data[i]))
			return true;
	return false;
}

/* Looks for annotations at places that have no single value. */
static void find_misplaced(struct walk *walk, yyjson_val *value, bool is_map, int depth)
{
	yyjson_val *key, *member;
	size_t index, max;

	if (depth > DEPTH)
		return;
	if (yyjson_is_arr(value))
		yyjson_arr_foreach(value, index, max, member)
			find_misplaced(walk, member, false, depth + 1);
	if (!yyjson_is_obj(value))
		return;
	yyjson_obj_foreach(value, index, max, key, member)
	{
		if (!is_map && yyjson_equals_str(key, ANNOTATION))
			walk->fault =
				"x-mcp-header is at a place that is not a property of the "
				"arguments";
		if (!goes_on(walk))
			return;
		if (is_map || !holds_data(key))
			find_misplaced(walk, member, !is_map && has_named_members(key),
				       depth + 1);
	}
}

static void find(struct walk *walk, yyjson_val *schema, const char *pointer, int depth);

static void find_in_properties(struct walk *walk, yyjson_val *properties, const char *pointer,
			       int depth)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(properties);
	yyjson_val *key;

	while (goes_on(walk) && (key = yyjson_obj_iter_next(&iter))) {
		yyjson_val *property = yyjson_obj_iter_get_val(key);
		yyjson_val *header = fw_json_member(property, ANNOTATION);
		char path[POINTER_BYTES];

		/* Without a pointer there can be no header. */
		if (!extend(pointer, key, path)) {
			find_misplaced(walk, property, false, depth);
			continue;
		}
		if (header)
			add(walk, property, header, path);
		find(walk, property, path, depth + 1);
	}
}

static void find(struct walk *walk, yyjson_val *schema, const char *pointer, int depth)
{
	yyjson_obj_iter iter = yyjson_obj_iter_with(schema);
	yyjson_val *key;

	while (depth <= DEPTH && goes_on(walk) && (key = yyjson_obj_iter_next(&iter))) {
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		if (yyjson_equals_str(key, "properties"))
			find_in_properties(walk, value, pointer, depth);
		else if (depth == 0 && yyjson_equals_str(key, ANNOTATION))
			walk->fault = "x-mcp-header is on the arguments as a whole";
		else if (!holds_data(key))
			find_misplaced(walk, value, has_named_members(key), depth + 1);
	}
}

fw_error *fw_mirrors_read(yyjson_val *schema, const char **ret_fault,
			  struct fw_mirrors *ret_mirrors)
{
	struct walk walk = { .fault = NULL };

	find(&walk, schema, "", 0);
	if (walk.is_out_of_memory) {
		fw_mirrors_clear(&walk.found);
		return fw_raise_internal_out_of_memory();
	}
	*ret_fault = walk.fault;
	if (walk.fault)
		fw_mirrors_clear(&walk.found);
	else
		*ret_mirrors = walk.found;
	return NULL;
}

void fw_mirrors_clear(struct fw_mirrors *mirrors)
{
	for (size_t i = 0; i < mirrors->count; i++) {
		fw__release(mirrors->items[i].header);
		fw__release(mirrors->items[i].pointer);
	}
	fw__release(mirrors->items);
	*mirrors = (struct fw_mirrors){ .items = NULL };
}

/* ---- writing ---------------------------------------------------------------------- */

static void put_line(struct fw_mirror_lines *lines, const char *header, yyjson_val *value)
{
	struct fw_buf *out = &lines->text;

	if (!value || yyjson_is_null(value) || yyjson_is_ctn(value))
		return;
	if (!yyjson_is_bool(value) && yyjson_get_len(value) > FW_HEADER_VALUE_MAX / 2)
		return;
	lines->starts[lines->count++] = out->len;
	fw_buf_str(out, header);
	/* libcurl sends a header without a value only if it ends with a semicolon. */
	if (yyjson_is_str(value) && yyjson_get_len(value) == 0) {
		FW_BUF(out, ";");
	} else {
		FW_BUF(out, ": ");
		if (yyjson_is_bool(value))
			fw_buf_str(out, yyjson_get_bool(value) ? "true" : "false");
		else if (yyjson_is_raw(value))
			fw_buf_put(out, yyjson_get_raw(value), yyjson_get_len(value));
		else
			fw_header_encode(yyjson_get_str(value), yyjson_get_len(value), out);
	}
	fw_buf_put(out, "", 1);
}

bool fw_mirrors_put(const struct fw_mirrors *mirrors, yyjson_val *arguments,
		    struct fw_mirror_lines *ret_lines)
{
	memset(ret_lines, 0, sizeof *ret_lines);
	fw_buf_init(&ret_lines->text, FW_MIRRORS_MAX * FW_HEADER_VALUE_MAX);
	for (size_t i = 0; i < mirrors->count; i++)
		put_line(ret_lines, mirrors->items[i].header,
			 yyjson_ptr_get(arguments, mirrors->items[i].pointer));
	if (ret_lines->text.state != FW_BUF_OK)
		return false;
	for (size_t i = 0; i < ret_lines->count; i++)
		ret_lines->lines[i] = ret_lines->text.text + ret_lines->starts[i];
	return true;
}
