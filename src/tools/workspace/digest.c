/*
 * digest.c - see digest.h.
 */
#include "tools/workspace/digest.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

static void to_hex(const unsigned char *bytes, size_t len, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	hex[2 * len] = '\0';
}

void fw_ws_sha256(const void *bytes, size_t len, char ret_hex[FW_WS_HEX_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned digest_len = 0;

	/* A hash that could not be made is equal to none. */
	if (EVP_Digest(bytes, len, digest, &digest_len, EVP_sha256(), NULL) == 1 &&
	    digest_len == 32)
		to_hex(digest, 32, ret_hex);
	else
		memset(ret_hex, 0, FW_WS_HEX_SIZE);
}

bool fw_ws_sign(const struct fw_ws_key *key, const char *purpose, const char *text, size_t len,
		char ret_hex[FW_WS_HEX_SIZE])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned char inner[EVP_MAX_MD_SIZE];
	unsigned digest_len = 0;
	unsigned inner_len = 0;

	/* A key of its own for each purpose. */
	if (!HMAC(EVP_sha256(), key->bytes, FW_WS_KEY_BYTES, (const unsigned char *)purpose,
		  strlen(purpose), inner, &inner_len) ||
	    !HMAC(EVP_sha256(), inner, (int)inner_len, (const unsigned char *)text, len, digest,
		  &digest_len) ||
	    digest_len != 32)
		return false;
	to_hex(digest, 32, ret_hex);
	OPENSSL_cleanse(inner, sizeof inner);
	return true;
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
	return fw_ws_is_hex(a, a_len) && fw_ws_is_hex(b, b_len) && CRYPTO_memcmp(a, b, 64) == 0;
}

void fw_ws_random_hex(char *text, size_t size)
{
	unsigned char bytes[32];

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		memset(bytes, 0, sizeof bytes);
	for (size_t i = 0; i + 1 < size; i++)
		text[i] = "0123456789abcdef"[bytes[i % sizeof bytes] & 15];
	text[size - 1] = '\0';
}
