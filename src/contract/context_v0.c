/*
 * context_v0.c - {"error":{"code","message"}} and a newline: six codes, six
 * sentences, the same bytes every time.
 *
 * Whatever the error's own message says stays behind: the contract forbids
 * paths, hashes and numbers, and these sentences have none.
 */
#include "contract/contract_impl.h"

#include <faultwire/raise.h>

static const struct {
	const char *code;
	const char *message;
} sentences[] = {
	{ "cache_missing", "Cache does not exist" },
	{ "cache_invalid", "Cache exists but is invalid" },
	{ "invalid_query", "Query is invalid" },
	{ "invalid_budget", "Budget is invalid" },
	{ "io_error", "I/O error occurred" },
	{ "internal_error", "Internal error" },
};

static const char *sentence_of(const char *code)
{
	size_t last = sizeof(sentences) / sizeof(sentences[0]) - 1;

	for (size_t i = 0; i < last; i++)
		if (strcmp(sentences[i].code, code) == 0)
			return sentences[i].message;
	return sentences[last].message;
}

void fw_context_v0_encode(struct fw_out *out, const fw_error *err,
			  const fw_encode_options *options)
{
	const char *code = fw_error_row(err)->context_v0;

	(void)options;
	FW_OUT(out, "{\"error\":{\"code\":\"");
	fw_out_str(out, code);
	FW_OUT(out, "\",\"message\":\"");
	fw_out_str(out, sentence_of(code));
	FW_OUT(out, "\"}}\n");
}

fw_error *fw_context_v0_decode(const struct fw_reading *reading, yyjson_val *root)
{
	static const struct fw_member outer[] = { FW_MEMBER("error", FW_KIND_OBJECT, true) };
	static const struct fw_member inner[] = {
		FW_MEMBER("code", FW_KIND_STRING, true),
		FW_MEMBER("message", FW_KIND_STRING, true),
	};
	yyjson_val *object, *values[2];
	const fw_row *row;

	FW_TRY(fw_read_members(reading, "", root, outer, 1, &object));
	FW_TRY(fw_read_members(reading, "/error", object, inner, 2, values));
	row = fw_registry_read(reading->registry, FW_CONTEXT_V0, yyjson_get_str(values[0]));
	if (!row)
		return fw_raise_registry_code_unregistered(yyjson_get_str(values[0]));
	(void)fw_read_start(reading, row, values[1]);
	return NULL;
}
