/*
 * digest.h - SHA-256, HMAC and comparison in constant time, as hexadecimal text.
 *
 * The one rule to remember: what is compared with a secret is compared with
 * fw_ws_same_hex().
 */
#ifndef FW_TOOLS_WORKSPACE_DIGEST_H
#define FW_TOOLS_WORKSPACE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_WS_KEY_BYTES = 32, FW_WS_HEX_SIZE = 65 };

struct fw_ws_key {
	unsigned char bytes[FW_WS_KEY_BYTES];
	bool is_set;
};

/* Lower case, NUL-terminated. */
void fw_ws_sha256(const void *bytes, size_t len, char ret_hex[FW_WS_HEX_SIZE]);

/* HMAC-SHA-256 with a key derived for `purpose`: what was signed for one is
 * worth nothing for another. False: the library failed. */
bool fw_ws_sign(const struct fw_ws_key *key, const char *purpose, const char *text, size_t len,
		char ret_hex[FW_WS_HEX_SIZE]);

/* 64 lower-case hexadecimal digits? */
bool fw_ws_is_hex(const char *text, size_t len);

/* Both are 64 digits, and the same; takes as long wherever they differ. */
bool fw_ws_same_hex(const char *a, size_t a_len, const char *b, size_t b_len);

/* False: there are none to be had. At most 256. */
bool fw_ws_random(unsigned char *bytes, size_t len);
/* `size` - 1 random hexadecimal digits; for names, not for keys. */
void fw_ws_random_hex(char *text, size_t size);

#endif
