/*
 * retrieval.c - recall and speed of the index of a repository, for bench/retrieval.
 *
 * bench_retrieval INDEX-DIRECTORY TREE <queries: a query per line is a text, and after tabs the
 * files that an answer should have. Prints a row per way to rank, as tab-separated values:
 * name, recall@10, MRR, p50 and p99 in milliseconds of CPU time, which other programs on the
 * machine do not change. "answer" is the whole of a search: ranking, reading the files, the
 * result as JSON. With --steps it leaves grep out; with --grid it tries many weights; with
 * --calibrate it prints what the confidence is computed from, and whether the first finding
 * was right.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/code/semantic/findings.h"
#include "tools/code/semantic/rank.h"
#include "tools/code/semantic/snapshot.h"
#include "tools/code/semantic/token.h"

enum { QUERIES_MAX = 20000, WANTED_MAX = 32, TOP = 10, HITS = 40, SHOWN = 20 };

struct wanted {
	char *text;
	char *paths[WANTED_MAX];
	size_t count;
};

static struct wanted wanted[QUERIES_MAX];
static size_t wanted_count;
static struct fw_semantic_snapshot snapshot;
static char **names; /* of the files */

static double now_ms(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static void read_names(void)
{
	char path[4096];

	names = calloc(snapshot.file_count + 1, sizeof *names);
	for (size_t i = 0; i < snapshot.file_count; i++) {
		fw_semantic_snapshot_text(&snapshot, snapshot.files[i].path, path, sizeof path);
		names[i] = strdup(path);
	}
}

static void read_queries(void)
{
	char *line = NULL;
	size_t size = 0;

	while (wanted_count < QUERIES_MAX && getline(&line, &size, stdin) > 0) {
		struct wanted *to = &wanted[wanted_count];
		char *at = strdup(line);

		at[strcspn(at, "\n")] = '\0';
		to->text = strsep(&at, "\t");
		while (at && to->count < WANTED_MAX)
			to->paths[to->count++] = strsep(&at, "\t");
		wanted_count += to->count > 0;
	}
	free(line);
}

static int is_wanted(const struct wanted *query, const char *path)
{
	for (size_t i = 0; i < query->count; i++)
		if (strcmp(query->paths[i], path) == 0)
			return 1;
	return 0;
}

struct score {
	double recall, rank;
};

/* `paths`: the files that were found, the best first, each once. */
static void judge(const struct wanted *query, const char *const *paths, size_t count,
		  struct score *score)
{
	size_t found = 0;

	for (size_t i = 0; i < count && i < TOP; i++)
		found += (size_t)is_wanted(query, paths[i]);
	score->recall += (double)found / (double)query->count;
	for (size_t i = 0; i < count; i++)
		if (is_wanted(query, paths[i])) {
			score->rank += 1.0 / (double)(i + 1);
			return;
		}
}

static int by_time(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static void print_row(const char *name, struct score score, double *times)
{
	qsort(times, wanted_count, sizeof *times, by_time);
	printf("%s\t%.3f\t%.3f\t%.2f\t%.2f\n", name, score.recall / (double)wanted_count,
	       score.rank / (double)wanted_count, times[wanted_count / 2],
	       times[wanted_count * 99 / 100]);
	(void)fflush(stdout);
}

/* ---- the index ---- */

static size_t search(const struct wanted *query, const struct fw_semantic_weights *weights,
		     struct fw_semantic_hits *hits, const char **paths)
{
	struct fw_semantic_query asked = { .vector = NULL };
	size_t count = 0;
	fw_error *err;

	asked.term_count = fw_semantic_query_terms(query->text, strlen(query->text),
						   asked.terms, FW_SEMANTIC_LIMIT_QUERY_TERMS);
	err = fw_semantic_rank(&snapshot, &asked, weights, HITS, hits);
	if (err)
		abort();
	for (size_t i = 0; i < hits->count; i++) {
		const char *path = names[hits->list[i].file];
		size_t j = 0;

		while (j < count && strcmp(paths[j], path) != 0)
			j++;
		if (j == count)
			paths[count++] = path;
	}
	return count;
}

static struct score rank_all(const char *name, const struct fw_semantic_weights *weights)
{
	static double times[QUERIES_MAX];
	struct score score = { 0, 0 };

	for (size_t i = 0; i < wanted_count; i++) {
		static struct fw_semantic_hits hits;
		const char *paths[HITS];
		double start = now_ms();
		size_t count = search(&wanted[i], weights, &hits, paths);

		times[i] = now_ms() - start;
		judge(&wanted[i], paths, count, &score);
	}
	if (name)
		print_row(name, score, times);
	return score;
}

static void rank_in_steps(void)
{
	struct fw_semantic_weights w = fw_semantic_weights;

	w.history = w.vote = w.dense = 0;
	(void)rank_all("BM25F", &w);
	w.history = fw_semantic_weights.history;
	w.vote = fw_semantic_weights.vote;
	(void)rank_all("+ history", &w);
	w.dense = fw_semantic_weights.dense;
	(void)rank_all("+ dense", &w);
}

/* What semantic_search does after it has found the index. */
static void answer_all(const char *tree)
{
	static double times[QUERIES_MAX];
	static struct fw_code_repo repo;
	struct score score = { 0, 0 };

	(void)snprintf(repo.path, sizeof repo.path, "%s", tree);
	for (size_t i = 0; i < wanted_count; i++) {
		static struct fw_semantic_hits hits;
		struct fw_semantic_findings findings = { .list = NULL };
		struct fw_semantic_query asked = { .vector = NULL };
		const char *paths[SHOWN];
		double start = now_ms();
		size_t count = 0;
		struct fw_buf out;

		asked.term_count =
			fw_semantic_query_terms(wanted[i].text, strlen(wanted[i].text),
						asked.terms, FW_SEMANTIC_LIMIT_QUERY_TERMS);
		if (fw_semantic_rank(&snapshot, &asked, &fw_semantic_weights, SHOWN, &hits) ||
		    fw_semantic_findings_add(&findings, &repo, &snapshot, &asked, &hits))
			abort();
		findings.confidence = fw_semantic_confidence(&hits);
		fw_semantic_findings_sort(&findings, SHOWN);
		fw_buf_init(&out, 16 * 1024 * 1024);
		fw_semantic_findings_write(&findings, &out);
		times[i] = now_ms() - start;
		for (size_t j = 0; j < findings.count; j++) {
			size_t k = 0;

			while (k < count && strcmp(paths[k], findings.list[j].path) != 0)
				k++;
			if (k == count)
				paths[count++] = findings.list[j].path;
		}
		judge(&wanted[i], paths, count, &score);
		fw_buf_clear(&out);
		fw_semantic_findings_clear(&findings);
	}
	print_row("answer", score, times);
}

static void grid(void)
{
	static const float factors[] = { 0.0F, 0.5F, 0.75F, 1.5F, 2.0F };
	struct score base = rank_all("base", &fw_semantic_weights);

	(void)base;
	for (size_t part = 0; part < 5; part++)
		for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
			struct fw_semantic_weights w = fw_semantic_weights;
			float *members[] = { &w.chunk, &w.vote, &w.dense, &w.path, &w.history };
			static const char *const parts[] = { "chunk", "vote", "dense", "path",
							     "history" };
			char name[64];

			*members[part] *= factors[i];
			(void)snprintf(name, sizeof name, "%s=%.2f", parts[part],
				       (double)*members[part]);
			(void)rank_all(name, &w);
		}
}

static void calibrate(void)
{
	for (size_t i = 0; i < wanted_count; i++) {
		static struct fw_semantic_hits hits;
		const char *paths[HITS];
		size_t count = search(&wanted[i], &fw_semantic_weights, &hits, paths);

		if (count)
			printf("%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\n",
			       is_wanted(&wanted[i], paths[0]), (double)hits.coverage,
			       (double)hits.best_lexical, (double)hits.best_cosine,
			       (double)hits.margin, (double)hits.list[0].score);
	}
}

/* ---- grep: the words of the query in files that are read whole ---- */

static char **texts;

static void read_tree(const char *tree)
{
	int root = open(tree, O_RDONLY | O_DIRECTORY);

	texts = calloc(snapshot.file_count + 1, sizeof *texts);
	for (size_t i = 0; i < snapshot.file_count; i++) {
		int fd = openat(root, names[i], O_RDONLY);
		size_t size = (size_t)snapshot.files[i].size;
		ssize_t got;

		texts[i] = calloc(1, size + 1);
		got = fd >= 0 ? read(fd, texts[i], size) : 0;
		for (ssize_t j = 0; j < got; j++)
			if (texts[i][j] >= 'A' && texts[i][j] <= 'Z')
				texts[i][j] = (char)(texts[i][j] | 0x20);
			else if (!texts[i][j])
				texts[i][j] = ' ';
		if (fd >= 0)
			(void)close(fd);
	}
	(void)close(root);
}

static size_t count_word(const char *text, size_t len, const char *word, size_t word_len)
{
	size_t count = 0;
	const char *end = text + len;

	while ((text = memmem(text, (size_t)(end - text), word, word_len))) {
		count++;
		text += word_len;
	}
	return count;
}

static void grep(void)
{
	static double times[QUERIES_MAX];
	struct score score = { 0, 0 };
	double *values = calloc(snapshot.file_count + 1, sizeof *values);

	for (size_t i = 0; i < wanted_count; i++) {
		struct fw_semantic_term terms[FW_SEMANTIC_LIMIT_QUERY_TERMS];
		const char *paths[TOP * 5];
		double start = now_ms();
		size_t count = fw_semantic_query_terms(wanted[i].text, strlen(wanted[i].text),
						       terms, FW_SEMANTIC_LIMIT_QUERY_TERMS);
		size_t found = 0;

		for (size_t f = 0; f < snapshot.file_count; f++) {
			values[f] = 0;
			for (size_t t = 0; t < count; t++) {
				size_t n = count_word(texts[f], (size_t)snapshot.files[f].size,
						      terms[t].text, strlen(terms[t].text));

				/* Files with most of the words, then those with most of them. */
				values[f] += n ? 1e7 + (double)n : 0;
			}
		}
		while (found < TOP * 5) {
			size_t best = 0;

			for (size_t f = 1; f < snapshot.file_count; f++)
				best = values[f] > values[best] ? f : best;
			if (values[best] <= 0)
				break;
			paths[found++] = names[best];
			values[best] = 0;
		}
		times[i] = now_ms() - start;
		judge(&wanted[i], paths, found, &score);
	}
	free(values);
	print_row("grep", score, times);
}

int main(int argc, char **argv)
{
	int dir = argc > 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;

	if (dir < 0 ||
	    fw_semantic_snapshot_open(dir, "snapshot", &snapshot) != FW_SEMANTIC_OK) {
		(void)fputs("usage: bench_retrieval INDEX-DIRECTORY TREE "
			    "[--steps|--grid|--calibrate] <QUERIES\n",
			    stderr);
		return 1;
	}
	read_names();
	read_queries();
	if (!wanted_count)
		return 1;
	if (argc > 3 && strcmp(argv[3], "--grid") == 0) {
		grid();
		return 0;
	}
	if (argc > 3 && strcmp(argv[3], "--calibrate") == 0) {
		calibrate();
		return 0;
	}
	if (argc <= 3) {
		read_tree(argv[2]);
		grep();
	}
	rank_in_steps();
	answer_all(argv[2]);
	return 0;
}
