/*
 * redact_impl.h - what the files of redaction share: the kinds of secret that a
 * key can name, the judgement of a value, and the matchers.
 */
#ifndef FW_CORE_REDACT_IMPL_H
#define FW_CORE_REDACT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"

/* What a key says about its value. */
enum fw_redact_kind {
	FW_REDACT_NONE,
	FW_REDACT_TOKEN,         /* opaque: token, api key, client secret */
	FW_REDACT_PASSWORD,      /* may be any word at all */
	FW_REDACT_AUTHORIZATION, /* scheme and credentials */
	FW_REDACT_COOKIE,        /* name=value; name=value */
	FW_REDACT_BASIC,         /* auth: base64 of user:password, or an opaque token */
	FW_REDACT_PIN,           /* pin, otp: four digits or more, or an opaque token */
	FW_REDACT_WEAK,          /* pass: a password only if it looks like one */
	FW_REDACT_PHRASE,        /* mnemonic: twelve words or more */
	FW_REDACT_LINES,         /* Private-Lines: a number, then lines of base64 */
	FW_REDACT_VALUE,         /* value: secret if the name before it is */
};

/*
 * The kind of the key that ends at `len`: words are taken from the end, as far
 * as they are needed, so that the key may have any text before it.
 */
enum fw_redact_kind fw_redact__key_kind(const char *text, size_t len);

/* How sure the text is that a value is meant, the surest first. */
enum fw_redact_form {
	FW_REDACT_FORM_DATA,  /* "key":"value", key=value */
	FW_REDACT_FORM_PROSE, /* key: value, key = value, --key value */
};

/* Whether a value without quotes, or with them, is one to be hidden. `ends_line`: no word follows. */
bool fw_redact__value_is_secret(enum fw_redact_kind kind, enum fw_redact_form form, bool quoted,
				bool ends_line, const char *value, size_t len);

/* sha256, oauth2, scram-sha-1: digits among letters, and still the name of a method. */
bool fw_redact__is_method(const char *text, size_t len);

/* Never a secret: a placeholder, a mask, a word about secrets, a sentence. */
bool fw_redact__is_never_secret(const char *value, size_t len);

/* A run of characters that no word of a language has: digits among letters. */
bool fw_redact__is_random(const char *text, size_t len, size_t least);

/* Whether it is base64 of "user:password", as after "Basic". */
bool fw_redact__is_basic(const char *text, size_t len);

/* A text, and how far back a match may look: to the end of the last one. */
struct fw_redact_view {
	const char *t;
	size_t len;
	size_t from;
	size_t *last_body; /* kept by fw_redact__match_pem() */
};

#define FW_REDACT_NOT_LOOKED ((size_t)-1)

struct fw_redact_match {
	size_t start, end;
	const char *quote; /* quotes to put around, those of the key */
	size_t quote_len;
};

/* The first secret from `v->from` on. */
bool fw_redact__find(const struct fw_redact_view *v, struct fw_redact_match *m);

/* A token that tells by its start what it is; `at` is where a word starts. */
bool fw_redact__match_token(const struct fw_redact_view *v, size_t at,
			    struct fw_redact_match *m);

/* "Bearer abc123", "Basic dXNlcjpwYXNz"; `at` is their B. */
bool fw_redact__match_scheme(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m);

/* A private key in PEM or SSH2 form, also without its first lines; `at` is the first dash. */
bool fw_redact__match_pem(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m);

/* scheme://user:password@host; `at` is the colon. */
bool fw_redact__match_url(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m);

/* user:password@tcp(host)/db, user:password@host:3306; `at` is the '@'. */
bool fw_redact__match_dsn(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m);

/* A client secret of Azure AD, abc8Q~...; `at` is the tilde. */
bool fw_redact__match_azure(const struct fw_redact_view *v, size_t at,
			    struct fw_redact_match *m);

/* mysql -pvalue, curl -u name:value; `at` is the dash. */
bool fw_redact__match_flag(const struct fw_redact_view *v, size_t at,
			   struct fw_redact_match *m);

/* "password hunter2", also of a .netrc file; `at` is the p. */
bool fw_redact__match_word(const struct fw_redact_view *v, size_t at,
			   struct fw_redact_match *m);

/* A YAML block scalar after its '|' or '>' at `at`; where its lines start and end. */
bool fw_redact__yaml_block(const struct fw_redact_view *v, size_t at, size_t *ret_start,
			   size_t *ret_end);

/* Lines of base64 from `at` on; where they end, `at` if there are none. */
size_t fw_redact__base64_lines(const struct fw_redact_view *v, size_t at);

/* Twelve words or more, as wallets write their keys; where they end, 0 if it is not a
 * phrase. */
size_t fw_redact__phrase_end(const struct fw_redact_view *v, size_t at);

/* Where a value without quotes ends, and one that is in quotes. */
size_t fw_redact__value_end(const struct fw_redact_view *v, size_t start);
size_t fw_redact__quoted_end(const struct fw_redact_view *v, size_t at, char quote,
			     size_t slashes);

/* Whether nothing but punctuation follows in the line. */
bool fw_redact__ends_line(const struct fw_redact_view *v, size_t at);

/* A value that starts at `start`, in quotes or without, of a key of that kind. */
bool fw_redact__match_value(const struct fw_redact_view *v, size_t start,
			    enum fw_redact_kind kind, enum fw_redact_form form,
			    struct fw_redact_match *m);

/* key=value, "key": "value"; `at` is the sign between them. */
bool fw_redact__match_pair(const struct fw_redact_view *v, size_t at,
			   struct fw_redact_match *m);

/* <password>hunter2</password>; `at` is the bracket before the value. */
bool fw_redact__match_element(const struct fw_redact_view *v, size_t at,
			      struct fw_redact_match *m);

/* --password hunter2; `at` is its first dash. "--password=hunter2" is a pair. */
bool fw_redact__match_option(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m);

static inline char fw_redact_at(const struct fw_redact_view *v, size_t at)
{
	return at < v->len ? v->t[at] : '\0';
}

static inline bool fw_redact_starts(const struct fw_redact_view *v, size_t at, const char *what,
				    size_t n)
{
	return n <= v->len && at <= v->len - n && memcmp(v->t + at, what, n) == 0;
}

/* Letters, digits and quotes, which keys end in. */
static inline bool fw_redact_in_key(char c)
{
	return fw_is_alnum(c) || c == '"' || c == '_';
}

/* The length of a blank: a space, a tab, a no-break or wide space. 0 if there is none. */
static inline size_t fw_redact_blank(const struct fw_redact_view *v, size_t at)
{
	unsigned char c = (unsigned char)fw_redact_at(v, at);

	if (c < 0x80)
		return c == ' ' || c == '\t';
	if (c == 0xc2)
		return (unsigned char)fw_redact_at(v, at + 1) == 0xa0 ? 2 : 0;
	if (fw_redact_starts(v, at, "\xe3\x80\x80", 3) ||
	    fw_redact_starts(v, at, "\xe2\x80\xaf", 3))
		return 3;
	return fw_redact_starts(v, at, "\xe2\x80", 2) &&
			       (unsigned char)fw_redact_at(v, at + 2) <= 0x8b
		       ? 3
		       : 0;
}

/* The length of the blank that ends at `end`. */
static inline size_t fw_redact_blank_before(const struct fw_redact_view *v, size_t end)
{
	for (size_t n = 1; n <= 3 && end - v->from >= n; n++)
		if (fw_redact_blank(v, end - n) == n)
			return n;
	return 0;
}

#define FW_REDACT_STARTS(view, at, literal) \
	fw_redact_starts(view, at, literal, sizeof(literal) - 1)

/* What tokens are made of: base64url. */
static inline bool fw_redact_in_token(char c)
{
	return fw_is_alnum(c) || c == '_' || c == '-';
}

/*
 * How many of the characters from `at` on, which is where a run of token
 * characters starts, belong to an escape and not to a word: 2 of "%3Dword", 1
 * of "\\nword", 2 of "\033[1mword".
 */
static inline size_t fw_redact_escape(const struct fw_redact_view *v, size_t at)
{
	char before = at > v->from ? v->t[at - 1] : '\0';
	char c = fw_redact_at(v, at);
	size_t n = 0;

	if (before == '\\')
		return c == 'n' || c == 'r' || c == 't';
	if (before == '%') {
		n = c == '2' && fw_redact_at(v, at + 1) == '5' ? 2 : 0;
		return fw_is_hex(fw_redact_at(v, at + n)) &&
				       fw_is_hex(fw_redact_at(v, at + n + 1))
			       ? n + 2
			       : 0;
	}
	if ((before != '[' && before != ';') || at - v->from < 2 ||
	    !memchr(v->t + (at - v->from > 12 ? at - 12 : v->from), 0x1b,
		    at - v->from > 12 ? 12 : at - v->from))
		return 0;
	while (fw_is_digit(fw_redact_at(v, at + n)) && n < 4)
		n++;
	return fw_redact_at(v, at + n) == 'm' ? n + 1 : 0;
}

/* A word could start here, also after an escape. */
static inline bool fw_redact_starts_word(const struct fw_redact_view *v, size_t at)
{
	size_t start = at;

	if (at == v->from || !fw_redact_in_token(v->t[at - 1]))
		return true;
	while (start > v->from && at - start < 5 && fw_redact_in_token(v->t[start - 1]))
		start--;
	return start + fw_redact_escape(v, start) == at;
}

static inline bool fw_redact_take(struct fw_redact_match *m, size_t start, size_t end)
{
	m->start = start;
	m->end = end;
	m->quote = NULL;
	m->quote_len = 0;
	return true;
}

/* Whether `word` is one of a NULL-terminated list of lower-case words. */
static inline bool fw_is_one_of(const char *word, size_t len, const char *const *list)
{
	for (; len > 0 && *list; list++)
		if (**list == (fw_is_upper(*word) ? *word | 0x20 : *word) &&
		    strlen(*list) == len && fw_equals_lower(word, *list, len))
			return true;
	return false;
}

#endif
