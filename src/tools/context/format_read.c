/*
 * format_read.c - reads manifest.json, index.json and documents.
 *
 * The files are not trusted. Unknown members are ignored, but a known member that
 * appears twice is an error, because parsers differ in which one they use.
 */
#include "tools/context/format.h"

#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tools/context/rule.h"

/* Documents up to this size are parsed without an allocation. */
enum { SMALL_BYTES = 32 * 1024 };

/* ---- hashes ---- */

static bool take_version(struct fw_hasher *hasher, char ret_version[FW_CONTEXT_VERSION_LEN + 1])
{
	unsigned char bytes[FW_SHA256_BYTES];

	if (!fw_hasher_take(hasher, bytes))
		return false;
	memcpy(ret_version, "sha256:", 7);
	fw_hex(bytes, sizeof bytes, ret_version + 7);
	return true;
}

bool fw_context_version(struct fw_hasher *hasher, const void *data, size_t len,
			char ret_version[FW_CONTEXT_VERSION_LEN + 1])
{
	fw_hasher_add(hasher, data, len);
	return take_version(hasher, ret_version);
}

bool fw_context_cache_version(const struct fw_context_entry *entries, size_t count,
			      char ret_version[FW_CONTEXT_VERSION_LEN + 1])
{
	static const char config[] = "{\"version\":\"1\",\"hash_algorithm\":\"sha256\"}";
	struct fw_hasher *hasher = fw_hasher_new();
	bool is_done;

	if (!hasher)
		return false;
	fw_hasher_add(hasher, config, sizeof config - 1);
	for (size_t i = 0; i < count; i++) {
		fw_hasher_add(hasher, entries[i].id, entries[i].id_len);
		fw_hasher_add(hasher, ":", 1);
		fw_hasher_add(hasher, entries[i].version, FW_CONTEXT_VERSION_LEN);
	}
	is_done = take_version(hasher, ret_version);
	fw_hasher_free(hasher);
	return is_done;
}

static bool is_version(yyjson_val *value)
{
	const char *text = yyjson_get_str(value);

	if (!text || yyjson_get_len(value) != FW_CONTEXT_VERSION_LEN ||
	    memcmp(text, "sha256:", 7) != 0)
		return false;
	for (size_t i = 7; i < FW_CONTEXT_VERSION_LEN; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return true;
}

/* ---- members ---- */

/* Finds the members `names` of an object; NULL for those that are missing. False if
 * one appears twice, or it is not an object. */
static bool find_members(yyjson_val *object, const char *const *names, size_t count,
			 yyjson_val **values)
{
	yyjson_obj_iter iter;
	yyjson_val *key;

	for (size_t i = 0; i < count; i++)
		values[i] = NULL;
	if (!yyjson_obj_iter_init(object, &iter))
		return false;
	while ((key = yyjson_obj_iter_next(&iter))) {
		for (size_t i = 0; i < count; i++) {
			if (!yyjson_equals_str(key, names[i]))
				continue;
			if (values[i])
				return false;
			values[i] = yyjson_obj_iter_get_val(key);
			break;
		}
	}
	return true;
}

static yyjson_doc *parse(const char *text, size_t len, yyjson_read_flag flags,
			 const yyjson_alc *alc, bool *ret_no_memory)
{
	yyjson_read_err why = { 0 };
	const struct fw_json_limits limits = { .bytes = FW_LIMIT_CONTEXT_LIST_BYTES };
	yyjson_doc *doc = fw_json_read(text, len, limits, flags, alc, &why);

	*ret_no_memory = !doc && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION;
	return doc;
}

/* ---- manifest.json ---- */

void fw_context_manifest_clear(struct fw_context_manifest *manifest)
{
	yyjson_doc_free(manifest->doc);
	fw__release(manifest->entries);
	*manifest = (struct fw_context_manifest){ 0 };
}

static bool is_time(const char *text, size_t len)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd";

	if (!text || len < sizeof shape)
		return false;
	for (size_t i = 0; i < sizeof shape - 1; i++)
		if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	return true;
}

static fw_error *read_entry(yyjson_val *value, struct fw_context_entry *entry)
{
	static const char *const names[] = { "id", "version", "file" };
	yyjson_val *found[3];

	if (!find_members(value, names, 3, found) || !yyjson_is_str(found[0]) ||
	    yyjson_get_len(found[0]) == 0 || !is_version(found[1]) || !yyjson_is_str(found[2]))
		return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_MALFORMED, NULL);
	entry->id = yyjson_get_str(found[0]);
	entry->id_len = yyjson_get_len(found[0]);
	entry->version = yyjson_get_str(found[1]);
	entry->file = yyjson_get_str(found[2]);
	if (yyjson_get_len(found[2]) != FW_CONTEXT_FILE_LEN ||
	    memcmp(entry->file, FW_CONTEXT_DOCUMENTS "/", FW_CONTEXT_FILE_NAME_OFFSET) != 0 ||
	    memcmp(entry->file + FW_CONTEXT_FILE_NAME_OFFSET, entry->version + 7, 12) != 0 ||
	    memcmp(entry->file + FW_CONTEXT_FILE_NAME_OFFSET + 12, ".json", 5) != 0)
		return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_FILE_NAME, entry->id);
	return NULL;
}

/* Compares bytes; a prefix sorts first. */
static int compare_ids(const struct fw_context_entry *a, const struct fw_context_entry *b)
{
	size_t len = a->id_len < b->id_len ? a->id_len : b->id_len;
	int order = memcmp(a->id, b->id, len);

	return order ? order : (a->id_len > b->id_len) - (a->id_len < b->id_len);
}

static fw_error *read_entries(yyjson_val *list, struct fw_context_manifest *manifest)
{
	size_t count = yyjson_arr_size(list);
	yyjson_arr_iter iter;
	yyjson_val *value;

	if (manifest->document_count != count)
		return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_MALFORMED, NULL);
	if (count > FW_LIMIT_CONTEXT_DOCUMENTS)
		return fw_raise_file_too_large(FW_CONTEXT_MANIFEST_FILE,
					       FW_LIMIT_CONTEXT_LIST_BYTES);
	manifest->is_listed = count == 0;
	if (count == 0)
		return NULL;
	manifest->entries = fw__allocate(count * sizeof *manifest->entries);
	if (!manifest->entries)
		return fw_raise_internal_out_of_memory();
	(void)yyjson_arr_iter_init(list, &iter);
	while ((value = yyjson_arr_iter_next(&iter))) {
		struct fw_context_entry *entry = &manifest->entries[manifest->count];

		FW_TRY(read_entry(value, entry));
		if (manifest->count > 0 && compare_ids(entry - 1, entry) >= 0)
			return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_UNORDERED,
						  entry->id);
		manifest->count++;
	}
	manifest->is_listed = true;
	return NULL;
}

fw_error *fw_context_manifest_read(const char *text, size_t len,
				   struct fw_context_manifest *ret_manifest)
{
	static const char *const names[] = { "cache_version", "build_config", "created_at",
					     "document_count", "documents" };
	static const char *const config_names[] = { "version", "hash_algorithm" };
	yyjson_val *found[5], *config[2];
	char version[FW_CONTEXT_VERSION_LEN + 1];
	bool no_memory;

	*ret_manifest = (struct fw_context_manifest){ 0 };
	ret_manifest->doc = parse(text, len, 0, &fw__yyjson_alc, &no_memory);
	if (no_memory)
		return fw_raise_internal_out_of_memory();
	if (!ret_manifest->doc ||
	    !find_members(yyjson_doc_get_root(ret_manifest->doc), names, 5, found))
		return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_MALFORMED, NULL);
	if (is_version(found[0]))
		ret_manifest->cache_version = yyjson_get_str(found[0]);
	if (yyjson_is_uint(found[3]))
		ret_manifest->document_count = yyjson_get_uint(found[3]);
	if (!ret_manifest->cache_version || !yyjson_is_uint(found[3]) ||
	    !is_time(yyjson_get_str(found[2]), yyjson_get_len(found[2])) ||
	    !yyjson_is_arr(found[4]) || !find_members(found[1], config_names, 2, config) ||
	    !yyjson_is_str(config[0]) || !yyjson_is_str(config[1]))
		return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_MALFORMED, NULL);
	if (yyjson_obj_size(found[1]) != 2 || !yyjson_equals_str(config[0], "1") ||
	    !yyjson_equals_str(config[1], "sha256"))
		return fw_context_invalid(FW_CONTEXT_RULE_MANIFEST_UNSUPPORTED, NULL);
	FW_TRY(read_entries(found[4], ret_manifest));
	if (!fw_context_cache_version(ret_manifest->entries, ret_manifest->count, version))
		return fw_raise_internal_out_of_memory();
	if (memcmp(version, ret_manifest->cache_version, FW_CONTEXT_VERSION_LEN) != 0)
		return fw_context_invalid(FW_CONTEXT_RULE_VERSION_MISMATCH, NULL);
	return NULL;
}

/* ---- index.json ---- */

fw_error *fw_context_index_check(const char *text, size_t len,
				 const struct fw_context_manifest *manifest)
{
	fw_error *err = NULL;
	yyjson_obj_iter iter;
	yyjson_val *key, *value;
	size_t at = 0;
	bool no_memory;
	yyjson_doc *doc = parse(text, len, 0, &fw__yyjson_alc, &no_memory);

	if (no_memory)
		return fw_raise_internal_out_of_memory();
	if (!doc || !yyjson_obj_iter_init(yyjson_doc_get_root(doc), &iter)) {
		yyjson_doc_free(doc);
		return fw_context_invalid(FW_CONTEXT_RULE_INDEX_MALFORMED, NULL);
	}
	while (!err && (key = yyjson_obj_iter_next(&iter))) {
		const struct fw_context_entry *entry =
			at < manifest->count ? &manifest->entries[at] : NULL;

		value = yyjson_obj_iter_get_val(key);
		if (!yyjson_is_str(value))
			err = fw_context_invalid(FW_CONTEXT_RULE_INDEX_MALFORMED,
						 yyjson_get_str(key));
		else if (!entry || !yyjson_equals_strn(key, entry->id, entry->id_len) ||
			 !yyjson_equals_strn(value, entry->file, FW_CONTEXT_FILE_LEN))
			err = fw_context_invalid(FW_CONTEXT_RULE_INDEX_DISAGREES,
						 yyjson_get_str(key));
		at++;
	}
	if (!err && at < manifest->count)
		err = fw_context_invalid(FW_CONTEXT_RULE_INDEX_DISAGREES,
					 manifest->entries[at].id);
	yyjson_doc_free(doc);
	return err;
}

/* ---- documents ---- */

void fw_context_document_clear(struct fw_context_document *document)
{
	yyjson_doc_free(document->doc);
	*document = (struct fw_context_document){ 0 };
}

/* The public format allows strings and integers. */
static bool is_metadata(yyjson_val *object)
{
	yyjson_obj_iter iter;
	yyjson_val *key;

	if (!yyjson_obj_iter_init(object, &iter))
		return false;
	while ((key = yyjson_obj_iter_next(&iter))) {
		yyjson_val *value = yyjson_obj_iter_get_val(key);

		if (!yyjson_is_str(value) && !yyjson_is_int(value))
			return false;
	}
	return true;
}

static fw_error *read_document(const struct fw_context_entry *entry, struct fw_hasher *hash,
			       struct fw_context_document *document)
{
	static const char *const names[] = { "id", "version", "source", "content", "metadata" };
	char version[FW_CONTEXT_VERSION_LEN + 1];
	yyjson_val *found[5];

	if (!find_members(yyjson_doc_get_root(document->doc), names, 5, found) ||
	    !yyjson_is_str(found[0]) || !yyjson_is_str(found[1]) || !yyjson_is_str(found[2]) ||
	    !yyjson_is_str(found[3]) || !is_metadata(found[4]))
		return fw_context_invalid(FW_CONTEXT_RULE_DOCUMENT_MALFORMED, entry->id);
	if (!yyjson_equals_strn(found[0], entry->id, entry->id_len))
		return fw_context_invalid(FW_CONTEXT_RULE_DOCUMENT_ID, entry->id);
	if (!yyjson_equals_strn(found[1], entry->version, FW_CONTEXT_VERSION_LEN))
		return fw_context_invalid(FW_CONTEXT_RULE_DOCUMENT_VERSION, entry->id);
	document->content = yyjson_get_str(found[3]);
	document->content_len = yyjson_get_len(found[3]);
	if (document->content_len > FW_LIMIT_CONTEXT_CONTENT_BYTES)
		return fw_raise_file_too_large(entry->file, FW_LIMIT_CONTEXT_CONTENT_BYTES);
	if (!fw_context_version(hash, document->content, document->content_len, version))
		return fw_raise_internal_out_of_memory();
	if (memcmp(version, entry->version, FW_CONTEXT_VERSION_LEN) != 0)
		return fw_context_invalid(FW_CONTEXT_RULE_DOCUMENT_HASH, entry->id);
	return NULL;
}

fw_error *fw_context_document_read(struct fw_context_bytes *bytes,
				   const struct fw_context_entry *entry, struct fw_hasher *hash,
				   struct fw_context_bytes *parser,
				   struct fw_context_document *ret_document)
{
	struct fw_context_document document = { 0 };
	yyjson_alc memory = fw__yyjson_alc;
	fw_error *err;
	bool no_memory;

	/* Most documents are small: reuse the parser's memory for them. */
	if (bytes->len <= SMALL_BYTES) {
		FW_TRY(fw_context_bytes_reserve(
			parser, yyjson_read_max_memory_usage(SMALL_BYTES, YYJSON_READ_INSITU)));
		(void)yyjson_alc_pool_init(&memory, parser->data, parser->cap);
	}
	document.doc = parse(bytes->data, bytes->len, YYJSON_READ_INSITU, &memory, &no_memory);
	if (no_memory)
		return fw_raise_internal_out_of_memory();
	if (!document.doc)
		return fw_context_invalid(FW_CONTEXT_RULE_DOCUMENT_MALFORMED, entry->id);
	err = read_document(entry, hash, &document);
	if (err)
		fw_context_document_clear(&document);
	else
		*ret_document = document;
	return err;
}
