/*
 * fuzz_context.c - the readers of manifest.json, index.json and documents.
 *
 * The first byte says which one. What is refused is cache.invalid (or too large)
 * and leaves nothing behind; a manifest that is taken keeps its rules, leads to
 * no file outside of documents/, and can be written and read again; so does an
 * index; a document that is taken has the content that its version hashes.
 */
#include "fuzz.h"

#include "tools/context/cache.h"
#include "tools/context/query.h"

static void refused(fw_error *err)
{
	MUST(fw_error_code(err) == FW_CACHE_INVALID || fw_error_code(err) == FW_FILE_TOO_LARGE);
	fw_error_free(err);
}

static void fuzz_manifest(const char *text, size_t len)
{
	struct fw_context_manifest manifest, again;
	struct fw_buf out;
	fw_error *err = fw_context_manifest_read(text, len, &manifest);

	if (err) {
		refused(err);
		fw_context_manifest_clear(&manifest);
		return;
	}
	MUST(manifest.document_count == manifest.count);
	for (size_t i = 0; i < manifest.count; i++)
		MUST(strncmp(manifest.entries[i].file, "documents/", 10) == 0 &&
		     strspn(manifest.entries[i].file + 10, "0123456789abcdef") == 12 &&
		     strcmp(manifest.entries[i].file + 22, ".json") == 0);
	fw_buf_init(&out, 1 << 24);
	fw_context_manifest_write(&out, &manifest, "2026-01-19T15:32:10.123Z");
	MUST(!fw_context_manifest_read(out.text, out.len, &again));
	MUST(strcmp(again.cache_version, manifest.cache_version) == 0);
	MUST(again.count == manifest.count);
	fw_buf_reset(&out, 1 << 24);
	fw_context_index_write(&out, &again);
	MUST(!fw_context_index_check(out.text, out.len, &manifest));
	fw_buf_clear(&out);
	fw_context_manifest_clear(&again);
	fw_context_manifest_clear(&manifest);
}

/* Of the contents "a" and "b". */
static const struct fw_context_entry entries[] = {
	{ "a.md", 4, "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
	  "documents/ca978112ca1b.json" },
	{ "b.md", 4, "sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
	  "documents/3e23e8160039.json" },
};

static void fuzz_index(const char *text, size_t len)
{
	const struct fw_context_manifest manifest = {
		.entries = (struct fw_context_entry *)(uintptr_t)entries, .count = 2
	};
	fw_error *err = fw_context_index_check(text, len, &manifest);

	if (err)
		refused(err);
}

static void fuzz_document(const char *text, size_t len)
{
	struct fw_context_reader reader;
	struct fw_context_document document;
	fw_error *err;

	MUST(!fw_context_reader_init(&reader));
	MUST(!fw_context_bytes_reserve(&reader.file, len + YYJSON_PADDING_SIZE));
	memcpy(reader.file.data, text, len);
	memset(reader.file.data + len, 0, YYJSON_PADDING_SIZE);
	reader.file.len = len;
	err = fw_context_document_read(&reader.file, &entries[0], reader.hash, &reader.parser,
				       &document);
	if (err) {
		refused(err);
	} else {
		MUST(document.content_len == 1 && document.content[0] == 'a');
		fw_context_document_clear(&document);
	}
	fw_context_reader_clear(&reader);
}

/* Words of any UTF-8 are what they would be in one piece: never empty, without
 * space, in lower case already; and a query is read from them. */
static void fuzz_words(const char *text, size_t len)
{
	struct fw_context_words words = { 0 };
	struct fw_context_query query;
	const char *word;
	size_t word_len;
	fw_error *err = fw_context_query_read(text, len, &query);

	if (err) {
		MUST(fw_error_code(err) == FW_INPUT_INVALID_QUERY);
		fw_error_free(err);
		return;
	}
	fw_context_words_start(&words, text, len);
	while (fw_context_words_next(&words, &word, &word_len)) {
		struct fw_context_words inner = { 0 };
		const char *again;
		size_t again_len;

		MUST(word_len > 0 && fw_context_is_utf8(word, word_len));
		MUST(fw_context_query_has(&query, word, word_len));
		fw_context_words_start(&inner, word, word_len);
		MUST(fw_context_words_next(&inner, &again, &again_len));
		MUST(!fw_context_words_next(&inner, &again, &again_len));
		fw_context_words_clear(&inner);
	}
	MUST(!words.failed);
	fw_context_words_clear(&words);
	fw_context_query_clear(&query);
}

static void fuzz_budget(const char *text, size_t len)
{
	char digits[24];
	int64_t budget, again;

	if (!fw_context_budget_read(text, len, &budget))
		return;
	MUST(budget >= 0);
	(void)snprintf(digits, sizeof digits, "%lld", (long long)budget);
	MUST(fw_context_budget_read(digits, strlen(digits), &again) && again == budget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const char *text,
				       size_t len) = { fuzz_manifest, fuzz_index, fuzz_document,
						       fuzz_words, fuzz_budget };
	long live = fw_error_live();

	if (size < 1 || data[0] < '0' || data[0] > '4')
		return 0;
	targets[data[0] - '0']((const char *)data + 1, size - 1);
	MUST(fw_error_live() == live);
	return 0;
}
