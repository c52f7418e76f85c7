#include "tools/context/test_support.h"

#include "tools/context/cache.h"

#define A_VERSION "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
#define B_VERSION "sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
#define A_FILE "documents/ca978112ca1b.json"
#define B_FILE "documents/3e23e8160039.json"

/* Two documents with the contents "a" and "b". */
static const char manifest_text[] =
	"{\n"
	"  \"cache_version\": "
	"\"sha256:VVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVVV\",\n"
	"  \"build_config\": {\n"
	"    \"version\": \"1\",\n"
	"    \"hash_algorithm\": \"sha256\"\n"
	"  },\n"
	"  \"created_at\": \"2026-01-19T15:32:10.123Z\",\n"
	"  \"document_count\": 2,\n"
	"  \"documents\": [\n"
	"    {\n"
	"      \"id\": \"a.md\",\n"
	"      \"version\": \"" A_VERSION "\",\n"
	"      \"file\": \"" A_FILE "\"\n"
	"    },\n"
	"    {\n"
	"      \"id\": \"b.md\",\n"
	"      \"version\": \"" B_VERSION "\",\n"
	"      \"file\": \"" B_FILE "\"\n"
	"    }\n"
	"  ]\n"
	"}";
static const char index_text[] =
	"{\n  \"a.md\": \"" A_FILE "\",\n  \"b.md\": \"" B_FILE "\"\n}";
static const char document_text[] = "{\"id\":\"a.md\",\"version\":\"" A_VERSION
				    "\",\"source\":\"A.md\",\"content\":\"a\",\"metadata\":{}}";

static const struct fw_context_entry entries[] = { { "a.md", 4, A_VERSION, A_FILE },
						   { "b.md", 4, B_VERSION, B_FILE } };

/* `text` with the first `from` replaced by `to`, and with the right hash in the
 * manifest. */
static char *edit(const char *text, const char *from, const char *to)
{
	char version[FW_CONTEXT_VERSION_LEN + 1];
	const char *at = from ? strstr(text, from) : NULL;
	char *copy = calloc(1, strlen(text) + (to ? strlen(to) : 0) + 1);
	char *hole;

	assert_non_null(copy);
	if (from) {
		assert_non_null(at);
		memcpy(copy, text, (size_t)(at - text));
		(void)snprintf(copy + (at - text),
			       strlen(text) + strlen(to) + 1 - (size_t)(at - text), "%s%s", to,
			       at + strlen(from));
	} else {
		memcpy(copy, text, strlen(text));
	}
	assert_true(fw_context_cache_version(entries, 2, version));
	hole = strstr(copy, "sha256:VVVV");
	if (hole)
		memcpy(hole, version, FW_CONTEXT_VERSION_LEN);
	return copy;
}

static const char *manifest_rule(const char *from, const char *to)
{
	char *text = edit(manifest_text, from, to);
	struct fw_context_manifest manifest;
	const char *rule = rule_of(fw_context_manifest_read(text, strlen(text), &manifest));

	fw_context_manifest_clear(&manifest);
	free(text);
	return rule;
}

static void test_manifest__what_is_written_is_read_and_written_again_the_same(void **state)
{
	char *text = edit(manifest_text, NULL, NULL);
	struct fw_context_manifest manifest;
	struct fw_buf again;

	(void)state;
	must(fw_context_manifest_read(text, strlen(text), &manifest));
	assert_int_equal(manifest.count, 2);
	assert_string_equal(manifest.entries[1].id, "b.md");
	fw_buf_init(&again, 4096);
	fw_context_manifest_write(&again, &manifest, "2026-01-19T15:32:10.123Z");
	assert_string_equal(again.text, text);
	fw_buf_reset(&again, 4096);
	fw_context_index_write(&again, &manifest);
	assert_string_equal(again.text, index_text);
	fw_buf_clear(&again);
	fw_context_manifest_clear(&manifest);
	free(text);
}

static void test_manifest__every_fault_has_its_rule(void **state)
{
	static const struct {
		const char *from, *to, *rule;
	} cases[] = {
		{ NULL, NULL, "none" },
		/* Unknown members are ignored; no rule covers times and white
		 * space. */
		{ "{\n  \"cache", "{\"more\":[1],\"cache", "none" },
		{ "15:32:10.123Z", "15:32:11+01:00", "none" },
		{ "}", "", "manifest_malformed" },
		{ "{", "[", "manifest_malformed" },
		{ "\"cache_version\"", "\"cache_versioN\"", "manifest_malformed" },
		{ "{\n  \"cache", "{\"cache_version\":\"x\",\"cache", "manifest_malformed" },
		{ "\"sha256:VVVV", "\"sha512:VVVV", "manifest_malformed" },
		{ "2026-01-19T", "2026-01-1T", "manifest_malformed" },
		{ "\"2026-01-19T15:32:10.123Z\"", "5", "manifest_malformed" },
		{ "\"document_count\": 2", "\"document_count\": 3", "manifest_malformed" },
		{ "\"document_count\": 2", "\"document_count\": 2.0", "manifest_malformed" },
		{ "\"document_count\": 2", "\"document_count\": -2", "manifest_malformed" },
		{ "\"documents\": [", "\"documents\": [[],", "manifest_malformed" },
		{ "\"id\": \"a.md\"", "\"id\": 7", "manifest_malformed" },
		{ "\"id\": \"a.md\"", "\"id\": \"\"", "manifest_malformed" },
		{ "\"id\": \"a.md\"", "\"id\": \"a.md\",\"id\": \"a.md\"",
		  "manifest_malformed" },
		{ "sha256:ca97", "sha256:CA97", "manifest_malformed" },
		{ "\"version\": \"1\"", "\"version\": 1", "manifest_malformed" },
		{ "\"version\": \"1\"", "\"version\": \"2\"", "manifest_unsupported" },
		{ "\"hash_algorithm\": \"sha256\"", "\"hash_algorithm\": \"md5\"",
		  "manifest_unsupported" },
		{ "\"version\": \"1\"", "\"version\": \"1\",\"more\":1",
		  "manifest_unsupported" },
		{ A_FILE, "documents/../../etcx.json", "manifest_file_name" },
		{ A_FILE, "documents/../ca97811.json", "manifest_file_name" },
		{ A_FILE, "/ocuments/ca978112ca1b.json", "manifest_file_name" },
		{ A_FILE, "documents/ca978112ca1c.json", "manifest_file_name" },
		{ A_FILE, "documents/ca978112ca1b.jsoN", "manifest_file_name" },
		{ "\"id\": \"a.md\"", "\"id\": \"c.md\"", "manifest_unordered" },
		{ "\"id\": \"a.md\"", "\"id\": \"b.md\"", "manifest_unordered" },
		{ "\"id\": \"a.md\"", "\"id\": \"a.m\"", "cache_version_mismatch" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *rule = manifest_rule(cases[i].from, cases[i].to);

		if (strcmp(rule, cases[i].rule) != 0)
			fail_msg("%s > %s: %s and not %s", cases[i].from, cases[i].to, rule,
				 cases[i].rule);
	}
}

static void test_manifest__the_empty_set_has_a_known_version(void **state)
{
	char version[FW_CONTEXT_VERSION_LEN + 1];

	(void)state;
	assert_true(fw_context_cache_version(NULL, 0, version));
	assert_string_equal(
		version,
		"sha256:a77ff76f65e3cd4cd0071b4af8f5294a77f67b6fe0c938a383db5e1271e913ee");
}

static void test_index__is_refused_if_it_differs_from_the_manifest(void **state)
{
	static const struct {
		const char *from, *to, *rule;
	} cases[] = {
		{ NULL, NULL, "none" },
		{ "}", "", "index_malformed" },
		{ "\"a.md\": \"" A_FILE "\"", "\"a.md\": 5", "index_malformed" },
		{ "a.md", "c.md", "index_disagrees" },
		{ "a.md", "b.md", "index_disagrees" },
		{ A_FILE, B_FILE, "index_disagrees" },
		{ "\"a.md\": \"" A_FILE "\",", "", "index_disagrees" },
		{ ",\n  \"b.md\": \"" B_FILE "\"", "", "index_disagrees" },
		{ "\n}", ",\"c.md\":\"x\"}", "index_disagrees" },
		{ "\n}", ",\"b.md\":\"" B_FILE "\"}", "index_disagrees" },
	};
	char *lists = edit(manifest_text, NULL, NULL);
	struct fw_context_manifest manifest;

	(void)state;
	must(fw_context_manifest_read(lists, strlen(lists), &manifest));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = edit(index_text, cases[i].from, cases[i].to);
		const char *rule =
			rule_of(fw_context_index_check(text, strlen(text), &manifest));

		if (strcmp(rule, cases[i].rule) != 0)
			fail_msg("%s > %s: %s and not %s", cases[i].from, cases[i].to, rule,
				 cases[i].rule);
		free(text);
	}
	assert_string_equal(rule_of(fw_context_index_check("[]", 2, &manifest)),
			    "index_malformed");
	assert_string_equal(rule_of(fw_context_index_check("{}", 2, &manifest)),
			    "index_disagrees");
	fw_context_manifest_clear(&manifest);
	must(fw_context_index_check("{}", 2, &manifest));
	assert_string_equal(
		rule_of(fw_context_index_check(index_text, strlen(index_text), &manifest)),
		"index_disagrees");
	free(lists);
}

static fw_error *read_document(const char *text, size_t len)
{
	struct fw_context_reader reader;
	struct fw_context_document document;
	fw_error *err = fw_context_reader_init(&reader);

	if (!err)
		err = fw_context_bytes_reserve(&reader.file, len + YYJSON_PADDING_SIZE);
	if (!err) {
		memcpy(reader.file.data, text, len);
		memset(reader.file.data + len, 0, YYJSON_PADDING_SIZE);
		reader.file.len = len;
		err = fw_context_document_read(&reader.file, &entries[0], reader.hash,
					       &reader.parser, &document);
	}
	if (!err) {
		assert_int_equal(document.content_len, 1);
		fw_context_document_clear(&document);
	}
	fw_context_reader_clear(&reader);
	return err;
}

static void test_document__is_refused_if_it_differs_from_its_entry(void **state)
{
	static const struct {
		const char *from, *to, *rule;
	} cases[] = {
		{ NULL, NULL, "none" },
		{ "A.md", "elsewhere", "none" },
		{ "{}", "{\"title\":\"A\",\"lines\":-3}", "none" },
		{ "\"content\":\"a\"", "\"content\":\"\\u0061\"", "none" },
		{ "}}", "}", "document_malformed" },
		{ "}}", "}}}", "document_malformed" },
		{ "{}", "{\"title\":1.5}", "document_malformed" },
		{ "{}", "[]", "document_malformed" },
		{ ",\"metadata\":{}", "", "document_malformed" },
		{ "\"A.md\"", "null", "document_malformed" },
		{ "\"content\":\"a\"", "\"content\":\"a\",\"content\":\"a\"",
		  "document_malformed" },
		{ "\"content\":\"a\"", "\"content\":\"\xff\"", "document_malformed" },
		{ "a.md", "b.md", "document_id_mismatch" },
		{ "sha256:ca", "sha256:cb", "document_version_mismatch" },
		{ "\"content\":\"a\"", "\"content\":\"A\"", "document_hash_mismatch" },
		{ "\"content\":\"a\"", "\"content\":\"\"", "document_hash_mismatch" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *text = edit(document_text, cases[i].from, cases[i].to);
		const char *rule = rule_of(read_document(text, strlen(text)));

		if (strcmp(rule, cases[i].rule) != 0)
			fail_msg("%s > %s: %s and not %s", cases[i].from, cases[i].to, rule,
				 cases[i].rule);
		free(text);
	}
}

/* edit() computes a hash, which allocates and is not under test here. */
static bool read_all(void)
{
	long fail_at = memory.fail_at;
	bool is_done;
	char *text;
	struct fw_context_manifest manifest = { 0 };
	fw_error *err;

	memory.fail_at = 0;
	text = edit(manifest_text, NULL, NULL);
	memory.calls = 0;
	memory.fail_at = fail_at;
	err = fw_context_manifest_read(text, strlen(text), &manifest);
	if (!err)
		err = fw_context_index_check(index_text, strlen(index_text), &manifest);
	if (!err)
		err = read_document(document_text, strlen(document_text));
	fw_context_manifest_clear(&manifest);
	is_done = err == NULL;
	if (err)
		assert_string_equal(fw_error_name(err), "internal.out_of_memory");
	fw_error_free(err);
	free(text);
	return is_done;
}

static void test_format__survives_every_allocation_failure(void **state)
{
	(void)state;
	use_test_memory();
	each_allocation_fails(read_all);
	fw_allocator_set(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_manifest__what_is_written_is_read_and_written_again_the_same),
		cmocka_unit_test(test_manifest__every_fault_has_its_rule),
		cmocka_unit_test(test_manifest__the_empty_set_has_a_known_version),
		cmocka_unit_test(test_index__is_refused_if_it_differs_from_the_manifest),
		cmocka_unit_test(test_document__is_refused_if_it_differs_from_its_entry),
		cmocka_unit_test(test_format__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("context_format", tests, NULL, NULL);
}
