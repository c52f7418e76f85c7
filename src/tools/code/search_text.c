/*
 * search_text.c - the tool search_text.
 *
 * `paths` has folders and files to search, and globs that paths must match, or must not
 * match if they begin with "!". The name of an existing file or folder is never read as a
 * glob: app/[id]/page.tsx. Overlapping folders are searched once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/arguments.h"
#include "tools/code/candidates.h"
#include "tools/code/code.h"
#include "tools/code/hunt.h"
#include "tools/code/limits.h"
#include "tools/code/mapped.h"
#include "tools/code/query.h"
#include "tools/code/walk.h"
#include "tools/common/globs.h"
#include "tools/common/reply.h"

#include <faultwire/raise.h>

enum { SHOWN = 50 };

struct search {
	fw_call *call;
	const struct fw_code_set *code;
	const char *text;
	struct fw_query *query;
	struct fw_hunt *hunt;
	struct fw_globs include, exclude;
	/* Where to search, in the order of the paths, none below another. Allocated. */
	struct fw_code_place *places[FW_LIMIT_CODE_LIST];
	size_t place_count;
	struct fw_hunt_where where; /* the place that is being searched */
	bool is_cut;
};

/* ---- where to search ---- */

static fw_error *add_place(struct search *s, const char *text, size_t len)
{
	struct fw_code_place *place = fw__allocate(sizeof *place);
	fw_error *err;

	if (!place)
		return fw_raise_internal_out_of_memory();
	err = text ? fw_code_place_find(&s->code->repos, text, len, place)
		   : fw_code_place_of(&s->code->repos.list[len], place);
	if (err) {
		fw__release(place);
		return err;
	}
	s->places[s->place_count++] = place;
	return NULL;
}

/* True: there is a file or a folder with exactly this name. */
static bool is_there(const struct search *s, const char *text, size_t len)
{
	struct fw_code_place place;
	fw_error *err = fw_code_place_find(&s->code->repos, text, len, &place);
	struct stat st;
	bool is_found;

	if (err) {
		fw_error_free(err);
		return false;
	}
	is_found = fstatat(place.root.fd, place.path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	fw_code_place_close(&place);
	return is_found;
}

static fw_error *add_path(void *ctx, const char *text, size_t len)
{
	struct search *s = ctx;

	if (text[0] == '!')
		return fw_globs_add(&s->exclude, "paths", text + 1, len - 1);
	if (fw_globs_is_glob(text) && !is_there(s, text, len))
		return fw_globs_add(&s->include, "paths", text, len);
	return add_place(s, text, len);
}

static int by_path(const void *a, const void *b)
{
	const struct fw_code_place *left = *(struct fw_code_place *const *)a;
	const struct fw_code_place *right = *(struct fw_code_place *const *)b;
	int order = left->repo < right->repo ? -1 : left->repo > right->repo;

	return order ? order : strcmp(left->path, right->path);
}

static bool covers(const struct fw_code_place *above, const struct fw_code_place *place)
{
	return above->repo == place->repo &&
	       (strcmp(above->path, ".") == 0 || fw_path_is_beneath(place->path, above->path));
}

/* True: the place is inside another one. Of two equal places, the later one counts as
 * covered. */
static bool is_covered(const struct search *s, size_t at)
{
	for (size_t i = 0; i < s->place_count; i++)
		if (i != at && covers(s->places[i], s->places[at]) &&
		    (i < at || !covers(s->places[at], s->places[i])))
			return true;
	return false;
}

static void drop_place(struct search *s, size_t at)
{
	fw_code_place_close(s->places[at]);
	fw__release(s->places[at]);
	s->place_count--;
	memmove(s->places + at, s->places + at + 1, (s->place_count - at) * sizeof *s->places);
}

static fw_error *read_paths(struct search *s)
{
	FW_TRY(fw_code_each(s->call, "paths", add_path, s));
	if (!s->place_count)
		for (size_t i = 0; i < s->code->repos.count; i++)
			FW_TRY(add_place(s, NULL, i));
	qsort(s->places, s->place_count, sizeof *s->places, by_path);
	for (size_t i = s->place_count; i-- > 0;)
		if (is_covered(s, i))
			drop_place(s, i);
	return NULL;
}

/* ---- searching ---- */

static bool candidate(void *ctx, const char *path, size_t len, struct fw_mapped *mapped)
{
	struct search *s = ctx;

	if (!fw_code_globs_admit(&s->include, &s->exclude, s->where.prefix, path, len))
		return true;
	s->where.mapped = mapped;
	return fw_hunt_add(s->hunt, &s->where, path, len);
}

static bool file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	(void)dir;
	(void)name;
	return candidate(ctx, path, len, NULL);
}

static bool has_ended(void *ctx)
{
	const struct search *s = ctx;

	return fw_hunt_has_ended(s->hunt);
}

static bool is_cancelled(void *ctx)
{
	const struct search *s = ctx;

	return fw_call_is_cancelled(s->call);
}

static fw_error *walk(struct search *s, const struct fw_code_place *place)
{
	const struct fw_walk how = { .file = file, .is_stopped = has_ended, .ctx = s };
	const struct fw_candidates candidates = { place,
						  fw_query_literals(s->query),
						  fw_query_runs(s->query),
						  s->code->keeps_maps,
						  candidate,
						  s };
	bool is_complete = true;
	struct stat st;

	s->where = (struct fw_hunt_where){ .root = place->root.fd,
					   .device = place->root.dev,
					   .prefix = place->repo->prefix };
	if (fw_code_place_is_file(place, &st)) {
		s->where.is_named = true;
		(void)candidate(s, place->path, strlen(place->path), NULL);
		return NULL;
	}
	s->where.is_canonical = true;
	if (fw_candidates_each(&candidates))
		return NULL;
	s->where.is_canonical = false;
	FW_TRY(fw_walk_run(&how, place->root.fd, place->path,
			   place->shown[0] ? place->shown : ".", &is_complete));
	s->is_cut = s->is_cut || !is_complete;
	return NULL;
}

static fw_error *put_result(struct search *s)
{
	size_t count;
	const struct fw_hit *hits = fw_hunt_hits(s->hunt, &count);
	uint64_t total = fw_hunt_total(s->hunt);
	char path[FW_PATH_SIZE + FW_CODE_NAME_SIZE + 1];
	struct fw_buf out;

	fw_buf_init(&out, FW_LIMIT_CODE_RESULT_BYTES);
	FW_BUF(&out, "{\"matches\":[");
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof path, "%s%s", hits[i].prefix, hits[i].path);
		fw_buf_str(&out, i ? ",{\"path\":" : "{\"path\":");
		fw_buf_json_str(&out, path);
		FW_BUF(&out, ",\"line\":");
		fw_buf_i64(&out, (int64_t)hits[i].line);
		FW_BUF(&out, ",\"column\":");
		fw_buf_i64(&out, (int64_t)hits[i].column);
		FW_BUF(&out, ",\"preview\":");
		fw_buf_json(&out, hits[i].preview, hits[i].preview_len);
		FW_BUF(&out, "}");
	}
	FW_BUF(&out, "],\"total\":");
	fw_buf_i64(&out, (int64_t)total);
	FW_BUF(&out, ",\"truncated\":");
	fw_buf_str(&out, s->is_cut || total > count ? "true}" : "false}");
	return fw_reply_structured(s->call, &out);
}

static fw_error *search(struct search *s, size_t most)
{
	const struct fw_hunt_options options = { .query = s->query,
						 .most = most,
						 .until_ms =
							 fw_steady_ms() + s->code->search_ms,
						 .is_cancelled = is_cancelled,
						 .ctx = s };
	enum fw_hunt_end end = FW_HUNT_COMPLETE;
	fw_error *err = NULL;

	FW_TRY(fw_hunt_new(&options, &s->hunt));
	for (size_t i = 0; !err && i < s->place_count; i++)
		err = walk(s, s->places[i]);
	FW_TRY(err);
	FW_TRY(fw_hunt_finish(s->hunt, &end));
	/* An incomplete result would look like a complete one, so it is an error. */
	if (end != FW_HUNT_COMPLETE)
		return fw_raise_search_timeout(s->text);
	return put_result(s);
}

static fw_error *run(struct search *s)
{
	struct fw_query_options options = {
		.is_regex = fw_call_bool(s->call, "regex", false),
		.is_case_sensitive = fw_call_bool(s->call, "case_sensitive", false),
	};
	int64_t most = 0;

	s->text = fw_call_string(s->call, "query", &options.len);
	options.text = s->text;
	FW_TRY(fw_code_max_results(s->call, "max_results", SHOWN, FW_LIMIT_CODE_MATCHES,
				   &most));
	FW_TRY(fw_query_new(&options, &s->query));
	FW_TRY(read_paths(s));
	return search(s, (size_t)most);
}

fw_error *fw_code_search_text(fw_call *call, void *ctx)
{
	struct search *s = fw__allocate(sizeof *s);
	fw_error *err;

	if (!s)
		return fw_raise_internal_out_of_memory();
	fw__zero(s, sizeof *s);
	s->call = call;
	s->code = ctx;
	err = run(s);
	fw_hunt_free(s->hunt);
	if (s->code->keeps_maps)
		fw_mapped_finish();
	fw_query_free(s->query);
	while (s->place_count)
		drop_place(s, s->place_count - 1);
	fw_globs_clear(&s->include);
	fw_globs_clear(&s->exclude);
	fw__release(s);
	return err;
}
