/*
 * format.h - the three file formats of a cache: manifest.json, index.json and
 * documents (format_read.c, format_write.c).
 */
#ifndef FW_TOOLS_CONTEXT_FORMAT_H
#define FW_TOOLS_CONTEXT_FORMAT_H

#include <yyjson.h>

#include "base/buf.h"
#include "base/digest.h"
#include "tools/context/files.h"

enum {
	FW_CONTEXT_VERSION_LEN = 7 + 64,   /* "sha256:" and 64 digits */
	FW_CONTEXT_FILE_LEN = 10 + 12 + 5, /* "documents/0123456789ab.json" */
	FW_CONTEXT_FILE_NAME_OFFSET = 10   /* after the slash */
};

/* ---- hashes ---- */

/* "sha256:" and the hash of `len` bytes in hexadecimal, NUL-terminated. `hasher` can
 * be reused. False if libcrypto fails. */
bool fw_context_version(struct fw_hasher *hasher, const void *data, size_t len,
			char ret_version[FW_CONTEXT_VERSION_LEN + 1]);

/* ---- manifest.json and index.json ---- */

/* A document as the manifest lists it. */
struct fw_context_entry {
	const char *id; /* NUL-terminated, and may contain NULs */
	size_t id_len;
	const char *version;
	const char *file;
};

struct fw_context_manifest {
	yyjson_doc *doc; /* owns the strings; NULL if they are owned elsewhere */
	const char *cache_version;
	uint64_t document_count; /* as stated in the file */
	struct fw_context_entry *entries;
	size_t count;
	bool is_listed; /* every entry was read */
};

void fw_context_manifest_clear(struct fw_context_manifest *manifest);
/* Raises cache.invalid and internal.out_of_memory. On failure, cache_version and
 * document_count are set if they could be read; clear the manifest in any case. */
FW_NODISCARD fw_error *fw_context_manifest_read(const char *text, size_t len,
						struct fw_context_manifest *ret_manifest);
void fw_context_manifest_write(struct fw_buf *out, const struct fw_context_manifest *manifest,
			       const char *created_at);

/* Checks that index.json agrees with the manifest. */
FW_NODISCARD fw_error *fw_context_index_check(const char *text, size_t len,
					      const struct fw_context_manifest *manifest);
void fw_context_index_write(struct fw_buf *out, const struct fw_context_manifest *manifest);

/* The hash over all entries, in their order. */
bool fw_context_cache_version(const struct fw_context_entry *entries, size_t count,
			      char ret_version[FW_CONTEXT_VERSION_LEN + 1]);

/* ---- documents ---- */

struct fw_context_document {
	yyjson_doc *doc;
	const char *content;
	size_t content_len;
};
/*
 * Reads a document and checks it against its entry. `bytes` is parsed in place and
 * must outlive the document. `parser` is memory for the parser and can be reused.
 * Raises cache.invalid, file.too_large, internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_context_document_read(struct fw_context_bytes *bytes,
						const struct fw_context_entry *entry,
						struct fw_hasher *hash,
						struct fw_context_bytes *parser,
						struct fw_context_document *ret_document);
void fw_context_document_clear(struct fw_context_document *document);
void fw_context_document_write(struct fw_buf *out, const struct fw_context_entry *entry,
			       const char *source, size_t source_len, const char *content,
			       size_t content_len);

#endif
