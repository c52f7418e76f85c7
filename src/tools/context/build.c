/*
 * build.c - builds a cache from a directory of sources.
 *
 * Several threads read each source once, hash it and write its document. The manifest
 * and the index are written last, when all hashes are known. A document that already
 * exists means that two sources have the same content; which two is determined
 * afterwards, so that the error does not depend on the scheduling of threads.
 */
#include "tools/context/context.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/context/cache.h"
#include "tools/context/rule.h"
#include "tools/context/sources.h"
#include "tools/context/staging.h"
#include "tools/context/words.h"

/* With this many documents or more, the whole file system is synced at once. */
enum { MANY = 64 };

struct build {
	const struct fw_context_build *options;
	struct fw_context_sources sources;
	struct fw_context_staging staging;
	struct fw_context_reader readers[FW_CREW_MAX];
	struct fw_buf texts[FW_CREW_MAX];
	bool is_large;
	pthread_mutex_t lock;
	uint64_t done;
	uint64_t bytes;
	bool is_repeated; /* a document already existed */
};

static void report_progress(struct build *build, const struct fw_context_source *source)
{
	const struct fw_context_run *run = &build->options->run;

	(void)pthread_mutex_lock(&build->lock);
	build->done++;
	build->bytes += source->size;
	if (run->progress)
		run->progress(run->ctx, build->done, build->sources.count, build->bytes,
			      build->sources.bytes);
	(void)pthread_mutex_unlock(&build->lock);
}

/* ---- one document ---- */

/* Opened by its relative path: the sources are trusted not to be moved meanwhile,
 * and the hash is computed from the bytes that were read. */
static fw_error *read_source(const struct build *build, const struct fw_context_source *source,
			     struct fw_context_bytes *bytes)
{
	enum fw_context_found found;

	FW_TRY(fw_context_read_file(build->sources.dir, source->path, source->path,
				    FW_LIMIT_CONTEXT_CONTENT_BYTES, bytes, NULL, &found));
	if (found != FW_CONTEXT_FOUND)
		return fw_raise_file_read_failed(source->path,
						 "it changed while it was being read");
	if (!fw_context_is_utf8(bytes->data, bytes->len))
		return fw_file_not_text(source->path, bytes->data, bytes->len, 0);
	return NULL;
}

static fw_error *write_document(struct build *build, const struct fw_context_source *source,
				const struct fw_context_bytes *bytes, struct fw_buf *text)
{
	const struct fw_context_entry entry = { source->id, source->id_len, source->version,
						source->file };
	const char *name = source->file + FW_CONTEXT_FILE_NAME_OFFSET;
	fw_error *err;

	fw_buf_reset(text, FW_LIMIT_CONTEXT_CONTENT_BYTES);
	fw_context_document_write(text, &entry, source->path, source->path_len, bytes->data,
				  bytes->len);
	if (text->state != FW_BUF_OK)
		return text->state == FW_BUF_TOO_LARGE
			       ? fw_raise_file_too_large(source->path, text->max)
			       : fw_raise_internal_out_of_memory();
	err = fw_context_staging_write(build->staging.documents, name, text->text, text->len);
	if (err && fw_error_code(err) == FW_FILE_ALREADY_EXISTS) {
		fw_error_free(err);
		(void)pthread_mutex_lock(&build->lock);
		build->is_repeated = true;
		(void)pthread_mutex_unlock(&build->lock);
		return NULL;
	}
	return err;
}

static fw_error *build_document(void *ctx, unsigned thread, size_t item)
{
	struct build *build = ctx;
	struct fw_context_source *source = &build->sources.items[item];
	struct fw_context_reader *reader = &build->readers[thread];
	const struct fw_context_run *run = &build->options->run;

	if (run->is_cancelled && run->is_cancelled(run->ctx))
		return fw_raise_runtime_cancelled();
	FW_TRY(read_source(build, source, &reader->file));
	if (!fw_context_version(reader->hash, reader->file.data, reader->file.len,
				source->version))
		return fw_raise_internal_out_of_memory();
	(void)snprintf(source->file, sizeof source->file, FW_CONTEXT_DOCUMENTS "/%.12s.json",
		       source->version + 7);
	FW_TRY(write_document(build, source, &reader->file, &build->texts[thread]));
	report_progress(build, source);
	return NULL;
}

/* ---- the lists ---- */

static int by_file(const void *a, const void *b)
{
	const struct fw_context_source *const *x = a, *const *y = b;
	int order = strcmp((*x)->file, (*y)->file);

	/* Then by position in the list, which is sorted by id. */
	return order ? order : (*x > *y) - (*x < *y);
}

/* Names the first two sources, by id, that have the same content. */
static fw_error *raise_duplicate(const struct fw_context_sources *sources)
{
	const struct fw_context_source **order = fw__allocate(sources->count * sizeof *order);
	const struct fw_context_source *first = NULL, *second = NULL;
	fw_error *err;

	if (!order)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < sources->count; i++)
		order[i] = &sources->items[i];
	qsort(order, sources->count, sizeof *order, by_file);
	for (size_t i = 1; i < sources->count; i++) {
		if (strcmp(order[i - 1]->file, order[i]->file) == 0 &&
		    (!first || order[i - 1] < first)) {
			first = order[i - 1];
			second = order[i];
		}
	}
	fw__release(order);
	err = fw_context_invalid(FW_CONTEXT_RULE_DUPLICATE_CONTENT,
				 second ? second->path : NULL);
	if (second)
		err = fw_error_wrap(err, FW_HERE, "%s and %s have the same content",
				    first->path, second->path);
	fw_error_set_hint(err, "Remove one of the two: the format names a document after its "
			       "content.");
	return err;
}

static fw_error *write_list(const struct build *build, const char *name,
			    const struct fw_buf *text)
{
	if (text->state == FW_BUF_TOO_LARGE)
		return fw_raise_file_too_large(name, text->max);
	if (text->state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	return fw_context_staging_write(build->staging.dir, name, text->text, text->len);
}

static fw_error *write_lists(struct build *build, char ret_version[FW_CONTEXT_VERSION_LEN + 1])
{
	size_t count = build->sources.count;
	struct fw_context_manifest manifest = { .cache_version = ret_version, .count = count };
	struct fw_buf text;
	char created_at[FW_TIME_SIZE];
	fw_error *err;

	manifest.entries = fw__allocate((count + 1) * sizeof *manifest.entries);
	if (!manifest.entries)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < count; i++) {
		const struct fw_context_source *source = &build->sources.items[i];

		manifest.entries[i] =
			(struct fw_context_entry){ source->id, source->id_len, source->version,
						   source->file };
	}
	fw_buf_init(&text, FW_LIMIT_CONTEXT_LIST_BYTES);
	(void)fw_time_text(build->options->created_ms, created_at);
	if (fw_context_cache_version(manifest.entries, count, ret_version)) {
		fw_context_index_write(&text, &manifest);
		err = write_list(build, FW_CONTEXT_INDEX_FILE, &text);
		fw_buf_reset(&text, SIZE_MAX);
		fw_context_manifest_write(&text, &manifest, created_at);
		if (!err)
			err = write_list(build, FW_CONTEXT_MANIFEST_FILE, &text);
	} else {
		err = fw_raise_internal_out_of_memory();
	}
	fw_buf_clear(&text);
	fw__release(manifest.entries);
	return err;
}

/* ---- the whole ---- */

static fw_error *run_build(struct build *build, struct fw_context_built *built)
{
	const struct fw_context_build *options = build->options;
	struct fw_crew loop = { build_document, build, 0, fw_crew_size(options->run.threads) };

	FW_TRY(fw_context_sources_find(options->sources, &build->sources));
	FW_TRY(fw_context_staging_start(options->cache, options->force, &build->staging));
	for (unsigned i = 0; i < loop.threads; i++)
		FW_TRY(fw_context_reader_init(&build->readers[i]));
	loop.count = build->sources.count;
	build->is_large = loop.count >= MANY;
	FW_TRY(fw_crew_run(&loop));
	if (build->is_repeated)
		return raise_duplicate(&build->sources);
	FW_TRY(write_lists(build, built->cache_version));
	FW_TRY(fw_context_staging_commit(&build->staging, options->force, build->is_large));
	built->documents = build->sources.count;
	built->bytes = build->sources.bytes;
	built->links = build->sources.links;
	return NULL;
}

fw_error *fw_context_build(const struct fw_context_build *options,
			   struct fw_context_built *ret_built)
{
	struct build build = { .options = options,
			       .sources.dir = -1,
			       .staging = { .parent = -1, .dir = -1, .documents = -1 } };
	struct fw_context_built built = { 0 };
	fw_error *err;

	for (unsigned i = 0; i < FW_CREW_MAX; i++)
		fw_buf_init(&build.texts[i], FW_LIMIT_CONTEXT_FILE_BYTES);
	(void)pthread_mutex_init(&build.lock, NULL);
	err = run_build(&build, &built);
	(void)pthread_mutex_destroy(&build.lock);
	for (unsigned i = 0; i < FW_CREW_MAX; i++) {
		fw_context_reader_clear(&build.readers[i]);
		fw_buf_clear(&build.texts[i]);
	}
	fw_context_staging_end(&build.staging);
	fw_context_sources_clear(&build.sources);
	if (!err)
		*ret_built = built;
	return err;
}
