/*
 * redact_corpus_test.c - how much the redactor finds, and how much it blanks that is not
 * a secret.
 *
 * Recall: kinds of secrets, each in several carriers. The secrets are made when
 * the test runs, from the places marked with a dollar sign, so that nothing in
 * this file looks like a secret to the scanners that look after source code:
 *   $M20 letters and digits   $H32 hexadecimal   $D6 digits   $U16 capitals and digits
 *   $B40 base64               $W12 words         $L3 lines of base64
 *
 * Precision: ordinary texts, and every file of docs, src, registry and include
 * but those about redaction, in which nothing may be blanked.
 *
 * Both figures are in docs/logging.md, which must have the same.
 */
#include "core/redact.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/redact_corpus_test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { TEXT_MAX = 4096, NEEDLES_MAX = 32, WINDOW = 9, SHORT = 4 };

static const char *root = ".";

struct made {
	char text[TEXT_MAX];
	size_t len;
	struct {
		size_t at, len;
	} needles[NEEDLES_MAX];
	size_t count;
};

static uint32_t seed = 20261116;

static uint32_t next_random(void)
{
	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static void put(struct made *made, char c)
{
	assert_true(made->len + 1 < sizeof made->text);
	made->text[made->len++] = c;
	made->text[made->len] = '\0';
}

static void put_some(struct made *made, const char *alphabet, size_t count)
{
	size_t n = strlen(alphabet);

	assert_true(made->count < NEEDLES_MAX);
	made->needles[made->count].at = made->len;
	made->needles[made->count++].len = count;
	/* The first letters take turns, as they do in nearly all random text. */
	for (size_t i = 0; i < count; i++)
		put(made,
		    i < 6 ? alphabet[(i % 2 ? n - 1 - next_random() % 8 : next_random() % 6)]
			  : alphabet[next_random() % n]);
}

static void put_words(struct made *made, size_t count)
{
	static const char *const words[] = { "abandon", "ribbon", "must",  "zebra", "will",
					     "canoe",   "object", "tiger", "found", "lemon" };

	made->needles[made->count].at = made->len;
	for (size_t i = 0; i < count; i++) {
		const char *word = words[next_random() % COUNT(words)];

		if (i)
			put(made, ' ');
		while (*word)
			put(made, *word++);
	}
	made->needles[made->count].len = made->len - made->needles[made->count].at;
	made->count++;
}

#define ALPHABET "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789"

static void put_place(struct made *made, char what, size_t count)
{
	switch (what) {
	case 'M': put_some(made, ALPHABET, count); break;
	case 'H': put_some(made, "abcdef0123456789", count); break;
	case 'D': put_some(made, "1234567890", count); break;
	case 'U': put_some(made, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789", count); break;
	case 'B': put_some(made, ALPHABET "+/", count); break;
	case 'W': put_words(made, count); break;
	case 'L':
		for (size_t i = 0; i < count; i++) {
			put_some(made, ALPHABET "+/", 64);
			if (i + 1 < count)
				put(made, '\n');
		}
		break;
	default: fail_msg("no such place: $%c", what);
	}
}

/* `text` with its places filled. */
static void make(struct made *made, const char *text)
{
	memset(made, 0, sizeof *made);
	while (*text) {
		if (text[0] == '$' && text[1] >= 'A' && text[1] <= 'Z') {
			char *end;
			size_t count = strtoul(text + 2, &end, 10);

			put_place(made, text[1], count);
			text = end;
			continue;
		}
		put(made, *text++);
	}
}

/* Whether any part of the secrets is left that would help somebody. */
static bool leaks(const struct made *made, const char *out, size_t len)
{
	for (size_t i = 0; i < made->count; i++) {
		size_t window = made->needles[i].len < WINDOW ? made->needles[i].len : WINDOW;

		for (size_t at = 0; at + window <= made->needles[i].len; at++)
			if (memmem(out, len, made->text + made->needles[i].at + at, window))
				return true;
	}
	return false;
}

static struct {
	size_t kinds, texts, found;
} recall;

static void judge(const char *name, const char *text)
{
	static char out[2 * TEXT_MAX];
	struct made made;
	size_t len;

	make(&made, text);
	assert_true(made.count > 0);
	len = fw_redact_copy(out, sizeof out, made.text, made.len);
	if (fw_redact_find(out, len) < len)
		fail_msg("%s: redacted once more, it changes: %s", name, out);
	recall.texts++;
	if (!leaks(&made, out, len))
		recall.found++;
	else
		print_message("%s: %s\n  became %s\n", name, made.text, out);
}

/* `carrier` with @k for the key, @K in capitals, @d with dashes, @p percent-encoded,
 * @P twice, and @v for the value. */
static void judge_carrier(const char *name, const char *carrier, const char *key,
			  const char *value)
{
	char text[1024];
	size_t len = 0;

	for (; *carrier; carrier++) {
		const char *part = carrier[1] == 'v' ? value : key;

		if (*carrier != '@') {
			text[len++] = *carrier;
			continue;
		}
		for (carrier++; *part; part++) {
			bool sign = *part == '_' || *part == '-' || *part == '.';

			if ((*carrier == 'p' || *carrier == 'P') &&
			    (sign || (part == key && strlen(key) > 4)))
				len += (size_t)snprintf(text + len, sizeof text - len,
							"%%%s%02X", *carrier == 'P' ? "25" : "",
							(unsigned)*part);
			else if (*carrier == 'd' && *part == '_')
				text[len++] = '-';
			else if (*carrier == 'K' && *part >= 'a' && *part <= 'z')
				text[len++] = (char)(*part - 'a' + 'A');
			else
				text[len++] = *part;
		}
	}
	text[len] = '\0';
	judge(name, text);
}

static void test_corpus__every_kind_of_token_is_found_in_every_carrier(void **state)
{
	size_t before = recall.texts - recall.found;

	(void)state;
	for (size_t i = 0; i < COUNT(token_kinds); i++, recall.kinds++)
		for (size_t j = 0; j < COUNT(token_carriers); j++)
			judge_carrier(token_kinds[i].name, token_carriers[j], "x",
				      token_kinds[i].text);
	assert_int_equal(recall.texts - recall.found, before);
}

static void test_corpus__every_kind_of_key_is_found_in_every_carrier(void **state)
{
	size_t before = recall.texts - recall.found;

	(void)state;
	for (size_t i = 0; i < COUNT(named_kinds); i++, recall.kinds++)
		for (size_t j = 0; j < COUNT(pair_carriers); j++)
			judge_carrier(named_kinds[i].name, pair_carriers[j],
				      named_kinds[i].name, named_kinds[i].text);
	assert_int_equal(recall.texts - recall.found, before);
}

static void test_corpus__every_kind_with_a_form_of_its_own_is_found(void **state)
{
	size_t before = recall.texts - recall.found;

	(void)state;
	for (size_t i = 0; i < COUNT(own_kinds); i++) {
		recall.kinds += i == 0 || strcmp(own_kinds[i].name, own_kinds[i - 1].name) != 0;
		judge(own_kinds[i].name, own_kinds[i].text);
		for (size_t j = 0; j < COUNT(own_carriers); j++)
			judge_carrier(own_kinds[i].name, own_carriers[j], "x",
				      own_kinds[i].text);
	}
	assert_int_equal(recall.texts - recall.found, before);
}

/* Redacting twice is redacting once, whatever stands beside what. */
static void test_corpus__again_changes_nothing_in_any_mixture_of_kinds(void **state)
{
	static char once[2 * TEXT_MAX], twice[2 * TEXT_MAX];

	(void)state;
	for (int round = 0; round < 40000; round++) {
		struct made made = { .len = 0 };
		size_t len;

		for (size_t count = 1 + next_random() % 12; count--;) {
			const char *piece = mixture[next_random() % COUNT(mixture)];

			while (*piece)
				put(&made, *piece++);
		}
		len = fw_redact_copy(once, sizeof once, made.text, made.len);
		assert_true(len < sizeof once);
		if (fw_redact_copy(twice, sizeof twice, once, len) == len &&
		    memcmp(once, twice, len) == 0)
			continue;
		fail_msg("%s\n once:  %s\n twice: %s", made.text, once, twice);
	}
}

/* ---- precision ------------------------------------------------------------------ */

static struct {
	size_t texts, blanked;
} precision;

static void test_corpus__nothing_is_blanked_in_ordinary_texts(void **state)
{
	static char out[64 * 1024];

	(void)state;
	for (size_t i = 0; i < COUNT(ordinary); i++) {
		size_t len = strlen(ordinary[i]);

		precision.texts++;
		if (fw_redact_find(ordinary[i], len) == len)
			continue;
		precision.blanked++;
		(void)fw_redact_copy(out, sizeof out, ordinary[i], len);
		print_message("%s\n  became %s\n", ordinary[i], out);
	}
	assert_int_equal(precision.blanked, 0);
}

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *file = fopen(path, "re");
	char *text;
	long len;

	if (!file)
		return NULL;
	(void)fseek(file, 0, SEEK_END);
	len = ftell(file);
	rewind(file);
	text = malloc((size_t)len + 1);
	assert_non_null(text);
	*ret_len = fread(text, 1, (size_t)len, file);
	text[*ret_len] = '\0';
	(void)fclose(file);
	return text;
}

static bool is_expected(const char *line, size_t len)
{
	for (size_t i = 0; i < COUNT(blanked_lines); i++)
		if (memmem(line, len, blanked_lines[i], strlen(blanked_lines[i])))
			return true;
	return false;
}

static size_t blanked_in(const char *path)
{
	size_t len = 0, at = 0, blanked = 0, line = 1;
	char *text = read_file(path, &len);

	/* A picture is not text. */
	if (text && memchr(text, '\0', len))
		at = len;
	for (; text && at < len; line++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;

		if (fw_redact_find(text + at, n) < n && !is_expected(text + at, n)) {
			print_message("%s:%zu: %.*s\n", path, line, (int)n, text + at);
			blanked++;
		}
		at += n + 1;
	}
	free(text);
	return blanked;
}

static bool is_about_secrets(const char *name)
{
	return strstr(name, "redact") || strstr(name, "_test.") || name[0] == '.';
}

static size_t blanked_under(const char *folder, size_t *files)
{
	DIR *dir = opendir(folder);
	size_t blanked = 0;
	struct dirent *entry;

	/* cppcheck-suppress readdirCalled ; the stream is ours alone */
	while (dir && (entry = readdir(dir))) {
		char path[TEXT_MAX];

		if (is_about_secrets(entry->d_name))
			continue;
		(void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (entry->d_type == DT_DIR) {
			blanked += blanked_under(path, files);
		} else {
			blanked += blanked_in(path);
			++*files;
		}
	}
	if (dir)
		(void)closedir(dir);
	return blanked;
}

static void test_corpus__nothing_is_blanked_in_our_own_files(void **state)
{
	static const char *const folders[] = { "docs",     "src",     "include",
					       "registry", "scripts", "examples" };
	size_t blanked = 0, files = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(folders); i++) {
		char path[TEXT_MAX];

		(void)snprintf(path, sizeof path, "%s/%s", root, folders[i]);
		blanked += blanked_under(path, &files);
	}
	assert_true(files > 100);
	assert_int_equal(blanked, 0);
}

static void test_corpus__the_figures_in_the_manual_are_these(void **state)
{
	char path[TEXT_MAX], figures[256];
	size_t len = 0;
	char *manual;

	(void)state;
	assert_true(recall.kinds >= 133);
	(void)snprintf(path, sizeof path, "%s/docs/logging.md", root);
	manual = read_file(path, &len);
	assert_non_null(manual);
	(void)snprintf(figures, sizeof figures,
		       "| recall | %zu kinds, %zu texts | %zu of %zu |", recall.kinds,
		       recall.texts, recall.found, recall.texts);
	if (!strstr(manual, figures))
		fail_msg("docs/logging.md must have: %s", figures);
	(void)snprintf(figures, sizeof figures,
		       "| precision | %zu ordinary texts | %zu blanked |", precision.texts,
		       precision.blanked);
	if (!strstr(manual, figures))
		fail_msg("docs/logging.md must have: %s", figures);
	free(manual);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus__every_kind_of_token_is_found_in_every_carrier),
		cmocka_unit_test(test_corpus__every_kind_of_key_is_found_in_every_carrier),
		cmocka_unit_test(test_corpus__every_kind_with_a_form_of_its_own_is_found),
		cmocka_unit_test(test_corpus__again_changes_nothing_in_any_mixture_of_kinds),
		cmocka_unit_test(test_corpus__nothing_is_blanked_in_ordinary_texts),
		cmocka_unit_test(test_corpus__nothing_is_blanked_in_our_own_files),
		cmocka_unit_test(test_corpus__the_figures_in_the_manual_are_these),
	};

	root = argc > 1 ? argv[1] : root;
	return cmocka_run_group_tests_name("redact_corpus", tests, NULL, NULL);
}
