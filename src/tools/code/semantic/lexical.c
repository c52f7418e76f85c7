/*
 * lexical.c - findings without an index: every file is read and ranked by BM25 of its best
 * chunk. For the time while an index is built for the first time.
 */
#include "tools/code/semantic/findings.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "tools/code/semantic/limits.h"
#include "tools/code/semantic/record.h"
#include "tools/code/walk.h"

#include <faultwire/raise.h>

enum { TERMS_MAX = 16, CANDIDATES = 4000, LINE_TERMS = 4096 };

struct candidate {
	size_t path;
	uint32_t start_line, end_line;
	uint32_t length;
	uint8_t tf[TERMS_MAX]; /* of the best chunk */
	float score;
};

struct scan {
	fw_call *call;
	const struct fw_code_place *place;
	const struct fw_semantic_query *query;
	size_t terms; /* of the query that are used */
	int64_t deadline_ms;
	bool is_late;
	char *text;
	struct fw_buf paths;
	struct candidate *list;
	size_t count;
	uint32_t df[TERMS_MAX];
	size_t files;
};

static bool is_stopped(void *ctx)
{
	struct scan *s = ctx;

	s->is_late = s->is_late || fw_steady_ms() > s->deadline_ms;
	return s->is_late || fw_call_is_cancelled(s->call);
}

/* Counts the query's terms in a chunk of lines; true if it has more of them than `best`. */
static void count_chunk(const struct scan *s, const char *text, size_t len,
			struct candidate *chunk)
{
	uint32_t terms[LINE_TERMS];

	while (len) {
		size_t part = len < LINE_TERMS ? len : LINE_TERMS;
		size_t count = fw_semantic_terms(text, part, terms);

		chunk->length += (uint32_t)count;
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < s->terms; j++)
				if (terms[i] == s->query->terms[j].hash && chunk->tf[j] < 255)
					chunk->tf[j]++;
		text += part;
		len -= part;
	}
}

static unsigned distinct(const struct candidate *chunk)
{
	unsigned count = 0;

	for (size_t i = 0; i < TERMS_MAX; i++)
		count += chunk->tf[i] > 0;
	return count;
}

/* The chunk with the most terms. */
static void scan_text(struct scan *s, const char *text, size_t len, struct candidate *ret_best)
{
	const char *end = text + len;
	uint32_t line = 1;
	bool has[TERMS_MAX] = { false };

	while (text < end) {
		struct candidate chunk = { .start_line = line };
		const char *at = text;

		for (int i = 0; i < FW_SEMANTIC_CHUNK_LINES && at < end; i++, line++) {
			const char *newline = memchr(at, '\n', (size_t)(end - at));

			at = newline ? newline + 1 : end;
		}
		chunk.end_line = line - 1;
		count_chunk(s, text, (size_t)(at - text), &chunk);
		for (size_t i = 0; i < s->terms; i++)
			has[i] = has[i] || chunk.tf[i];
		if (distinct(&chunk) > distinct(ret_best))
			*ret_best = chunk;
		text = at;
	}
	for (size_t i = 0; i < s->terms; i++)
		s->df[i] += has[i];
}

static bool see_file(void *ctx, int dir, const char *path, size_t len, const char *name)
{
	struct scan *s = ctx;
	struct candidate best = { .length = 0 };
	int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	size_t size = 0;
	ssize_t got = 0;

	if (fd < 0)
		return !is_stopped(s);
	while (size < FW_SEMANTIC_LIMIT_FILE &&
	       (got = read(fd, s->text + size, FW_SEMANTIC_LIMIT_FILE - size)) > 0)
		size += (size_t)got;
	(void)close(fd);
	if (got < 0 || size == FW_SEMANTIC_LIMIT_FILE || memchr(s->text, '\0', size))
		return !is_stopped(s);
	s->files++;
	scan_text(s, s->text, size, &best);
	if (distinct(&best) && s->count < CANDIDATES) {
		best.path = s->paths.len;
		fw_buf_put(&s->paths, path, len);
		fw_buf_put(&s->paths, "", 1);
		s->list[s->count++] = best;
	}
	return !is_stopped(s);
}

static void score(struct scan *s)
{
	float most = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct candidate *c = &s->list[i];

		for (size_t j = 0; j < s->terms; j++) {
			float idf = logf(1 + ((float)s->files - (float)s->df[j] + 0.5F) /
						     ((float)s->df[j] + 0.5F));

			c->score += idf * (float)c->tf[j] / ((float)c->tf[j] + 1.2F);
		}
		most = c->score > most ? c->score : most;
	}
	for (size_t i = 0; i < s->count && most > 0; i++)
		s->list[i].score /= most;
}

static void put_why(const struct scan *s, const struct candidate *c,
		    struct fw_semantic_finding *finding)
{
	struct fw_buf out;
	bool is_first = true;

	fw_buf_init(&out, sizeof finding->why - 1);
	FW_BUF(&out, "{\"terms\":[");
	for (size_t i = 0; i < s->terms; i++)
		if (c->tf[i]) {
			if (!is_first)
				FW_BUF(&out, ",");
			fw_buf_json_str(&out, s->query->terms[i].text);
			is_first = false;
		}
	FW_BUF(&out, "],\"commits\":[],\"similarity\":0.0,\"lexical\":true}");
	if (out.state == FW_BUF_OK)
		memcpy(finding->why, out.text, out.len + 1);
	fw_buf_clear(&out);
}

static fw_error *put_finding(struct scan *s, struct fw_semantic_findings *findings,
			     const struct candidate *c)
{
	struct fw_semantic_finding *f = fw_semantic_findings_next(findings);
	const char *path = s->paths.text + c->path;
	int fd = fw_root_open_beneath(s->place->root.fd, path, O_RDONLY | O_NONBLOCK);
	const char *at = s->text, *end, *stop;
	ssize_t got = fd >= 0 ? read(fd, s->text, FW_SEMANTIC_LIMIT_FILE) : 0;
	uint32_t line = 1;

	if (fd >= 0)
		(void)close(fd);
	if (!f)
		return fw_raise_internal_out_of_memory();
	(void)snprintf(f->path, sizeof f->path, "%s%s", s->place->repo->prefix, path);
	f->start_line = c->start_line;
	f->end_line = c->end_line;
	f->score = c->score;
	put_why(s, c, f);
	end = s->text + (got > 0 ? got : 0);
	for (stop = at; stop < end && line <= c->end_line; line++) {
		const char *newline = memchr(stop, '\n', (size_t)(end - stop));

		if (line == c->start_line)
			at = stop;
		stop = newline ? newline + 1 : end;
	}
	fw_semantic_finding_quote(f, s->query, at, (size_t)(stop - at));
	return NULL;
}

static fw_error *put_best(struct scan *s, size_t most, struct fw_semantic_findings *findings)
{
	for (size_t n = 0; n < most; n++) {
		struct candidate *best = NULL;

		for (size_t i = 0; i < s->count; i++)
			if (s->list[i].score > 0 && (!best || s->list[i].score > best->score))
				best = &s->list[i];
		if (!best)
			break;
		FW_TRY(put_finding(s, findings, best));
		best->score = 0;
	}
	return NULL;
}

static fw_error *scan(struct scan *s, const char *text, size_t most,
		      struct fw_semantic_findings *findings)
{
	const struct fw_walk walk = { .file = see_file, .is_stopped = is_stopped, .ctx = s };
	bool is_complete = true;

	FW_TRY(fw_walk_run(&walk, s->place->root.fd, ".", ".", &is_complete));
	if (s->is_late)
		return fw_raise_search_timeout(text);
	if (s->paths.state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	score(s);
	return put_best(s, most, findings);
}

fw_error *fw_semantic_lexical(fw_call *call, const struct fw_code_set *code,
			      const struct fw_code_repo *repo,
			      const struct fw_semantic_query *query, const char *text,
			      size_t most, struct fw_semantic_findings *findings)
{
	struct fw_code_place place;
	struct scan s = { .call = call,
			  .place = &place,
			  .query = query,
			  .terms =
				  query->term_count < TERMS_MAX ? query->term_count : TERMS_MAX,
			  .deadline_ms = fw_steady_ms() + code->search_ms };
	fw_error *err;

	FW_TRY(fw_code_place_of(repo, &place));
	fw_buf_init(&s.paths, (size_t)CANDIDATES * FW_PATH_SIZE);
	s.text = fw__allocate(FW_SEMANTIC_LIMIT_FILE);
	s.list = fw__allocate(CANDIDATES * sizeof *s.list);
	err = s.text && s.list ? scan(&s, text, most, findings)
			       : fw_raise_internal_out_of_memory();
	fw__release(s.text);
	fw__release(s.list);
	fw_buf_clear(&s.paths);
	fw_code_place_close(&place);
	return err;
}
