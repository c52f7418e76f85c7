/*
 * snapshot_write.c - see snapshot_write.h.
 */
#include "tools/code/semantic/snapshot_write.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/record.h"
#include "tools/code/semantic/snapshot_format.h"
#include "tools/code/semantic/token.h"
#include "tools/code/semantic/vector.h"

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
		     const char *text, size_t document, uint16_t *ret_length)
{
	uint32_t terms[TEXT_TERMS], counts[TEXT_TERMS];
	size_t length, used = distinct(text, terms, counts, &length);

	*ret_length = (uint16_t)length;
	for (size_t i = 0; i < used; i++)
		if (!add(w, field, terms[i], document, counts[i]))
			return false;
	return true;
}

/* ---- files and chunks ---- */

/* Paths, subjects and names of definitions, from which the table of sequences is made. */
static bool train_texts(struct fw_semantic_writing *w)
{
	const struct fw_semantic_corpus *corpus = w->corpus;
	struct fw_semantic_chunk chunk;
	struct fw_buf sample;
	bool is_done;

	fw_buf_init(&sample, 2 * FW_SEMANTIC_LIMIT_TEXTS);
	if (corpus->texts.len)
		fw_buf_put(&sample, corpus->texts.text, corpus->texts.len);
	for (size_t i = 0; i < corpus->source_count; i++) {
		struct fw_semantic_reader reader = { .chunks = 0 };

		if (corpus->sources[i].record_len)
			fw_semantic_reader_init(
				&reader, corpus->records.text + corpus->sources[i].record,
				corpus->sources[i].record_len);
		while (fw_semantic_reader_next(&reader, &chunk))
			if (chunk.symbol_len) {
				fw_buf_put(&sample, chunk.symbol, chunk.symbol_len);
				fw_buf_put(&sample, "", 1);
			}
	}
	is_done = sample.state == FW_BUF_OK &&
		  fw_semantic_texts_train(&w->texts, sample.len ? sample.text : "", sample.len);
	fw_buf_clear(&sample);
	fw_semantic_texts_init(&w->text_writer, &w->texts);
	fw_buf_put(&w->sections[FW_SEMANTIC_TEXTS], (const char *)&w->texts, sizeof w->texts);
	return is_done;
}

static uint32_t put_string(struct fw_semantic_writing *w, const char *text, size_t len)
{
	struct fw_buf *strings = &w->sections[FW_SEMANTIC_STRINGS];
	uint32_t at = (uint32_t)strings->len;

	fw_semantic_texts_put(&w->text_writer, text, len, strings);
	return at;
}

static void put_byte(struct fw_semantic_writing *w, enum fw_semantic_section section,
		     uint32_t value)
{
	char byte = (char)(value < 255 ? value : 255);

	fw_buf_put(&w->sections[section], &byte, 1);
}

static void put_symbol(struct fw_semantic_writing *w, const struct fw_semantic_chunk *chunk,
		       const struct fw_semantic_chunk *before)
{
	struct fw_buf *symbols = &w->sections[FW_SEMANTIC_SYMBOLS];
	size_t len = chunk->symbol_len;

	if (len && before->symbol_len == len && memcmp(before->symbol, chunk->symbol, len) == 0)
		fw_buf_put(symbols, FW_SEMANTIC_REPEATED, sizeof FW_SEMANTIC_REPEATED);
	else
		fw_semantic_texts_put(&w->text_writer, chunk->symbol, len, symbols);
}

static bool add_chunk(struct fw_semantic_writing *w, const struct fw_semantic_chunk *chunk,
		      size_t number)
{
	put_byte(w, FW_SEMANTIC_LINES, chunk->end_line - chunk->start_line + 1);
	put_byte(w, FW_SEMANTIC_LENGTHS, fw_semantic_length_code(chunk->length));
	for (size_t i = 0; i < chunk->term_count; i++) {
		struct fw_semantic_posting posting = fw_semantic_chunk_term(chunk, i);

		/* A name that is defined here counts once more than one that is used. */
		if (!add(w, FW_SEMANTIC_BODY, posting.hash, number,
			 (uint32_t)posting.tf + posting.symbol_tf))
			return false;
	}
	return true;
}

static bool add_file(struct fw_semantic_writing *w, size_t file, size_t *number)
{
	const struct fw_semantic_source *source = &w->corpus->sources[file];
	const char *path = fw_semantic_corpus_text(w->corpus, source->path);
	struct fw_semantic_file_row row = {
		.path = put_string(w, path, strlen(path)),
		.symbols = (uint32_t)w->sections[FW_SEMANTIC_SYMBOLS].len,
		.first_chunk = (uint32_t)*number,
		.mtime_ns = source->mtime_ns,
		.size = (uint32_t)source->size,
	};
	struct fw_semantic_reader reader = { .chunks = 0 };
	struct fw_semantic_chunk chunk, before = { .symbol_len = 0 };

	if (source->record_len)
		fw_semantic_reader_init(&reader, w->corpus->records.text + source->record,
					source->record_len);
	for (; fw_semantic_reader_next(&reader, &chunk); ++*number) {
		put_symbol(w, &chunk, &before);
		if (!add_chunk(w, &chunk, *number))
			return false;
		row.body_length += chunk.length;
		before = chunk;
	}
	if (!add_text(w, FW_SEMANTIC_PATH, path, file, &row.path_length))
		return false;
	fw_buf_put(&w->sections[FW_SEMANTIC_FILES], (const char *)&row, sizeof row);
	return true;
}

/* ---- history ---- */

static void put_touches(struct fw_semantic_writing *w, const struct fw_semantic_past *past)
{
	struct fw_buf *touches = &w->sections[FW_SEMANTIC_TOUCHES];
	uint32_t before = 0;

	for (size_t i = 0; i < past->touch_count; i++) {
		uint32_t file = w->corpus->touches[past->first_touch + i];
		uint32_t step = file - before;
		char byte;

		for (; step >= 128; step >>= 7) {
			byte = (char)(step | 128);
			fw_buf_put(touches, &byte, 1);
		}
		byte = (char)step;
		fw_buf_put(touches, &byte, 1);
		before = file;
	}
}

static bool add_commits(struct fw_semantic_writing *w)
{
	const struct fw_semantic_corpus *corpus = w->corpus;

	for (size_t i = 0; i < corpus->past_count; i++) {
		const struct fw_semantic_past *past = &corpus->pasts[i];
		const char *subject = fw_semantic_corpus_text(corpus, past->subject);
		struct fw_semantic_commit_row row = {
			.subject = put_string(w, subject,
					      fw_utf8_cut(subject, strlen(subject),
							  FW_SEMANTIC_SUBJECT_BYTES)),
			.sha = past->sha,
			.first_touch = (uint32_t)w->sections[FW_SEMANTIC_TOUCHES].len,
			.touch_count =
				(uint16_t)(past->touch_count < LENGTH_MAX ? past->touch_count
									  : LENGTH_MAX),
		};

		put_touches(w, past);
		if (!add_text(w, FW_SEMANTIC_COMMIT, subject, i, &row.length))
			return false;
		fw_buf_put(&w->sections[FW_SEMANTIC_COMMITS], (const char *)&row, sizeof row);
	}
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
		row->history_length = (uint16_t)(row->history_length + used < LENGTH_MAX
							 ? row->history_length + used
							 : LENGTH_MAX);
		for (size_t j = 0; j < used; j++) {
			size_t k = start;

			while (k < field->count &&
			       (uint32_t)(field->list[k] >> FW_SEMANTIC_KEY_SHIFT) !=
				       fw_semantic_key(terms[j]))
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
	if (!train_texts(writing))
		return fw_raise_internal_out_of_memory();
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

static void put_basis(struct fw_semantic_writing *w, const struct fw_semantic_space *space)
{
	unsigned char packed[FW_SEMANTIC_DIMS_MAX / 2];

	for (size_t i = 0; i < space->term_count; i++) {
		struct fw_semantic_basis_row row = space->terms[i];
		const int8_t *vector = space->basis + i * space->dims;
		float square = 0;

		for (size_t j = 0; j < space->dims; j++)
			square += (float)vector[j] * (float)vector[j];
		/* Its length counts, unlike that of a chunk's vector. */
		row.weight *=
			sqrtf(square) * space->basis_scales[i] *
			fw_semantic_factor_of(fw_semantic_nibbles(vector, space->dims, packed));
		fw_buf_put(&w->sections[FW_SEMANTIC_BASIS_TERMS], (const char *)&row,
			   sizeof row);
		fw_buf_put(&w->sections[FW_SEMANTIC_BASIS], (const char *)packed,
			   fw_semantic_nibble_bytes(space->dims));
	}
}

static void put_vectors(struct fw_semantic_writing *w, const struct fw_semantic_space *space)
{
	unsigned char packed[FW_SEMANTIC_DIMS_MAX / 2];

	for (size_t i = 0; i < w->corpus->chunk_count; i++) {
		put_byte(w, FW_SEMANTIC_FACTORS,
			 fw_semantic_nibbles(space->vectors + i * space->dims, space->dims,
					     packed));
		fw_buf_put(&w->sections[FW_SEMANTIC_VECTORS], (const char *)packed,
			   fw_semantic_nibble_bytes(space->dims));
	}
}

static void put_space(struct fw_semantic_writing *w, const struct fw_semantic_space *space)
{
	w->head.dims = (uint32_t)space->dims;
	if (!space->dims)
		return;
	if (space->basis)
		put_basis(w, space);
	put_vectors(w, space);
}

static fw_error *lay_out(struct fw_semantic_writing *w, struct fw_buf *out)
{
	size_t documents[FW_SEMANTIC_FIELD_COUNT] = { w->corpus->chunk_count,
						      w->corpus->source_count,
						      w->corpus->source_count,
						      w->corpus->past_count };
	static const char zeros[FW_SEMANTIC_ALIGN];

	for (size_t i = 0; i < FW_SEMANTIC_FIELD_COUNT; i++) {
		if (!fw_semantic_postings_write(&w->fields[i], (uint32_t)documents[i],
						&w->sections[FW_SEMANTIC_BUCKETS + i],
						&w->sections[FW_SEMANTIC_LISTS + i]))
			return fw_raise_internal_out_of_memory();
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
