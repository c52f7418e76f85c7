/*
 * Envelopes as other programs write them: members in any order, left out, twice, behind
 * others; with each allocation failing; and into buffers of every size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "test/memory.h"

enum { TEXT_BYTES = 4096 };

/* With every member of every contract, texts that need escapes, and a JSON value. */
static fw_error *full(void)
{
	const fw_scope scope = { .tool = "search_text",
				 .operation = "search:text",
				 .role = "WINDSURF",
				 .session_id = "550e8400-e29b-41d4-a716-446655440000",
				 .workspace_root = "/home/user/project",
				 .phase_id = "PHASE_1",
				 .plan_hash = "9f86d081884c7d659a2feaa0c55ad015",
				 .client = "claude",
				 .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736" };
	fw_error *err = fw_raise_search_timeout("a \"quoted\" query");

	err = fw_error_wrap(err, FW_HERE, "%s", "could not search\nthe workspace");
	fw_error_add_json(err, "list", "[{\"a\":1,\"b\":[true,null]},\"x\"]", 29);
	fw_error_add_i64(err, "limit", 60);
	fw_error_set_hint(err, "Try a narrower query.");
	fw_error_set_delivery(err, FW_SENT);
	fw_error_set_retry_after(err, 30);
	fw_error_fill_scope(err, &scope);
	fw_error_set_incident_id(err, "inc_20260119_mfrggzdfmztwq2lk");
	fw_error_set_time(err, INT64_C(1768836730123));
	return err;
}

static char texts[FW_CONTRACT_COUNT][TEXT_BYTES];

static int write_texts(void **state)
{
	fw_error *err = full();

	(void)state;
	for (int c = 0; c < FW_CONTRACT_COUNT; c++)
		assert_true(fw_error_encode(err, (fw_contract)c, NULL, texts[c], TEXT_BYTES) <
			    TEXT_BYTES);
	fw_error_free(err);
	return 0;
}

/* What an envelope says, as canonical text; NULL if it is refused. */
static char *meaning_of(const char *text, size_t len, int contract)
{
	fw_error *err = NULL,
		 *failed = fw_error_decode(text, len, (fw_contract)contract, NULL, &err);
	char *meaning = NULL;

	if (failed)
		assert_int_equal(fw_error_code(failed), FW_CONTRACT_MALFORMED);
	else
		assert_null(fw_error_to_text(err, FW_CANONICAL, NULL, &meaning, NULL));
	fw_error_free(failed);
	fw_error_free(err);
	return meaning;
}

/* ---- the order of members ---- */

/* The object whose members are those of the contract: the root or what is in it. */
static yyjson_mut_val *main_object(yyjson_mut_doc *doc, int contract)
{
	yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);

	switch (contract) {
	case FW_CONTEXT_V0:
	case FW_OWLCLAW: return yyjson_mut_obj_get(root, "error");
	case FW_CODEINTEL: return yyjson_mut_obj_get(root, "problem");
	default: return root;
	}
}

static yyjson_mut_doc *parse(int contract)
{
	yyjson_doc *doc = yyjson_read(texts[contract], strlen(texts[contract]), 0);
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);

	yyjson_doc_free(doc);
	assert_non_null(copy);
	return copy;
}

static char *meaning_of_doc(yyjson_mut_doc *doc, int contract)
{
	size_t len = 0;
	char *text = yyjson_mut_write(doc, 0, &len), *meaning = meaning_of(text, len, contract);

	free(text);
	return meaning;
}

/* Codeintel keeps the other members of the root in their order. */
static void test_decode__members_may_come_in_any_order(void **state)
{
	(void)state;
	for (int c = 0; c < FW_CONTRACT_COUNT; c++) {
		char *expected = meaning_of(texts[c], strlen(texts[c]), c);
		size_t count;
		yyjson_mut_doc *doc = parse(c);

		assert_non_null(expected);
		count = yyjson_mut_obj_size(main_object(doc, c));
		for (size_t turn = 1; turn < count; turn++) {
			char *meaning;

			assert_true(yyjson_mut_obj_rotate(main_object(doc, c), 1));
			meaning = meaning_of_doc(doc, c);
			assert_string_equal(meaning, expected);
			fw_free(meaning);
		}
		yyjson_mut_doc_free(doc);
		fw_free(expected);
	}
}

static void test_decode__a_member_that_is_there_twice_is_refused(void **state)
{
	(void)state;
	for (int c = 0; c < FW_CONTRACT_COUNT; c++) {
		yyjson_mut_doc *doc = parse(c);
		size_t count = yyjson_mut_obj_size(main_object(doc, c));

		yyjson_mut_doc_free(doc);
		for (size_t i = 0; i < count; i++) {
			yyjson_mut_val *object, *key;
			yyjson_mut_obj_iter iter;

			doc = parse(c);
			object = main_object(doc, c);
			iter = yyjson_mut_obj_iter_with(object);
			key = yyjson_mut_obj_iter_next(&iter);
			for (size_t skip = 0; skip < i; skip++)
				key = yyjson_mut_obj_iter_next(&iter);
			assert_true(yyjson_mut_obj_add(
				object, yyjson_mut_strcpy(doc, yyjson_mut_get_str(key)),
				yyjson_mut_val_mut_copy(doc,
							yyjson_mut_obj_iter_get_val(key))));
			assert_null(meaning_of_doc(doc, c));
			yyjson_mut_doc_free(doc);
		}
	}
}

/* Those of the envelope are not always the last ones. */
static void test_decode__codeintel_keeps_the_members_around_its_own(void **state)
{
	static const char text[] =
		"{\"a\":1,\"error\":\"e\",\"b\":{\"c\":[2]},\"problem\":{\"code\":"
		"\"invalid-parameter\"},\"d\":\"x\"}";
	static const char twice[] =
		"{\"error\":\"e\",\"error\":\"e\",\"problem\":{\"code\":\"internal-error\"}}";
	char *meaning = meaning_of(text, sizeof(text) - 1, FW_CODEINTEL);

	(void)state;
	assert_non_null(meaning);
	assert_non_null(
		strstr(meaning, "\"empty_result\":{\"a\":1,\"b\":{\"c\":[2]},\"d\":\"x\"}"));
	fw_free(meaning);
	assert_null(meaning_of(twice, sizeof(twice) - 1, FW_CODEINTEL));
}

/* ---- the retry class ---- */

/* Classes are in order: the first is the least retryable. A class of its own, which not all
 * contracts have room for, is at least not read as one that is retried without a change. */
static void check_class(fw_error *err, int contract, bool is_own)
{
	fw_retry most = is_own && fw_error_retry(err) != FW_RETRY_BACKOFF ? FW_RETRY_AFTER_FIX
									  : fw_error_retry(err);
	char text[4 * TEXT_BYTES];
	size_t len = fw_error_encode(err, (fw_contract)contract, NULL, text, sizeof(text));
	fw_error *read = NULL;

	assert_true(len < sizeof(text));
	assert_null(fw_error_decode(text, len, (fw_contract)contract, NULL, &read));
	if (fw_error_retry(read) > most)
		fail_msg("%s as %s: %s became %s", fw_error_name(err),
			 fw_contract_name((fw_contract)contract),
			 fw_retry_name(fw_error_retry(err)),
			 fw_retry_name(fw_error_retry(read)));
	fw_error_free(read);
	fw_error_free(err);
}

/* As it is raised, with a class of its own, and wrapped. */
static void test_decode__no_code_is_read_as_more_retryable_than_it_was_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < fw_registry_count(NULL); i++)
		for (int c = 0; c < FW_CONTRACT_COUNT; c++)
			for (int retry = -1; retry < FW_RETRY_COUNT; retry++)
				for (int wrapped = 0; wrapped < 2; wrapped++) {
					fw_error *err = fw_row_example(fw_registry_at(NULL, i));

					if (retry >= 0)
						fw_error_set_retry(err, (fw_retry)retry);
					if (wrapped)
						err = fw_error_wrap(err, FW_HERE, "could not");
					check_class(err, c, retry >= 0);
				}
}

/* ---- writing ---- */

/* The short form of toolerror is written in another way than the others. */
static void test_toolerror__fits_or_is_cut_in_a_buffer_of_every_size(void **state)
{
	fw_error *err = fw_raise_reservation_conflict(2, "[{\"held_by\":\"a\"}]");
	char whole[512], room[512];
	size_t len = fw_error_encode(err, FW_TOOLERROR, NULL, whole, sizeof(whole));

	(void)state;
	assert_string_equal(whole,
			    "{\"type\":\"CONFLICT\",\"message\":\"reservation conflict: "
			    "2 conflicts\",\"recoverable\":false,\"data\":{\"conflicts\":"
			    "[{\"held_by\":\"a\"}]}}");
	for (size_t cap = 1; cap < sizeof(room); cap++) {
		memset(room, '#', sizeof(room));
		assert_int_equal(fw_error_encode(err, FW_TOOLERROR, NULL, room, cap), len);
		assert_true(strlen(room) < cap && strncmp(room, whole, strlen(room)) == 0);
		assert_true(strlen(room) == len || len >= cap);
		for (size_t i = cap; i < sizeof(room); i++)
			assert_int_equal(room[i], '#');
	}
	fw_error_free(err);
}

/* ---- memory ---- */

static void expect_no_memory(fw_error *failed)
{
	if (failed)
		assert_int_equal(fw_error_code(failed), FW_INTERNAL_OUT_OF_MEMORY);
	fw_error_free(failed);
}

static void read_write_and_validate(void)
{
	for (int c = 0; c < FW_CONTRACT_COUNT; c++) {
		size_t len = strlen(texts[c]), count = 0;
		fw_error *err = NULL, *failed;
		char *text = NULL;

		failed = fw_error_decode(texts[c], len, (fw_contract)c, NULL, &err);
		assert_true(!failed == !!err);
		expect_no_memory(failed);
		if (err) {
			failed = fw_error_to_text(err, (fw_contract)c, NULL, &text, NULL);
			assert_true(!failed == !!text);
			expect_no_memory(failed);
		}
		fw_free(text);
		fw_error_free(err);
		expect_no_memory(
			fw_validate(texts[c], len, (fw_contract)c, NULL, NULL, NULL, &count));
	}
}

static void test_contract__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(read_write_and_validate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode__members_may_come_in_any_order),
		cmocka_unit_test(test_decode__a_member_that_is_there_twice_is_refused),
		cmocka_unit_test(test_decode__codeintel_keeps_the_members_around_its_own),
		cmocka_unit_test(
			test_decode__no_code_is_read_as_more_retryable_than_it_was_written),
		cmocka_unit_test(test_toolerror__fits_or_is_cut_in_a_buffer_of_every_size),
		cmocka_unit_test(test_contract__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("decode", tests, write_texts, NULL);
}
