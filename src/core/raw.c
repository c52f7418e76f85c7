/*
 * raw.c - errors made from a string or a JSON value, and the constructor shared by
 * the tables of raw_errno.c, raw_http.c, raw_signal.c and raw_curl.c.
 *
 * The tables name codes by number instead of calling a constructor each: three
 * hundred foreign errors map to about twenty codes, and differ only in the words of
 * the message.
 */
#include "base/limits.h"
#include "core/error_impl.h"
#include "core/raw_impl.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>
#include <string.h>

enum { PARAMS_MAX = 4 };

#define UNEXPECTED "An unexpected error occurred"

fw_error *fw__raw_raise(fw_src at, int code, const char *what, const char *reason)
{
	const fw_row *row = fw_registry_number(NULL, code);
	fw_field fields[PARAMS_MAX];
	size_t count = 0;

	for (size_t i = 0; row && i < row->param_count && count < PARAMS_MAX; i++) {
		const fw_param *param = &row->params[i];
		const char *text = strcmp(param->name, "reason") == 0 ? reason : what;

		if (!text && param->optional)
			continue;
		if (!text)
			text = row->origin == FW_ORIGIN_TRANSPORT ? "peer" : "(unnamed)";
		fields[count++] = (fw_field){
			.key = param->name,
			.key_len = strlen(param->name),
			.type = FW_FIELD_STRING,
			.string = text,
			.string_len = strlen(text),
		};
	}
	return fw_raise_row(at, row, fields, count);
}

/*
 * A bare text becomes both message and cause. Contracts that show a cause (kaiza)
 * thus show the original text there, and all others show it as the message.
 */
static void set_text(fw_error *err, const char *text, size_t len)
{
	struct fw_cause_link *link;

	if (!fw__error_is_mine(err) || len == 0)
		return;
	fw__error_set_message(err, text, len);
	link = fw__error_add_link(err);
	if (link) {
		link->kind = FW_CAUSE_TEXT;
		link->message = err->message;
	}
}

fw_error *fw_error_from_text(fw_src at, const char *text, size_t len)
{
	fw_error *err = fw_raise_tool_failed_at(at, UNEXPECTED);

	set_text(err, text ? text : "", text ? len : 0);
	return err;
}

void fw__raw_set_row(fw_error *err, const fw_row *row)
{
	if (fw__error_is_mine(err))
		fw__error_set_row(err, row);
}

/* The text of an error object: `message` comes first; the other names are common in
 * APIs. */
static yyjson_val *words_of(yyjson_val *object)
{
	yyjson_val *error = yyjson_obj_get(object, "error");
	yyjson_val *candidates[] = { yyjson_obj_get(object, "message"), error,
				     yyjson_obj_get(error, "message"),
				     yyjson_obj_get(object, "detail") };

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
		if (yyjson_is_str(candidates[i]) && yyjson_get_len(candidates[i]) > 0)
			return candidates[i];
	return NULL;
}

static void set_object(fw_error *err, yyjson_val *object)
{
	yyjson_val *words = words_of(object);

	if (words)
		fw__error_set_message(err, yyjson_get_str(words), yyjson_get_len(words));
	(void)fw__error_set_cause_value(err, object, NULL, NULL);
}

/* A number, boolean or array, as its JSON text. */
static void set_other(fw_error *err, yyjson_val *value)
{
	char text[512];
	struct fw_out out;
	size_t len;

	fw_out_init(&out, text, sizeof(text));
	if (fw_value_write(&out, value, NULL, NULL) != FW_VALUE_OK)
		return;
	len = fw_out_finish(&out, sizeof(text));
	set_text(err, text, len < sizeof(text) ? len : sizeof(text) - 1);
}

fw_error *fw__error_from_value(fw_src at, yyjson_val *value, bool keep_secrets)
{
	fw_error *err = fw_raise_tool_failed_at(at, UNEXPECTED);

	if (!fw__error_is_mine(err))
		return err;
	err->keep_secrets = keep_secrets;
	if (yyjson_is_obj(value))
		set_object(err, value);
	else if (yyjson_is_str(value))
		set_text(err, yyjson_get_str(value), yyjson_get_len(value));
	else if (value && !yyjson_is_null(value))
		set_other(err, value);
	return err;
}

fw_error *fw_error_from_json(fw_src at, const char *json, size_t len)
{
	yyjson_doc *doc = NULL;
	fw_error *err;

	if (json && len <= FW_LIMIT_ENVELOPE_BYTES)
		doc = fw_value_parse(json, len);
	if (!doc)
		return fw_error_from_text(at, json, len);
	err = fw__error_from_value(at, yyjson_doc_get_root(doc), false);
	/* A value that is nested too deeply to be kept is kept as text. */
	if (yyjson_is_obj(yyjson_doc_get_root(doc)) && fw_error_cause_count(err) == 0)
		set_text(err, json, len);
	yyjson_doc_free(doc);
	return err;
}
