/*
 * corpus.c - see corpus.h.
 */
#include "tools/code/semantic/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/record.h"
#include "tools/code/semantic/snapshot.h"

#include <faultwire/raise.h>

static fw_error *make_room(void *list, size_t *cap, size_t count, size_t unit)
{
	size_t wanted = *cap ? 2 * *cap : 256;
	void *grown;

	if (count < *cap)
		return NULL;
	grown = fw__reallocate(*(void **)list, wanted * unit);
	if (!grown)
		return fw_raise_internal_out_of_memory();
	*(void **)list = grown;
	*cap = wanted;
	return NULL;
}

static size_t put_text(struct fw_semantic_corpus *corpus, const char *text)
{
	size_t at = corpus->texts.len;

	fw_buf_put(&corpus->texts, text, strlen(text) + 1);
	return at;
}

/* ---- files ---- */

static fw_error *add_source(void *ctx, const struct fw_semantic_file *file)
{
	struct fw_semantic_corpus *corpus = ctx;

	if (!file->blob || corpus->source_count == FW_SEMANTIC_FILES_MAX)
		return NULL;
	FW_TRY(make_room(&corpus->sources, &corpus->source_cap, corpus->source_count,
			 sizeof *corpus->sources));
	corpus->sources[corpus->source_count++] = (struct fw_semantic_source){
		.path = put_text(corpus, file->path),
		.size = file->size,
		.mtime_ns = file->mtime_ns,
		.blob = file->blob,
	};
	corpus->bytes += (uint64_t)file->size;
	return NULL;
}

static fw_error *add_record(struct fw_semantic_corpus *corpus, struct fw_semantic_data *data,
			    struct fw_semantic_source *source)
{
	struct fw_semantic_reader reader;
	struct fw_semantic_chunk chunk;
	const void *record;
	size_t chunks = 0;

	FW_TRY(fw_semantic_data_blob(data, source->blob, &record, &source->record_len));
	fw_semantic_reader_init(&reader, record ? record : "", source->record_len);
	while (fw_semantic_reader_next(&reader, &chunk))
		chunks++;
	if (reader.is_broken || !record)
		return fw_semantic_data_damaged(data);
	source->record = corpus->records.len;
	if (corpus->chunk_count + chunks > FW_SEMANTIC_CHUNKS_MAX) {
		source->record_len = 0;
		return NULL;
	}
	fw_buf_put(&corpus->records, record, source->record_len);
	corpus->chunk_count += chunks;
	return NULL;
}

/* ---- commits ---- */

static size_t find(const struct fw_semantic_corpus *corpus, const char *path, size_t len)
{
	size_t from = 0, to = corpus->source_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const char *other =
			fw_semantic_corpus_text(corpus, corpus->sources[middle].path);
		int order = strncmp(other, path, len);

		if (order == 0 && other[len] == '\0')
			return middle;
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return SIZE_MAX;
}

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

static uint32_t first_bits(const char *sha)
{
	char digits[9] = "";

	memcpy(digits, sha, strnlen(sha, sizeof digits - 1));
	return (uint32_t)strtoul(digits, NULL, 16);
}

static fw_error *add_past(void *ctx, const struct fw_semantic_commit *commit)
{
	struct fw_semantic_corpus *corpus = ctx;
	struct fw_semantic_past past = { .first_touch = corpus->touch_count };

	for (const char *at = commit->paths; *at;) {
		size_t len = strcspn(at, "\n");
		size_t source = find(corpus, at, len);

		if (source != SIZE_MAX) {
			FW_TRY(make_room(&corpus->touches, &corpus->touch_cap,
					 corpus->touch_count, sizeof *corpus->touches));
			corpus->touches[corpus->touch_count++] = (uint32_t)source;
		}
		at += len + (at[len] == '\n');
	}
	past.touch_count = corpus->touch_count - past.first_touch;
	if (!past.touch_count)
		return NULL;
	qsort(corpus->touches + past.first_touch, past.touch_count, sizeof *corpus->touches,
	      by_number);
	FW_TRY(make_room(&corpus->pasts, &corpus->past_cap, corpus->past_count,
			 sizeof *corpus->pasts));
	past.sha = first_bits(commit->sha);
	past.subject = put_text(corpus, commit->subject);
	corpus->pasts[corpus->past_count++] = past;
	return NULL;
}

fw_error *fw_semantic_corpus_load(struct fw_semantic_corpus *corpus,
				  struct fw_semantic_data *data)
{
	*corpus = (struct fw_semantic_corpus){ .sources = NULL };
	fw_buf_init(&corpus->texts, FW_SEMANTIC_LIMIT_TEXTS);
	fw_buf_init(&corpus->records, FW_SEMANTIC_LIMIT_RECORDS);
	fw_buf_put(&corpus->texts, "", 1);
	FW_TRY(fw_semantic_data_files(data, add_source, corpus));
	for (size_t i = 0; i < corpus->source_count; i++)
		FW_TRY(add_record(corpus, data, &corpus->sources[i]));
	if (corpus->texts.state == FW_BUF_OK)
		FW_TRY(fw_semantic_data_commits(data, FW_SEMANTIC_LIMIT_COMMITS, add_past,
						corpus));
	if (corpus->texts.state == FW_BUF_TOO_LARGE ||
	    corpus->records.state == FW_BUF_TOO_LARGE)
		return fw_raise_search_failed("", NULL, "the repository is too large to index");
	if (corpus->texts.state != FW_BUF_OK || corpus->records.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	return NULL;
}

void fw_semantic_corpus_clear(struct fw_semantic_corpus *corpus)
{
	fw__release(corpus->sources);
	fw__release(corpus->pasts);
	fw__release(corpus->touches);
	fw_buf_clear(&corpus->texts);
	fw_buf_clear(&corpus->records);
	*corpus = (struct fw_semantic_corpus){ .sources = NULL };
}
