/*
 * registry_row.c - reads one row of a user's registry from JSON.
 *
 * A member with a fault is reported and replaced by a harmless value, so that one run
 * reports all faults of a file.
 */
#include "core/registry_row.h"

#include <faultwire/raise.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	JSONRPC_DEFAULT = -32603,
	JSONRPC_LEAST = -32768,
	JSONRPC_MOST = -32000,
	STATUS_LEAST = 400,
	STATUS_MOST = 599,
	CODE_MAX = 100,
	SHOWN_MAX = 60, /* of an invalid value, in messages */
};

enum key {
	CODE,
	TITLE,
	CATEGORY,
	TYPE,
	RETRY,
	RECOVERABLE,
	STATUS,
	SEVERITY,
	KAIZA,
	CONTEXT_V0,
	MESSAGE,
	HINT,
	REQUIRED_COUNT, /* the keys above are required */
	JSONRPC = REQUIRED_COUNT,
	ORIGIN,
	CODEINTEL,
	PARAMS,
	EXPLANATION,
	EXAMPLE,
	KEY_COUNT
};

static const char *const keys[KEY_COUNT] = {
	"code",    "title",    "category",  "type",       "retry",       "recoverable",
	"status",  "severity", "kaiza",     "context_v0", "message",     "hint",
	"jsonrpc", "origin",   "codeintel", "params",     "explanation", "example",
};

#define KEY_LIST                                                                       \
	"code, title, category, type, retry, recoverable, status, severity, jsonrpc, " \
	"origin, kaiza, context_v0, codeintel, params, message, hint, explanation, example"

static const char *const param_types[] = { "string", "i64", "u64", "f64", "bool", "json" };

void fw__row_fault(struct fw_row_reader *reader, const char *fmt, ...)
{
	char reason[512];
	fw_error *fault;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	fault = fw_raise_registry_invalid_row(reader->row, reader->code, reason);
	if (reader->on_problem)
		reader->on_problem(reader->ctx, fault);
	if (reader->first)
		fw_error_free(fault);
	else
		reader->first = fault;
}

const char *fw__row_kind_of(yyjson_val *value)
{
	switch (yyjson_get_type(value)) {
	case YYJSON_TYPE_NULL: return "null";
	case YYJSON_TYPE_BOOL: return "a boolean";
	case YYJSON_TYPE_NUM: return "a number";
	case YYJSON_TYPE_STR: return "a string";
	case YYJSON_TYPE_ARR: return "an array";
	case YYJSON_TYPE_OBJ: return "an object";
	default: return "nothing";
	}
}

/* ---- values ---- */

/* The string, or "" if it is not one; `what` names it in messages. */
static const char *read_string(struct fw_row_reader *reader, const char *what,
			       yyjson_val *value)
{
	const char *text = yyjson_get_str(value);

	if (!value)
		return "";
	if (!text) {
		fw__row_fault(reader, "%s must be a string, not %s", what,
			      fw__row_kind_of(value));
		return "";
	}
	if (strlen(text) != yyjson_get_len(value)) {
		fw__row_fault(reader, "%s contains a NUL", what);
		return "";
	}
	return text;
}

static const char *read_text(struct fw_row_reader *reader, yyjson_val *const *values,
			     enum key key)
{
	const char *text = read_string(reader, keys[key], values[key]);

	if (yyjson_is_str(values[key]) && yyjson_get_len(values[key]) == 0)
		fw__row_fault(reader, "%s is empty", keys[key]);
	return text;
}

/* Index of a name in an enumeration. */
static int read_name(struct fw_row_reader *reader, yyjson_val *const *values, enum key key,
		     const char *(*name_of)(int), int fallback)
{
	const char *text = read_string(reader, keys[key], values[key]), *name;
	char all[160] = "";
	size_t len = 0;

	if (!yyjson_is_str(values[key]))
		return fallback;
	for (int i = 0; (name = name_of(i)); i++) {
		int printed;

		if (strcmp(name, text) == 0)
			return i;
		printed = snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "", name);
		if (printed > 0 && (size_t)printed < sizeof(all) - len)
			len += (size_t)printed;
	}
	fw__row_fault(reader, "%s must be one of %s, not \"%.*s\"", keys[key], all, SHOWN_MAX,
		      text);
	return fallback;
}

#define DEFINE_NAME_OF(noun)                               \
	static const char *noun##_name_of(int value)       \
	{                                                  \
		return fw_##noun##_name((fw_##noun)value); \
	}

DEFINE_NAME_OF(category)
DEFINE_NAME_OF(type)
DEFINE_NAME_OF(retry)
DEFINE_NAME_OF(severity)
DEFINE_NAME_OF(origin)

static int read_number(struct fw_row_reader *reader, yyjson_val *const *values, enum key key,
		       int least, int most, int fallback)
{
	int64_t number;

	if (!values[key])
		return fallback;
	if (!yyjson_is_int(values[key])) {
		fw__row_fault(reader, "%s must be a whole number from %d to %d", keys[key],
			      least, most);
		return fallback;
	}
	number = yyjson_get_sint(values[key]);
	if (yyjson_is_uint(values[key]) && yyjson_get_uint(values[key]) > INT64_MAX)
		number = INT64_MAX;
	if (number < least || number > most) {
		fw__row_fault(reader, "%s must be a number from %d to %d, not %lld", keys[key],
			      least, most, (long long)number);
		return fallback;
	}
	return (int)number;
}

static bool read_bool(struct fw_row_reader *reader, const char *what, yyjson_val *value)
{
	if (value && !yyjson_is_bool(value))
		fw__row_fault(reader, "%s must be true or false, not %s", what,
			      fw__row_kind_of(value));
	return yyjson_get_bool(value);
}

/* ---- members ---- */

bool fw__row_is_joined(const char *text, size_t len, char joint)
{
	bool at_start = true;

	if (len == 0 || text[0] < 'a' || text[0] > 'z')
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c == joint && !at_start)
			at_start = true;
		else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			at_start = false;
		else
			return false;
	}
	return !at_start;
}

static bool is_code(const char *code)
{
	const char *dot = strchr(code, '.');

	return dot && strlen(code) <= CODE_MAX && !memchr(code, '_', (size_t)(dot - code)) &&
	       fw__row_is_joined(code, (size_t)(dot - code), '_') &&
	       fw__row_is_joined(dot + 1, strlen(dot + 1), '_');
}

static void read_code(struct fw_row_reader *reader, yyjson_val *const *values, fw_row *row)
{
	row->code = read_string(reader, keys[CODE], values[CODE]);
	if (yyjson_is_str(values[CODE]) && !is_code(row->code))
		fw__row_fault(
			reader,
			"code \"%.*s\" is not of the form domain.snake_case_reason, such as "
			"billing.card_declined",
			SHOWN_MAX, row->code);
}

/* The codes of these two contracts are a closed set: those that built-in rows read. */
static const char *read_projection(struct fw_row_reader *reader, yyjson_val *const *values,
				   enum key key, fw_contract contract)
{
	const char *code = read_string(reader, keys[key], values[key]);

	if (yyjson_is_str(values[key]) && !fw_registry_read(NULL, contract, code))
		fw__row_fault(reader,
			      "%s has no code \"%.*s\": take one of docs/schemas, such as %s",
			      fw_contract_name(contract), SHOWN_MAX, code,
			      contract == FW_KAIZA ? "UNKNOWN_TOOL_FAILURE" : "internal_error");
	return code;
}

enum { NAME, PARAM_TYPE, OPTIONAL, MESSAGE_ONLY, MEMBER_COUNT };

/* Finds the members of a parameter; NULL for those that are missing. */
static void find_param_members(struct fw_row_reader *reader, yyjson_val *value,
			       yyjson_val *found[MEMBER_COUNT])
{
	static const char *const members[MEMBER_COUNT] = { "name", "type", "optional",
							   "message_only" };
	yyjson_val *key, *member;
	size_t at, count;

	yyjson_obj_foreach(value, at, count, key, member)
	{
		int i = 0;

		while (i < MEMBER_COUNT && !yyjson_equals_str(key, members[i]))
			i++;
		if (i == MEMBER_COUNT)
			fw__row_fault(
				reader,
				"parameter has no member \"%.*s\", only name, type, optional, "
				"message_only",
				SHOWN_MAX, yyjson_get_str(key));
		else if (found[i])
			fw__row_fault(reader, "parameter has %s twice", members[i]);
		else
			found[i] = member;
	}
	if (!found[NAME] || !found[PARAM_TYPE])
		fw__row_fault(reader, "parameter lacks its %s", found[NAME] ? "type" : "name");
}

static fw_param_type read_param_type(struct fw_row_reader *reader, yyjson_val *value)
{
	const char *type = read_string(reader, "type of a parameter", value);

	for (int i = 0; i < (int)(sizeof(param_types) / sizeof(param_types[0])); i++)
		if (strcmp(type, param_types[i]) == 0)
			return (fw_param_type)i;
	if (*type)
		fw__row_fault(
			reader,
			"type of a parameter must be one of string, i64, u64, f64, bool, json, "
			"not \"%.*s\"",
			SHOWN_MAX, type);
	return FW_PARAM_STRING;
}

static void read_param(struct fw_row_reader *reader, yyjson_val *value, const fw_row *row,
		       fw_param *param)
{
	yyjson_val *found[MEMBER_COUNT] = { NULL };

	*param = (fw_param){ .name = "", .type = FW_PARAM_STRING };
	if (!yyjson_is_obj(value)) {
		fw__row_fault(reader, "parameter must be an object with name and type, not %s",
			      fw__row_kind_of(value));
		return;
	}
	find_param_members(reader, value, found);
	param->name = read_string(reader, "name of a parameter", found[NAME]);
	param->optional = read_bool(reader, "optional", found[OPTIONAL]);
	param->message_only = read_bool(reader, "message_only", found[MESSAGE_ONLY]);
	if (yyjson_is_str(found[NAME]) &&
	    !fw__row_is_joined(param->name, strlen(param->name), '_'))
		fw__row_fault(reader, "parameter \"%.*s\" is not in snake_case", SHOWN_MAX,
			      param->name);
	if (strcmp(param->name, "retry_after") == 0)
		fw__row_fault(reader,
			      "parameter may not be called retry_after, which every error "
			      "may have");
	if (param->optional && param->message_only)
		fw__row_fault(reader,
			      "parameter \"%.*s\" is optional and for the message, which "
			      "needs it",
			      SHOWN_MAX, param->name);
	param->type = read_param_type(reader, found[PARAM_TYPE]);
	for (const fw_param *other = row->params; other < param; other++)
		if (*param->name && strcmp(other->name, param->name) == 0)
			fw__row_fault(reader, "parameter \"%.*s\" is given twice", SHOWN_MAX,
				      param->name);
}

static void read_params(struct fw_row_reader *reader, yyjson_val *value, fw_row *row,
			fw_param *params)
{
	size_t at, count;
	yyjson_val *element;

	row->params = params;
	row->param_count = 0;
	if (!value)
		return;
	if (!yyjson_is_arr(value)) {
		fw__row_fault(reader, "params must be an array, not %s",
			      fw__row_kind_of(value));
		return;
	}
	if (yyjson_arr_size(value) > FW_ROW_PARAMS_MAX) {
		fw__row_fault(reader, "params has %zu elements; the limit is %d",
			      yyjson_arr_size(value), FW_ROW_PARAMS_MAX);
		return;
	}
	yyjson_arr_foreach(value, at, count, element)
	{
		read_param(reader, element, row, &params[row->param_count++]);
	}
}

static bool fits(fw_param_type type, yyjson_val *value)
{
	switch (type) {
	case FW_PARAM_STRING: return yyjson_is_str(value);
	case FW_PARAM_I64:
		return yyjson_is_sint(value) ||
		       (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX);
	case FW_PARAM_U64: return yyjson_is_uint(value);
	case FW_PARAM_F64: return yyjson_is_num(value);
	case FW_PARAM_BOOL: return yyjson_is_bool(value);
	case FW_PARAM_JSON: return true;
	}
	return false;
}

static void check_example(struct fw_row_reader *reader, const fw_row *row, yyjson_val *example)
{
	size_t known = 0;

	if (!example)
		return;
	if (!yyjson_is_obj(example)) {
		fw__row_fault(reader,
			      "example must be an object with a value for each parameter");
		return;
	}
	for (size_t i = 0; i < row->param_count; i++) {
		const fw_param *param = &row->params[i];
		yyjson_val *value = yyjson_obj_get(example, param->name);

		known += value != NULL;
		if (value && !fits(param->type, value))
			fw__row_fault(reader, "example of \"%.*s\" is not of type %s",
				      SHOWN_MAX, param->name, param_types[param->type]);
		else if (!value && !param->optional)
			fw__row_fault(reader, "example lacks a value for \"%.*s\"", SHOWN_MAX,
				      param->name);
	}
	if (known < yyjson_obj_size(example))
		fw__row_fault(reader, "example has more members than the parameters");
}

static const fw_param *find_param(const fw_row *row, const char *name, size_t len)
{
	for (size_t i = 0; i < row->param_count; i++)
		if (strlen(row->params[i].name) == len &&
		    memcmp(row->params[i].name, name, len) == 0)
			return &row->params[i];
	return NULL;
}

static void check_template(struct fw_row_reader *reader, const fw_row *row)
{
	bool used[FW_ROW_PARAMS_MAX] = { false };

	for (const char *at = row->message; (at = strpbrk(at, "{}")); at++) {
		size_t len = strcspn(at + 1, "{}");
		const fw_param *param;

		if (*at == '}' || at[1 + len] != '}') {
			fw__row_fault(reader, "a brace in the message has no counterpart");
			return;
		}
		param = find_param(row, at + 1, len);
		if (!param) {
			fw__row_fault(reader, "message names {%.*s}, which is not a parameter",
				      (int)(len < SHOWN_MAX ? len : SHOWN_MAX), at + 1);
		} else {
			used[param - row->params] = true;
			if (param->optional)
				fw__row_fault(reader, "message names {%s}, which is optional",
					      param->name);
		}
		at += len + 1;
	}
	for (size_t i = 0; i < row->param_count; i++)
		if (row->params[i].message_only && !used[i])
			fw__row_fault(
				reader,
				"parameter \"%.*s\" is for the message only, which does not "
				"name it",
				SHOWN_MAX, row->params[i].name);
}

/* ---- the complete row ---- */

static void find_members(struct fw_row_reader *reader, yyjson_val *object, yyjson_val **values)
{
	yyjson_val *key, *value;
	size_t at, count;

	yyjson_obj_foreach(object, at, count, key, value)
	{
		int i = 0;

		while (i < KEY_COUNT && !yyjson_equals_str(key, keys[i]))
			i++;
		if (i == KEY_COUNT)
			fw__row_fault(reader,
				      "\"%.*s\" is not a member of a row, which are " KEY_LIST,
				      SHOWN_MAX, yyjson_get_str(key));
		else if (values[i])
			fw__row_fault(reader, "%s is given twice", keys[i]);
		else
			values[i] = value;
	}
	for (int i = 0; i < REQUIRED_COUNT; i++)
		if (!values[i])
			fw__row_fault(reader, "%s is missing", keys[i]);
}

void fw__row_read(struct fw_row_reader *reader, yyjson_val *value, fw_row *ret_row,
		  fw_param params[FW_ROW_PARAMS_MAX])
{
	yyjson_val *values[KEY_COUNT] = { NULL };
	fw_row row = { .code = "",
		       .title = "",
		       .kaiza = "",
		       .context_v0 = "",
		       .message = "",
		       .hint = "",
		       .explanation = "",
		       .params = params };

	*ret_row = row;
	reader->code = NULL;
	if (!yyjson_is_obj(value)) {
		fw__row_fault(reader, "row must be an object, not %s", fw__row_kind_of(value));
		return;
	}
	/* First, so that messages about other faults can name it. */
	reader->code = yyjson_get_str(yyjson_obj_get(value, keys[CODE]));
	find_members(reader, value, values);
	read_code(reader, values, &row);
	row.title = read_text(reader, values, TITLE);
	row.category = (fw_category)read_name(reader, values, CATEGORY, category_name_of, 0);
	row.type = (fw_type)read_name(reader, values, TYPE, type_name_of, -1);
	row.retry = (fw_retry)read_name(reader, values, RETRY, retry_name_of, 0);
	row.recoverable = read_bool(reader, keys[RECOVERABLE], values[RECOVERABLE]);
	row.status =
		read_number(reader, values, STATUS, STATUS_LEAST, STATUS_MOST, STATUS_LEAST);
	row.severity = (fw_severity)read_name(reader, values, SEVERITY, severity_name_of, 0);
	row.jsonrpc = read_number(reader, values, JSONRPC, JSONRPC_LEAST, JSONRPC_MOST,
				  JSONRPC_DEFAULT);
	row.origin =
		(fw_origin)read_name(reader, values, ORIGIN, origin_name_of, FW_ORIGIN_TOOL);
	row.kaiza = read_projection(reader, values, KAIZA, FW_KAIZA);
	row.context_v0 = read_projection(reader, values, CONTEXT_V0, FW_CONTEXT_V0);
	row.codeintel = values[CODEINTEL] ? read_text(reader, values, CODEINTEL) : NULL;
	if (row.codeintel && *row.codeintel &&
	    !fw__row_is_joined(row.codeintel, strlen(row.codeintel), '-'))
		fw__row_fault(reader, "codeintel \"%.*s\" is not in kebab-case", SHOWN_MAX,
			      row.codeintel);
	row.message = read_text(reader, values, MESSAGE);
	row.hint = read_text(reader, values, HINT);
	row.explanation = read_string(reader, keys[EXPLANATION], values[EXPLANATION]);
	if ((int)row.type >= 0) {
		bool transient = row.type == FW_TYPE_TRANSIENT;

		if (yyjson_is_bool(values[RECOVERABLE]) && transient != row.recoverable)
			fw__row_fault(reader, "recoverable must be %s with type %s",
				      transient ? "true" : "false", fw_type_name(row.type));
		if (row.retry == FW_RETRY_BACKOFF && !transient)
			fw__row_fault(reader,
				      "retry backoff is for type TRANSIENT only, not %s",
				      fw_type_name(row.type));
	}
	read_params(reader, values[PARAMS], &row, params);
	check_example(reader, &row, values[EXAMPLE]);
	check_template(reader, &row);
	fw__row_check_words(reader, &row);
	*ret_row = row;
}
