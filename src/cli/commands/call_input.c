/*
 * call_input.c - see call_input.h.
 */
#include "cli/commands/call_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"

enum { VALUE_BYTES = 16 << 20, DEPTH = 64, NAME_BYTES = 128 };

static yyjson_val *schema_of(yyjson_val *tool)
{
	return fw_json_member(tool, "inputSchema");
}

static yyjson_val *property_of(yyjson_val *tool, const char *key, size_t len)
{
	return yyjson_obj_getn(fw_json_member(schema_of(tool), "properties"), key, len);
}

static bool is_numeric(const char *type)
{
	return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0;
}

/* The only type of an array of names or of schemas, apart from "null"; "": none, or several. */
static const char *only_type(yyjson_val *types)
{
	const char *found = "";
	yyjson_val *one;
	size_t index, max;

	yyjson_arr_foreach(types, index, max, one)
	{
		yyjson_val *name = yyjson_is_str(one) ? one : fw_json_member(one, "type");
		const char *type = yyjson_is_str(name) ? yyjson_get_str(name) : "";

		if (strcmp(type, "null") == 0)
			continue;
		if (is_numeric(found) && is_numeric(type) && strcmp(found, type) != 0)
			type = "number";
		else if (!*type || (*found && strcmp(found, type) != 0))
			return "";
		found = type;
	}
	return found;
}

/* The type of a property; "": any. An optional number is often written as
 * {"anyOf": [{"type": "integer"}, {"type": "null"}]}. */
static const char *type_of(yyjson_val *property)
{
	static const char *const members[] = { "type", "anyOf", "oneOf" };
	yyjson_val *type = fw_json_member(property, "type");
	yyjson_val *example = yyjson_arr_get_first(fw_json_member(property, "enum"));
	const char *found = yyjson_is_str(type) ? yyjson_get_str(type) : "";

	for (size_t i = 0; !*found && i < sizeof members / sizeof *members; i++)
		found = only_type(fw_json_member(property, members[i]));
	if (!*found && example)
		found = yyjson_is_str(example)   ? "string"
			: yyjson_is_num(example) ? "number"
						 : "";
	return found;
}

static bool is_required(yyjson_val *tool, const char *key)
{
	yyjson_val *name;
	size_t index, max;

	yyjson_arr_foreach(fw_json_member(schema_of(tool), "required"), index, max,
			   name) if (yyjson_equals_str(name, key)) return true;
	return false;
}

/* ---- words ------------------------------------------------------------------------- */

/* Numbers stay text, so that no digit is lost. */
static yyjson_doc *read_json(const char *text)
{
	return fw_json_read(text, strlen(text), (struct fw_json_limits){ VALUE_BYTES, DEPTH },
			    YYJSON_READ_NUMBER_AS_RAW, NULL, NULL);
}

static bool fits(yyjson_val *value, const char *type)
{
	if (strcmp(type, "integer") == 0)
		return yyjson_is_raw(value) && !strpbrk(yyjson_get_raw(value), ".eE");
	if (strcmp(type, "number") == 0)
		return yyjson_is_raw(value);
	if (strcmp(type, "boolean") == 0)
		return yyjson_is_bool(value);
	if (strcmp(type, "array") == 0)
		return yyjson_is_arr(value);
	if (strcmp(type, "object") == 0)
		return yyjson_is_obj(value);
	return value != NULL;
}

static fw_error *add_json(yyjson_mut_doc *doc, const char *key, size_t key_len,
			  const char *text, const char *type)
{
	yyjson_doc *read = read_json(text);
	yyjson_val *value = yyjson_doc_get_root(read);
	fw_error *err = NULL;

	if (!fits(value, type))
		err = cli_usage("argument %.*s must be %s%s; found \"%s\"", (int)key_len, key,
				*type ? "of type " : "JSON", type, text);
	else
		(void)yyjson_mut_obj_put(yyjson_mut_doc_get_root(doc),
					 yyjson_mut_strncpy(doc, key, key_len),
					 yyjson_val_mut_copy(doc, value));
	yyjson_doc_free(read);
	return err;
}

/* key=value: a text, unless the schema has another type. */
static fw_error *add_value(yyjson_mut_doc *doc, yyjson_val *tool, const char *key,
			   size_t key_len, const char *text)
{
	const char *type = type_of(property_of(tool, key, key_len));

	if (*type && strcmp(type, "string") != 0)
		return add_json(doc, key, key_len, text, type);
	(void)yyjson_mut_obj_put(yyjson_mut_doc_get_root(doc),
				 yyjson_mut_strncpy(doc, key, key_len),
				 yyjson_mut_strcpy(doc, text));
	return NULL;
}

static fw_error *add_object(yyjson_mut_doc *doc, const char *text)
{
	yyjson_doc *read = read_json(text);
	yyjson_val *root = yyjson_doc_get_root(read), *key, *value;
	size_t index, max;

	if (!yyjson_is_obj(root)) {
		yyjson_doc_free(read);
		return cli_usage("\"%s\" is not a JSON object", text);
	}
	yyjson_obj_foreach(fw_json_or_empty(root), index, max, key, value)(void)
		yyjson_mut_obj_put(yyjson_mut_doc_get_root(doc), yyjson_val_mut_copy(doc, key),
				   yyjson_val_mut_copy(doc, value));
	yyjson_doc_free(read);
	return NULL;
}

static fw_error *add_word(yyjson_mut_doc *doc, yyjson_val *tool, const char *word)
{
	size_t key = strcspn(word, "=");

	if (*word == '{')
		return add_object(doc, word);
	if (!word[key] || key == 0 || (key == 1 && *word == ':'))
		return cli_usage("an argument is key=value, key:=json or a JSON object; found "
				 "\"%s\"",
				 word);
	if (word[key - 1] == ':')
		return add_json(doc, word, key - 1, word + key + 1, "");
	return add_value(doc, tool, word, key, word + key + 1);
}

/* ---- what is missing ------------------------------------------------------------------ */

static fw_error *check_required(yyjson_mut_doc *doc, yyjson_val *tool)
{
	char text[900] = "";
	yyjson_val *name;
	size_t index, max, len = 0;

	yyjson_arr_foreach(fw_json_member(schema_of(tool), "required"), index, max, name)
	{
		const char *key = yyjson_get_str(name);
		yyjson_val *property = key ? property_of(tool, key, strlen(key)) : NULL;
		const char *about = yyjson_get_str(fw_json_member(property, "description"));
		const char *type = type_of(property);

		if (!key || yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), key) ||
		    len >= sizeof text)
			continue;
		len += (size_t)snprintf(text + len, sizeof text - len, "%s%s%s%s%s%s",
					len ? "; " : "", key, *type ? " (" : "", type,
					*type ? ")" : "", about ? ": " : "");
		if (about && len < sizeof text)
			len += (size_t)snprintf(text + len, sizeof text - len, "%s", about);
	}
	return len ? cli_usage("tool %s needs %s", yyjson_get_str(fw_json_member(tool, "name")),
			       text)
		   : NULL;
}

fw_error *cli_call_input_read(yyjson_val *tool, char **words, size_t count, char **ret_json)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	fw_error *err = NULL;

	if (!doc)
		return fw_raise_internal_out_of_memory();
	yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
	for (size_t i = 0; !err && i < count; i++)
		err = add_word(doc, tool, words[i]);
	if (!err)
		err = check_required(doc, tool);
	if (!err) {
		*ret_json = yyjson_mut_write(doc, 0, NULL);
		if (!*ret_json)
			err = cli_usage("an argument is not UTF-8");
	}
	yyjson_mut_doc_free(doc);
	return err;
}

/* ---- usage ------------------------------------------------------------------------------ */

void cli_call_input_usage(yyjson_val *tool)
{
	yyjson_val *key, *property;
	size_t index, max;

	yyjson_obj_foreach(fw_json_or_empty(fw_json_member(schema_of(tool), "properties")),
			   index, max, key, property)
	{
		bool is_needed = is_required(tool, yyjson_get_str(key));
		const char *type = type_of(property);
		char name[NAME_BYTES], shown[NAME_BYTES];
		size_t i = 0;

		for (; i < sizeof shown - 1 && type[i]; i++)
			shown[i] = (char)(type[i] >= 'a' && type[i] <= 'z' ? type[i] - 32
									   : type[i]);
		shown[i] = '\0';
		cli_make_harmless(yyjson_get_str(key), name, sizeof name);
		cli_printf(" %s%s%s%s%s", is_needed ? "" : "[", name,
			   *type && strcmp(type, "string") != 0 ? ":=" : "=",
			   *shown ? shown : "VALUE", is_needed ? "" : "]");
	}
}
