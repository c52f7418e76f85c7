/*
 * redact_token.c - secrets that say themselves what they are: by a prefix
 * that their maker gave them, by the form of a JWT or of a PEM block, or by
 * the name of an HTTP authentication scheme before them.
 *
 * A prefix alone is not enough ("sk-learn", "npm_config_registry"): what
 * follows must be long and mixed as only random text is.
 */
#include "core/redact_impl.h"

enum {
	PEM_HEADER_MAX = 64,
	PEM_BODY_LEAST = 16,
	JWT_HEADER_LEAST = 16,
	JWT_PART_LEAST = 8,
	BEARER_LEAST = 7,
	BEARER_CERTAIN = 16, /* no word that follows "bearer" is that long */
	SCHEME_BLANKS_MAX = 4,
	SENDGRID_LEAST = 16,
};

enum charset { ALNUM = 0, UPPER = 1, DASHES = 2, DOTS = 4, BASE64 = 8 };

static bool is_of(char c, unsigned set)
{
	if (fw_is_digit(c))
		return true;
	if (fw_is_letter(c))
		return !(set & UPPER) || fw_is_upper(c);
	if (c == '_' || c == '-')
		return set & DASHES;
	if (c == '.' || c == '~')
		return set & DOTS;
	return (set & BASE64) && (c == '+' || c == '/' || c == '=');
}

static size_t run_end(const struct fw_redact_view *v, size_t at, unsigned set)
{
	while (at < v->len && is_of(v->t[at], set))
		at++;
	return at;
}

/* A prefix, and what must follow it. */
struct prefix {
	const char *text;
	uint8_t len, least, set;
};

#define PREFIX(text, least, set)                   \
	{                                          \
		text, sizeof(text) - 1, least, set \
	}

static const struct prefix prefixes[] = {
	PREFIX("ghp_", 20, ALNUM),     PREFIX("gho_", 20, ALNUM),
	PREFIX("ghu_", 20, ALNUM),     PREFIX("ghs_", 20, ALNUM),
	PREFIX("ghr_", 20, ALNUM),     PREFIX("github_pat_", 20, DASHES),
	PREFIX("glpat-", 16, DASHES),  PREFIX("sk_live_", 16, ALNUM),
	PREFIX("sk_test_", 16, ALNUM), PREFIX("rk_live_", 16, ALNUM),
	PREFIX("npm_", 30, ALNUM),     PREFIX("hf_", 20, ALNUM),
	PREFIX("dop_v1_", 32, ALNUM),  PREFIX("shpat_", 24, ALNUM),
	PREFIX("whsec_", 24, ALNUM),   PREFIX("xoxb-", 12, DASHES),
	PREFIX("xoxp-", 12, DASHES),   PREFIX("xoxa-", 12, DASHES),
	PREFIX("xoxr-", 12, DASHES),   PREFIX("xoxs-", 12, DASHES),
	PREFIX("pypi-", 40, DASHES),   PREFIX("sk-", 20, DASHES),
};

/* "sk-" is also how words start: it takes digits and capitals, or many digits. */
static bool is_sk(const char *text, size_t len)
{
	size_t digits = 0, capitals = 0;

	for (size_t i = 0; i < len; i++) {
		digits += fw_is_digit(text[i]);
		capitals += fw_is_upper(text[i]);
	}
	return digits >= 2 && (capitals >= 2 || digits >= 6);
}

static bool match_prefix(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	if (!strchr("dghnprswx", v->t[at]))
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct prefix *prefix = &prefixes[i];
		size_t start = at + prefix->len, end;

		if (v->t[at] != prefix->text[0] || v->len - at < prefix->len ||
		    memcmp(v->t + at, prefix->text, prefix->len) != 0)
			continue;
		end = run_end(v, start, prefix->set);
		if (!fw_redact__is_random(v->t + start, end - start, prefix->least))
			continue;
		if (prefix->len == 3 && v->t[at] == 's' && !is_sk(v->t + start, end - start))
			continue;
		return fw_redact_take(m, at, end);
	}
	return false;
}

/* AKIA and ASIA with sixteen capitals and digits, AIza with 35 of base64url. */
static bool match_cloud_key(const struct fw_redact_view *v, size_t at,
			    struct fw_redact_match *m)
{
	size_t end = run_end(v, at, DASHES);

	if (FW_REDACT_STARTS(v, at, "AIza") && end - at >= 39)
		return fw_redact_take(m, at, end);
	if (!FW_REDACT_STARTS(v, at, "AKIA") && !FW_REDACT_STARTS(v, at, "ASIA"))
		return false;
	end = run_end(v, at, UPPER);
	if (end - at != 20 || fw_is_letter(fw_redact_at(v, end)))
		return false;
	return fw_redact_take(m, at, end);
}

/* SG.x.y of SendGrid; `at` is where x starts. */
static bool match_sendgrid(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t middle, end;

	if (at - v->from < 3 || memcmp(v->t + at - 3, "SG.", 3) != 0 ||
	    !fw_redact_starts_word(v, at - 3))
		return false;
	middle = run_end(v, at, DASHES);
	if (middle - at < SENDGRID_LEAST || fw_redact_at(v, middle) != '.')
		return false;
	end = run_end(v, middle + 1, DASHES);
	if (end - middle - 1 < SENDGRID_LEAST)
		return false;
	return fw_redact_take(m, at - 3, end);
}

/*
 * Three parts in base64url, the first of which is an object ("eyJ" is '{"').
 * Without its signature it is one if the second part is an object too.
 */
static bool match_jwt(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t second, third, end;

	if (!FW_REDACT_STARTS(v, at, "eyJ"))
		return false;
	second = run_end(v, at, DASHES);
	if (second - at < JWT_HEADER_LEAST || fw_redact_at(v, second) != '.')
		return false;
	third = run_end(v, ++second, DASHES);
	if (!FW_REDACT_STARTS(v, second, "eyJ") &&
	    (third - second < JWT_PART_LEAST || fw_redact_at(v, third) != '.' ||
	     run_end(v, third + 1, DASHES) - third - 1 < JWT_PART_LEAST))
		return false;
	end = run_end(v, third, DASHES | DOTS);
	while (v->t[end - 1] == '.') /* the full stop of a sentence */
		end--;
	return fw_redact_take(m, at, end);
}

bool fw_redact__match_token(const struct fw_redact_view *v, size_t at,
			    struct fw_redact_match *m)
{
	if (v->t[at] == 'e')
		return match_jwt(v, at, m) || match_sendgrid(v, at, m);
	if (v->t[at] == 'A' && match_cloud_key(v, at, m))
		return true;
	return match_prefix(v, at, m) || match_sendgrid(v, at, m);
}

/*
 * Where the last run of base64 ends that is long enough to be the body of a PEM
 * block: of capitals and small letters. 0 where there is none. Looked for once
 * in a text, or a text of headers alone would take the square of its length.
 */
static size_t last_body(const struct fw_redact_view *v)
{
	size_t end = v->len;

	if (*v->last_body != FW_REDACT_NOT_LOOKED)
		return *v->last_body;
	*v->last_body = 0;
	while (end > v->from) {
		size_t start = end;
		bool upper = false, lower = false;

		for (; start > v->from && is_of(v->t[start - 1], BASE64); start--) {
			upper |= fw_is_upper(v->t[start - 1]);
			lower |= fw_is_lower(v->t[start - 1]);
		}
		if (end - start >= PEM_BODY_LEAST && upper && lower) {
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

/* The whole block, or all the rest where its end was cut off. */
bool fw_redact__match_pem(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t header = at + 11, end, stop;

	if (!FW_REDACT_STARTS(v, at, "-----BEGIN "))
		return false;
	stop = v->len - header < PEM_HEADER_MAX ? v->len : header + PEM_HEADER_MAX;
	end = find_in(v, header, stop, "-----", 5);
	if (end == stop || find_in(v, header, end, "PRIVATE KEY", 11) == end)
		return false;
	header = end + 5;
	/* Behind a mere mention of the header nothing looks like a key. */
	if (last_body(v) < header + PEM_BODY_LEAST)
		return false;
	stop = find_in(v, header, v->len, "-----END ", 9);
	if (stop < v->len) {
		end = find_in(v, stop + 9, v->len, "-----", 5);
		stop = end < v->len ? end + 5 : end;
		while (fw_redact_at(v, stop) == '-')
			stop++;
	}
	return fw_redact_take(m, at, stop);
}

bool fw_redact__match_scheme(const struct fw_redact_view *v, size_t at,
			     struct fw_redact_match *m)
{
	size_t word, start, end;
	bool basic;

	if (v->len - at < 8)
		return false;
	basic = fw_equals_lower(v->t + at, "basic", 5);
	if (!basic && !fw_equals_lower(v->t + at, "bearer", 6))
		return false;
	word = at + (basic ? 5 : 6);
	start = word;
	while (fw_is_blank(fw_redact_at(v, start)) && start - word < SCHEME_BLANKS_MAX)
		start++;
	if (start == word || !fw_redact_starts_word(v, at))
		return false;
	end = run_end(v, start, DASHES | DOTS | BASE64);
	while (end > start && v->t[end - 1] == '.')
		end--;
	if (basic ? fw_redact__is_basic(v->t + start, end - start)
		  : end - start >= BEARER_CERTAIN ||
			    fw_redact__is_random(v->t + start, end - start, BEARER_LEAST))
		return fw_redact_take(m, start, end);
	return false;
}
