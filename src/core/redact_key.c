/*
 * redact_key.c - does a key name a secret?
 *
 * Judged by its words, because parts of words mislead: "monkey" ends in "key",
 * "tokenizer" starts with "token". Keys are read from the end, since in
 * English the last noun says what a thing is: an "access_token" is a token, a
 * "token_count" is a count. The word before it can turn the meaning ("private
 * key", "primary key"; "progress token").
 *
 * The finder asks this for every "word:" and "word=" of every message, so the
 * last word is looked up by its length first: most words end there.
 */
#include "core/redact.h"
#include "core/redact_impl.h"

enum { WORD_MAX = 14, SUFFIXES_MAX = 2 };

/* What a last word means. */
enum meaning {
	NOTHING,
	SUFFIX, /* says nothing: the word before it counts */
	TOKEN,  /* of many kinds, some harmless */
	SECRET, /* always opaque */
	KEY,    /* secret only as a private, api, ... key */
	PASSWORD,
	PASS, /* a password only as db pass, user pass, ... */
	AUTHORIZATION,
	COOKIE,
	SIGNATURE,  /* of a signed URL: amz signature */
	SESSION,    /* connect sid */
	BASIC,      /* user and password in base64, or no secret */
	PIN,        /* a number of four digits or more */
	CODE,       /* the same, as verification code, mfa code, ... */
	IDENTIFIER, /* only the id of a private key */
	MAC,        /* only that of PuTTY's private keys */
	LINES,      /* only the private lines of PuTTY */
	MNEMONIC,   /* words */
	PHRASE,     /* the same, as seed phrase, recovery words, ... */
	SEED,       /* words, or a long number */
	VALUE,      /* of what another member names; else a suffix */
};

struct word {
	const char *text;
	enum meaning meaning;
};

/* By length, so that by_length can point into it. */
static const struct word words[] = {
	{ "v", SUFFIX },
	{ "b", SUFFIX },
	{ "pw", PASSWORD },
	{ "id", IDENTIFIER },
	{ "key", KEY },
	{ "pwd", PASSWORD },
	{ "jwt", SECRET },
	{ "sid", SESSION },
	{ "new", SUFFIX },
	{ "old", SUFFIX },
	{ "raw", SUFFIX },
	{ "dev", SUFFIX },
	{ "pin", PIN },
	{ "otp", PIN },
	{ "psk", PASSWORD },
	{ "mac", MAC },
	{ "keys", KEY },
	{ "pass", PASS },
	{ "auth", BASIC },
	{ "hash", SUFFIX },
	{ "base", SUFFIX },
	{ "prod", SUFFIX },
	{ "totp", PIN },
	{ "data", SUFFIX },
	{ "seed", SEED },
	{ "code", CODE },
	{ "pswd", PASSWORD },
	{ "token", TOKEN },
	{ "creds", SECRET },
	{ "value", VALUE },
	{ "plain", SUFFIX },
	{ "lines", LINES },
	{ "words", PHRASE },
	{ "passw", PASSWORD },
	{ "passwd", PASSWORD },
	{ "secret", SECRET },
	{ "cookie", COOKIE },
	{ "apikey", SECRET },
	{ "phrase", PHRASE },
	{ "bearer", SECRET },
	{ "cookies", COOKIE },
	{ "secrets", SECRET },
	{ "apikeys", SECRET },
	{ "current", SUFFIX },
	{ "encoded", SUFFIX },
	{ "confirm", SUFFIX },
	{ "passkey", SECRET },
	{ "idtoken", SECRET },
	{ "password", PASSWORD },
	{ "passcode", PASSWORD },
	{ "passwort", PASSWORD },
	{ "apitoken", SECRET },
	{ "mnemonic", MNEMONIC },
	{ "userpass", PASSWORD },
	{ "bottoken", SECRET },
	{ "passwords", PASSWORD },
	{ "authtoken", SECRET },
	{ "accesskey", SECRET },
	{ "secretkey", SECRET },
	{ "apisecret", SECRET },
	{ "signature", SIGNATURE },
	{ "plaintext", SUFFIX },
	{ "encrypted", SUFFIX },
	{ "phpsessid", SECRET },
	{ "sessionid", SECRET },
	{ "csrftoken", SECRET },
	{ "xsrftoken", SECRET },
	{ "storepass", PASSWORD },
	{ "usertoken", SECRET },
	{ "passphrase", PASSWORD },
	{ "credential", SECRET },
	{ "privatekey", SECRET },
	{ "jsessionid", SECRET },
	{ "seedphrase", MNEMONIC },
	{ "accountkey", SECRET },
	{ "credentials", SECRET },
	{ "accesstoken", SECRET },
	{ "bearertoken", SECRET },
	{ "devicetoken", SECRET },
	{ "clientsecret", SECRET },
	{ "refreshtoken", SECRET },
	{ "sessiontoken", SECRET },
	{ "confirmation", SUFFIX },
	{ "presharedkey", SECRET },
	{ "authorization", AUTHORIZATION },
	{ "authorisation", AUTHORIZATION },
};

/* The first word of each length; what one is not, the next begins with. */
static const uint8_t by_length[WORD_MAX + 1] = {
	[1] = 0,  [2] = 2,  [3] = 4,   [4] = 16,  [5] = 27,  [6] = 34,  [7] = 40,
	[8] = 48, [9] = 55, [10] = 69, [11] = 75, [12] = 79, [13] = 84, [14] = 86,
};

/* Keys that are secret. */
static const char *const secret_keys[] = {
	"api",        "private", "secret",  "access",     "signing",      "encryption",
	"decryption", "master",  "auth",    "ssh",        "shared",       "hmac",
	"session",    "deploy",  "account", "credential", "subscription", "preshared",
	"psk",        "client",  "service", NULL,
};

/* Passes that are passwords. */
static const char *const password_passes[] = {
	"db",       "database", "user", "smtp",  "mysql",    "ftp",   "mail", "email", "redis",
	"postgres", "admin",    "root", "login", "keystore", "proxy", "auth", "pg",    "http",
	"imap",     "mongo",    "key",  "store", "sudo",     "ldap",  NULL,
};

/* Codes that grant access. */
static const char *const entry_codes[] = {
	"otp",  "verification", "mfa",    "fa",  "security", "login",
	"totp", "recovery",     "backup", "sms", "auth",     NULL,
};

/* Phrases and words that are the key of a wallet. */
static const char *const wallet_phrases[] = {
	"seed", "recovery", "secret", "mnemonic", "backup", "wallet", NULL,
};

/* Tokens that are not secrets: of a language, of a model, of a protocol. */
static const char *const harmless_tokens[] = {
	"progress", "page",   "next",  "previous", "continuation", "cancel",  "cancellation",
	"max",      "min",    "total", "per",      "unexpected",   "stop",    "start",
	"end",      "eos",    "bos",   "pad",      "mask",         "special", "input",
	"output",   "prompt", "first", "last",     "completion",   "sync",    NULL,
};

/* Questions about a secret, not the secret. Only as part of one key. */
static const char *const questions[] = {
	"is",   "has",   "have",   "need", "needs", "require", "requires", "required", "use",
	"uses", "allow", "allows", "show", "no",    "without", "missing",  NULL,
};

static bool is_separator(char c)
{
	return c == '_' || c == '-' || c == '.' || c == ' ' || fw_is_digit(c);
}

/* The start of the word that ends at `end`: one hump of camelCase, or capitals. */
static size_t word_start(const char *text, size_t end)
{
	size_t i = end;

	if (i > 0 && fw_is_upper(text[i - 1])) {
		while (i > 0 && fw_is_upper(text[i - 1]))
			i--;
		return i;
	}
	while (i > 0 && fw_is_lower(text[i - 1]))
		i--;
	if (i > 0 && i < end && fw_is_upper(text[i - 1]))
		i--;
	/* The n of an escaped newline is no letter of the word. */
	if (i > 0 && i < end && text[i - 1] == '\\' && strchr("nrt", text[i]))
		i++;
	return i;
}

static enum meaning meaning_of(const char *word, size_t len)
{
	/* PGPASSWORD, dbpassword: glued to what it opens. */
	if (len > 8 && fw_equals_lower(word + len - 8, "password", 8))
		return PASSWORD;
	if (len == 0 || len >= WORD_MAX)
		return NOTHING;
	for (size_t i = by_length[len]; i < by_length[len + 1]; i++)
		if ((word[0] | 0x20) == words[i].text[0] &&
		    fw_equals_lower(word, words[i].text, len))
			return words[i].meaning;
	return NOTHING;
}

/* The word before the one at `start`; `*ret_apart` if a space is between. */
static size_t word_before(const char *text, size_t start, size_t *ret_end, bool *ret_apart)
{
	size_t end = start;

	*ret_apart = false;
	while (end > 0 && is_separator(text[end - 1])) {
		if (text[end - 1] == ' ') {
			if (*ret_apart)
				break; /* two spaces part two things */
			*ret_apart = true;
		}
		end--;
	}
	*ret_end = end;
	return word_start(text, end);
}

static bool is_word(const char *word, size_t len, const char *lower)
{
	return len == strlen(lower) && fw_equals_lower(word, lower, len);
}

/* private_key_id: "key" is the word before, "private" the one before that. */
static bool is_private_key(const char *text, size_t before, const char *word, size_t len)
{
	size_t end, start;
	bool apart;

	if (!is_word(word, len, "key"))
		return false;
	start = word_before(text, before, &end, &apart);
	return is_word(text + start, end - start, "private");
}

/* What a meaning comes to, by the word before it (`len` 0: there is none). */
static enum fw_redact_kind kind_of(enum meaning meaning, const char *text, size_t before,
				   const char *word, size_t len)
{
	switch (meaning) {
	case NOTHING:
	case VALUE:
	case SUFFIX: break;
	case TOKEN:
		return fw_is_one_of(word, len, harmless_tokens) ? FW_REDACT_NONE
								: FW_REDACT_TOKEN;
	case SECRET: return FW_REDACT_TOKEN;
	case KEY:
		return fw_is_one_of(word, len, secret_keys) ? FW_REDACT_TOKEN : FW_REDACT_NONE;
	case PASSWORD: return FW_REDACT_PASSWORD;
	case PASS:
		return fw_is_one_of(word, len, password_passes) ? FW_REDACT_PASSWORD
								: FW_REDACT_WEAK;
	case AUTHORIZATION: return FW_REDACT_AUTHORIZATION;
	case COOKIE: return FW_REDACT_COOKIE;
	case BASIC: return FW_REDACT_BASIC;
	case PIN: return FW_REDACT_PIN;
	case CODE: return fw_is_one_of(word, len, entry_codes) ? FW_REDACT_PIN : FW_REDACT_NONE;
	case IDENTIFIER:
		return is_private_key(text, before, word, len) ? FW_REDACT_TOKEN
							       : FW_REDACT_NONE;
	case MAC: return is_word(word, len, "private") ? FW_REDACT_TOKEN : FW_REDACT_NONE;
	case LINES: return is_word(word, len, "private") ? FW_REDACT_LINES : FW_REDACT_NONE;
	case MNEMONIC:
	case SEED: return FW_REDACT_PHRASE;
	case PHRASE:
		return fw_is_one_of(word, len, wallet_phrases) ? FW_REDACT_PHRASE
							       : FW_REDACT_NONE;
	case SIGNATURE: return is_word(word, len, "amz") ? FW_REDACT_TOKEN : FW_REDACT_NONE;
	case SESSION: return is_word(word, len, "connect") ? FW_REDACT_TOKEN : FW_REDACT_NONE;
	}
	return FW_REDACT_NONE;
}

enum fw_redact_kind fw_redact__key_kind(const char *text, size_t len)
{
	enum meaning meaning = NOTHING;
	enum fw_redact_kind kind;
	size_t start, end = len, before, before_end;
	const char *word;
	bool apart, is_value;

	while (end > 0 && (fw_is_digit(text[end - 1]) || text[end - 1] == '_'))
		end--;
	start = word_start(text, end);
	meaning = meaning_of(text + start, end - start);
	is_value = meaning == VALUE;
	for (int i = 0; (meaning == SUFFIX || meaning == VALUE) && i < SUFFIXES_MAX; i++) {
		start = word_before(text, start, &end, &apart);
		meaning = apart ? NOTHING : meaning_of(text + start, end - start);
	}
	if (is_value && (meaning == NOTHING || meaning == VALUE))
		return FW_REDACT_VALUE;
	if (meaning == NOTHING || meaning == SUFFIX)
		return FW_REDACT_NONE;

	before = word_before(text, start, &before_end, &apart);
	word = text + before;
	len = before_end - before;
	kind = kind_of(meaning, text, before, word, len);
	if (kind != FW_REDACT_NONE && len > 0 && !apart && fw_is_one_of(word, len, questions))
		return FW_REDACT_NONE;
	return kind;
}

#define L(letter) ((uint32_t)1 << ((letter) - 'a'))
#define ANY 0x03ffffffu

/* For each letter that a word above ends in, those that come before it. */
static const uint32_t before_last[26] = {
	['a' - 'a'] = L('t'),
	['b' - 'a'] = ANY,
	['c' - 'a'] = L('a') | L('i'),
	['d' - 'a'] = L('w') | L('i') | L('l') | L('o') | L('e') | L('r') | L('s'),
	['e' - 'a'] = L('s') | L('u') | L('i') | L('d') | L('r'),
	['h' - 'a'] = L('s') | L('t'),
	['k' - 'a'] = L('s'),
	['l' - 'a'] = L('a'),
	['m' - 'a'] = L('r'),
	['n' - 'a'] = L('e') | L('i') | L('o'),
	['p' - 'a'] = L('t'),
	['r' - 'a'] = L('e'),
	['s' - 'a'] = L('y') | L('s') | L('d') | L('e') | L('t') | L('l'),
	['t' - 'a'] = L('w') | L('e') | L('n') | L('r') | L('x'),
	['v' - 'a'] = ANY,
	['w' - 'a'] = L('e') | L('a') | L('p') | L('s'),
	['y' - 'a'] = L('e'),
};

/* Ids, which many keys are, by what comes before: that of a key may be a secret, and words
 * that end in sid and sessionid. `len` is without the "id". */
static bool may_be_secret_id(const char *key, size_t len)
{
	size_t word = len;

	while (word > 0 && is_separator(key[word - 1]))
		word--;
	return word > 0 && strchr(word < len ? "yY" : "ysnYSN", key[word - 1]);
}

/* Most keys are done with by their last letters. */
static bool may_be_secret(const char *key, size_t len)
{
	char last, before;

	if (len < 2 || !fw_is_letter(key[len - 1]) || !fw_is_letter(key[len - 2]))
		return true;
	last = (char)(key[len - 1] | 0x20);
	before = (char)(key[len - 2] | 0x20);
	if (last == 'd' && before == 'i')
		return may_be_secret_id(key, len - 2);
	/* Paths are many: of the words in h there are hash and auth alone. */
	if (last == 'h' && (len < 4 || (key[len - 3] | 0x20) != (before == 's' ? 'a' : 'u')))
		return false;
	return before_last[last - 'a'] >> (before - 'a') & 1;
}

static enum fw_redact_kind kind_of_key(const char *key, size_t len)
{
	return may_be_secret(key, len) ? fw_redact__key_kind(key, len) : FW_REDACT_NONE;
}

bool fw_redact_key_is_secret(const char *key, size_t len)
{
	switch (kind_of_key(key, len)) {
	case FW_REDACT_TOKEN:
	case FW_REDACT_PASSWORD:
	case FW_REDACT_AUTHORIZATION:
	case FW_REDACT_COOKIE: return true;
	default: return false;
	}
}

bool fw_redact_member_is_secret(const char *key, size_t len, const char *value,
				size_t value_len)
{
	enum fw_redact_kind kind = kind_of_key(key, len);
	size_t last_body = FW_REDACT_NOT_LOOKED;
	const struct fw_redact_view view = { value, value_len, 0, &last_body };

	switch (kind) {
	case FW_REDACT_NONE:
	case FW_REDACT_LINES:
	case FW_REDACT_VALUE: return false;
	case FW_REDACT_PHRASE:
		if (fw_redact__phrase_end(&view, 0))
			return true;
		break;
	case FW_REDACT_BASIC:
	case FW_REDACT_PIN:
	case FW_REDACT_WEAK: break;
	default: return true;
	}
	return fw_redact__value_is_secret(kind, FW_REDACT_FORM_DATA, true, true, value,
					  value_len);
}

bool fw_redact_pointer_is_secret(const char *pointer)
{
	while (*pointer == '/') {
		const char *step = pointer + 1;

		pointer = strchrnul(step, '/');
		if (fw_redact_key_is_secret(step, (size_t)(pointer - step)))
			return true;
	}
	return false;
}
