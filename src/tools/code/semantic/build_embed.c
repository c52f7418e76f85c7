/*
 * build_embed.c - the vectors of an index by an embedding service; see build_impl.h.
 *
 * The vectors of a content are kept in the database, packed, so that a service is asked once
 * for each content, and a build that is killed loses one batch at most.
 */
#include "tools/code/semantic/build_impl.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/record.h"
#include "tools/code/semantic/vector.h"
#include "tools/common/root.h"

#include <faultwire/raise.h>

enum { TEXT_BYTES = 6 * 1024, COMMIT_EVERY = 8 };

struct embedding {
	struct fw_semantic_building *b;
	size_t dims;
	char *text; /* of the current file */
	size_t len;
};

/* ---- texts of chunks ---- */

static void read_text(struct embedding *e, const char *path)
{
	int fd = fw_root_open_canonical(e->b->place.root.fd, path, O_RDONLY | O_NONBLOCK);
	ssize_t got = 0;

	e->len = 0;
	if (fd < 0)
		return;
	while (e->len < FW_SEMANTIC_LIMIT_FILE &&
	       (got = read(fd, e->text + e->len, FW_SEMANTIC_LIMIT_FILE - e->len)) > 0)
		e->len += (size_t)got;
	(void)close(fd);
}

static const char *line_at(const struct embedding *e, const char *from, uint32_t lines)
{
	const char *end = e->text + e->len;

	while (lines-- && from < end) {
		const char *newline = memchr(from, '\n', (size_t)(end - from));

		from = newline ? newline + 1 : end;
	}
	return from;
}

/* ---- one file ---- */

/* Asks for the vectors of `count` chunks and appends them, packed, to `out`. */
static fw_error *ask(struct embedding *e, const char *const *texts, const size_t *lens,
		     size_t count, struct fw_buf *out)
{
	int8_t packed[FW_SEMANTIC_DIMS_MAX];
	float *vectors = NULL;

	FW_TRY(fw_semantic_embed(e->b->build->embedder, texts, lens, count, &e->dims,
				 &vectors));
	for (size_t i = 0; i < count; i++) {
		float scale = fw_semantic_pack(vectors + i * e->dims, e->dims, packed);

		fw_buf_put(out, (const char *)&scale, sizeof scale);
		fw_buf_put(out, (const char *)packed, e->dims);
	}
	fw__release(vectors);
	return NULL;
}

static fw_error *embed_file(struct embedding *e, const struct fw_semantic_source *source,
			    struct fw_buf *out)
{
	const struct fw_semantic_corpus *corpus = &e->b->corpus;
	const char *texts[FW_SEMANTIC_EMBED_BATCH];
	size_t lens[FW_SEMANTIC_EMBED_BATCH], count = 0;
	struct fw_semantic_reader reader;
	struct fw_semantic_chunk chunk;
	const char *at = e->text;
	uint32_t line = 1;

	read_text(e, fw_semantic_corpus_text(corpus, source->path));
	fw_semantic_reader_init(&reader, corpus->records.text + source->record,
				source->record_len);
	while (fw_semantic_reader_next(&reader, &chunk)) {
		const char *end;

		at = line_at(e, at, chunk.start_line - line);
		end = line_at(e, at, chunk.end_line - chunk.start_line + 1);
		texts[count] = at;
		lens[count] = (size_t)(end - at) < TEXT_BYTES ? (size_t)(end - at) : TEXT_BYTES;
		if (!lens[count]) {
			/* The file has become shorter: the next build reads it again. */
			texts[count] = " ";
			lens[count] = 1;
		}
		at = end;
		line = chunk.end_line + 1;
		if (++count == FW_SEMANTIC_EMBED_BATCH) {
			FW_TRY(ask(e, texts, lens, count, out));
			count = 0;
		}
	}
	return count ? ask(e, texts, lens, count, out) : NULL;
}

/* ---- all files ---- */

static fw_error *check_embedder(struct embedding *e)
{
	const char *id = e->b->embedder_id;
	const void *known;
	size_t len;

	FW_TRY(fw_semantic_data_meta(e->b->data, "embedder", &known, &len));
	if (len == strlen(id) && memcmp(known, id, len) == 0)
		return NULL;
	FW_TRY(fw_semantic_data_drop_vectors(e->b->data));
	return fw_semantic_data_put_meta(e->b->data, "embedder", id, strlen(id));
}

static uint32_t chunks_of(const struct fw_semantic_corpus *corpus,
			  const struct fw_semantic_source *source)
{
	struct fw_semantic_reader reader = { .chunks = 0 };

	if (source->record_len)
		fw_semantic_reader_init(&reader, corpus->records.text + source->record,
					source->record_len);
	return reader.chunks;
}

/* Asks for what is not known yet. */
static fw_error *embed_new(struct embedding *e, struct fw_buf *out)
{
	struct fw_semantic_corpus *corpus = &e->b->corpus;
	size_t asked = 0;

	for (size_t i = 0; i < corpus->source_count; i++) {
		const void *known;
		size_t len, chunks = chunks_of(corpus, &corpus->sources[i]);

		if (fw_semantic_building_is_stopped(e->b))
			return NULL;
		if (!chunks)
			continue;
		fw_semantic_building_progress(e->b, FW_SEMANTIC_EMBEDDING, i,
					      corpus->source_count);
		FW_TRY(fw_semantic_data_vectors(e->b->data, corpus->sources[i].blob, &known,
						&len));
		if (len > chunks * sizeof(float) && len % chunks == 0) {
			if (!e->dims)
				e->dims = len / chunks - sizeof(float);
			if (len / chunks == e->dims + sizeof(float))
				continue;
		}
		out->len = 0;
		FW_TRY(embed_file(e, &corpus->sources[i], out));
		if (out->state != FW_BUF_OK)
			return fw_raise_internal_out_of_memory();
		FW_TRY(fw_semantic_data_put_vectors(e->b->data, corpus->sources[i].blob,
						    out->text, out->len));
		if (++asked % COMMIT_EVERY == 0) {
			FW_TRY(fw_semantic_data_commit(e->b->data));
			FW_TRY(fw_semantic_data_begin(e->b->data));
		}
	}
	return NULL;
}

static fw_error *collect(struct embedding *e, struct fw_semantic_space *space)
{
	const struct fw_semantic_corpus *corpus = &e->b->corpus;
	size_t at = 0;

	space->dims = e->dims;
	space->vectors = fw__allocate(corpus->chunk_count * e->dims + 1);
	if (!space->vectors)
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < corpus->source_count; i++) {
		size_t chunks = chunks_of(corpus, &corpus->sources[i]), len;
		const void *known;
		const char *from;

		if (!chunks)
			continue;
		FW_TRY(fw_semantic_data_vectors(e->b->data, corpus->sources[i].blob, &known,
						&len));
		if (len != chunks * (e->dims + sizeof(float)))
			return fw_semantic_data_damaged(e->b->data);
		from = known;
		for (size_t j = 0; j < chunks; j++, at++) {
			memcpy(space->vectors + at * e->dims, from + sizeof(float), e->dims);
			from += sizeof(float) + e->dims;
		}
	}
	return NULL;
}

fw_error *fw_semantic_building_embed(struct fw_semantic_building *b,
				     struct fw_semantic_space *space)
{
	struct embedding e = { .b = b };
	struct fw_buf out;
	fw_error *err;

	FW_TRY(check_embedder(&e));
	e.text = fw__allocate(FW_SEMANTIC_LIMIT_FILE);
	if (!e.text)
		return fw_raise_internal_out_of_memory();
	fw_buf_init(&out, (size_t)1 << 30);
	err = embed_new(&e, &out);
	fw_buf_clear(&out);
	fw__release(e.text);
	if (err || fw_semantic_building_is_stopped(b) || !e.dims)
		return err;
	return collect(&e, space);
}
