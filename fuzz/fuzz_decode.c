/*
 * fuzz_decode.c - the first byte picks the contract, the rest is read in it.
 *
 * What was read is written in its own contract, and reading that again gives the
 * same bytes; a refusal says where, and nothing stays allocated; valid input is
 * always accepted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "fuzz.h"

static void count(void *ctx, const fw_violation_info *violation)
{
	MUST(violation->pointer && violation->rule && violation->expected && violation->found);
	MUST(*violation->pointer == '\0' || *violation->pointer == '/');
	++*(size_t *)ctx;
}

static void read_refused(const fw_error *err, size_t size)
{
	const char *code = fw_error_name(err);
	fw_field field;

	if (strcmp(code, "contract.not_json") == 0 ||
	    strcmp(code, "input.invalid_encoding") == 0) {
		MUST(fw_error_find_field(err, "position", &field));
		MUST(field.type == FW_FIELD_U64 && field.u64 <= size);
	} else if (strcmp(code, "contract.malformed") == 0) {
		MUST(fw_error_find_field(err, "pointer", &field));
		MUST(field.type == FW_FIELD_STRING);
	} else {
		MUST(strcmp(code, "input.too_large") == 0 ||
		     strcmp(code, "input.too_deep") == 0 ||
		     strcmp(code, "registry.code_unregistered") == 0);
	}
	fuzz_round_trip(err, FW_CANONICAL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fw_encode_options options = { .struct_size = sizeof(fw_encode_options) };
	fw_error *read = NULL, *err;
	size_t told = 0, violations = 0;
	long live = fw_error_live();
	fw_contract contract;
	bool beyond_schema;
	const char *text;

	if (size == 0)
		return 0;
	/* '0' to '6' are the contracts, so that a corpus can be read by people */
	contract = (fw_contract)((unsigned)(data[0] - '0') % FW_CONTRACT_COUNT);
	options.go_escape = data[0] & 0x80;
	text = (const char *)data + 1;
	size--;

	err = fw_error_decode(text, size, contract, NULL, &read);
	MUST(!err != !read);
	if (err)
		read_refused(err, size);
	else
		fuzz_round_trip(read, contract, &options);
	/* a schema says nothing of depth, nor of NUL in a string */
	beyond_schema = err && (strcmp(fw_error_name(err), "input.too_deep") == 0 ||
				memmem(text, size, "\\u0000", 6));
	fw_error_free(err);

	err = fw_validate(text, size, contract, NULL, count, &told, &violations);
	if (!err) {
		MUST(told == violations && told <= FW_VIOLATIONS_MAX);
		MUST(told > 0 || read || beyond_schema);
	} else {
		MUST(told == 0);
	}
	fw_error_free(err);
	fw_error_free(read);
	MUST(fw_error_live() == live);
	return 0;
}
