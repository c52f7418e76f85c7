/*
 * classify.c - time of the classifier: for each text of a corpus, for texts of 2,000
 * characters made of them, and for 4 MiB.
 *
 * usage: bench_classify CORPUS.jsonl
 *
 * Prints medians and the floor: a pass over the same bytes that only adds them up.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <yyjson.h>

#include <faultwire/classify.h>

enum { TEXTS_MAX = 4096, ROUNDS = 31, LONG = 2000, HUGE_TEXT = 4 << 20 };

static double times[TEXTS_MAX];

static double now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare);
	return values[count / 2];
}

/* The median of several runs over one text. */
static double time_of(const fw_classifier *rules, const char *text, size_t len, int rounds)
{
	double runs[ROUNDS];
	fw_flat_text flat = { .text = text, .len = len };
	fw_classification found;

	for (int i = 0; i < rounds; i++) {
		double start = now_us();

		fw_classify(rules, &flat, &found);
		runs[i] = now_us() - start;
	}
	return median(runs, (size_t)rounds);
}

static double floor_of(const char *text, size_t len)
{
	double runs[ROUNDS];
	volatile unsigned sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double start = now_us();
		unsigned total = 0;

		for (size_t j = 0; j < len; j++)
			total = (total ^ (unsigned char)text[j]) * 16777619u;
		sum = total;
		runs[i] = now_us() - start;
	}
	(void)sum;
	return median(runs, ROUNDS);
}

static char *repeat(const char *text, size_t len)
{
	char *made = malloc(len);
	size_t part = strlen(text);

	for (size_t i = 0; made && i < len; i++)
		made[i] = text[i % part];
	return made;
}

static const char *mark(bool holds)
{
	return holds ? "PASS" : "MISS";
}

int main(int argc, char **argv)
{
	const fw_classifier *rules = fw_classifier_builtin();
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	static char line[65536], all[1 << 20];
	double start = now_us(), built, typical;
	size_t count = 0, used = 0;
	fw_classifier *again = NULL;
	char *text;

	if (!file || !rules) {
		(void)fputs("usage: bench_classify CORPUS.jsonl\n", stderr);
		return 2;
	}
	if (fw_classifier_new("", 0, NULL, NULL, NULL, &again))
		return 1;
	built = now_us() - start;
	fw_classifier_free(again);
	while (fgets(line, sizeof line, file) && count < TEXTS_MAX) {
		yyjson_doc *doc = yyjson_read(line, strlen(line), 0);
		yyjson_val *value = yyjson_obj_get(yyjson_doc_get_root(doc), "text");
		const char *one = yyjson_get_str(value);

		if (one) {
			times[count++] = time_of(rules, one, yyjson_get_len(value), ROUNDS);
			used += (size_t)snprintf(all + used, sizeof all - used, "%s ", one);
		}
		yyjson_doc_free(doc);
	}
	(void)fclose(file);
	(void)printf("build %.0f us\n", built);
	typical = median(times, count);
	(void)printf("corpus: median %.2f us (goal 5: %s), p99 %.2f us, %zu texts\n", typical,
		     mark(typical <= 5), times[count * 99 / 100], count);
	count = 0;
	for (size_t at = 0; at + LONG < used && count < TEXTS_MAX; at += LONG)
		times[count++] = time_of(rules, all + at, LONG, ROUNDS);
	typical = median(times, count);
	(void)printf(
		"2000 characters: median %.2f us (goal 50: %s), worst %.2f us, floor %.2f us\n",
		typical, mark(typical <= 50), times[count - 1], floor_of(all, LONG));
	text = repeat("not no such can not be found ", HUGE_TEXT);
	if (text)
		(void)printf("4 MiB: %.0f us\n", time_of(rules, text, HUGE_TEXT, 5));
	free(text);
	return 0;
}
