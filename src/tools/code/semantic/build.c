/*
 * build.c - building an index; see semantic.h.
 */
#include "tools/code/semantic/semantic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/semantic/build_impl.h"
#include "tools/code/semantic/files.h"
#include "tools/code/semantic/history.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/lsa.h"
#include "tools/common/crew.h"

#include <faultwire/raise.h>
#include <faultwire/raw.h>

enum { DRIFT_SHARE = 5, DATA_PATH_SIZE = FW_PATH_SIZE + 16 };

bool fw_semantic_building_is_stopped(const struct fw_semantic_building *b)
{
	return b->build->is_cancelled && b->build->is_cancelled(b->build->ctx);
}

void fw_semantic_building_progress(const struct fw_semantic_building *b,
				   enum fw_semantic_phase phase, uint64_t done, uint64_t total)
{
	if (b->build->progress)
		b->build->progress(b->build->ctx, phase, done, total, b->build->read_bytes);
}

/* ---- files and history ---- */

static bool is_stopped(void *ctx)
{
	return fw_semantic_building_is_stopped(ctx);
}

/* For git: also if the files could not be read. */
static bool is_given_up(void *ctx)
{
	const struct fw_semantic_building *b = ctx;

	return atomic_load(&b->is_given_up) || fw_semantic_building_is_stopped(b);
}

static void on_files(void *ctx, uint64_t done, uint64_t total, uint64_t bytes)
{
	struct fw_semantic_building *b = ctx;

	b->build->read_bytes = bytes;
	fw_semantic_building_progress(b, FW_SEMANTIC_READING, done, total);
}

static fw_error *read_repository(struct fw_semantic_building *b)
{
	struct fw_semantic_reading reading = { .place = &b->place,
					       .data = b->data,
					       .threads = b->threads,
					       .is_cancelled = is_stopped,
					       .progress = on_files,
					       .ctx = b };

	/* git reads the history while this process reads the files. */
	FW_TRY(fw_semantic_history_begin(b->data, &b->place, is_given_up, b, &b->history));
	FW_TRY(fw_semantic_files_update(&reading));
	b->build->changed = reading.changed;
	b->build->read_bytes = reading.bytes;
	if (fw_semantic_building_is_stopped(b))
		return NULL;
	fw_semantic_building_progress(b, FW_SEMANTIC_HISTORY_PHASE, 0, 0);
	FW_TRY(fw_semantic_data_begin(b->data));
	FW_TRY(fw_semantic_history_end(b->history, b->data, &b->has_new_commits, b->head));
	return fw_semantic_data_commit(b->data);
}

/* ---- the basis of the last build ---- */

/* How many files have changed since the basis was computed, with those of this build. */
static fw_error *count_drift(struct fw_semantic_building *b, uint64_t *ret_drift)
{
	const void *bytes;
	size_t len;

	*ret_drift = 0;
	FW_TRY(fw_semantic_data_meta(b->data, "drift", &bytes, &len));
	if (len == sizeof *ret_drift)
		memcpy(ret_drift, bytes, len);
	*ret_drift += b->build->changed;
	return NULL;
}

/* Its parts, one behind the other. */
static bool unpack_basis(struct fw_semantic_space *space, const char *bytes, size_t len)
{
	uint32_t counts[2];
	size_t terms, size;

	if (len < sizeof counts)
		return false;
	memcpy(counts, bytes, sizeof counts);
	terms = counts[0];
	size = sizeof counts +
	       terms * (sizeof *space->terms + sizeof *space->basis_scales + (size_t)counts[1]);
	if (!terms || terms > FW_SEMANTIC_LIMIT_COLUMNS || !counts[1] ||
	    counts[1] > FW_SEMANTIC_LSA_DIMS || size != len)
		return false;
	space->terms = fw__allocate(terms * sizeof *space->terms);
	space->basis_scales = fw__allocate(terms * sizeof *space->basis_scales);
	space->basis = fw__allocate(terms * counts[1]);
	if (!space->terms || !space->basis_scales || !space->basis) {
		fw_semantic_space_clear(space);
		return false;
	}
	space->term_count = terms;
	space->dims = counts[1];
	bytes += sizeof counts;
	memcpy(space->terms, bytes, terms * sizeof *space->terms);
	bytes += terms * sizeof *space->terms;
	memcpy(space->basis_scales, bytes, terms * sizeof *space->basis_scales);
	bytes += terms * sizeof *space->basis_scales;
	memcpy(space->basis, bytes, terms * space->dims);
	return true;
}

static fw_error *keep_basis(struct fw_semantic_building *b,
			    const struct fw_semantic_space *space)
{
	uint32_t counts[2] = { (uint32_t)space->term_count, (uint32_t)space->dims };
	fw_error *err = NULL;
	struct fw_buf out;

	fw_buf_init(&out, (size_t)1 << 30);
	fw_buf_put(&out, (const char *)counts, sizeof counts);
	if (space->dims) {
		fw_buf_put(&out, (const char *)space->terms,
			   space->term_count * sizeof *space->terms);
		fw_buf_put(&out, (const char *)space->basis_scales,
			   space->term_count * sizeof *space->basis_scales);
		fw_buf_put(&out, (const char *)space->basis, space->term_count * space->dims);
	}
	if (out.state == FW_BUF_OK)
		err = fw_semantic_data_put_meta(b->data, "basis", out.text, out.len);
	fw_buf_clear(&out);
	return err;
}

static fw_error *find_basis(struct fw_semantic_building *b, struct fw_semantic_space *space,
			    const struct fw_semantic_spacing *how)
{
	uint64_t drift;
	const void *bytes;
	size_t len;

	FW_TRY(count_drift(b, &drift));
	FW_TRY(fw_semantic_data_meta(b->data, "basis", &bytes, &len));
	if (drift * DRIFT_SHARE < b->corpus.source_count && unpack_basis(space, bytes, len))
		return fw_semantic_data_put_meta(b->data, "drift", &drift, sizeof drift);
	FW_TRY(fw_semantic_space_train(space, how));
	if (fw_semantic_building_is_stopped(b))
		return NULL;
	drift = 0;
	FW_TRY(keep_basis(b, space));
	return fw_semantic_data_put_meta(b->data, "drift", &drift, sizeof drift);
}

/* ---- the snapshot ---- */

static fw_error *fill_space(struct fw_semantic_building *b, struct fw_semantic_space *space)
{
	const struct fw_semantic_spacing how = { &b->corpus,
						 &b->writing.fields[FW_SEMANTIC_BODY],
						 b->threads, is_stopped, b };

	if (b->build->embedder)
		return fw_semantic_building_embed(b, space);
	fw_semantic_building_progress(b, FW_SEMANTIC_ANALYSING, 0, 0);
	FW_TRY(find_basis(b, space, &how));
	if (fw_semantic_building_is_stopped(b))
		return NULL;
	return fw_semantic_space_place(space, &how);
}

static fw_error *write_snapshot(struct fw_semantic_building *b)
{
	struct fw_semantic_space space = { .dims = 0 };
	struct fw_semantic_head *head = &b->writing.head;
	fw_error *err;

	FW_TRY(fw_semantic_corpus_load(&b->corpus, b->data));
	FW_TRY(fw_semantic_writing_begin(&b->writing, &b->corpus));
	FW_TRY(fw_semantic_data_begin(b->data));
	err = fill_space(b, &space);
	if (!err && !fw_semantic_building_is_stopped(b)) {
		fw_semantic_building_progress(b, FW_SEMANTIC_WRITING, 0, 0);
		head->created_ms = (int64_t)time(NULL) * 1000;
		(void)snprintf(head->embedder, sizeof head->embedder, "%s", b->embedder_id);
		(void)snprintf(head->commit, sizeof head->commit, "%s", b->head);
		err = fw_semantic_writing_end(&b->writing, &space, b->dir,
					      FW_SEMANTIC_SNAPSHOT_NAME);
	}
	fw_semantic_space_clear(&space);
	if (err)
		return err;
	return fw_semantic_data_commit(b->data);
}

/* Is there a snapshot of this embedder, and nothing newer than it? */
static bool is_current(struct fw_semantic_building *b)
{
	struct fw_semantic_snapshot snapshot;
	bool is_ours;

	if (b->build->changed || b->has_new_commits || b->is_new)
		return false;
	if (fw_semantic_snapshot_open(b->dir, FW_SEMANTIC_SNAPSHOT_NAME, &snapshot) !=
	    FW_SEMANTIC_OK)
		return false;
	is_ours = strcmp(snapshot.head->embedder, b->embedder_id) == 0 &&
		  strcmp(snapshot.head->commit, b->head) == 0;
	fw_semantic_snapshot_close(&snapshot);
	return is_ours;
}

static void report(struct fw_semantic_building *b)
{
	struct fw_semantic_snapshot s;

	if (fw_semantic_snapshot_open(b->dir, FW_SEMANTIC_SNAPSHOT_NAME, &s) != FW_SEMANTIC_OK)
		return;
	b->build->files = s.file_count;
	b->build->chunks = s.chunk_count;
	b->build->commits = s.commit_count;
	b->build->source_bytes = s.head->source_bytes;
	b->build->index_bytes = s.bytes;
	fw_semantic_snapshot_close(&s);
}

/* ---- all of it ---- */

/* A snapshot that is older than the records: a build was killed between the two. */
static fw_error *mark(struct fw_semantic_building *b, bool is_dirty)
{
	char value = is_dirty ? '1' : '0';

	return fw_semantic_data_put_meta(b->data, "dirty", &value, 1);
}

static fw_error *is_dirty(struct fw_semantic_building *b, bool *ret_is_dirty)
{
	const void *bytes;
	size_t len;

	FW_TRY(fw_semantic_data_meta(b->data, "dirty", &bytes, &len));
	*ret_is_dirty = len == 1 && *(const char *)bytes == '1';
	return NULL;
}

static void put_data_path(const struct fw_semantic_build *build, char path[DATA_PATH_SIZE])
{
	(void)snprintf(path, DATA_PATH_SIZE, "%s/data.db", build->directory);
}

static void delete_data(const struct fw_semantic_build *build)
{
	char path[DATA_PATH_SIZE];

	put_data_path(build, path);
	fw_semantic_data_delete(path);
}

static fw_error *build(struct fw_semantic_building *b)
{
	char path[DATA_PATH_SIZE];
	bool was_dirty = false;

	put_data_path(b->build, path);
	FW_TRY(fw_semantic_data_open(path, &b->data, &b->is_new));
	FW_TRY(is_dirty(b, &was_dirty));
	FW_TRY(mark(b, true));
	FW_TRY(read_repository(b));
	if (fw_semantic_building_is_stopped(b))
		return NULL;
	b->is_new = b->is_new || was_dirty;
	b->build->is_unchanged = is_current(b);
	if (!b->build->is_unchanged)
		FW_TRY(write_snapshot(b));
	if (fw_semantic_building_is_stopped(b))
		return NULL;
	return mark(b, false);
}

static fw_error *lock(struct fw_semantic_building *b)
{
	fw_error *err;

	b->dir = open(b->build->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->dir < 0)
		return fw_error_from_errno(FW_HERE, errno, "the directory of the index");
	err = fw_semantic_lock(b->dir, &b->lock);
	b->build->is_busy = err && fw_error_code(err) == FW_SEARCH_FAILED;
	return err;
}

static fw_error *run(struct fw_semantic_build *options, bool *ret_is_corrupt)
{
	struct fw_semantic_building *b = fw__allocate(sizeof *b);
	struct fw_code_repo *repo;
	fw_error *err;

	*ret_is_corrupt = false;
	if (!b)
		return fw_raise_internal_out_of_memory();
	fw__zero(b, sizeof *b);
	b->build = options;
	b->dir = b->lock = b->place.root.fd = -1;
	b->threads = fw_crew_size(options->threads);
	b->embedder_id = options->embedder ? options->embedder->id : FW_SEMANTIC_OWN_EMBEDDER;
	repo = &b->repo;
	(void)snprintf(repo->path, sizeof repo->path, "%s", options->repo);
	err = fw_code_place_of(repo, &b->place);
	if (!err)
		err = lock(b);
	if (!err)
		err = build(b);
	if (!err)
		report(b);
	options->is_cancelled_early = fw_semantic_building_is_stopped(b);
	atomic_store(&b->is_given_up, true);
	fw_semantic_history_free(b->history);
	fw_semantic_writing_clear(&b->writing);
	fw_semantic_corpus_clear(&b->corpus);
	*ret_is_corrupt = err && fw_semantic_data_is_corrupt(b->data);
	fw_semantic_data_close(b->data);
	if (*ret_is_corrupt)
		delete_data(options);
	fw_code_place_close(&b->place);
	if (b->lock >= 0)
		(void)close(b->lock);
	if (b->dir >= 0)
		(void)close(b->dir);
	fw__release(b);
	return err;
}

fw_error *fw_semantic_build(struct fw_semantic_build *options)
{
	int64_t start = fw_steady_ms();
	bool is_corrupt;
	fw_error *err = run(options, &is_corrupt);

	/* Without the database, everything is read again. */
	if (err && is_corrupt) {
		fw_error_free(err);
		err = run(options, &is_corrupt);
	}
	options->ms = (uint64_t)(fw_steady_ms() - start);
	return err;
}
