/*
 * redact_value.c - is what follows a secret's name the secret itself?
 *
 * After "password=" almost surely. After "token:" often not: parsers say
 * "unexpected token: foo", validators {"password": "must have 8 characters"},
 * documentation "token: <your token>". Hiding such words makes an error
 * useless, showing a password makes it a leak. The rules, in this order:
 *
 *   1. Never hidden: what is masked or a placeholder (***, <token>, ${TOKEN},
 *      %s, YOUR_KEY, process.env.KEY), a word that tells the state or type of
 *      a secret (missing, expired, string, null), a sentence (several words,
 *      one of them a function word such as "is" or "must").
 *   2. As data ("key":"value", key=value) anything else is hidden; but a
 *      number is a password only, tokens being counted more often than spelt.
 *   3. In prose (key: value) a token is hidden where digits stand among its
 *      letters or it is very long, a password also where it has any sign that is not a
 *      letter, or is the last word of its line.
 */
#include "core/redact_impl.h"

enum {
	TOKEN_LEAST = 6,   /* bytes of a token in prose */
	TOKEN_SURELY = 24, /* so long that it needs no digit */
	PIN_LEAST = 4,     /* digits of a number that is a password */
	BASIC_LEAST = 8,   /* base64 of "a:b" and a little more */
	SENTENCE_WORD_MAX = 24,
	METHOD_MAX = 20,   /* bytes of the name of a method */
	OPAQUE_LEAST = 8,  /* bytes of a token after a key that is often harmless */
	OPAQUE_TURNS = 3,  /* how often its digits and letters change */
	PIN_MAX = 10,      /* digits; longer numbers are times and ids */
	PHRASE_LEAST = 24, /* bytes of a seed that is not a phrase of words */
};

/* Words that describe a secret instead of being one. */
static const char *const states[] = {
	"required",     "missing",   "invalid",   "expired",  "revoked",    "empty",
	"string",       "null",      "none",      "nil",      "true",       "false",
	"undefined",    "unset",     "set",       "optional", "number",     "boolean",
	"bool",         "object",    "array",     "unknown",  "hidden",     "masked",
	"redacted",     "filtered",  "valid",     "present",  "absent",     "wrong",
	"mismatch",     "incorrect", "denied",    "expected", "unexpected", "ok",
	"yes",          "no",        "n/a",       "na",       "provided",   "int",
	"integer",      "str",       "text",      "any",      "never",      "failed",
	"unauthorized", "not",       "must",      "is",       "was",        "should",
	"cannot",       "(none)",    "(empty)",   "disabled", "enabled",    "error",
	"removed",      "rejected",  "refused",   "<nil>",    "option",     "flag",
	"argument",     "value",     "parameter", "variable", "header",     "field",
	NULL,
};

/* Words that sentences have and secrets have not. */
static const char *const function_words[] = {
	"is",    "are",      "was",    "must",  "not",     "be",        "should",  "required",
	"has",   "have",     "cannot", "can",   "missing", "invalid",   "the",     "expected",
	"found", "too",      "this",   "may",   "will",    "does",      "wrong",   "see",
	"your",  "provided", "least",  "field", "please",  "incorrect", "expired", NULL,
};

/* Where a value comes from, not what it is. */
static const char *const sources[] = {
	"process.env.", "os.environ", "os.getenv", "env.",  "self.", "this.", "config.",
	"options.",     "args.",      "settings.", "your-", "your_", "your ", NULL,
};

static bool is_in(char c, const char *set)
{
	return c && strchr(set, c);
}

struct census {
	size_t upper, lower, digits, others;
	bool inner_upper; /* a capital after a small letter */
};

static struct census count(const char *text, size_t len)
{
	struct census c = { 0 };

	for (size_t i = 0; i < len; i++) {
		if (fw_is_upper(text[i])) {
			c.upper++;
			c.inner_upper |= i > 0 && fw_is_lower(text[i - 1]);
		} else if (fw_is_lower(text[i])) {
			c.lower++;
		} else if (fw_is_digit(text[i])) {
			c.digits++;
		} else {
			c.others++;
		}
	}
	return c;
}

bool fw_redact__is_random(const char *text, size_t len, size_t least)
{
	struct census c = count(text, len);

	if (len < least)
		return false;
	return (c.digits > 0 && c.upper + c.lower > 0) || (c.inner_upper && len >= 2 * least);
}

/* Only signs that stand for hidden ones. */
static bool is_mask(const char *text, size_t len)
{
	/* The last six are the bytes of U+2022, U+2026 and U+25CF. */
	for (size_t i = 0; i < len; i++)
		if (!is_in(text[i], "*xX.-#?\xe2\x80\xa2\xa6\x97\x8f"))
			return false;
	return true;
}

/* $NAME, ${NAME}, <name>, {name}, [NAME], %s: to be replaced by the value. */
static bool is_placeholder(const char *text, size_t len)
{
	char first = text[0], last = text[len - 1];
	size_t i = 1;

	if (first == '<' || first == '{')
		return true;
	if (first == '%')
		return len == 2;
	if (first == '[') {
		while (i + 1 < len &&
		       (fw_is_letter(text[i]) || text[i] == '_' || text[i] == ' '))
			i++;
		return last == ']' && i + 1 == len;
	}
	if (first != '$')
		return false;
	if (len > 1 && (text[1] == '{' || text[1] == '('))
		return true;
	while (i < len && (fw_is_upper(text[i]) || fw_is_digit(text[i]) || text[i] == '_'))
		i++;
	return i == len && len > 1;
}

static bool is_source(const char *text, size_t len)
{
	for (const char *const *source = sources; *source; source++) {
		size_t n = strlen(*source);

		if (len > n && fw_equals_lower(text, *source, n))
			return true;
	}
	return false;
}

/* Several words of letters, or small numbers, and a function word among them. */
static bool is_sentence(const char *text, size_t len)
{
	size_t words = 0, known = 0;

	for (size_t i = 0; i < len;) {
		size_t start, end;

		while (i < len && fw_is_space(text[i]))
			i++;
		start = i;
		while (i < len && !fw_is_space(text[i]))
			i++;
		end = i;
		while (end > start && is_in(text[end - 1], ".,:;!?)'\""))
			end--;
		while (start < end && is_in(text[start], "('\""))
			start++;
		if (end == start)
			continue;
		if (end - start > SENTENCE_WORD_MAX ||
		    fw_redact__is_random(text + start, end - start, TOKEN_LEAST + 2))
			return false;
		words++;
		if (fw_is_one_of(text + start, end - start, function_words))
			known++;
	}
	return words >= 2 && known >= 1 && known * 6 >= words;
}

bool fw_redact__is_never_secret(const char *value, size_t len)
{
	size_t bare = len;

	while (bare > 0 && is_in(value[bare - 1], ".,:;!?"))
		bare--;
	return bare == 0 || fw_is_one_of(value, bare, states) || is_mask(value, len) ||
	       is_placeholder(value, len) || is_source(value, len) || is_sentence(value, len);
}

static bool is_path(const char *value, size_t len)
{
	return value[0] == '/' || (len > 1 && value[0] == '.' && value[1] == '/') ||
	       memmem(value, len, "://", 3);
}

static bool is_secret_in_prose(enum fw_redact_kind kind, bool quoted, bool ends_line,
			       const char *value, size_t len, struct census c)
{
	if (kind == FW_REDACT_PASSWORD)
		return quoted || ends_line || c.digits > 0 || c.others > 0 || c.inner_upper;
	if (kind == FW_REDACT_COOKIE)
		return memchr(value, '=', len) || fw_redact__is_random(value, len, TOKEN_LEAST);
	if (is_path(value, len))
		return false;
	return fw_redact__is_random(value, len, TOKEN_LEAST) ||
	       (len >= TOKEN_SURELY && !memchr(value, ' ', len));
}

/* ^1.2.3, v0.7.2-beta.1: packages are called "cookie" and "token" too. */
static bool is_version(const char *text, size_t len)
{
	size_t i = 0, parts = 1;

	while (i < len && is_in(text[i], "^~v>=<"))
		i++;
	if (i == len || !fw_is_digit(text[i]))
		return false;
	for (; i < len && (fw_is_digit(text[i]) || (text[i] == '.' && ++parts)); i++)
		;
	return parts >= 3 && (i == len || is_in(text[i], "-+ "));
}

/* Names of methods: letters first, then digits. */
bool fw_redact__is_method(const char *text, size_t len)
{
	static const char *const methods[] = {
		"oauth", "sha",    "md5",   "scram",        "ntlm",         "hmac",   "tls",
		"x509",  "bearer", "basic", "digest",       "aws4",         "hs256",  "rs256",
		"es256", "base64", "utf",   "pbkdf2",       "argon2",       "bcrypt", "aes",
		"krb5",  "http",   "sasl",  "mysql_native", "caching_sha2", NULL,
	};

	for (const char *const *method = methods; *method; method++) {
		size_t n = strlen(*method);

		if (len >= n && len <= METHOD_MAX && fw_equals_lower(text, *method, n))
			return true;
	}
	return false;
}

/* Digits and letters take turns, as no name has it. */
static bool is_opaque(const char *text, size_t len, size_t least)
{
	size_t turns = 0;

	for (size_t i = 1; i < len; i++)
		turns += fw_is_alnum(text[i]) && fw_is_alnum(text[i - 1]) &&
			 fw_is_digit(text[i]) != fw_is_digit(text[i - 1]);
	return len >= least && turns >= OPAQUE_TURNS && !memchr(text, ' ', len);
}

/* auth=x: base64 of user:password, or a token. */
static bool is_auth(enum fw_redact_form form, const char *value, size_t len)
{
	if (fw_redact__is_basic(value, len))
		return true;
	if (fw_redact__is_method(value, len) || is_path(value, len) || memchr(value, ' ', len))
		return false;
	return form == FW_REDACT_FORM_DATA ? fw_redact__is_random(value, len, TOKEN_LEAST)
					   : is_opaque(value, len, OPAQUE_LEAST);
}

/* pin=13 is a pin of a processor, pin=4821 opens a door. */
static bool is_pin(const char *value, size_t len, struct census c)
{
	if (c.digits == len)
		return len >= PIN_LEAST && len <= PIN_MAX;
	return is_opaque(value, len, OPAQUE_LEAST);
}

/* pass=x: a password only if it looks like one, tests pass more often. */
static bool is_weak(enum fw_redact_form form, bool quoted, bool ends_line, const char *value,
		    size_t len, struct census c)
{
	bool is_strong =
		c.digits > 0 ? c.upper + c.lower > 0 : c.inner_upper && len >= TOKEN_LEAST;

	if (c.digits == len || is_path(value, len) || memchr(value, '(', len))
		return false;
	for (size_t i = 0; i < len; i++)
		is_strong |= is_in(value[i], "!@#$^&*+?~") != false;
	if (form == FW_REDACT_FORM_DATA)
		return quoted ? !memchr(value, ' ', len) || is_strong : is_strong;
	return is_strong && (quoted || ends_line) && len >= TOKEN_LEAST;
}

bool fw_redact__value_is_secret(enum fw_redact_kind kind, enum fw_redact_form form, bool quoted,
				bool ends_line, const char *value, size_t len)
{
	struct census c;

	if (len == 0 || fw_redact__is_never_secret(value, len))
		return false;
	c = count(value, len);
	switch (kind) {
	case FW_REDACT_BASIC: return is_auth(form, value, len);
	case FW_REDACT_PIN: return is_pin(value, len, c);
	case FW_REDACT_WEAK: return is_weak(form, quoted, ends_line, value, len, c);
	case FW_REDACT_PHRASE:
		return len >= PHRASE_LEAST && fw_redact__is_random(value, len, PHRASE_LEAST);
	default: break;
	}
	if (kind != FW_REDACT_PASSWORD && is_version(value, len))
		return false;
	if (c.digits == len)
		return kind == FW_REDACT_PASSWORD && len >= PIN_LEAST;
	if (c.upper + c.lower + c.digits == 0 && kind != FW_REDACT_PASSWORD)
		return false;
	if (form == FW_REDACT_FORM_DATA)
		return true;
	return is_secret_in_prose(kind, quoted, ends_line, value, len, c);
}

static int base64_value(char c)
{
	if (fw_is_upper(c))
		return c - 'A';
	if (fw_is_lower(c))
		return c - 'a' + 26;
	if (fw_is_digit(c))
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

bool fw_redact__is_basic(const char *text, size_t len)
{
	unsigned bits = 0, have = 0;
	bool colon = false;

	while (len > 0 && text[len - 1] == '=')
		len--;
	if (len < BASIC_LEAST)
		return false;
	for (size_t i = 0; i < len; i++) {
		int value = base64_value(text[i]);
		unsigned byte;

		if (value < 0)
			return false;
		bits = (bits << 6 | (unsigned)value) & 0xffff;
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		byte = bits >> have & 0xff;
		if (byte < 0x20 || byte == 0x7f)
			return false;
		colon |= byte == ':';
	}
	return colon;
}
