/*
 * snapshot_write.c - see snapshot_write.h.
 */
#include "tools/code/semantic/snapshot_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/record.h"
#include "tools/code/semantic/snapshot_format.h"
#include "tools/code/semantic/token.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { TEXT_TERMS = 2048, LENGTH_MAX = 65535, TERM_TF = 8 };

static bool add(struct fw_semantic_writing *w, enum fw_semantic_field field, uint32_t hash,
		size_t document, uint32_t tf)
{
	w->lengths[field] += tf;
	return fw_semantic_postings_add(&w->fields[field], hash, (uint32_t)document, tf);
}

/* The terms of a short text, each once, with their counts. */
static size_t distinct(const char *text, uint32_t *terms, uint32_t *counts, size_t *ret_length)
{
	size_t len = strlen(text), used = 0, all;

	all = fw_semantic_terms(text, len < TEXT_TERMS ? len : TEXT_TERMS, terms);
	*ret_length = all;
	for (size_t i = 0; i < all; i++) {
		size_t j = 0;

		while (j < used && terms[j] != terms[i])
			j++;
		if (j == used) {
			terms[used] = terms[i];
			counts[used++] = 0;
		}
		counts[j]++;
	}
	return used;
}

static bool add_text(struct fw_semantic_writing *w, enum fw_semantic_field field,
		     const char *text, size_t document, uint32_t *ret_length)
{
	uint32_t terms[TEXT_TERMS], counts[TEXT_TERMS];
	size_t length, used = distinct(text, terms, counts, &length);

	*ret_length = (uint32_t)length;
	for (size_t i = 0; i < used; i++)
		if (!add(w, field, terms[i], document, counts[i]))
			return false;
	return true;
}

/* ---- files and chunks ---- */

static uint32_t put_string(struct fw_semantic_writing *w, const char *text, size_t len)
{
	struct fw_buf *strings = &w->sections[FW_SEMANTIC_STRINGS];
	uint32_t at = (uint32_t)strings->len;

	if (!len)
		return 0;
	fw_buf_put(strings, text, len);
	fw_buf_put(strings, "", 1);
	return at;
}

static bool add_chunk(struct fw_semantic_writing *w, const struct fw_semantic_chunk *chunk,
		      size_t file, size_t number)
{
	struct fw_buf *chunks = &w->sections[FW_SEMANTIC_CHUNKS];
	uint32_t lines = chunk->end_line - chunk->start_line + 1;
	struct fw_semantic_chunk_row row = {
		.file = (uint32_t)file,
		.start_line = chunk->start_line,
		.lines = (uint16_t)(lines < LENGTH_MAX ? lines : LENGTH_MAX),
		.length = (uint16_t)(chunk->length < LENGTH_MAX ? chunk->length : LENGTH_MAX),
		.symbol = put_string(w, chunk->symbol, chunk->symbol_len),
	};

	for (size_t i = 0; i < chunk->term_count; i++) {
		struct fw_semantic_posting posting = fw_semantic_chunk_term(chunk, i);

		if (posting.tf && !add(w, FW_SEMANTIC_BODY, posting.hash, number, posting.tf))
			return false;
		if (posting.symbol_tf &&
		    !add(w, FW_SEMANTIC_SYMBOL, posting.hash, number, posting.symbol_tf))
			return false;
	}
	fw_buf_put(chunks, (const char *)&row, sizeof row);
	return true;
}

static bool add_file(struct fw_semantic_writing *w, size_t file, size_t *number)
{
	const struct fw_semantic_source *source = &w->corpus->sources[file];
	const char *path = fw_semantic_corpus_text(w->corpus, source->path);
	struct fw_semantic_file_row row = {
		.path = put_string(w, path, strlen(path)),
		.first_chunk = (uint32_t)*number,
		.mtime_ns = source->mtime_ns,
		.size = source->size,
	};
	struct fw_semantic_reader reader = { .chunks = 0 };
	struct fw_semantic_chunk chunk;

	if (source->record_len)
		fw_semantic_reader_init(&reader, w->corpus->records.text + source->record,
					source->record_len);
	for (; fw_semantic_reader_next(&reader, &chunk); ++*number) {
		if (!add_chunk(w, &chunk, file, *number))
			return false;
		row.body_length += chunk.length;
	}
	row.chunk_count = (uint32_t)*number - row.first_chunk;
	if (!add_text(w, FW_SEMANTIC_PATH, path, file, &row.path_length))
		return false;
	fw_buf_put(&w->sections[FW_SEMANTIC_FILES], (const char *)&row, sizeof row);
	return true;
}

/* ---- history ---- */

static bool add_commits(struct fw_semantic_writing *w)
{
	const struct fw_semantic_corpus *corpus = w->corpus;
	struct fw_buf *touches = &w->sections[FW_SEMANTIC_TOUCHES];

	for (size_t i = 0; i < corpus->past_count; i++) {
		const struct fw_semantic_past *past = &corpus->pasts[i];
		const char *subject = fw_semantic_corpus_text(corpus, past->subject);
		const char *sha = fw_semantic_corpus_text(corpus, past->sha);
		struct fw_semantic_commit_row row = {
			.subject = put_string(w, subject, strlen(subject)),
			.sha = put_string(w, sha, strlen(sha)),
			.first_touch = (uint32_t)past->first_touch,
			.touch_count = (uint32_t)past->touch_count,
		};

		if (!add_text(w, FW_SEMANTIC_COMMIT, subject, i, &row.length))
			return false;
		fw_buf_put(&w->sections[FW_SEMANTIC_COMMITS], (const char *)&row, sizeof row);
	}
	if (corpus->touch_count)
		fw_buf_put(touches, (const char *)corpus->touches,
			   corpus->touch_count * sizeof *corpus->touches);
	return true;
}

/* The commits of each file: first[file] to first[file + 1] in `list`. */
static void group_commits(const struct fw_semantic_corpus *corpus, uint32_t *first,
			  uint32_t *list)
{
	memset(first, 0, (corpus->source_count + 2) * sizeof *first);
	for (size_t i = 0; i < corpus->touch_count; i++)
		first[corpus->touches[i] + 2]++;
	for (size_t i = 2; i < corpus->source_count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < corpus->past_count; i++)
		for (size_t j = 0; j < corpus->pasts[i].touch_count; j++) {
			uint32_t file = corpus->touches[corpus->pasts[i].first_touch + j];

			list[first[file + 1]++] = (uint32_t)i;
		}
}

/* Documents are files: the terms of a file's commits are counted together. */
static bool add_history_of(struct fw_semantic_writing *w, size_t file, const uint32_t *list,
			   size_t count)
{
	struct fw_semantic_postings *field = &w->fields[FW_SEMANTIC_HISTORY];
	struct fw_semantic_file_row *row =
		(struct fw_semantic_file_row *)(void *)w->sections[FW_SEMANTIC_FILES].text +
		file;
	size_t start = field->count;

	for (size_t i = 0; i < count && i < FW_SEMANTIC_LIMIT_PASTS; i++) {
		const struct fw_semantic_past *past = &w->corpus->pasts[list[i]];
		uint32_t terms[TEXT_TERMS], counts[TEXT_TERMS];
		size_t length, used;

		if (past->touch_count > FW_SEMANTIC_LIMIT_TOUCHES)
			continue;
		used = distinct(fw_semantic_corpus_text(w->corpus, past->subject), terms,
				counts, &length);
		row->history_length += (uint32_t)used;
		for (size_t j = 0; j < used; j++) {
			size_t k = start;

			while (k < field->count && (uint32_t)(field->list[k] >> 32) != terms[j])
				k++;
			if (k == field->count) {
				if (!add(w, FW_SEMANTIC_HISTORY, terms[j], file, 1))
					return false;
			} else {
				w->lengths[FW_SEMANTIC_HISTORY]++;
				if ((field->list[k] & 255) < TERM_TF)
					field->list[k]++;
			}
		}
	}
	return true;
}

static bool add_history(struct fw_semantic_writing *w)
{
	const struct fw_semantic_corpus *corpus = w->corpus;
	uint32_t *first = fw__allocate((corpus->source_count + 2) * sizeof *first);
	uint32_t *list = fw__allocate((corpus->touch_count + 1) * sizeof *list);
	bool is_done = first && list;

	if (is_done)
		group_commits(corpus, first, list);
	for (size_t i = 0; is_done && i < corpus->source_count; i++)
		is_done = add_history_of(w, i, list + first[i], first[i + 1] - first[i]);
	fw__release(first);
	fw__release(list);
	return is_done;
}

fw_error *fw_semantic_writing_begin(struct fw_semantic_writing *writing,
				    const struct fw_semantic_corpus *corpus)
{
	size_t number = 0;

	*writing = (struct fw_semantic_writing){ .corpus = corpus };
	for (size_t i = 0; i < FW_SEMANTIC_SECTION_COUNT; i++)
		fw_buf_init(&writing->sections[i], FW_SEMANTIC_LIMIT_SECTION);
	fw_buf_put(&writing->sections[FW_SEMANTIC_STRINGS], "", 1);
	for (size_t i = 0; i < corpus->source_count; i++)
		if (!add_file(writing, i, &number))
			return fw_raise_internal_out_of_memory();
	if (writing->sections[FW_SEMANTIC_FILES].state != FW_BUF_OK || !add_commits(writing) ||
	    !add_history(writing))
		return fw_raise_internal_out_of_memory();
	for (size_t i = 0; i < FW_SEMANTIC_FIELD_COUNT; i++)
		if (!fw_semantic_postings_sort(&writing->fields[i]))
			return fw_raise_internal_out_of_memory();
	return NULL;
}

/* ---- the file ---- */

static void put_space(struct fw_semantic_writing *w, const struct fw_semantic_space *space)
{
	size_t chunks = w->corpus->chunk_count;

	w->head.dims = (uint32_t)space->dims;
	if (!space->dims)
		return;
	if (space->basis) {
		fw_buf_put(&w->sections[FW_SEMANTIC_BASIS_TERMS], (const char *)space->terms,
			   space->term_count * sizeof *space->terms);
		fw_buf_put(&w->sections[FW_SEMANTIC_BASIS], (const char *)space->basis,
			   space->term_count * space->dims);
		fw_buf_put(&w->sections[FW_SEMANTIC_BASIS_SCALES],
			   (const char *)space->basis_scales,
			   space->term_count * sizeof *space->basis_scales);
	}
	fw_buf_put(&w->sections[FW_SEMANTIC_VECTORS], (const char *)space->vectors,
		   chunks * space->dims);
	fw_buf_put(&w->sections[FW_SEMANTIC_VECTOR_SCALES], (const char *)space->vector_scales,
		   chunks * sizeof *space->vector_scales);
}

static fw_error *lay_out(struct fw_semantic_writing *w, struct fw_buf *out)
{
	size_t documents[FW_SEMANTIC_FIELD_COUNT] = {
		w->corpus->chunk_count, w->corpus->chunk_count, w->corpus->source_count,
		w->corpus->source_count, w->corpus->past_count
	};
	static const char zeros[FW_SEMANTIC_ALIGN];

	for (size_t i = 0; i < FW_SEMANTIC_FIELD_COUNT; i++) {
		fw_semantic_postings_write(&w->fields[i], &w->sections[FW_SEMANTIC_TERMS + i],
					   &w->sections[FW_SEMANTIC_POSTINGS + i]);
		fw_semantic_postings_clear(&w->fields[i]);
		w->head.mean_length[i] =
			documents[i] ? (double)w->lengths[i] / (double)documents[i] : 0;
	}
	fw_buf_put(out, (const char *)&w->head, sizeof w->head);
	for (size_t i = 0; i < FW_SEMANTIC_SECTION_COUNT; i++) {
		fw_buf_put(out, zeros,
			   (FW_SEMANTIC_ALIGN - out->len % FW_SEMANTIC_ALIGN) %
				   FW_SEMANTIC_ALIGN);
		w->head.sections[i].offset = out->len;
		w->head.sections[i].bytes = w->sections[i].len;
		if (w->sections[i].state == FW_BUF_TOO_LARGE)
			return fw_raise_search_failed("", NULL,
						      "the repository is too large to index");
		if (w->sections[i].state != FW_BUF_OK)
			return fw_raise_internal_out_of_memory();
		if (w->sections[i].len)
			fw_buf_put(out, w->sections[i].text, w->sections[i].len);
		fw_buf_clear(&w->sections[i]);
	}
	if (out->state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	return NULL;
}

static void put_head(struct fw_semantic_writing *w, struct fw_buf *out)
{
	struct fw_semantic_head *head = &w->head;

	memcpy(head->magic, FW_SEMANTIC_MAGIC, sizeof head->magic);
	head->version = FW_SEMANTIC_VERSION;
	head->file_bytes = out->len;
	head->source_bytes = w->corpus->bytes;
	head->checksum =
		fw_semantic_checksum(out->text + sizeof *head, out->len - sizeof *head);
	head->head_checksum = 0;
	head->head_checksum = fw_semantic_checksum(head, sizeof *head);
	memcpy(out->text, head, sizeof *head);
}

static fw_error *write_file(int dir, const char *name, const char *bytes, size_t len)
{
	char temporary[64];
	int error = 0, fd;

	(void)snprintf(temporary, sizeof temporary, "%s.new", name);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errno, name);
	while (len && !error) {
		ssize_t done = write(fd, bytes, len);

		if (done < 0 && errno != EINTR)
			error = errno;
		else if (done > 0) {
			bytes += done;
			len -= (size_t)done;
		}
	}
	if (!error && fdatasync(fd) != 0)
		error = errno;
	(void)close(fd);
	if (!error && renameat(dir, temporary, dir, name) != 0)
		error = errno;
	if (!error)
		return NULL;
	(void)unlinkat(dir, temporary, 0);
	return fw_error_from_errno(FW_HERE, error, name);
}

fw_error *fw_semantic_writing_end(struct fw_semantic_writing *writing,
				  const struct fw_semantic_space *space, int dir,
				  const char *name)
{
	struct fw_buf out;
	fw_error *err;

	put_space(writing, space);
	fw_buf_init(&out, SIZE_MAX / 4);
	err = lay_out(writing, &out);
	if (!err) {
		put_head(writing, &out);
		err = write_file(dir, name, out.text, out.len);
	}
	fw_buf_clear(&out);
	return err;
}

void fw_semantic_writing_clear(struct fw_semantic_writing *writing)
{
	for (size_t i = 0; i < FW_SEMANTIC_FIELD_COUNT; i++)
		fw_semantic_postings_clear(&writing->fields[i]);
	for (size_t i = 0; i < FW_SEMANTIC_SECTION_COUNT; i++)
		fw_buf_clear(&writing->sections[i]);
}
