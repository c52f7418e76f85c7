/*
 * redact_token.c - secrets that say themselves what they are: by a prefix
 * that their maker gave them, by the form of a JWT, or by the name of an HTTP authentication scheme before them.
 *
 * A prefix alone is not enough ("sk-learn", "npm_config_registry"): what
 * follows must be long and mixed as only random text is.
 */
#include "core/redact_impl.h"

enum {
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
	DOPPLER_BEFORE = 40,
	DOPPLER_LEAST = 32,
	TWILIO_LEN = 34,
	REFRESH_LEAST = 30,
	HASH_BEFORE = 96, /* method, costs and salt of a password's hash */
	HASH_LEAST = 16,
};

/* ROUTED: full stops between letters, as GitLab has it. */
enum charset { ALNUM = 0, UPPER = 1, DASHES = 2, DOTS = 4, BASE64 = 8, ROUTED = 16 };

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
	while (at < v->len &&
	       (is_of(v->t[at], set) || ((set & ROUTED) && v->t[at] == '.' && at + 1 < v->len &&
					 fw_is_alnum(v->t[at + 1]))))
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

#define LIST(...)                     \
	(const struct prefix[])       \
	{                             \
		__VA_ARGS__,          \
		{                     \
			NULL, 0, 0, 0 \
		}                     \
	}

/* By their first character, so that a text is compared with few of them. */
static const struct prefix *const by_first[128] = {
	['A'] = LIST(PREFIX("ATATT3", 40, DASHES), PREFIX("ATCTT3", 40, DASHES),
		     PREFIX("ATBB", 28, ALNUM), PREFIX("AGE-SECRET-KEY-1", 40, UPPER),
		     PREFIX("AKCp", 40, ALNUM), PREFIX("AQVN", 30, DASHES)),
	['b'] = LIST(PREFIX("bkua_", 30, ALNUM)),
	['C'] = LIST(PREFIX("CFPAT-", 30, DASHES), PREFIX("CCIPAT_", 30, DASHES)),
	['c'] = LIST(PREFIX("cmVmdGtuOj", 40, ALNUM)),
	['d'] = LIST(PREFIX("dop_v1_", 32, ALNUM), PREFIX("doo_v1_", 32, ALNUM),
		     PREFIX("dor_v1_", 32, ALNUM), PREFIX("dapi", 32, ALNUM),
		     PREFIX("dckr_pat_", 20, DASHES), PREFIX("dckr_oat_", 20, DASHES)),
	['E'] = LIST(PREFIX("EAACEdEose0cBA", 10, ALNUM)),
	['e'] = LIST(PREFIX("eyJrIjoi", 30, BASE64), PREFIX("e2b_", 30, ALNUM)),
	['F'] = LIST(PREFIX("FlyV1", 30, DASHES)),
	['f'] = LIST(PREFIX("fwt_", 40, DASHES), PREFIX("figd_", 30, DASHES),
		     PREFIX("fo1_", 30, DASHES), PREFIX("fc-", 32, ALNUM),
		     PREFIX("fm2_", 40, BASE64 | DASHES)),
	['G'] = LIST(PREFIX("GOCSPX-", 20, DASHES)),
	['g'] = LIST(
		PREFIX("ghp_", 20, ALNUM), PREFIX("gho_", 20, ALNUM), PREFIX("ghu_", 20, ALNUM),
		PREFIX("ghs_", 20, ALNUM), PREFIX("ghr_", 20, ALNUM),
		PREFIX("github_pat_", 20, DASHES), PREFIX("glpat-", 16, DASHES | ROUTED),
		PREFIX("gldt-", 16, DASHES | ROUTED), PREFIX("glrt-", 16, DASHES | ROUTED),
		PREFIX("glptt-", 16, DASHES | ROUTED), PREFIX("glcbt-", 16, DASHES | ROUTED),
		PREFIX("glft-", 16, DASHES | ROUTED), PREFIX("glimt-", 16, DASHES | ROUTED),
		PREFIX("glagent-", 16, DASHES | ROUTED), PREFIX("glsoat-", 16, DASHES | ROUTED),
		PREFIX("gloas-", 16, DASHES | ROUTED), PREFIX("glsa_", 24, DASHES),
		PREFIX("glc_", 24, BASE64), PREFIX("gsk_", 40, ALNUM)),
	['H'] = LIST(PREFIX("HRKU-", 30, DASHES)),
	['h'] = LIST(PREFIX("hf_", 20, ALNUM), PREFIX("hvs_", 30, ALNUM)),
	['j'] = LIST(PREFIX("jina_", 40, DASHES)),
	['k'] = LIST(PREFIX("key-", 32, ALNUM)),
	['L'] = LIST(PREFIX("LS0tLS1CRUdJTiBQUklWQVRF", 20, BASE64),
		     PREFIX("LS0tLS1CRUdJTiBSU0EgUFJJ", 20, BASE64),
		     PREFIX("LS0tLS1CRUdJTiBFQyBQUklW", 20, BASE64),
		     PREFIX("LS0tLS1CRUdJTiBPUEVOU1NI", 20, BASE64),
		     PREFIX("LS0tLS1CRUdJTiBFTkNSWVBU", 20, BASE64),
		     PREFIX("LS0tLS1CRUdJTiBEU0EgUFJJ", 20, BASE64)),
	['l'] = LIST(PREFIX("lin_api_", 30, ALNUM), PREFIX("lin_oauth_", 30, ALNUM),
		     PREFIX("lsv2_pt_", 30, DASHES), PREFIX("lsv2_sk_", 30, DASHES)),
	['N'] = LIST(PREFIX("NRAK-", 20, ALNUM)),
	['n'] = LIST(PREFIX("npm_", 30, ALNUM), PREFIX("nfp_", 30, ALNUM),
		     PREFIX("ntn_", 30, ALNUM), PREFIX("nvapi-", 40, DASHES),
		     PREFIX("nsec1", 50, ALNUM)),
	['o'] = LIST(PREFIX("oy2", 40, ALNUM), PREFIX("ops_eyJ", 60, DASHES)),
	['P'] = LIST(PREFIX("PMAK-", 40, DASHES)),
	['p'] = LIST(PREFIX("pypi-", 40, DASHES), PREFIX("phx_", 30, ALNUM),
		     PREFIX("pplx-", 30, ALNUM), PREFIX("pul-", 32, ALNUM),
		     PREFIX("pat-na1-", 30, DASHES), PREFIX("pat-eu1-", 30, DASHES),
		     PREFIX("pcsk_", 40, DASHES), PREFIX("pscale_tkn_", 30, DASHES),
		     PREFIX("pscale_pw_", 30, DASHES)),
	['r'] = LIST(PREFIX("rk_live_", 16, ALNUM), PREFIX("rk_test_", 16, ALNUM),
		     PREFIX("r8_", 30, ALNUM), PREFIX("rubygems_", 30, ALNUM),
		     PREFIX("rpa_", 30, ALNUM), PREFIX("rnd_", 28, ALNUM)),
	['s'] = LIST(PREFIX("sk_live_", 16, ALNUM), PREFIX("sk_test_", 16, ALNUM),
		     PREFIX("shpat_", 24, ALNUM), PREFIX("shpss_", 24, ALNUM),
		     PREFIX("shpca_", 24, ALNUM), PREFIX("shppa_", 24, ALNUM),
		     PREFIX("sk-", 20, DASHES), PREFIX("sq0atp-", 20, DASHES),
		     PREFIX("sq0csp-", 20, DASHES), PREFIX("sntrys_", 30, DASHES),
		     PREFIX("sntryu_", 30, DASHES), PREFIX("sbp_", 30, ALNUM),
		     PREFIX("sb_secret_", 20, DASHES), PREFIX("secret_", 40, ALNUM)),
	['t'] = LIST(PREFIX("tvly-", 20, DASHES), PREFIX("tskey-", 20, DASHES)),
	['v'] = LIST(PREFIX("vcp_", 24, DASHES), PREFIX("vck_", 24, DASHES)),
	['w'] = LIST(PREFIX("whsec_", 24, ALNUM)),
	['x'] = LIST(PREFIX("xoxb-", 12, DASHES), PREFIX("xoxp-", 12, DASHES),
		     PREFIX("xoxa-", 12, DASHES), PREFIX("xoxr-", 12, DASHES),
		     PREFIX("xoxs-", 12, DASHES), PREFIX("xoxc-", 12, DASHES),
		     PREFIX("xoxd-", 12, DASHES), PREFIX("xoxe-", 12, DASHES),
		     PREFIX("xapp-", 30, DASHES), PREFIX("xai-", 40, ALNUM),
		     PREFIX("xprv", 80, ALNUM)),
	['y'] = LIST(PREFIX("y0_", 40, DASHES)),
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
	unsigned char first = (unsigned char)v->t[at];
	const struct prefix *prefix = first < 128 ? by_first[first] : NULL;

	for (; prefix && prefix->text; prefix++) {
		size_t start = at + prefix->len, end;

		if (v->len - at < prefix->len || v->t[at + 1] != prefix->text[1] ||
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
	if (!FW_REDACT_STARTS(v, at, "AKIA") && !FW_REDACT_STARTS(v, at, "ASIA") &&
	    !FW_REDACT_STARTS(v, at, "ABIA") && !FW_REDACT_STARTS(v, at, "ACCA"))
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
		PREFIX("ya29.", 20, DASHES), PREFIX("hvs.", 20, DASHES),
		PREFIX("hvb.", 20, DASHES),  PREFIX("hvr.", 20, DASHES),
		PREFIX("xoxe.", 20, DASHES),
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

/* dp.pt.x, dp.st.prod.x of Doppler; `at` is where x starts. */
static bool match_doppler(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t from = at - v->from > DOPPLER_BEFORE ? at - DOPPLER_BEFORE : v->from;
	size_t end = run_end(v, at, DASHES), start = at;

	while (start > from && (fw_redact_in_token(v->t[start - 1]) || v->t[start - 1] == '.'))
		start--;
	start += fw_redact_escape(v, start);
	if (at - start < 5 || memcmp(v->t + start, "dp.", 3) != 0 ||
	    !fw_redact__is_random(v->t + at, end - at, DOPPLER_LEAST))
		return false;
	return fw_redact_take(m, start, end);
}

/* SK and 32 hexadecimal digits of Twilio. */
static bool match_twilio(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t end = run_end(v, at, DASHES);

	if (end - at != TWILIO_LEN || !FW_REDACT_STARTS(v, at, "SK"))
		return false;
	for (size_t i = at + 2; i < end; i++)
		if (!fw_is_digit(v->t[i]) && (v->t[i] < 'a' || v->t[i] > 'f'))
			return false;
	return fw_redact_take(m, at, end);
}

/* 1//0x of Google's refresh tokens; `at` is where 0x starts. */
static bool match_refresh(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t end = run_end(v, at, DASHES);

	if (at - v->from < 3 || !FW_REDACT_STARTS(v, at - 3, "1//0") ||
	    !fw_redact_starts_word(v, at - 3) ||
	    !fw_redact__is_random(v->t + at, end - at, REFRESH_LEAST))
		return false;
	return fw_redact_take(m, at - 3, end);
}

/* Where the hash of a password starts that `at` is in; `at` if it is in none. */
static size_t hash_start(const struct fw_redact_view *v, size_t at)
{
	static const char *const methods[] = { "$2a$",      "$2b$",       "$2x$",
					       "$2y$",      "$1$",        "$5$",
					       "$6$",       "$y$",        "$apr1$",
					       "$argon2i$", "$7$",        "$gy$",
					       "$argon2d$", "$argon2id$", "$pbkdf2-sha256$",
					       NULL };
	size_t from = at;

	while (from > v->from && at - from < HASH_BEFORE &&
	       (is_of(v->t[from - 1], DOTS | BASE64 | DASHES) || v->t[from - 1] == '$' ||
		v->t[from - 1] == ','))
		from--;
	for (; from < at; from++)
		for (const char *const *method = methods; v->t[from] == '$' && *method;
		     method++)
			if (at - from >= strlen(*method) &&
			    memcmp(v->t + from, *method, strlen(*method)) == 0)
				return from;
	return at;
}

/* $2b$12$..., $6$salt$..., $argon2id$v=19$m=1,t=2,p=1$salt$...; `at` is where a run of
 * letters and digits after a dollar sign starts. */
static bool match_hash(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t start = hash_start(v, at), end = at;

	while (end < v->len && (is_of(v->t[end], DOTS | BASE64) || v->t[end] == '$'))
		end++;
	if (start == at || !fw_redact__is_random(v->t + at, end - at, HASH_LEAST))
		return false;
	while (end > at && v->t[end - 1] == '.') /* the full stop of a sentence */
		end--;
	return fw_redact_take(m, start, end);
}

/* Is `at` in a path that contains the name of a service whose webhooks have secrets? */
static bool is_in_webhook(const struct fw_redact_view *v, size_t at)
{
	size_t from = at;

	while (from > v->from && at - from < WEBHOOK_BEFORE &&
	       (unsigned char)v->t[from - 1] > ' ' && !strchr("\"'<>[]", v->t[from - 1]))
		from--;
	return memmem(v->t + from, at - from, "hooks.slack.com/", 16) ||
	       memmem(v->t + from, at - from, "/webhooks/", 10) ||
	       memmem(v->t + from, at - from, "/IncomingWebhook/", 17);
}

/* The random parts of the address of a webhook: knowing them is enough to post. All of
 * them are one match, because matchers cannot look back beyond the last match. */
static bool match_webhook(const struct fw_redact_view *v, size_t at, struct fw_redact_match *m)
{
	size_t end = run_end(v, at, DASHES), next = end;

	if (at == v->from || v->t[at - 1] != '/' ||
	    !fw_redact__is_random(v->t + at, end - at, WEBHOOK_LEAST) || !is_in_webhook(v, at))
		return false;
	while (fw_redact_at(v, next) == '/') {
		size_t part = next + 1;

		next = run_end(v, part, DASHES);
		if (fw_redact__is_random(v->t + part, next - part, WEBHOOK_LEAST))
			end = next;
	}
	return fw_redact_take(m, at, end);
}

/* 110201543:AAH... of Telegram; `at` is where the part after the colon starts. */
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
	at += fw_redact_escape(v, at);
	if (at >= v->len)
		return false;
	if (v->t[at] == 'e' && match_jwt(v, at, m))
		return true;
	if (v->t[at] == 'A' && match_cloud_key(v, at, m))
		return true;
	if (v->t[at] == 'S' && match_twilio(v, at, m))
		return true;
	if (match_prefix(v, at, m) || match_discord(v, at, m))
		return true;
	/* The others are known by what comes before them. */
	if (at == v->from || !strchr("./:$", v->t[at - 1]))
		return false;
	if (v->t[at - 1] == '$')
		return match_hash(v, at, m);
	return match_doppler(v, at, m) || match_refresh(v, at, m) || match_sendgrid(v, at, m) ||
	       match_dotted(v, at, m) || match_webhook(v, at, m) || match_telegram(v, at, m);
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
	/* Bearer resource_metadata="...": a challenge, not a token. */
	for (word = start; word < end && (fw_is_lower(v->t[word]) || v->t[word] == '_');)
		word++;
	if (word > start && word + 1 == end && v->t[word] == '=' &&
	    (fw_is_quote(fw_redact_at(v, end)) || fw_redact_at(v, end) == '\\'))
		return false;
	if (basic ? fw_redact__is_basic(v->t + start, end - start)
		  : end - start >= BEARER_CERTAIN ||
			    fw_redact__is_random(v->t + start, end - start, BEARER_LEAST))
		return fw_redact_take(m, start, end);
	return false;
}
