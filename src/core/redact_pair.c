/*
 * redact_pair.c - secrets that something else names: key=value, "key":"value",
 * header: value, --option value, and user:password in a URL.
 *
 * Here is found what the key and the value are; redact_key.c judges the one,
 * redact_value.c the other.
 */
#include "core/redact.h"
#include "core/redact_impl.h"

enum {
	BLANKS_MAX = 4,      /* around the ':' or '=' */
	USERINFO_MAX = 1024, /* bytes before the '@' of a URL */
	VALUE_MAX = 1024,    /* a longer word is no word, and not judged */
	ELEMENT_MAX = 256,   /* bytes of a tag with its attributes */
};

/* ---- URLs --------------------------------------------------------------- */

static bool ends_url(char c)
{
	return (unsigned char)c <= ' ' || fw_is_quote(c) || c == '<' || c == '>' || c == '\\';
}

bool fw_redact__match_url(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t i, colon = 0, last = 0;
	bool port = true;

	at += 3;
	if (fw_redact_at(v, at) == '[')
		return false;
	for (i = at; i < v->len && i - at < USERINFO_MAX && !ends_url(v->t[i]); i++) {
		char c = v->t[i];

		if (c == '/' || c == '?' || c == '#') {
			/* A host with a port is complete; a password may go on. */
			if (!colon || last || port)
				break;
		} else if (c == ':' && !colon) {
			colon = i;
		} else if (c == '@') {
			last = i;
		} else if (colon && !last && !fw_is_digit(c)) {
			port = false;
		}
	}
	if (!colon || last <= colon + 1)
		return false;
	return fw_redact_take(m, at, last);
}

/* ---- values ------------------------------------------------------------- */

/* Where a quoted value ends, `slashes` backslashes being before its quotes. */
static size_t quoted_end(const struct fw_redact_view *v, size_t at, char quote, size_t slashes)
{
	size_t run = 0;

	for (; at < v->len; at++) {
		char c = v->t[at];

		if (c == '\\') {
			run++;
			continue;
		}
		if (c == quote && (slashes ? run <= slashes : run % 2 == 0))
			return slashes ? at - run : at;
		if (c == '\n' && quote != '"')
			return at; /* an apostrophe closes in its line, or never */
		run = 0;
	}
	return at;
}

static bool ends_value(char c)
{
	return (unsigned char)c <= ' ' || fw_is_quote(c) || c == '&' || c == ';' || c == ',' ||
	       c == '<' || c == '>' || c == ')' || c == '}' || c == ']' || c == '\\';
}

static size_t value_end(const struct fw_redact_view *v, size_t start)
{
	size_t at = start;

	while (at < v->len && !ends_value(v->t[at]))
		at++;
	while (at > start && strchr(".:!?", v->t[at - 1]))
		at--;
	return at;
}

/* Whether nothing but punctuation follows in the line. */
static bool ends_line(const struct fw_redact_view *v, size_t at)
{
	while (at < v->len &&
	       (fw_is_blank(v->t[at]) || (v->t[at] && strchr(".,;)]}'\"", v->t[at]))))
		at++;
	return at == v->len || v->t[at] == '\n' || v->t[at] == '\r' || v->t[at] == '\\';
}

static bool is_scheme(const char *word, size_t len)
{
	static const char *const schemes[] = {
		"basic",     "bearer", "digest", "token",     "apikey", "negotiate",
		"ntlm",      "oauth",  "hmac",   "signature", "key",    "aws4-hmac-sha256",
		"sharedkey", "mac",    NULL,
	};

	return fw_is_one_of(word, len, schemes);
}

/*
 * Behind "Authorization:" a scheme, and what follows it in the line up to a
 * quote; or one word that does not read like one.
 */
static size_t authorization_end(const struct fw_redact_view *v, size_t start, size_t word_end)
{
	size_t at = word_end;

	if (!is_scheme(v->t + start, word_end - start) || !fw_is_blank(fw_redact_at(v, at)))
		return word_end;
	while (fw_is_blank(fw_redact_at(v, at)))
		at++;
	at = value_end(v, at);
	/* Digest and its like: name="value", name="value" */
	while (at < v->len && memchr(v->t + start, '=', at - start) &&
	       (v->t[at] == '"' || (v->t[at] == ',' && fw_is_blank(fw_redact_at(v, at + 1))))) {
		size_t next;

		if (v->t[at] == '"') {
			if (v->t[at - 1] != '=')
				break; /* closes a quote around the whole */
			next = quoted_end(v, at + 1, '"', 0);
			at = next < v->len ? next + 1 : next;
			continue;
		}
		next = value_end(v, at + 2);
		if (!memchr(v->t + at, '=', next - at))
			break;
		at = next;
	}
	return at;
}

/* name=value; name=value */
static size_t cookie_end(const struct fw_redact_view *v, size_t at)
{
	while (fw_redact_at(v, at) == ';') {
		size_t next = at + 1;

		while (fw_is_blank(fw_redact_at(v, next)))
			next++;
		next = value_end(v, next);
		if (!memchr(v->t + at, '=', next - at))
			break;
		at = next;
	}
	return at;
}

/* name(: code, not a value. A password may have a parenthesis of its own. */
static bool is_call(const char *value, size_t len, enum fw_redact_kind kind)
{
	size_t i = 0;

	while (i < len && (fw_is_letter(value[i]) || value[i] == '_' || value[i] == '.'))
		i++;
	return i > 0 && i < len && value[i] == '(' &&
	       (kind != FW_REDACT_PASSWORD || i + 1 == len);
}

/* A value that starts at `start` for a key of that kind, without quotes. */
static bool match_bare_value(const struct fw_redact_view *v, size_t start,
			     enum fw_redact_kind kind, enum fw_redact_form form,
			     struct fw_redact_match *m)
{
	size_t end = value_end(v, start);
	size_t len = end - start;

	/* Nothing, a list, a call. */
	if (len == 0 || v->t[start] == '[' || is_call(v->t + start, len, kind))
		return false;
	if (len > VALUE_MAX)
		return fw_redact_take(m, start, end);
	if (kind == FW_REDACT_AUTHORIZATION) {
		size_t whole = authorization_end(v, start, end);

		if (whole > end) {
			size_t word = end;

			while (fw_is_blank(fw_redact_at(v, word)))
				word++;
			/* "Authorization: Bearer token is missing" */
			if (!fw_redact__value_is_secret(
				    FW_REDACT_PASSWORD, FW_REDACT_FORM_PROSE, false,
				    ends_line(v, whole), v->t + word, whole - word))
				return false;
			return fw_redact_take(m, start, whole);
		}
	}
	if (!fw_redact__value_is_secret(kind, form, false, ends_line(v, end), v->t + start,
					len))
		return false;
	if (kind == FW_REDACT_COOKIE)
		end = cookie_end(v, end);
	return fw_redact_take(m, start, end);
}

/* A value in quotes or without. */
static bool match_value(const struct fw_redact_view *v, size_t start, enum fw_redact_kind kind,
			enum fw_redact_form form, struct fw_redact_match *m)
{
	size_t open = start, end;

	while (fw_redact_at(v, open) == '\\')
		open++;
	if (open >= v->len || !fw_is_quote(v->t[open]))
		return open == start && match_bare_value(v, start, kind, form, m);
	end = quoted_end(v, open + 1, v->t[open], open - start);
	start = open + 1;
	if (!fw_redact__value_is_secret(kind, form, true, true, v->t + start, end - start))
		return false;
	return fw_redact_take(m, start, end);
}

/* What stands before the ':' or '=' at `at`: a key, perhaps in quotes. */
static enum fw_redact_kind key_before(const struct fw_redact_view *v, size_t at,
				      const char **ret_quote, size_t *ret_quote_len)
{
	size_t end = at, blanks;
	enum fw_redact_kind kind;

	*ret_quote_len = 0;
	while (end > v->from && fw_is_blank(v->t[end - 1]) && at - end < BLANKS_MAX)
		end--;
	blanks = at - end;
	if (end > v->from && v->t[end - 1] == ']')
		end--;
	if (end > v->from && fw_is_quote(v->t[end - 1])) {
		size_t quote = --end;

		while (end > v->from && v->t[end - 1] == '\\')
			end--;
		*ret_quote = v->t + end;
		*ret_quote_len = quote + 1 - end;
	}
	if (end == v->from)
		return FW_REDACT_NONE;
	kind = fw_redact__key_kind(v->t + v->from, end - v->from);
	if (kind != FW_REDACT_NONE || blanks || v->t[at] != '=')
		return kind;
	/* The signature of a signed URL. */
	if (end - v->from >= 4 && FW_REDACT_STARTS(v, end - 3, "sig") &&
	    strchr("?&", v->t[end - 4]))
		return FW_REDACT_TOKEN;
	return FW_REDACT_NONE;
}

bool fw_redact__match_pair(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	const char *quote = NULL;
	size_t quote_len, start = at + 1;
	enum fw_redact_kind kind = key_before(v, at, &quote, &quote_len);
	enum fw_redact_form form = FW_REDACT_FORM_PROSE;

	if (kind == FW_REDACT_NONE)
		return false;
	if (fw_redact_at(v, start) == v->t[at]) /* a == b, a::b */
		return false;
	if (v->t[at] == '=' ? fw_redact_at(v, start) == '>' : fw_redact_at(v, start) == '=')
		start++;
	while (fw_is_blank(fw_redact_at(v, start)) && start - at <= BLANKS_MAX)
		start++;
	if (quote_len || (v->t[at] == '=' && start == at + 1 && !fw_is_blank(v->t[at - 1])))
		form = FW_REDACT_FORM_DATA;
	if (!match_value(v, start, kind, form, m))
		return false;
	if (quote_len && m->start == start) { /* a number: stays JSON */
		m->quote = quote;
		m->quote_len = quote_len;
	}
	return true;
}

/*
 * The element that the bracket at `at` ends the start of: its name, without the
 * namespace. Attributes may follow the name.
 */
static enum fw_redact_kind element_before(const struct fw_redact_view *v, size_t at)
{
	size_t open = at, end;

	while (open > v->from && at - open < ELEMENT_MAX && v->t[open - 1] != '<' &&
	       v->t[open - 1] != '>')
		open--;
	if (open == v->from || v->t[open - 1] != '<')
		return FW_REDACT_NONE;
	for (end = open; end < at && (fw_redact_in_token(v->t[end]) || v->t[end] == '.' ||
				      v->t[end] == ':');)
		end++;
	if (end == open || (end < at && !fw_is_blank(v->t[end])) || v->t[at - 1] == '/')
		return FW_REDACT_NONE;
	return fw_redact__key_kind(v->t + open, end - open);
}

bool fw_redact__match_element(const struct fw_redact_view *v, size_t at,
			      struct fw_redact_match *m)
{
	enum fw_redact_kind kind = element_before(v, at);
	size_t start = at + 1, end = start;

	if (kind == FW_REDACT_NONE)
		return false;
	while (end < v->len && v->t[end] != '<')
		end++;
	/* "login <user> <password> to begin": not closed, so it was no element,
	 * unless it was cut off within a word. */
	if (end < v->len ? fw_redact_at(v, end + 1) != '/'
			 : end == start || memchr(v->t + start, ' ', end - start))
		return false;
	while (start < end && fw_is_space(v->t[start]))
		start++;
	while (end > start && fw_is_space(v->t[end - 1]))
		end--;
	if (!fw_redact__value_is_secret(kind, FW_REDACT_FORM_DATA, false, true, v->t + start,
					end - start))
		return false;
	return fw_redact_take(m, start, end);
}

bool fw_redact__match_option(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m)
{
	size_t end = at + 2, start;
	enum fw_redact_kind kind;

	if (!fw_redact_starts_word(v, at))
		return false;
	while (end < v->len && fw_redact_in_token(v->t[end]))
		end++;
	start = end + 1;
	if (end == at + 2)
		return false;
	if (fw_redact_at(v, end) != ' ' && fw_redact_at(v, end) != ',')
		return false;
	kind = fw_redact__key_kind(v->t + at + 2, end - at - 2);
	if (kind == FW_REDACT_NONE || fw_redact_at(v, start) == '-')
		return false;
	return match_value(v, start, kind,
			   fw_is_quote(fw_redact_at(v, start)) ? FW_REDACT_FORM_DATA
							       : FW_REDACT_FORM_PROSE,
			   m);
}
