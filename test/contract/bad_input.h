/*
 * bad_input.h - shared by the tests of malformed input.
 *
 * Every input is passed in a block of exactly its size, without a final NUL, so
 * that a sanitizer or valgrind detects a read past its end. An input is either
 * refused with an error that says where, or accepted, and no memory is left
 * behind.
 */
#ifndef FW_TEST_CONTRACT_BAD_INPUT_H
#define FW_TEST_CONTRACT_BAD_INPUT_H

#include "support.h"

#include <stdio.h>

static inline const char *name_of(int contract)
{
	return fw_contract_name((fw_contract)contract);
}

/* ---- handing in ------------------------------------------------------- */

static inline char *exactly(const char *text, size_t len)
{
	char *block = malloc(len ? len : 1);

	assert_non_null(block);
	if (len)
		memcpy(block, text, len);
	return block;
}

/* The position that an error of a reader names, or SIZE_MAX if it names none. */
static inline size_t position_of(const fw_error *err)
{
	fw_field field;

	if (!fw_error_find_field(err, "position", &field))
		return SIZE_MAX;
	if (field.type == FW_FIELD_U64)
		return (size_t)field.u64;
	return field.type == FW_FIELD_I64 ? (size_t)field.i64 : SIZE_MAX;
}

static inline const char *pointer_of(const fw_error *err)
{
	fw_field field;

	return fw_error_find_field(err, "pointer", &field) && field.type == FW_FIELD_STRING
		       ? field.string
		       : NULL;
}

/* Checks that a refusal is one that fw_error_decode() documents, and that it says where. */
static inline void assert_clear(const fw_error *err, size_t len)
{
	const char *code = fw_error_name(err);

	assert_non_null(fw_error_message(err));
	assert_true(fw_error_message(err)[0] != '\0');
	if (strcmp(code, "contract.not_json") == 0 ||
	    strcmp(code, "input.invalid_encoding") == 0) {
		if (position_of(err) > len)
			fail_msg("%s names no position: %s", code, fw_error_message(err));
	} else if (strcmp(code, "contract.malformed") == 0) {
		if (!pointer_of(err))
			fail_msg("%s names no pointer: %s", code, fw_error_message(err));
	} else if (strcmp(code, "input.too_large") != 0 &&
		   strcmp(code, "input.too_deep") != 0 &&
		   strcmp(code, "registry.code_unregistered") != 0) {
		fail_msg("a refusal is not %s: %s", code, fw_error_message(err));
	}
	assert_encodes(err);
}

/* Reads an envelope. Returns the refusal, which the caller owns, or NULL if it was
 * accepted. An accepted error is written in every contract; `*ret_text` (may be NULL)
 * gets it in its own. */
static inline fw_error *read_as(const char *text, size_t len, int contract, char **ret_text)
{
	char *block = exactly(text, len);
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(block, len, (fw_contract)contract, NULL, &read);

	free(block);
	if (err) {
		assert_null(read);
		assert_clear(err, len);
		return err;
	}
	assert_non_null(read);
	assert_encodes(read);
	if (ret_text) {
		size_t whole;
		fw_error *failed =
			fw_error_to_text(read, (fw_contract)contract, NULL, ret_text, &whole);

		assert_null(failed);
		assert_int_equal(strlen(*ret_text), whole);
	}
	fw_error_free(read);
	return NULL;
}

struct reported {
	size_t count;
	char first[512];
};

static inline void report(void *ctx, const fw_violation_info *violation)
{
	struct reported *reported = ctx;

	assert_non_null(violation->pointer);
	assert_non_null(violation->rule);
	assert_non_null(violation->expected);
	assert_non_null(violation->found);
	assert_true(violation->pointer[0] == '\0' || violation->pointer[0] == '/');
	if (reported->count++ == 0)
		(void)snprintf(reported->first, sizeof(reported->first), "%s",
			       violation->pointer);
}

/* The number of violations, or SIZE_MAX if the text could not be checked. */
static inline size_t violations(const char *text, size_t len, int contract,
				struct reported *reported)
{
	char *block = exactly(text, len);
	size_t count = SIZE_MAX - 1;
	fw_error *err;

	memset(reported, 0, sizeof(*reported));
	err = fw_validate(block, len, (fw_contract)contract, NULL, report, reported, &count);
	free(block);
	if (err) {
		assert_int_equal(count, SIZE_MAX - 1);
		assert_clear(err, len);
		fw_error_free(err);
		return SIZE_MAX;
	}
	assert_int_equal(count, reported->count);
	assert_true(count <= FW_VIOLATIONS_MAX);
	return count;
}

/* Checks that the reader refuses the text and the validator finds it invalid. */
static inline fw_error *refusal(const char *text, size_t len, int contract)
{
	struct reported reported;
	fw_error *err = read_as(text, len, contract, NULL);

	if (!err)
		fail_msg("%s took %.*s", name_of(contract), len > 300 ? 300 : (int)len, text);
	if (violations(text, len, contract, &reported) == 0)
		fail_msg("%s is refused but valid: %.*s", name_of(contract),
			 len > 300 ? 300 : (int)len, text);
	return err;
}

static inline void assert_refused(const char *text, size_t len, int contract)
{
	fw_error_free(refusal(text, len, contract));
}

static inline void assert_refused_as(const char *text, size_t len, int contract,
				     const char *code)
{
	fw_error *err = refusal(text, len, contract);

	if (strcmp(fw_error_name(err), code) != 0)
		fail_msg("%s refused with %s, not %s: %.*s", name_of(contract),
			 fw_error_name(err), code, len > 300 ? 300 : (int)len, text);
	fw_error_free(err);
}

/* Checks that sniffing succeeds, and that the text can be read as the contract found. */
static inline void assert_sniffs(const char *text, size_t len)
{
	char *block = exactly(text, len);
	fw_contract found = fw_sniff(block, len);
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(block, len, FW_AUTO, NULL, &read);

	assert_true((int)found >= 0 && found <= FW_PLAIN_TEXT);
	assert_true(!err != !read);
	if (err)
		assert_clear(err, len);
	else
		assert_encodes(read);
	fw_error_free(err);
	fw_error_free(read);
	free(block);
}

/* The sample of a contract with `from` (first occurrence) replaced by `to`. */
static inline char *replaced(int contract, const char *from, const char *to, size_t to_len,
			     size_t *ret_len)
{
	size_t len, before;
	char *sample = sample_text((fw_contract)contract, &len);
	char *at = strstr(sample, from);
	char *text;

	if (!at)
		fail_msg("%s: no %s in %s", name_of(contract), from, sample);
	before = (size_t)(at - sample);
	text = malloc(len - strlen(from) + to_len + 1);
	assert_non_null(text);
	memcpy(text, sample, before);
	memcpy(text + before, to, to_len);
	memcpy(text + before + to_len, at + strlen(from), strlen(at + strlen(from)) + 1);
	*ret_len = len - strlen(from) + to_len;
	free(sample);
	return text;
}

/* A place in each contract that may have a value of any type. */
static const struct {
	const char *from, *before, *after;
} any_place[FW_CONTRACT_COUNT] = {
	[FW_CANONICAL] = { "\"def main\"", "", "" },
	[FW_KAIZA] = { "{\"message\":\"No", "{\"deep\":", ",\"message\":\"No" },
	[FW_CONTEXT_V0] = { "{\"error\"", "{\"deep\":", ",\"error\"" },
	[FW_CODEINTEL] = { "\"src/main.py\"", "", "" },
	[FW_TOOLERROR] = { "\"data\":{", "\"data\":{\"deep\":", "," },
	[FW_OWLCLAW] = { "{\"limit\":5}", "{\"limit\":", "}" },
	[FW_OWLCLAW_API] = { "{\"limit\":5}", "{\"limit\":", "}" },
};

/* The sample with `value` at that place. */
static inline char *with_value(int contract, const char *value, size_t len, size_t *ret_len)
{
	const char *before = any_place[contract].before, *after = any_place[contract].after;
	char *to = malloc(strlen(before) + len + strlen(after) + 1);
	char *text;

	assert_non_null(to);
	memcpy(to, before, strlen(before));
	memcpy(to + strlen(before), value, len);
	memcpy(to + strlen(before) + len, after, strlen(after));
	text = replaced(contract, any_place[contract].from, to,
			strlen(before) + len + strlen(after), ret_len);
	free(to);
	return text;
}

#endif
