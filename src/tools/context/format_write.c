/*
 * format_write.c - writes manifest.json, index.json and documents, byte for byte as
 * the public format defines them: the two lists are indented by two spaces, documents
 * are compact, and no file ends in a newline.
 */
#include "tools/context/format.h"

#include <string.h>

static void put_member(struct fw_buf *out, const char *indent, const char *name,
		       const char *value, size_t len, const char *end)
{
	fw_buf_str(out, indent);
	fw_buf_json_str(out, name);
	FW_BUF(out, ": ");
	fw_buf_json(out, value, len);
	fw_buf_str(out, end);
}

void fw_context_manifest_write(struct fw_buf *out, const struct fw_context_manifest *manifest,
			       const char *created_at)
{
	FW_BUF(out, "{\n");
	put_member(out, "  ", "cache_version", manifest->cache_version, FW_CONTEXT_VERSION_LEN,
		   ",\n");
	FW_BUF(out, "  \"build_config\": {\n"
		    "    \"version\": \"1\",\n"
		    "    \"hash_algorithm\": \"sha256\"\n"
		    "  },\n");
	put_member(out, "  ", "created_at", created_at, strlen(created_at), ",\n");
	FW_BUF(out, "  \"document_count\": ");
	fw_buf_i64(out, (int64_t)manifest->count);
	FW_BUF(out, ",\n  \"documents\": [");
	for (size_t i = 0; i < manifest->count; i++) {
		const struct fw_context_entry *entry = &manifest->entries[i];

		fw_buf_str(out, i ? ",\n    {\n" : "\n    {\n");
		put_member(out, "      ", "id", entry->id, entry->id_len, ",\n");
		put_member(out, "      ", "version", entry->version, FW_CONTEXT_VERSION_LEN,
			   ",\n");
		put_member(out, "      ", "file", entry->file, FW_CONTEXT_FILE_LEN, "\n    }");
	}
	fw_buf_str(out, manifest->count ? "\n  ]\n}" : "]\n}");
}

void fw_context_index_write(struct fw_buf *out, const struct fw_context_manifest *manifest)
{
	FW_BUF(out, "{");
	for (size_t i = 0; i < manifest->count; i++) {
		const struct fw_context_entry *entry = &manifest->entries[i];

		fw_buf_str(out, i ? ",\n  " : "\n  ");
		fw_buf_json(out, entry->id, entry->id_len);
		FW_BUF(out, ": ");
		fw_buf_json(out, entry->file, FW_CONTEXT_FILE_LEN);
	}
	fw_buf_str(out, manifest->count ? "\n}" : "}");
}

void fw_context_document_write(struct fw_buf *out, const struct fw_context_entry *entry,
			       const char *source, size_t source_len, const char *content,
			       size_t content_len)
{
	FW_BUF(out, "{\"id\":");
	fw_buf_json(out, entry->id, entry->id_len);
	FW_BUF(out, ",\"version\":");
	fw_buf_json(out, entry->version, FW_CONTEXT_VERSION_LEN);
	FW_BUF(out, ",\"source\":");
	fw_buf_json(out, source, source_len);
	FW_BUF(out, ",\"content\":");
	fw_buf_json(out, content, content_len);
	FW_BUF(out, ",\"metadata\":{}}");
}
