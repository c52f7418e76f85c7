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
	WEBHOOK_LEAST = 20,
	WEBHOOK_BEFORE = 80,
	TELEGRAM_DIGITS = 8,
	TELEGRAM_LEAST = 33,
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
	PREFIX("xapp-", 30, DASHES),   PREFIX("GOCSPX-", 20, DASHES),
	PREFIX("sq0atp-", 20, DASHES), PREFIX("sq0csp-", 20, DASHES),
	PREFIX("dapi", 32, ALNUM),     PREFIX("lin_api_", 30, ALNUM),
	PREFIX("ATATT3", 40, DASHES),  PREFIX("AGE-SECRET-KEY-1", 40, UPPER),
	PREFIX("key-", 32, ALNUM),
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
	if (!strchr("dghklnprswxAG", v->t[at]))
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

/* Prefixes that end in a full stop; `at` is where the token's own run starts. */
static bool match_dotted(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	static const struct prefix dotted[] = {
		PREFIX("ya29.", 20, DASHES),
		PREFIX("hvs.", 20, DASHES),
		PREFIX("hvb.", 20, DASHES),
	};

	for (size_t i = 0; i < sizeof(dotted) / sizeof(dotted[0]); i++) {
		size_t len = dotted[i].len, end;

		if (at - v->from < len || memcmp(v->t + at - len, dotted[i].text, len) != 0 ||
		    !fw_redact_starts_word(v, at - len))
			continue;
		end = run_end(v, at, DASHES);
		if (fw_redact__is_random(v->t + at, end - at, dotted[i].least))
			return fw_redact_take(m, at - len, end);
	}
	return false;
}

/* The last part of the address of a webhook: whoever knows it may post. */
static bool match_webhook(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t from = at - v->from > WEBHOOK_BEFORE ? at - WEBHOOK_BEFORE : v->from;
	size_t end = run_end(v, at, DASHES);

	if (at == v->from || v->t[at - 1] != '/' ||
	    !fw_redact__is_random(v->t + at, end - at, WEBHOOK_LEAST) ||
	    (!memmem(v->t + from, at - from, "hooks.slack.com/", 16) &&
	     !memmem(v->t + from, at - from, "/webhooks/", 10)))
		return false;
	return fw_redact_take(m, at, end);
}

/* 110201543:AAH... of Telegram; `at` is where the part behind the colon starts. */
static bool match_telegram(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t end = run_end(v, at, DASHES), start = at;

	if (at - v->from < TELEGRAM_DIGITS + 1 || v->t[at - 1] != ':' ||
	    !FW_REDACT_STARTS(v, at, "AA") || end - at < TELEGRAM_LEAST)
		return false;
	for (start = at - 1; start > v->from && fw_is_digit(v->t[start - 1]);)
		start--;
	if (at - 1 - start < TELEGRAM_DIGITS)
		return false;
	return fw_redact_take(m, start, end);
}

/* Three parts of base64 of Discord: an id of digits, a time, a signature. */
static bool match_discord(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t second, third, end;

	if (!strchr("MNO", v->t[at]))
		return false;
	second = run_end(v, at, DASHES);
	if (second - at < 23 || second - at > 28 || fw_redact_at(v, second) != '.')
		return false;
	third = run_end(v, second + 1, DASHES);
	if (third - second - 1 < 6 || third - second - 1 > 7 || fw_redact_at(v, third) != '.')
		return false;
	end = run_end(v, third + 1, DASHES);
	if (end - third - 1 < 27)
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
	if (v->t[at] == 'e' && match_jwt(v, at, m))
		return true;
	if (v->t[at] == 'A' && match_cloud_key(v, at, m))
		return true;
	if (match_prefix(v, at, m) || match_discord(v, at, m))
		return true;
	/* The others are known by what comes before them. */
	if (at == v->from || !strchr("./:", v->t[at - 1]))
		return false;
	return match_sendgrid(v, at, m) || match_dotted(v, at, m) || match_webhook(v, at, m) ||
	       match_telegram(v, at, m);
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
