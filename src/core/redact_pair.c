/*
 * redact_pair.c - secrets that a key names: key=value, "key":"value",
 * header: value, --option value, <key>value</key>.
 *
 * Here is found what the key and the value are; redact_key.c judges the one,
 * redact_value.c the other.
 */
#include "core/redact_impl.h"

enum {
	BLANKS_MAX = 4,       /* around the ':' or '=' */
	VALUE_MAX = 1024,     /* a longer word is no word, and not judged */
	ELEMENT_MAX = 256,    /* bytes of a tag with its attributes */
	TOKEN_LEAST = 6,      /* bytes of credentials after a scheme that is not in the list */
	KEY_MAX = 64,         /* bytes of a key in percent encoding */
	NAME_BEFORE_MAX = 96, /* bytes between the name and the value of a variable */
};

/* ---- values ------------------------------------------------------------- */

/* Where a quoted value ends, `slashes` backslashes being before its quotes. */
size_t fw_redact__quoted_end(const struct fw_redact_view *v, size_t at, char quote,
			     size_t slashes)
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

size_t fw_redact__value_end(const struct fw_redact_view *v, size_t start)
{
	size_t at = start;

	while (at < v->len && !ends_value(v->t[at]) && !FW_REDACT_STARTS(v, at, "%26") &&
	       !FW_REDACT_STARTS(v, at, "%22") && !fw_redact_blank(v, at))
		at++;
	while (at > start && strchr(".:!?", v->t[at - 1]))
		at--;
	return at;
}

bool fw_redact__ends_line(const struct fw_redact_view *v, size_t at)
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
 * After "Authorization:" a scheme, and what follows it in the line up to a quote; or one
 * word that does not read like one.
 */
static size_t authorization_end(const struct fw_redact_view *v, size_t start, size_t word_end)
{
	size_t at = word_end;

	if (!fw_is_blank(fw_redact_at(v, at)))
		return word_end;
	while (fw_is_blank(fw_redact_at(v, at)))
		at++;
	/* A scheme that is not in the list needs credentials that look like some. */
	if (!is_scheme(v->t + start, word_end - start) &&
	    (word_end == start || !fw_is_letter(v->t[word_end - 1]) ||
	     !fw_redact__is_random(v->t + at, fw_redact__value_end(v, at) - at, TOKEN_LEAST)))
		return word_end;
	at = fw_redact__value_end(v, at);
	/* Digest and its like: name="value", name="value" */
	while (at < v->len && memchr(v->t + start, '=', at - start) &&
	       (v->t[at] == '"' || (v->t[at] == ',' && fw_is_blank(fw_redact_at(v, at + 1))))) {
		size_t next;

		if (v->t[at] == '"') {
			if (v->t[at - 1] != '=')
				break; /* closes a quote around the whole */
			next = fw_redact__quoted_end(v, at + 1, '"', 0);
			at = next < v->len ? next + 1 : next;
			continue;
		}
		next = fw_redact__value_end(v, at + 2);
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
		next = fw_redact__value_end(v, next);
		if (!memchr(v->t + at, '=', next - at))
			break;
		at = next;
	}
	return at;
}

/*
 * name(, name[: code, not a value. As data ("password=abc(def") a password may
 * have a parenthesis of its own.
 */
static bool is_code(const char *value, size_t len, char next, enum fw_redact_kind kind,
		    enum fw_redact_form form)
{
	size_t i = 0;

	while (i < len && (fw_is_letter(value[i]) || value[i] == '_' || value[i] == '.'))
		i++;
	if (i == 0)
		return false;
	if (i == len && next == '<' && form == FW_REDACT_FORM_PROSE) /* token: Option<String> */
		return true;
	if (i == len) /* password = self.password, pwd=pwd */
		return kind != FW_REDACT_AUTHORIZATION &&
		       fw_redact__key_kind(value, len) != FW_REDACT_NONE;
	return (value[i] == '(' || value[i] == '[') &&
	       (kind != FW_REDACT_PASSWORD || form == FW_REDACT_FORM_PROSE || i + 1 == len);
}

/* A value that starts at `start` for a key of that kind, without quotes. */
static bool match_bare_value(const struct fw_redact_view *v, size_t start,
			     enum fw_redact_kind kind, enum fw_redact_form form,
			     struct fw_redact_match *m)
{
	size_t end = fw_redact__value_end(v, start);
	size_t len = end - start;

	/* Nothing, a list, a call. */
	if (len == 0 || v->t[start] == '[' ||
	    is_code(v->t + start, len, fw_redact_at(v, end), kind, form))
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
				    fw_redact__ends_line(v, whole), v->t + word, whole - word))
				return false;
			return fw_redact_take(m, start, whole);
		}
	}
	if (!fw_redact__value_is_secret(kind, form, false, fw_redact__ends_line(v, end),
					v->t + start, len))
		return false;
	if (kind == FW_REDACT_COOKIE)
		end = cookie_end(v, end);
	return fw_redact_take(m, start, end);
}

/* What follows a key that announces lines: Private-Lines: 8, and lines of base64. */
static bool match_lines(const struct fw_redact_view *v, size_t start, struct fw_redact_match *m)
{
	size_t at = start, end;

	while (fw_is_digit(fw_redact_at(v, at)))
		at++;
	end = fw_redact__base64_lines(v, at);
	if (at == start || end == at)
		return false;
	while (at < end && (fw_is_space(v->t[at]) || FW_REDACT_STARTS(v, at, "\\n") ||
			    FW_REDACT_STARTS(v, at, "\\r")))
		at += v->t[at] == '\\' ? 2 : 1;
	return fw_redact_take(m, at, end);
}

/* prompt("Password: ", 5): the quote ends the text that the key is in. */
static bool closes_quote(const struct fw_redact_view *v, size_t at)
{
	char next = fw_redact_at(v, at + 1);

	char behind = fw_redact_at(v, at + 2);

	if (!next || next == '\n')
		return true;
	if (next == ' ')
		return behind && strchr("+%&.,<|:", behind);
	return strchr(",);]", next) &&
	       (!behind || fw_is_space(behind) || strchr(");,:", behind));
}

bool fw_redact__match_value(const struct fw_redact_view *v, size_t start,
			    enum fw_redact_kind kind, enum fw_redact_form form,
			    struct fw_redact_match *m)
{
	size_t open = start, end;
	bool quoted;

	if (kind == FW_REDACT_LINES)
		return match_lines(v, start, m);
	if (FW_REDACT_STARTS(v, start, "%22")) {
		end = fw_redact__value_end(v, start + 3);
		return fw_redact__value_is_secret(kind, form, true, true, v->t + start + 3,
						  end - start - 3) &&
		       fw_redact_take(m, start + 3, end);
	}
	while (fw_redact_at(v, open) == '\\')
		open++;
	quoted = open < v->len && fw_is_quote(v->t[open]);
	end = kind == FW_REDACT_PHRASE ? fw_redact__phrase_end(v, quoted ? open + 1 : start)
				       : 0;
	if (end)
		return fw_redact_take(m, quoted ? open + 1 : start, end);
	if (fw_redact__yaml_block(v, start, &open, &end))
		return fw_redact_take(m, open, end);
	if (!quoted)
		return open == start && match_bare_value(v, start, kind, form, m);
	if ((form == FW_REDACT_FORM_PROSE || v->t[start - 1] == '=') && open == start &&
	    closes_quote(v, open))
		return false;
	end = fw_redact__quoted_end(v, open + 1, v->t[open], open - start);
	start = open + 1;
	if (!fw_redact__value_is_secret(kind, form, true, true, v->t + start, end - start))
		return false;
	return fw_redact_take(m, start, end);
}

static int hex_value(char c)
{
	return fw_is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place; returns the new length. */
static size_t percent_decode(char *text, size_t len)
{
	size_t to = 0;

	for (size_t at = 0; at < len; at++, to++) {
		int high = at + 2 < len && text[at] == '%'
				   ? hex_value((char)(text[at + 1] | 0x20))
				   : -1;
		int low = high >= 0 ? hex_value((char)(text[at + 2] | 0x20)) : -1;

		text[to] = low >= 0 ? (char)(high << 4 | low) : text[at];
		if (low >= 0)
			at += 2;
	}
	return to;
}

/* The kind of a key that ends at `end` and may be in percent encoding, even twice. */
static enum fw_redact_kind kind_of_key(const struct fw_redact_view *v, size_t end)
{
	char key[KEY_MAX + 1];
	size_t start = end, len;
	size_t most = end - v->from < KEY_MAX ? end - v->from : KEY_MAX;
	bool encoded = false;

	if (!memchr(v->t + end - most, '%', most))
		return fw_redact__key_kind(v->t + v->from, end - v->from);
	while (start > v->from && end - start < KEY_MAX &&
	       (fw_redact_in_token(v->t[start - 1]) || v->t[start - 1] == '.' ||
		v->t[start - 1] == '%')) {
		start--;
		encoded |= v->t[start] == '%';
	}
	if (!encoded)
		return fw_redact__key_kind(v->t + v->from, end - v->from);
	len = end - start;
	memcpy(key, v->t + start, len);
	len = percent_decode(key, percent_decode(key, len));
	while (len > 0 && (fw_is_quote(key[len - 1]) || fw_is_space(key[len - 1])))
		len--;
	return fw_redact__key_kind(key, len);
}

/* Back over blanks; at most BLANKS_MAX of them. */
static size_t before_blanks(const struct fw_redact_view *v, size_t end)
{
	for (int i = 0; i < BLANKS_MAX; i++) {
		/* Nearly always there is none, and that is plain to see. */
		if (end > v->from && fw_redact_in_key(v->t[end - 1]))
			break;
		end -= fw_redact_blank_before(v, end);
	}
	return end;
}

/* What stands before the sign at `at`: a key, perhaps in quotes. */
static enum fw_redact_kind key_before(const struct fw_redact_view *v, size_t at,
				      const char **ret_quote, size_t *ret_quote_len)
{
	size_t end = before_blanks(v, at), blanks = at - end;
	enum fw_redact_kind kind;

	*ret_quote_len = 0;
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
	kind = kind_of_key(v, end);
	if (kind != FW_REDACT_NONE || blanks || v->t[at] != '=')
		return kind;
	/* The signature of a signed URL. */
	if (end - v->from >= 4 && FW_REDACT_STARTS(v, end - 3, "sig") &&
	    strchr("?&", v->t[end - 4]))
		return FW_REDACT_TOKEN;
	return FW_REDACT_NONE;
}

static bool is_between_name_and_value(char c)
{
	return fw_is_space(c) || fw_is_quote(c) || (c && strchr(",\\-:=", c));
}

static size_t back_over_signs(const struct fw_redact_view *v, size_t at, size_t stop)
{
	while (at > stop && is_between_name_and_value(v->t[at - 1]))
		at--;
	return at;
}

static size_t back_over_word(const struct fw_redact_view *v, size_t at, size_t stop)
{
	while (at > stop && (fw_is_alnum(v->t[at - 1]) || strchr("_-.", v->t[at - 1])))
		at--;
	return at;
}

/*
 * {"name":"DB_PASSWORD","value":"x"}, <add key="password" value="x"/>: the kind
 * of the name that stands before "value", which ends at `at`.
 */
static enum fw_redact_kind kind_of_name(const struct fw_redact_view *v, size_t at)
{
	size_t stop = at - v->from > NAME_BEFORE_MAX ? at - NAME_BEFORE_MAX : v->from;
	size_t end = back_over_word(v, back_over_signs(v, at, stop), stop), start, label;

	end = back_over_signs(v, end, stop);
	start = back_over_word(v, end, stop);
	label = back_over_signs(v, start, stop);
	if (start == end || label == start ||
	    ((label - stop < 4 || !fw_equals_lower(v->t + label - 4, "name", 4)) &&
	     (label - stop < 3 || !fw_equals_lower(v->t + label - 3, "key", 3))))
		return FW_REDACT_NONE;
	return fw_redact__key_kind(v->t + start, end - start);
}

/* The length of the sign at `at`, and whether it is a colon. 0: it is not a sign. */
static size_t sign_at(const struct fw_redact_view *v, size_t at, bool *ret_colon)
{
	*ret_colon = v->t[at] == ':';
	if (v->t[at] == ':' || v->t[at] == '=')
		return 1;
	if (v->t[at] == '%') {
		size_t n = FW_REDACT_STARTS(v, at, "%25") ? 3 : 1;
		char last = (char)(fw_redact_at(v, at + n + 1) | 0x20);

		*ret_colon = last == 'a';
		return fw_redact_at(v, at + n) == '3' && (last == 'a' || last == 'd') ? n + 2
										      : 0;
	}
	*ret_colon = FW_REDACT_STARTS(v, at, "\xef\xbc\x9a");
	return *ret_colon || FW_REDACT_STARTS(v, at, "\xef\xbc\x9d") ? 3 : 0;
}

static size_t skip_blanks(const struct fw_redact_view *v, size_t at)
{
	for (int i = 0; i <= BLANKS_MAX; i++)
		at += fw_redact_blank(v, at);
	return at;
}

/* -passin pass:hunter2 of openssl. */
static bool is_openssl_pass(const struct fw_redact_view *v, size_t at)
{
	size_t back = at - v->from < 16 ? at - v->from : 16;

	return back > 5 && FW_REDACT_STARTS(v, at - 4, "pass") &&
	       memmem(v->t + at - back, back - 4, "-pass", 5);
}

/* PASS: is what test runners say. */
static bool is_upper_key(const struct fw_redact_view *v, size_t at)
{
	size_t end = before_blanks(v, at);

	while (end > v->from && fw_is_quote(v->t[end - 1]))
		end--;
	return end > v->from && fw_is_upper(v->t[end - 1]);
}

/* is_good ? "pass" : "fail"; `quote` is the one after the key. */
static bool is_ternary(const struct fw_redact_view *v, const char *quote)
{
	size_t i = (size_t)(quote - v->t), stop = i - v->from > KEY_MAX ? i - KEY_MAX : v->from;

	while (i > stop && v->t[i - 1] != *quote && v->t[i - 1] != '\n')
		i--;
	return i - v->from > 2 && v->t[i - 1] == *quote && v->t[i - 2] == ' ' &&
	       v->t[i - 3] == '?';
}

/* A word without quotes after a key in quotes is code, or prose. */
static bool is_letter_at(const struct fw_redact_view *v, size_t at)
{
	return fw_is_letter(fw_redact_at(v, at));
}

bool fw_redact__match_pair(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	const char *quote = NULL;
	bool is_colon;
	size_t sign = sign_at(v, at, &is_colon), quote_len, start = at + sign;
	enum fw_redact_kind kind =
		sign ? key_before(v, at, &quote, &quote_len) : FW_REDACT_NONE;
	enum fw_redact_form form = FW_REDACT_FORM_PROSE;

	if (kind == FW_REDACT_VALUE)
		kind = kind_of_name(v, at);
	if (kind == FW_REDACT_NONE)
		return false;
	if (sign == 1 && fw_redact_at(v, start) == v->t[at]) /* a == b, a::b */
		return false;
	if (!is_colon ? fw_redact_at(v, start) == '>' : fw_redact_at(v, start) == '=')
		start++;
	start = skip_blanks(v, start);
	if (kind == FW_REDACT_WEAK && is_colon && is_upper_key(v, at))
		return false;
	if (quote_len && is_colon && is_ternary(v, quote))
		return false;
	if ((quote_len && !is_letter_at(v, start)) || v->t[at] == '%' ||
	    (!is_colon && start == at + sign && !fw_redact_blank_before(v, at)))
		form = FW_REDACT_FORM_DATA;
	if (kind == FW_REDACT_WEAK && is_openssl_pass(v, at))
		kind = FW_REDACT_PASSWORD;
	if (!fw_redact__match_value(v, start, kind, form, m))
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

	if (kind == FW_REDACT_NONE || kind == FW_REDACT_VALUE || kind == FW_REDACT_LINES)
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
