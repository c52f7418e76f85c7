/*
 * rule.c - the rules of a cache, by name. A client sees one code, cache.invalid,
 * because there is only one thing it can do: have the cache built again. The context
 * of the error names the rule, for the person who has to find the cause.
 */
#include "tools/context/rule.h"

#include <stdio.h>
#include <string.h>

static const struct {
	enum fw_context_invariant invariant;
	const char *name;
	const char *text;
} rules[FW_CONTEXT_RULE_COUNT] = {
	[FW_CONTEXT_RULE_MANIFEST_MISSING] = { FW_CONTEXT_MANIFEST, "manifest_missing",
					       "manifest.json is missing, or is not a regular "
					       "file" },
	[FW_CONTEXT_RULE_MANIFEST_MALFORMED] = { FW_CONTEXT_MANIFEST, "manifest_malformed",
						 "manifest.json is not JSON, or a member is "
						 "missing or has the wrong type" },
	[FW_CONTEXT_RULE_MANIFEST_UNSUPPORTED] = { FW_CONTEXT_MANIFEST, "manifest_unsupported",
						   "build_config is not version 1 with "
						   "sha256" },
	[FW_CONTEXT_RULE_MANIFEST_UNORDERED] = { FW_CONTEXT_MANIFEST, "manifest_unordered",
						 "documents are not sorted by id, or one is "
						 "listed twice" },
	[FW_CONTEXT_RULE_MANIFEST_FILE_NAME] = { FW_CONTEXT_MANIFEST, "manifest_file_name",
						 "file name does not match the version of the "
						 "document" },
	[FW_CONTEXT_RULE_VERSION_MISMATCH] = { FW_CONTEXT_VERSION, "cache_version_mismatch",
					       "cache_version is not the hash of the listed "
					       "documents" },
	[FW_CONTEXT_RULE_DOCUMENTS_MISSING] = { FW_CONTEXT_PRESENCE, "documents_missing",
						"documents is missing, or is not a directory" },
	[FW_CONTEXT_RULE_DOCUMENT_MISSING] = { FW_CONTEXT_PRESENCE, "document_missing",
					       "file of the document is missing, or is not a "
					       "regular file" },
	[FW_CONTEXT_RULE_DOCUMENT_MALFORMED] = { FW_CONTEXT_INTEGRITY, "document_malformed",
						 "file of the document is not JSON, or a "
						 "member is missing or has the wrong type" },
	[FW_CONTEXT_RULE_DOCUMENT_ID] = { FW_CONTEXT_INTEGRITY, "document_id_mismatch",
					  "file of the document has another id" },
	[FW_CONTEXT_RULE_DOCUMENT_VERSION] = { FW_CONTEXT_INTEGRITY,
					       "document_version_mismatch",
					       "file of the document has another version" },
	[FW_CONTEXT_RULE_DOCUMENT_HASH] = { FW_CONTEXT_INTEGRITY, "document_hash_mismatch",
					    "hash of the content differs from the version" },
	[FW_CONTEXT_RULE_INDEX_MISSING] = { FW_CONTEXT_CONSISTENCY, "index_missing",
					    "index.json is missing, or is not a regular file" },
	[FW_CONTEXT_RULE_INDEX_MALFORMED] = { FW_CONTEXT_CONSISTENCY, "index_malformed",
					      "index.json is not a JSON object with string "
					      "values" },
	[FW_CONTEXT_RULE_INDEX_DISAGREES] = { FW_CONTEXT_CONSISTENCY, "index_disagrees",
					      "index.json differs from the manifest in "
					      "documents, files or order" },
	[FW_CONTEXT_RULE_ORPHAN] = { FW_CONTEXT_CONSISTENCY, "orphan_file",
				     "file is not listed in the manifest" },
	[FW_CONTEXT_RULE_DUPLICATE_ID] = { FW_CONTEXT_CONSISTENCY, "duplicate_id",
					   "two sources have this id" },
	[FW_CONTEXT_RULE_DUPLICATE_CONTENT] = { FW_CONTEXT_CONSISTENCY, "duplicate_content",
						"another source has the same content, and "
						"documents are named after their content" },
};

static const char *const invariants[] = {
	[FW_CONTEXT_MANIFEST] = "manifest",       [FW_CONTEXT_VERSION] = "version",
	[FW_CONTEXT_PRESENCE] = "presence",       [FW_CONTEXT_INTEGRITY] = "integrity",
	[FW_CONTEXT_CONSISTENCY] = "consistency",
};

fw_error *fw_context_invalid_at(fw_src at, enum fw_context_rule rule, const char *subject)
{
	fw_error *err = fw_raise_cache_invalid_at(at);
	char detail[512];

	fw_error_add_string(err, "rule", rules[rule].name);
	if (subject)
		fw_error_add_string(err, "subject", subject);
	(void)snprintf(detail, sizeof detail, "%s%s%s", subject ? subject : "",
		       subject ? ": " : "", rules[rule].text);
	fw_error_set_detail(err, detail);
	return err;
}

bool fw_context_violation_of(const fw_error *err, struct fw_context_violation *ret_violation)
{
	fw_field field;
	size_t i = 0;

	if (fw_error_code(err) != FW_CACHE_INVALID || !fw_error_find_field(err, "rule", &field))
		return false;
	while (i < FW_CONTEXT_RULE_COUNT && strcmp(rules[i].name, field.string) != 0)
		i++;
	if (i == FW_CONTEXT_RULE_COUNT)
		return false;
	ret_violation->invariant = rules[i].invariant;
	ret_violation->invariant_name = invariants[rules[i].invariant];
	ret_violation->rule = rules[i].name;
	ret_violation->text = rules[i].text;
	ret_violation->what = fw_error_find_field(err, "subject", &field) ? field.string : NULL;
	return true;
}
