/*
 * redact_impl.h - what the three files of redaction share: characters, the
 * kinds of secret that a key can name, and the judgement of a value.
 */
#ifndef FW_CORE_REDACT_IMPL_H
#define FW_CORE_REDACT_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a key says about its value. */
enum fw_redact_kind {
	FW_REDACT_NONE,
	FW_REDACT_TOKEN,         /* opaque: token, api key, client secret */
	FW_REDACT_PASSWORD,      /* may be any word at all */
	FW_REDACT_AUTHORIZATION, /* scheme and credentials */
	FW_REDACT_COOKIE,        /* name=value; name=value */
	FW_REDACT_BASIC,         /* base64 of user:password, or no secret */
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

/* A run of characters that no word of a language has: digits among letters. */
bool fw_redact__is_random(const char *text, size_t len, size_t least);

/* Whether it is base64 of "user:password", as behind "Basic". */
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

/* A token that tells by its start what it is; `at` is where a word starts. */
bool fw_redact__match_token(const struct fw_redact_view *v, size_t at,
			    struct fw_redact_match *m);

/* "Bearer abc123", "Basic dXNlcjpwYXNz"; `at` is their B. */
bool fw_redact__match_scheme(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m);

/* A PEM block with a private key; `at` is its first dash. */
bool fw_redact__match_pem(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m);

/* scheme://user:password@host; `at` is the colon. */
bool fw_redact__match_url(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m);

/* key=value, "key": "value"; `at` is the equals sign or colon. */
bool fw_redact__match_pair(const struct fw_redact_view *v, size_t at,
			   struct fw_redact_match *m);

/* <password>hunter2</password>; `at` is the bracket before the value. */
bool fw_redact__match_element(const struct fw_redact_view *v, size_t at,
			      struct fw_redact_match *m);

/* --password hunter2; `at` is its first dash. "--password=hunter2" is a pair. */
bool fw_redact__match_option(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m);

/* ASCII only, whatever the locale. */
static inline bool fw_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool fw_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool fw_is_letter(char c)
{
	return fw_is_lower((char)(c | 0x20));
}

static inline bool fw_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool fw_is_alnum(char c)
{
	return fw_is_letter(c) || fw_is_digit(c);
}

static inline bool fw_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool fw_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool fw_is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* The same, capitals being letters; `lower` is lower case. */
static inline bool fw_equals_lower(const char *text, const char *lower, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if ((fw_is_upper(c) ? (char)(c | 0x20) : c) != lower[i])
			return false;
	}
	return true;
}

static inline char fw_redact_at(const struct fw_redact_view *v, size_t at)
{
	return at < v->len ? v->t[at] : '\0';
}

static inline bool fw_redact_starts(const struct fw_redact_view *v, size_t at, const char *what,
				    size_t n)
{
	return n <= v->len && at <= v->len - n && memcmp(v->t + at, what, n) == 0;
}

#define FW_REDACT_STARTS(view, at, literal) \
	fw_redact_starts(view, at, literal, sizeof(literal) - 1)

/* What tokens are made of: base64url. */
static inline bool fw_redact_in_token(char c)
{
	return fw_is_alnum(c) || c == '_' || c == '-';
}

/* A word could start here. */
static inline bool fw_redact_starts_word(const struct fw_redact_view *v, size_t at)
{
	return at == v->from || !fw_redact_in_token(v->t[at - 1]);
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
	for (; *list; list++)
		if (strlen(*list) == len && fw_equals_lower(word, *list, len))
			return true;
	return false;
}

#endif
