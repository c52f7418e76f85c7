/*
 * findings.c - see findings.h.
 */
#include "tools/code/semantic/findings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "tools/code/semantic/limits.h"

#include <faultwire/raise.h>

enum { PREVIEW_LINES = 4, LINE_TERMS = 512, CITED = 3 };

/* ---- lists ---- */

struct fw_semantic_finding *fw_semantic_findings_next(struct fw_semantic_findings *findings)
{
	if (findings->count == findings->cap) {
		size_t cap = findings->cap ? 2 * findings->cap : 16;
		struct fw_semantic_finding *list =
			fw__reallocate(findings->list, cap * sizeof *list);

		if (!list)
			return NULL;
		findings->list = list;
		findings->cap = cap;
	}
	findings->list[findings->count] = (struct fw_semantic_finding){ .why = "{}" };
	return &findings->list[findings->count++];
}

static int by_score(const void *a, const void *b)
{
	const struct fw_semantic_finding *left = a, *right = b;
	int order;

	if (left->score != right->score)
		return left->score > right->score ? -1 : 1;
	order = strcmp(left->path, right->path);
	return order ? order : (left->start_line > right->start_line ? 1 : -1);
}

void fw_semantic_findings_sort(struct fw_semantic_findings *findings, size_t most)
{
	size_t kept = 0;

	for (size_t i = 0; i < findings->count; i++)
		if (!findings->list[i].is_gone)
			findings->list[kept++] = findings->list[i];
	if (kept)
		qsort(findings->list, kept, sizeof *findings->list, by_score);
	findings->count = kept < most ? kept : most;
}

void fw_semantic_findings_clear(struct fw_semantic_findings *findings)
{
	fw__release(findings->list);
	findings->list = NULL;
	findings->count = findings->cap = 0;
}

/* ---- quotes ---- */

/* Numbers of distinct terms of the query in a line. */
static unsigned weigh_line(const struct fw_semantic_query *query, const char *line, size_t len)
{
	uint32_t terms[LINE_TERMS];
	uint64_t seen = 0;
	size_t count = fw_semantic_terms(line, len < LINE_TERMS ? len : LINE_TERMS, terms);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < query->term_count; j++)
			if (query->terms[j].hash == terms[i])
				seen |= (uint64_t)1 << j;
	return (unsigned)__builtin_popcountll(seen);
}

static void copy_text(char *to, size_t size, const char *text, size_t len)
{
	char repaired[3 * FW_SEMANTIC_PREVIEW_BYTES + 16];
	size_t used;

	if (len > FW_SEMANTIC_PREVIEW_BYTES)
		len = FW_SEMANTIC_PREVIEW_BYTES;
	used = fw_utf8_repair(repaired, sizeof repaired, text, len);
	used = fw_utf8_cut(repaired, used < sizeof repaired ? used : sizeof repaired, size - 1);
	memcpy(to, repaired, used);
	to[used] = '\0';
}

static size_t line_len(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? (size_t)(newline - at) : (size_t)(end - at);
}

/* Without the marks of comments around it. */
static void copy_quote(struct fw_semantic_finding *finding, const char *line, size_t len)
{
	while (len && strchr(" \t/*#-;!\"'", *line) && *line) {
		line++;
		len--;
	}
	while (len && strchr(" \t\r*/", line[len - 1]) && line[len - 1])
		len--;
	copy_text(finding->quote, sizeof finding->quote, line, len);
}

void fw_semantic_finding_quote(struct fw_semantic_finding *finding,
			       const struct fw_semantic_query *query, const char *text,
			       size_t len)
{
	const char *end = text + len, *best = text, *stop;
	uint32_t line = finding->start_line, best_line = line;
	unsigned most = 0;

	for (const char *at = text; at < end; line++) {
		size_t size = line_len(at, end);
		unsigned weight = weigh_line(query, at, size);

		if (weight > most) {
			most = weight;
			best = at;
			best_line = line;
		}
		at += size + 1;
	}
	stop = best;
	for (int i = 0; i < PREVIEW_LINES && stop < end; i++)
		stop += line_len(stop, end) + (stop + line_len(stop, end) < end);
	while (stop > best && (stop[-1] == '\n' || stop[-1] == '\r'))
		stop--;
	copy_text(finding->preview, sizeof finding->preview, best, (size_t)(stop - best));
	copy_quote(finding, best, line_len(best, end));
	finding->quote_line = best_line;
}

/* ---- why ---- */

static void put_why(struct fw_semantic_finding *finding, const struct fw_semantic_snapshot *s,
		    const struct fw_semantic_query *query, const struct fw_semantic_hit *hit,
		    bool is_changed)
{
	struct fw_buf out;
	bool is_first = true;

	fw_buf_init(&out, sizeof finding->why - 1);
	FW_BUF(&out, "{\"terms\":[");
	for (size_t i = 0; i < query->term_count && out.len < 700; i++)
		if (hit->matched >> i & 1) {
			if (!is_first)
				FW_BUF(&out, ",");
			fw_buf_json_str(&out, query->terms[i].text);
			is_first = false;
		}
	FW_BUF(&out, "],\"commits\":[");
	is_first = true;
	for (size_t i = 0; i < 3 && hit->commits[i] != UINT32_MAX && out.len < 1300; i++) {
		const struct fw_semantic_commit_row *commit = &s->commits[hit->commits[i]];
		char text[FW_SEMANTIC_SUBJECT_BYTES + 1], subject[120 + 4], sha[12];

		fw_semantic_snapshot_text(s, commit->subject, text, sizeof text);
		copy_text(subject, 120, text, strlen(text));
		if (!is_first)
			FW_BUF(&out, ",");
		is_first = false;
		(void)snprintf(sha, sizeof sha, "%08" PRIx32, commit->sha);
		FW_BUF(&out, "{\"sha\":");
		fw_buf_json_str(&out, sha);
		FW_BUF(&out, ",\"message\":");
		fw_buf_json_str(&out, subject);
		FW_BUF(&out, "}");
	}
	FW_BUF(&out, "],\"similarity\":");
	fw_buf_f64(&out, round((double)hit->cosine * 1000) / 1000);
	if (is_changed)
		FW_BUF(&out, ",\"changed\":true");
	FW_BUF(&out, "}");
	if (out.state == FW_BUF_OK)
		memcpy(finding->why, out.text, out.len + 1);
	fw_buf_clear(&out);
}

/* ---- files ---- */

struct reading {
	const struct fw_code_place *place;
	char *text;
	size_t len;
	uint32_t file; /* that is in `text` */
	char path[FW_PATH_SIZE];
	bool is_gone, is_changed;
};

static void read_file(struct reading *r, const struct fw_semantic_snapshot *s, uint32_t file)
{
	const struct fw_semantic_file_row *row = &s->files[file];
	struct stat st;
	ssize_t got;
	int fd;

	fw_semantic_snapshot_text(s, row->path, r->path, sizeof r->path);
	fd = fw_root_open_beneath(r->place->root.fd, r->path,
				  O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
	r->file = file;
	r->len = 0;
	r->is_gone = fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode);
	r->is_changed =
		!r->is_gone &&
		(st.st_size != row->size ||
		 (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec != row->mtime_ns);
	while (!r->is_gone && r->len < FW_SEMANTIC_LIMIT_FILE &&
	       (got = read(fd, r->text + r->len, FW_SEMANTIC_LIMIT_FILE - r->len)) > 0)
		r->len += (size_t)got;
	if (fd >= 0)
		(void)close(fd);
}

/* The lines of a chunk, as far as the file still has them. */
static void cut_lines(const struct reading *r, struct fw_semantic_finding *finding,
		      const char **ret_text, size_t *ret_len)
{
	const char *at = r->text, *end = r->text + r->len;
	uint32_t line = 1;

	for (; line < finding->start_line && at < end; line++)
		at += line_len(at, end) + (at + line_len(at, end) < end);
	*ret_text = at;
	for (; line <= finding->end_line && at < end; line++)
		at += line_len(at, end) + (at + line_len(at, end) < end);
	*ret_len = (size_t)(at - *ret_text);
	if (line <= finding->end_line)
		finding->end_line = line > finding->start_line ? line - 1 : finding->start_line;
}

static void fill_in(struct fw_semantic_finding *finding, struct reading *r,
		    const struct fw_semantic_snapshot *s, const struct fw_semantic_query *query,
		    const struct fw_semantic_hit *hit)
{
	struct fw_semantic_spot spot;
	const char *text;
	size_t len;

	if (r->file != hit->file)
		read_file(r, s, hit->file);
	(void)snprintf(finding->path, sizeof finding->path, "%s%s", r->place->repo->prefix,
		       r->path);
	fw_semantic_snapshot_spot(s, hit->file, hit->chunk, &spot);
	finding->start_line = spot.start_line;
	finding->end_line = spot.end_line;
	finding->score = hit->score;
	finding->is_gone = r->is_gone;
	copy_text(finding->symbol, sizeof finding->symbol, spot.symbol, strlen(spot.symbol));
	cut_lines(r, finding, &text, &len);
	/* The lines that were found are not there any more. */
	if (!len)
		finding->is_gone = true;
	fw_semantic_finding_quote(finding, query, text, len);
	put_why(finding, s, query, hit, r->is_changed);
}

fw_error *fw_semantic_findings_add(struct fw_semantic_findings *findings,
				   const struct fw_code_repo *repo,
				   const struct fw_semantic_snapshot *snapshot,
				   const struct fw_semantic_query *query,
				   const struct fw_semantic_hits *hits)
{
	struct fw_code_place place;
	struct reading r = { .place = &place, .file = UINT32_MAX };
	fw_error *err = NULL;

	FW_TRY(fw_code_place_of(repo, &place));
	r.text = fw__allocate(FW_SEMANTIC_LIMIT_FILE + 1);
	if (!r.text)
		err = fw_raise_internal_out_of_memory();
	for (size_t i = 0; !err && i < hits->count; i++) {
		struct fw_semantic_finding *finding = fw_semantic_findings_next(findings);

		if (!finding) {
			err = fw_raise_internal_out_of_memory();
			break;
		}
		fill_in(finding, &r, snapshot, query, &hits->list[i]);
		findings->changed += r.is_changed || r.is_gone;
	}
	fw__release(r.text);
	fw_code_place_close(&place);
	return err;
}

/* ---- the result ---- */

double fw_semantic_confidence(const struct fw_semantic_hits *hits)
{
	double x;

	if (!hits->count)
		return 0;
	/* A logistic regression on the queries of bench/retrieval, by its --calibrate. */
	x = -2.68 + 2.41 * (double)hits->coverage - 2.27 * (double)hits->best_lexical +
	    1.24 * (double)hits->best_cosine + 8.16 * (double)hits->margin -
	    1.04 * (double)hits->list[0].score;
	return 1 / (1 + exp(-x));
}

static void put_citation(struct fw_buf *out, const struct fw_semantic_finding *f)
{
	char lines[48];

	fw_buf_str(out, f->path);
	(void)snprintf(lines, sizeof lines, ":%u",
		       f->quote_line ? f->quote_line : f->start_line);
	fw_buf_str(out, lines);
}

/* What the best findings say, in their own words, each with its place. */
static void put_answer(const struct fw_semantic_findings *findings, struct fw_buf *out)
{
	struct fw_buf text;

	fw_buf_init(&text, 4096 * 4);
	for (size_t i = 0; i < findings->count && i < CITED; i++) {
		const struct fw_semantic_finding *f = &findings->list[i];

		if (i)
			FW_BUF(&text, " ");
		if (f->symbol[0]) {
			fw_buf_str(&text, f->symbol);
			FW_BUF(&text, ": ");
		}
		FW_BUF(&text, "\"");
		fw_buf_str(&text, f->quote);
		FW_BUF(&text, "\" [");
		put_citation(&text, f);
		FW_BUF(&text, "]");
	}
	fw_buf_json(out, text.len && text.state == FW_BUF_OK ? text.text : "",
		    text.state == FW_BUF_OK ? text.len : 0);
	fw_buf_clear(&text);
}

static void put_finding(const struct fw_semantic_finding *f, struct fw_buf *out)
{
	FW_BUF(out, "{\"path\":");
	fw_buf_json_str(out, f->path);
	FW_BUF(out, ",\"start_line\":");
	fw_buf_i64(out, f->start_line);
	FW_BUF(out, ",\"end_line\":");
	fw_buf_i64(out, f->end_line);
	FW_BUF(out, ",\"symbol\":");
	fw_buf_json_str(out, f->symbol);
	FW_BUF(out, ",\"score\":");
	fw_buf_f64(out, round((double)f->score * 10000) / 10000);
	FW_BUF(out, ",\"preview\":");
	fw_buf_json_str(out, f->preview);
	FW_BUF(out, ",\"why\":");
	fw_buf_str(out, f->why);
	FW_BUF(out, "}");
}

void fw_semantic_findings_write(const struct fw_semantic_findings *findings, struct fw_buf *out)
{
	char time[FW_TIME_SIZE];

	FW_BUF(out, "{\"findings\":[");
	for (size_t i = 0; i < findings->count; i++) {
		if (i)
			FW_BUF(out, ",");
		put_finding(&findings->list[i], out);
	}
	FW_BUF(out, "],\"answer\":");
	put_answer(findings, out);
	FW_BUF(out, ",\"confidence\":");
	fw_buf_f64(out, round(findings->confidence * 100) / 100);
	FW_BUF(out, ",\"mode\":");
	fw_buf_json_str(out, findings->is_lexical ? "lexical" : "hybrid");
	FW_BUF(out, ",\"index\":{\"state\":");
	fw_buf_json_str(out, findings->state ? findings->state : "ready");
	if (findings->created_ms && fw_time_text(findings->created_ms, time)) {
		FW_BUF(out, ",\"built\":");
		fw_buf_json_str(out, time);
	}
	FW_BUF(out, "}}");
}
