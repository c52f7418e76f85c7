/*
 * redact.h - secrets are not part of an error.
 *
 * Messages, causes and context come from tools, peers and system calls, and such text now
 * and then holds a password, a token or a key. What looks like one is replaced before it
 * is kept, because everything that is kept is sent, logged and shown. Pure functions on
 * (pointer, length); nothing allocates.
 *
 * Structure decides first. If the text itself marks a secret (a header, a PEM block, a
 * token's prefix, "password="), the value is replaced. If it might be prose ("token:
 * expected string"), the value is replaced only if it does not look like a word: see
 * redact_value.c.
 */
#ifndef FW_CORE_REDACT_H
#define FW_CORE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

#define FW_REDACTED "[redacted]"

/* No text shorter than this holds a secret and says so. */
enum { FW_REDACT_LEAST = 8 };

/*
 * Whether the value of that key is a secret: "password", "refreshToken", "X-API-Key".
 * Judged by words, so "tokenizer", "max_tokens" and "primary_key" are not.
 */
bool fw_redact_key_is_secret(const char *key, size_t len);

/*
 * The same for a member with a known value, which decides where the key
 * alone does not: "pass", "auth", "pin", "otp", "mnemonic". Numbers as digits.
 */
bool fw_redact_member_is_secret(const char *key, size_t len, const char *value,
				size_t value_len);

/* Whether any step of a JSON Pointer is such a key: "/users/0/password". */
bool fw_redact_pointer_is_secret(const char *pointer);

/* Where the first secret of the text starts; `len` if there is none. */
size_t fw_redact_find(const char *text, size_t len);

/*
 * Copy with each secret as "[redacted]". Writes at most `cap` bytes including
 * a final NUL and never part of a character; returns the length of the whole
 * without the NUL, as snprintf does. Doing it again changes nothing.
 */
size_t fw_redact_copy(char *dst, size_t cap, const char *src, size_t len);

/*
 * Redact, then cut: the beginning of the redacted text, at most `cap` bytes with the
 * final NUL, never part of a character. Always shorten text of a peer with this, or with
 * redact_stream.h if the end is to be kept: a secret that was cut first is not recognised
 * any more. Returns its length.
 */
size_t fw_redact_cut(char *dst, size_t cap, const char *src, size_t len);

/*
 * Whether a key holds a secret itself, because some peers use input as keys. Such a
 * member becomes "[redacted]":"[redacted]", the first of an object; others are left out.
 */
static inline bool fw_redact_key_holds_secret(const char *key, size_t len)
{
	return len >= FW_REDACT_LEAST && fw_redact_find(key, len) < len;
}

/* Whether the texts of an error may hold secrets: only if it was decoded with keep_secrets.
 * Those of every other error were redacted when they were set. */
bool fw__error_keeps_secrets(const fw_error *err);

#endif
