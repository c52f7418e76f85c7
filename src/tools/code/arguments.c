/*
 * arguments.c - see arguments.h.
 */
#include "tools/code/arguments.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "tools/code/limits.h"
#include "tools/code/repo.h"
#include "tools/common/globs.h"

#include <faultwire/raise.h>

static fw_error *each_of(yyjson_val *list, const char *name,
			 fw_error *(*each)(void *ctx, const char *text, size_t len), void *ctx)
{
	size_t index, count;
	yyjson_val *value;

	if (yyjson_arr_size(list) > FW_LIMIT_CODE_LIST)
		return fw_raise_input_invalid_value(name, "a list of at most 64 texts");
	yyjson_arr_foreach(list, index, count, value)
		FW_TRY(each(ctx, yyjson_get_str(value), yyjson_get_len(value)));
	return NULL;
}

fw_error *fw_code_each(fw_call *call, const char *name,
		       fw_error *(*each)(void *ctx, const char *text, size_t len), void *ctx)
{
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_CODE_LIST_BYTES, .depth = 2 };
	size_t len = 0;
	const char *text = fw_call_has(call, name) ? fw_call_json(call, name, &len) : NULL;
	yyjson_doc *doc;
	fw_error *err;

	if (!text)
		return NULL;
	if (len > limits.bytes)
		return fw_raise_input_too_large(name, limits.bytes);
	doc = fw_json_read(text, len, limits, 0, NULL, NULL);
	if (!doc)
		return fw_raise_internal_out_of_memory();
	err = each_of(yyjson_doc_get_root(doc), name, each, ctx);
	yyjson_doc_free(doc);
	return err;
}

struct globs_of {
	struct fw_globs *globs;
	const char *name;
};

static fw_error *add_glob(void *ctx, const char *text, size_t len)
{
	const struct globs_of *of = ctx;

	return fw_globs_add(of->globs, of->name, text, len);
}

fw_error *fw_code_globs(fw_call *call, const char *name, struct fw_globs *globs)
{
	struct globs_of of = { globs, name };

	return fw_code_each(call, name, add_glob, &of);
}

bool fw_code_globs_admit(const struct fw_globs *include, const struct fw_globs *exclude,
			 const char *prefix, const char *path, size_t len)
{
	char shown[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1];

	if (prefix[0] && (include->count || exclude->count)) {
		(void)snprintf(shown, sizeof shown, "%s%.*s", prefix, (int)len, path);
		path = shown;
		len = strlen(shown);
	}
	return (!include->count || fw_globs_match(include, path, len)) &&
	       !fw_globs_match(exclude, path, len);
}

fw_error *fw_code_max_results(const fw_call *call, const char *name, int64_t otherwise,
			      int64_t most, int64_t *ret_number)
{
	int64_t number = fw_call_i64(call, name, otherwise);

	if (number <= 0)
		return fw_raise_input_invalid_value(name, "a positive integer");
	*ret_number = number < most ? number : most;
	return NULL;
}
