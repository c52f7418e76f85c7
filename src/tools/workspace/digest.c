/*
 * digest.c - see digest.h. A hash that could not be made is "", and equal to
 * none.
 */
#include "tools/workspace/digest.h"

#include <string.h>
#include <sys/random.h>

#include "base/digest.h"

void fw_ws_sha256(const void *bytes, size_t len, char ret_hex[FW_WS_HEX_SIZE])
{
	unsigned char hash[FW_SHA256_BYTES];

	memset(ret_hex, 0, FW_WS_HEX_SIZE);
	if (fw_sha256(bytes, len, hash))
		fw_hex(hash, sizeof hash, ret_hex);
}

bool fw_ws_sign(const struct fw_ws_key *key, const char *purpose, const char *text, size_t len,
		char ret_hex[FW_WS_HEX_SIZE])
{
	unsigned char own[FW_SHA256_BYTES];
	unsigned char mac[FW_SHA256_BYTES];
	bool is_made =
		fw_hmac_sha256(key->bytes, FW_WS_KEY_BYTES, purpose, strlen(purpose), own) &&
		fw_hmac_sha256(own, sizeof own, text, len, mac);

	if (is_made)
		fw_hex(mac, sizeof mac, ret_hex);
	explicit_bzero(own, sizeof own);
	return is_made;
}

bool fw_ws_is_hex(const char *text, size_t len)
{
	if (len != 64)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return true;
}

bool fw_ws_same_hex(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return fw_ws_is_hex(a, a_len) && fw_ws_is_hex(b, b_len) && fw_bytes_equal(a, b, 64);
}

bool fw_ws_random(unsigned char *bytes, size_t len)
{
	return getrandom(bytes, len, 0) == (ssize_t)len;
}

void fw_ws_random_hex(char *text, size_t size)
{
	unsigned char bytes[32] = { 0 };

	(void)fw_ws_random(bytes, sizeof bytes);
	for (size_t i = 0; i + 1 < size; i++)
		text[i] = "0123456789abcdef"[bytes[i % sizeof bytes] & 15];
	text[size - 1] = '\0';
}
