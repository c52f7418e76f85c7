/*
 * words.c - words in lower case, with libunistring, independent of the locale.
 *
 * The contract converts a text to lower case and then splits it. Here the text is
 * split first and each word converted on its own, so that ASCII words, nearly all,
 * need no library call. The result is the same: the only conversion that depends on
 * neighbours is that of sigma at the end of a word, and White_Space is neither cased
 * nor ignored there.
 */
#include "tools/context/words.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unicase.h>
#include <unictype.h>
#include <unistr.h>

#include "base/hash.h"

bool fw_context_is_utf8(const char *text, size_t len)
{
	size_t ascii = 0;

	/* Most documents are ASCII, which is tested eight bytes at a time. */
	for (uint64_t word; len - ascii >= sizeof word; ascii += sizeof word) {
		memcpy(&word, text + ascii, sizeof word);
		if (word & 0x8080808080808080u)
			break;
	}
	return !u8_check((const uint8_t *)text + ascii, len - ascii);
}

/* ---- the sigma ---- */

static const char sigma[] = "\xce\xa3";

/* Is the first character that is not case-ignorable, after or before `at`, a cased
 * one? */
static bool is_cased_behind(const char *at, const char *end)
{
	ucs4_t character;

	while (at < end) {
		int len = u8_mbtouc_unsafe(&character, (const uint8_t *)at, (size_t)(end - at));

		if (!uc_is_property_case_ignorable(character))
			return uc_is_property_cased(character);
		at += len;
	}
	return false;
}

static bool is_cased_before(const char *at, const char *start)
{
	const uint8_t *from = (const uint8_t *)at;
	ucs4_t character;

	while ((from = u8_prev(&character, from, (const uint8_t *)start)))
		if (!uc_is_property_case_ignorable(character))
			return uc_is_property_cased(character);
	return false;
}

/* Appends `text` in lower case, and reserves room for a sigma after it. */
static bool put_lower(struct fw_context_bytes *out, const char *text, size_t len)
{
	size_t lower_len = 0;
	uint8_t *lower = NULL;
	fw_error *err;

	if (len) {
		lower = u8_tolower((const uint8_t *)text, len, "", NULL, NULL, &lower_len);
		if (!lower)
			return false;
	}
	err = fw_context_bytes_reserve(out, out->len + lower_len + sizeof sigma);
	if (!err && lower_len) {
		memcpy(out->data + out->len, lower, lower_len);
		out->len += lower_len;
	}
	free(lower);
	fw_error_free(err);
	return !err;
}

/*
 * Capital sigma is the only letter whose lower case depends on its neighbours
 * (Final_Sigma). libunistring treats an apostrophe as the end of a word there, which
 * Unicode does not. So sigmas are converted here, and only the text between them by
 * libunistring.
 */
static bool put_around_sigma(struct fw_context_bytes *out, const char *text, const char *end)
{
	const char *from = text;
	const char *at;

	while ((at = memmem(from, (size_t)(end - from), sigma, 2))) {
		if (!put_lower(out, from, (size_t)(at - from)))
			return false;
		from = at + 2;
		/* put_lower() has reserved the room. */
		memcpy(out->data + out->len,
		       is_cased_before(at, text) && !is_cased_behind(from, end) ? "\xcf\x82"
										: "\xcf\x83",
		       2);
		out->len += 2;
	}
	return put_lower(out, from, (size_t)(end - from));
}

static char *lower_around_sigma(const char *text, size_t len, size_t *ret_len)
{
	struct fw_context_bytes out = { 0 };
	char *copy = NULL;

	if (put_around_sigma(&out, text, text + len))
		copy = malloc(out.len + 1);
	if (copy) {
		memcpy(copy, out.data, out.len);
		*ret_len = out.len;
	}
	fw_context_bytes_clear(&out);
	return copy;
}

char *fw_context_lower(const char *text, size_t len, size_t *ret_len)
{
	/* For an empty text libunistring may return NULL without an error. */
	if (len == 0) {
		*ret_len = 0;
		return calloc(1, 1);
	}
	if (memmem(text, len, sigma, 2))
		return lower_around_sigma(text, len, ret_len);
	return (char *)u8_tolower((const uint8_t *)text, len, "", NULL, NULL, ret_len);
}

/* ---- words ---- */

/* Length of the White_Space character at `at`; 0 if it is another. */
static size_t space_at(const char *at, const char *end)
{
	unsigned char byte = (unsigned char)*at;
	ucs4_t character;
	int len;

	if (byte < 0x80)
		return byte == ' ' || (byte >= '\t' && byte <= '\r');
	/* Every other White_Space character begins with one of these bytes. */
	if (byte != 0xc2 && (byte < 0xe1 || byte > 0xe3))
		return 0;
	len = u8_mbtouc_unsafe(&character, (const uint8_t *)at, (size_t)(end - at));
	return uc_is_property_white_space(character) ? (size_t)len : 0;
}

void fw_context_words_start(struct fw_context_words *words, const char *text, size_t len)
{
	words->at = text;
	words->end = text + len;
	words->failed = false;
}

void fw_context_words_clear(struct fw_context_words *words)
{
	fw_context_bytes_clear(&words->word);
}

static bool make_room(struct fw_context_words *words, size_t len)
{
	fw_error *err = fw_context_bytes_reserve(&words->word, len);

	words->failed = err != NULL;
	fw_error_free(err);
	return !words->failed;
}

static bool lower_word(struct fw_context_words *words, const char *start, size_t len)
{
	size_t lower_len;
	char *lower = fw_context_lower(start, len, &lower_len);

	if (!lower || !make_room(words, lower_len)) {
		free(lower);
		words->failed = true;
		return false;
	}
	memcpy(words->word.data, lower, lower_len);
	words->word.len = lower_len;
	free(lower);
	return true;
}

bool fw_context_words_next(struct fw_context_words *words, const char **ret_word,
			   size_t *ret_len)
{
	const char *at = words->at;
	const char *start;
	unsigned char seen = 0;
	size_t space;

	while (at < words->end && (space = space_at(at, words->end)))
		at += space;
	start = at;
	while (at < words->end && !space_at(at, words->end))
		seen |= (unsigned char)*at++;
	words->at = at;
	if (at == start)
		return false;
	if (!make_room(words, (size_t)(at - start)))
		return false;
	if (seen >= 0x80) {
		if (!lower_word(words, start, (size_t)(at - start)))
			return false;
	} else {
		words->word.len = (size_t)(at - start);
		for (size_t i = 0; i < words->word.len; i++) {
			char c = start[i];

			words->word.data[i] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
		}
	}
	*ret_word = words->word.data;
	*ret_len = words->word.len;
	return true;
}

/* ---- hashes ---- */

static uint64_t seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void make_seed(void)
{
	if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
		seed = (uint64_t)(uintptr_t)&seed;
}

uint64_t fw_context_word_hash(const char *text, size_t len)
{
	(void)pthread_once(&seeded, make_seed);
	return fw_hash(text, len, seed);
}
