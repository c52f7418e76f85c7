/*
 * example.c - the example error of a code, as shown in the documentation. It is
 * raised with the example values of its registry row and, for display, with a fixed
 * scope, time and incident, so that examples are the same bytes everywhere.
 */
#include "base/json.h"
#include "base/mem.h"

#include <faultwire/raise.h>
#include <string.h>
#include <yyjson.h>

enum { PARAMS_MAX = 16 };

static fw_field field_of(const fw_param *param, yyjson_val *value, char *json)
{
	fw_field field = { .key = param->name, .key_len = strlen(param->name) };

	switch (param->type) {
	case FW_PARAM_STRING:
		field.type = FW_FIELD_STRING;
		field.string = yyjson_is_str(value) ? yyjson_get_str(value) : "example";
		field.string_len = strlen(field.string);
		break;
	case FW_PARAM_I64:
		field.type = FW_FIELD_I64;
		field.i64 = yyjson_get_sint(value);
		break;
	case FW_PARAM_U64:
		field.type = FW_FIELD_U64;
		field.u64 = yyjson_get_uint(value);
		break;
	case FW_PARAM_F64:
		field.type = FW_FIELD_F64;
		field.f64 = yyjson_get_num(value);
		break;
	case FW_PARAM_BOOL:
		field.type = FW_FIELD_BOOL;
		field.boolean = yyjson_get_bool(value);
		break;
	case FW_PARAM_JSON:
		field.type = FW_FIELD_JSON;
		field.string = json ? json : "null";
		field.string_len = strlen(field.string);
		break;
	}
	return field;
}

static void set_scene(fw_error *err)
{
	static const fw_scope scope = {
		.tool = "open_file",
		.operation = "files:open_file",
		.role = "WINDSURF",
		.session_id = "550e8400-e29b-41d4-a716-446655440000",
		.workspace_root = "/home/user/project",
	};

	fw_error_fill_scope(err, &scope);
	fw_error_set_incident_id(err, "inc_20260119_4k7m2q9x3vbn8t6w1zr5cdfghj");
	fw_error_set_time(err, INT64_C(1768836730123));
}

fw_error *fw_row_raise_example(const fw_row *row)
{
	fw_field fields[PARAMS_MAX];
	char *json[PARAMS_MAX] = { NULL };
	size_t count = row->param_count < PARAMS_MAX ? row->param_count : PARAMS_MAX;
	yyjson_doc *doc =
		fw_json_read(row->example, strlen(row->example), FW_JSON_SMALL, 0, NULL, NULL);
	yyjson_val *values = yyjson_doc_get_root(doc);
	fw_error *err;

	for (size_t i = 0; i < count; i++) {
		yyjson_val *value = yyjson_obj_get(values, row->params[i].name);

		if (row->params[i].type == FW_PARAM_JSON && value)
			json[i] = yyjson_val_write_opts(value, 0, &fw__yyjson_alc, NULL, NULL);
		fields[i] = field_of(&row->params[i], value, json[i]);
	}
	err = fw_raise_row(FW_HERE, row, fields, count);
	for (size_t i = 0; i < count; i++)
		fw__release(json[i]);
	yyjson_doc_free(doc);
	if (fw_error_retry(err) == FW_RETRY_BACKOFF)
		fw_error_set_retry_after(err, 30);
	return err;
}

fw_error *fw_row_example(const fw_row *row)
{
	fw_error *err = fw_row_raise_example(row);

	set_scene(err);
	return err;
}
