/*
 * context_v0.c - {"error":{"code","message"}} and a newline: six codes with six fixed
 * messages, always the same bytes.
 *
 * The error's own message is not written: the contract forbids paths, hashes and
 * numbers.
 */
#include "contract/contract_impl.h"

#include <faultwire/raise.h>

#define TEXT(text)                     \
	{                              \
		text, sizeof(text) - 1 \
	}
#define SENTENCE(code, message)                                                             \
	{                                                                                   \
		TEXT(code), TEXT("{\"error\":{\"code\":\"" code "\",\"message\":\"" message \
				 "\"}}\n")                                                  \
	}

/* Complete envelopes, since nothing is filled in. */
static const struct {
	struct fw_text code;
	struct fw_text envelope;
} sentences[] = {
	SENTENCE("cache_missing", "Cache does not exist"),
	SENTENCE("cache_invalid", "Cache exists but is invalid"),
	SENTENCE("invalid_query", "Query is invalid"),
	SENTENCE("invalid_budget", "Budget is invalid"),
	SENTENCE("io_error", "I/O error occurred"),
	SENTENCE("internal_error", "Internal error"),
};

enum { LAST = sizeof(sentences) / sizeof(sentences[0]) - 1 };

void fw_context_v0_encode(struct fw_out *out, const fw_error *err,
			  const fw_encode_options *options)
{
	const fw_row *row = fw_error_row(err);
	size_t i = 0;

	(void)options;
	while (i < LAST &&
	       !fw__text_is(sentences[i].code, row->context_v0, row->context_v0_len))
		i++;
	fw_write_plain(out, sentences[i].envelope);
}

fw_error *fw_context_v0_decode(const struct fw_reading *reading, yyjson_val *root)
{
	enum { CODE, MESSAGE, MEMBERS };
	static const struct fw_member members[MEMBERS] = {
		FW_MEMBER("code", FW_KIND_STRING),
		FW_MEMBER("message", FW_KIND_STRING),
	};
	static const struct fw_members inner = FW_MEMBERS(members, 1 << CODE | 1 << MESSAGE);
	yyjson_val *object, *values[MEMBERS];
	const fw_row *row;

	FW_TRY(fw_read_error_member(reading, root, &object));
	FW_TRY(fw_read_members(reading, "/error", object, &inner, values));
	row = fw__registry_read(reading->registry, FW_CONTEXT_V0, fw_text_of(values[CODE]));
	if (!row)
		return fw_raise_registry_code_unregistered(yyjson_get_str(values[CODE]));
	fw_read_lower_retry(reading, fw_read_start(reading, row, values[MESSAGE]));
	return NULL;
}
