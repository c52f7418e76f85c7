/*
 * decide_table_test.c - every code in every contract, for each attempt and delivery.
 *
 * What is expected is read from the envelope as its contract says, and not from the row
 * of the code: the decision must follow from what a client can see.
 */
#include "support.h"

#include <yyjson.h>

#include <faultwire/decide.h>

struct seen {
	yyjson_val *root;
	fw_contract contract;
	const fw_row *row; /* of the error that was read */
	bool retries;      /* it was read as retryable */
};

/* ---- what the contracts say about a call that was answered ---- */

static const char *text_of(yyjson_val *object, const char *key)
{
	const char *text = yyjson_get_str(yyjson_obj_get(object, key));

	return text ? text : "";
}

/* "Recommended agent patterns" of toolerror. */
static fw_action expect_toolerror(yyjson_val *root)
{
	static const struct {
		const char *type;
		fw_action action;
	} types[] = {
		{ "TRANSIENT", FW_ACTION_RETRY },       { "VALIDATION", FW_ACTION_FIX },
		{ "NOT_FOUND", FW_ACTION_WORK_AROUND }, { "CONFLICT", FW_ACTION_RESOLVE },
		{ "PERMISSION", FW_ACTION_ESCALATE },   { "INTERNAL", FW_ACTION_GIVE_UP },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(text_of(root, "type"), types[i].type) == 0)
			return types[i].action;
	fail_msg("no such type");
	return FW_ACTION_COUNT;
}

/* Section 7 of kaiza; COUNT: "refer to spec above", or to the canonical code, which the
 * cause has if the code of the contract stands for several. */
static fw_action expect_kaiza(yyjson_val *root)
{
	static const struct {
		const char *code;
		fw_action action;
	} codes[] = {
		{ "SESSION_NOT_INITIALIZED", FW_ACTION_PREPARE },
		{ "SESSION_LOCKED", FW_ACTION_PREPARE },
		{ "UNAUTHORIZED_ACTION", FW_ACTION_ESCALATE },
		{ "PLAN_NOT_APPROVED", FW_ACTION_ESCALATE },
		{ "MISSING_REQUIRED_FIELD", FW_ACTION_FIX },
		{ "FILE_NOT_FOUND", FW_ACTION_WORK_AROUND },
		{ "HASH_MISMATCH", FW_ACTION_RESOLVE },
		{ "AUDIT_LOCK_FAILED", FW_ACTION_RETRY },
		{ "INTERNAL_ERROR", FW_ACTION_GIVE_UP },
	};

	if (strcmp(text_of(yyjson_obj_get(root, "cause"), "name"), "fw_error") == 0)
		return FW_ACTION_COUNT;
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(text_of(root, "error_code"), codes[i].code) == 0)
			return codes[i].action;
	return FW_ACTION_COUNT;
}

static fw_action expect_context_v0(yyjson_val *root)
{
	const char *code = text_of(yyjson_obj_get(root, "error"), "code");

	/* "Retry may succeed", but it also stands for a full disk and a denied permission:
	 * reading it never gives a right to retry that the error did not have. */
	if (strcmp(code, "io_error") == 0)
		return FW_ACTION_GIVE_UP;
	if (strcmp(code, "cache_missing") == 0)
		return FW_ACTION_WORK_AROUND;
	if (strcmp(code, "cache_invalid") == 0)
		return FW_ACTION_RESOLVE; /* "Retrying will not help." */
	return strcmp(code, "internal_error") == 0 ? FW_ACTION_GIVE_UP : FW_ACTION_FIX;
}

/* Section 5 of owlclaw: retryable first. COUNT: anything but a retry. */
static fw_action expect_owlclaw(yyjson_val *error)
{
	return yyjson_is_true(yyjson_obj_get(error, "retryable")) ? FW_ACTION_RETRY
								  : FW_ACTION_COUNT;
}

static fw_action expect(const struct seen *seen)
{
	switch (seen->contract) {
	case FW_TOOLERROR: return expect_toolerror(seen->root);
	case FW_KAIZA: return expect_kaiza(seen->root);
	case FW_CONTEXT_V0: return expect_context_v0(seen->root);
	case FW_OWLCLAW: return expect_owlclaw(yyjson_obj_get(seen->root, "error"));
	case FW_OWLCLAW_API: return expect_owlclaw(seen->root);
	default: return FW_ACTION_COUNT;
	}
}

/* ---- the table ---- */

static bool repeats(fw_action action)
{
	return action != FW_ACTION_WORK_AROUND && action != FW_ACTION_ESCALATE &&
	       action != FW_ACTION_CHECK && action != FW_ACTION_GIVE_UP;
}

static void check_one(const struct seen *seen, const fw_error *err, unsigned attempt,
		      bool is_idempotent)
{
	fw_decide_options how = FW_DECIDE_OPTIONS_INIT;
	fw_action expected = expect(seen);
	fw_decision decision;

	how.attempt = attempt;
	how.is_idempotent = is_idempotent;
	assert_null(fw_decide(err, &how, &decision));
	if (fw_error_delivery(err) == FW_SENT && !is_idempotent) {
		if (repeats(decision.action))
			fail_msg("%s is repeated", fw_error_name(err));
		return;
	}
	if (expected == FW_ACTION_RETRY && attempt >= 3)
		expected = FW_ACTION_LATER;
	if (expected != FW_ACTION_COUNT && decision.action != expected)
		fail_msg("%s: %s, expected %s", fw_error_name(err),
			 fw_action_name(decision.action), fw_action_name(expected));
	/* In all contracts: only what is retryable is retried, and nothing else. */
	if (!seen->retries)
		assert_true(decision.action != FW_ACTION_RETRY &&
			    decision.action != FW_ACTION_LATER);
	assert_true((decision.next != NULL) == (decision.action == FW_ACTION_PREPARE));
	assert_true(decision.delay >= 0);
}

static void check_in(const fw_row *row, fw_contract contract)
{
	fw_error *made = fw_row_raise_example(row), *err = NULL;
	char text[8192];
	size_t len = fw_error_encode(made, contract, NULL, text, sizeof text);
	yyjson_doc *doc = yyjson_read(text, len, 0);
	struct seen seen = { .root = yyjson_doc_get_root(doc), .contract = contract };

	assert_true(len < sizeof text);
	assert_non_null(doc);
	assert_null(fw_error_decode(text, len, contract, NULL, &err));
	seen.row = fw_error_row(err);
	seen.retries = fw_error_retry(err) == FW_RETRY_BACKOFF;
	for (unsigned attempt = 1; attempt <= 4; attempt++)
		for (int delivery = 0; delivery < FW_DELIVERY_COUNT; delivery++)
			for (int idempotent = 0; idempotent < 2; idempotent++) {
				fw_error_set_delivery(err, (fw_delivery)delivery);
				check_one(&seen, err, attempt, idempotent);
			}
	fw_error_free(err);
	fw_error_free(made);
	yyjson_doc_free(doc);
}

static void test_decide__every_code_in_every_contract(void **state)
{
	size_t count = fw_registry_count(NULL);

	(void)state;
	assert_true(count > 100);
	for (size_t i = 0; i < count; i++)
		for (int contract = 0; contract < FW_CONTRACT_COUNT; contract++)
			check_in(fw_registry_at(NULL, i), (fw_contract)contract);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide__every_code_in_every_contract),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
