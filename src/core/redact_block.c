/*
 * redact_block.c - secrets of several lines: private keys in PEM form, also
 * without their first or last lines, the private lines of PuTTY, YAML block
 * scalars, and the words that wallets write their keys in.
 */
#include "core/redact_impl.h"

enum {
	PEM_HEADER_MAX = 64,
	PEM_BODY_LEAST = 16,
	PEM_LINE_LEAST = 32,     /* lines of a body have 64 characters, or 70, or 76 */
	BASE64_LINE_LEAST = 4,   /* the last line of a body may be short */
	PHRASE_WORDS_LEAST = 12, /* BIP 39 has 12 to 24 words of 3 to 8 letters */
	PHRASE_WORDS_MAX = 24,
	PHRASE_LETTERS_LEAST = 3,
	PHRASE_LETTERS_MAX = 8,
};

static bool in_base64(char c)
{
	return fw_is_alnum(c) || c == '+' || c == '/' || c == '=';
}

/* The end of a line as text has it, or as JSON writes it; its length. */
static size_t newline_at(const struct fw_redact_view *v, size_t at)
{
	if (FW_REDACT_STARTS(v, at, "\\r\\n"))
		return 4;
	if (FW_REDACT_STARTS(v, at, "\\n") || FW_REDACT_STARTS(v, at, "\r\n"))
		return 2;
	return fw_redact_at(v, at) == '\n';
}

/* ---- private keys ------------------------------------------------------------ */

/*
 * Where the last run of base64 ends that is long enough to be the body of a PEM
 * block: of capitals and small letters, or hex. 0 where there is none. Looked
 * for once in a text, or a text of headers alone would take the square of its
 * length.
 */
static size_t last_body(const struct fw_redact_view *v)
{
	size_t end = v->len;

	if (*v->last_body != FW_REDACT_NOT_LOOKED)
		return *v->last_body;
	*v->last_body = 0;
	while (end > v->from) {
		size_t start = end;
		bool upper = false, lower = false, digit = false;

		for (; start > v->from && in_base64(v->t[start - 1]); start--) {
			upper |= fw_is_upper(v->t[start - 1]);
			lower |= fw_is_lower(v->t[start - 1]);
			digit |= fw_is_digit(v->t[start - 1]);
		}
		if (end - start >= PEM_BODY_LEAST && lower && (upper || digit)) {
			*v->last_body = end;
			break;
		}
		end = start > v->from ? start - 1 : start;
	}
	return *v->last_body;
}

static size_t find_in(const struct fw_redact_view *v, size_t at, size_t end, const char *what,
		      size_t n)
{
	const char *p = at < end ? memmem(v->t + at, end - at, what, n) : NULL;

	return p ? (size_t)(p - v->t) : end;
}

/* Where the label ends of a line such as "-----BEGIN RSA PRIVATE KEY-----", whose
 * label starts at `label`. 0: it is not that of a private key. */
static size_t private_label_end(const struct fw_redact_view *v, size_t label)
{
	size_t stop = v->len - label < PEM_HEADER_MAX ? v->len : label + PEM_HEADER_MAX;
	size_t end = find_in(v, label, stop, "----", 4);

	if (end == stop || (find_in(v, label, end, "PRIVATE KEY", 11) == end &&
			    find_in(v, label, end, "OpenVPN Static key", 18) == end))
		return 0;
	while (fw_redact_at(v, end) == '-')
		end++;
	return end;
}

/* The length of the end of a line that ends at `end`, as text or JSON has it. */
static size_t newline_before(const struct fw_redact_view *v, size_t end)
{
	size_t n = 0;

	if (end - v->from >= 2 && FW_REDACT_STARTS(v, end - 2, "\\n"))
		n = end - v->from >= 4 && FW_REDACT_STARTS(v, end - 4, "\\r") ? 4 : 2;
	else if (end > v->from && v->t[end - 1] == '\n')
		n = end - v->from >= 2 && v->t[end - 2] == '\r' ? 2 : 1;
	return n;
}

/*
 * Back over the lines of the body that ends at `end`. Only the last of them may
 * be short, and the first one, of which a part may have been cut off.
 */
static size_t body_start(const struct fw_redact_view *v, size_t end)
{
	size_t start = end;

	for (bool is_last = true;; is_last = false) {
		size_t stop = start - newline_before(v, start), line = stop;

		if (stop == start)
			break;
		while (line > v->from && in_base64(v->t[line - 1]) && !newline_before(v, line))
			line--;
		if (line == stop ||
		    (!is_last && stop - line < PEM_LINE_LEAST &&
		     !fw_redact__is_random(v->t + line, stop - line,
					   line > v->from ? PEM_BODY_LEAST : 1)))
			break;
		start = line;
	}
	return start;
}

/* The rest of a block whose first lines are missing; `at` is the "-----END". */
static bool match_pem_end(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t label = at + 9, end, start;

	end = label < v->len ? private_label_end(v, label) : 0;
	start = end ? body_start(v, at) : at;
	if (at - start < PEM_BODY_LEAST)
		return false;
	return fw_redact_take(m, start, end);
}

/* The whole block, or all the rest where its end was cut off. */
bool fw_redact__match_pem(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t dashes = at, end, stop;
	bool is_ssh2;

	while (fw_redact_at(v, dashes) == '-')
		dashes++;
	if (dashes - at < 4)
		return false;
	is_ssh2 =
		fw_redact_at(v, dashes) == ' '; /* ---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ---- */
	dashes += is_ssh2;
	if (FW_REDACT_STARTS(v, dashes, "END "))
		return dashes - at >= 5 && match_pem_end(v, dashes - 5, m);
	if (!FW_REDACT_STARTS(v, dashes, "BEGIN "))
		return false;
	end = private_label_end(v, dashes + 6);
	/* After a mere mention of the header nothing looks like a key. */
	if (!end || last_body(v) < end + PEM_BODY_LEAST)
		return false;
	stop = find_in(v, end, v->len, is_ssh2 ? "---- END " : "-----END ", 9);
	if (stop < v->len) {
		end = find_in(v, stop + 9, v->len, "----", 4);
		stop = end < v->len ? end + 4 : end;
		while (fw_redact_at(v, stop) == '-')
			stop++;
	}
	return fw_redact_take(m, at, stop);
}

size_t fw_redact__base64_lines(const struct fw_redact_view *v, size_t at)
{
	size_t end = at;

	for (;;) {
		size_t line = end + newline_at(v, end), i = line;

		if (line == end)
			return end;
		while (in_base64(fw_redact_at(v, i)) && i < v->len)
			i++;
		if (i - line < BASE64_LINE_LEAST ||
		    (i < v->len && !newline_at(v, i) && !fw_is_quote(v->t[i])))
			return end;
		end = i;
	}
}

/* ---- YAML -------------------------------------------------------------------- */

static size_t indent_at(const struct fw_redact_view *v, size_t at)
{
	size_t i = at;

	while (fw_redact_at(v, i) == ' ')
		i++;
	return i - at;
}

/* The line of the key ends after '|' or '>', which may have +, - and a digit. */
bool fw_redact__yaml_block(const struct fw_redact_view *v, size_t at, size_t *ret_start,
			   size_t *ret_end)
{
	size_t line, indent, end;

	if (fw_redact_at(v, at) != '|' && fw_redact_at(v, at) != '>')
		return false;
	for (at++; fw_redact_at(v, at) == '-' || fw_redact_at(v, at) == '+' ||
		   fw_is_digit(fw_redact_at(v, at)) || fw_is_blank(fw_redact_at(v, at));)
		at++;
	line = at + newline_at(v, at);
	indent = indent_at(v, line);
	if (line == at || !indent)
		return false;
	*ret_start = line + indent;
	for (end = line; end < v->len;) {
		size_t here = indent_at(v, line);

		if (here < indent && !newline_at(v, line + here))
			break;
		for (at = line + here; at < v->len && !newline_at(v, at) && v->t[at] != '"';)
			at++;
		end = at;
		line = at + newline_at(v, at);
		if (line == at)
			break;
	}
	*ret_end = end;
	return end > *ret_start;
}

/* ---- phrases ----------------------------------------------------------------- */

size_t fw_redact__phrase_end(const struct fw_redact_view *v, size_t at)
{
	size_t words = 0, end = at;

	while (words < PHRASE_WORDS_MAX) {
		size_t i = at;

		while (fw_is_lower(fw_redact_at(v, i)))
			i++;
		if (i - at < PHRASE_LETTERS_LEAST || i - at > PHRASE_LETTERS_MAX)
			break;
		end = i;
		words++;
		if (fw_redact_at(v, i) == ',')
			i++;
		if (!fw_is_space(fw_redact_at(v, i)))
			break;
		at = i + 1;
	}
	return words >= PHRASE_WORDS_LEAST ? end : 0;
}
