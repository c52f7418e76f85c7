/*
 * cache.c - the lifetime of a checked cache, and reading its documents.
 */
#include "tools/context/cache.h"

#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "tools/context/rule.h"

/* ---- a reader ---- */

fw_error *fw_context_reader_init(struct fw_context_reader *reader)
{
	*reader = (struct fw_context_reader){ .hash = fw_hasher_new() };
	return reader->hash ? NULL : fw_raise_internal_out_of_memory();
}

void fw_context_reader_clear(struct fw_context_reader *reader)
{
	fw_hasher_free(reader->hash);
	fw_context_bytes_clear(&reader->file);
	fw_context_bytes_clear(&reader->parser);
	*reader = (struct fw_context_reader){ 0 };
}

fw_error *fw_context_reader_open(struct fw_context_reader *reader,
				 const struct fw_context_cache *cache, uint32_t document,
				 struct fw_context_identity *ret_identity,
				 struct fw_context_document *ret_document)
{
	const struct fw_context_entry *entry = &cache->manifest.entries[document];
	enum fw_context_found found = FW_CONTEXT_ABSENT;

	if (cache->documents >= 0)
		FW_TRY(fw_context_read_file(cache->documents,
					    entry->file + FW_CONTEXT_FILE_NAME_OFFSET,
					    entry->file, FW_LIMIT_CONTEXT_FILE_BYTES,
					    &reader->file, ret_identity, &found));
	if (found != FW_CONTEXT_FOUND)
		return fw_context_invalid(FW_CONTEXT_RULE_DOCUMENT_MISSING, entry->id);
	return fw_context_document_read(&reader->file, entry, reader->hash, &reader->parser,
					ret_document);
}

/* ---- lifecycle ---- */

struct fw_context_cache *fw_context_cache_new(int dir)
{
	struct fw_context_cache *cache = fw__allocate(sizeof *cache);

	if (!cache) {
		(void)close(dir);
		return NULL;
	}
	memset(cache, 0, sizeof *cache);
	atomic_init(&cache->refs, 1);
	cache->dir = dir;
	cache->documents = -1;
	cache->watch = -1;
	return cache;
}

void fw_context_cache_unref(struct fw_context_cache *cache)
{
	if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1)
		return;
	(void)close(cache->dir);
	if (cache->documents >= 0)
		(void)close(cache->documents);
	if (cache->watch >= 0)
		(void)close(cache->watch);
	for (unsigned i = 0; i < cache->part_count; i++)
		fw_context_terms_free(cache->parts[i]);
	fw_context_manifest_clear(&cache->manifest);
	fw__release(cache->facts);
	fw__release(cache->least);
	fw__release(cache);
}
