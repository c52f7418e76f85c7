/*
 * digest.c - see digest.h.
 */
#include "base/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <string.h>

#include "base/late.h"
#include "base/mem.h"

#define FUNCTIONS(X)          \
	X(EVP_MD_fetch)       \
	X(EVP_MD_CTX_new)     \
	X(EVP_MD_CTX_free)    \
	X(EVP_DigestInit_ex)  \
	X(EVP_DigestUpdate)   \
	X(EVP_DigestFinal_ex) \
	X(EVP_Digest)         \
	X(HMAC)

struct fw_digest_crypto {
	FUNCTIONS(FW_LATE_MEMBER)
};
FW_LATE_DEFINE(fw_digest_crypto, "libcrypto.so.3", FUNCTIONS);

/* Looked up once, because OpenSSL 3 searches its providers each time. Never freed. */
static EVP_MD *sha256;

struct fw_hasher {
	EVP_MD_CTX *ctx; /* NULL: nothing was added yet */
	enum { BEGUN, GROWING, FAILED } state;
};

bool fw_digest_load(void)
{
	EVP_MD *none = NULL;
	EVP_MD *found;

	if (__atomic_load_n(&sha256, __ATOMIC_ACQUIRE))
		return true;
	if (!fw_late_load(&fw_digest_crypto_library, NULL))
		return false;
	found = fw_digest_crypto.EVP_MD_fetch(NULL, "SHA256", NULL);
	/* If another thread was faster, its value is used. */
	if (found)
		(void)__atomic_compare_exchange_n(&sha256, &none, found, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return found != NULL;
}

bool fw_sha256(const void *data, size_t len, unsigned char ret_hash[FW_SHA256_BYTES])
{
	return fw_digest_load() &&
	       fw_digest_crypto.EVP_Digest(data, len, ret_hash, NULL, sha256, NULL) == 1;
}

bool fw_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		    unsigned char ret_mac[FW_SHA256_BYTES])
{
	return fw_digest_load() && fw_digest_crypto.HMAC(sha256, key, (int)key_len, data, len,
							 ret_mac, NULL) != NULL;
}

struct fw_hasher *fw_hasher_new(void)
{
	struct fw_hasher *hasher = fw__allocate(sizeof *hasher);

	if (hasher)
		*hasher = (struct fw_hasher){ .state = BEGUN };
	return hasher;
}

void fw_hasher_begin(struct fw_hasher *hasher)
{
	hasher->state = BEGUN;
}

/* Loaded with the first bytes: an object that has a hasher may never need it. */
static void start(struct fw_hasher *hasher)
{
	if (!hasher->ctx && fw_digest_load())
		hasher->ctx = fw_digest_crypto.EVP_MD_CTX_new();
	hasher->state = hasher->ctx && fw_digest_crypto.EVP_DigestInit_ex(hasher->ctx, sha256,
									  NULL) == 1
				? GROWING
				: FAILED;
}

void fw_hasher_add(struct fw_hasher *hasher, const void *data, size_t len)
{
	if (hasher->state == BEGUN)
		start(hasher);
	if (hasher->state == GROWING &&
	    fw_digest_crypto.EVP_DigestUpdate(hasher->ctx, data, len) != 1)
		hasher->state = FAILED;
}

bool fw_hasher_take(struct fw_hasher *hasher, unsigned char ret_hash[FW_SHA256_BYTES])
{
	bool is_good;

	if (hasher->state == BEGUN)
		start(hasher);
	is_good = hasher->state == GROWING &&
		  fw_digest_crypto.EVP_DigestFinal_ex(hasher->ctx, ret_hash, NULL) == 1;
	fw_hasher_begin(hasher);
	return is_good;
}

void fw_hasher_free(struct fw_hasher *hasher)
{
	if (!hasher)
		return;
	if (hasher->ctx)
		fw_digest_crypto.EVP_MD_CTX_free(hasher->ctx);
	fw__release(hasher);
}

void fw_sha256_text(const void *data, size_t len, char ret_text[FW_SHA256_TEXT])
{
	unsigned char hash[FW_SHA256_BYTES];

	memset(ret_text, 0, FW_SHA256_TEXT);
	if (fw_sha256(data, len, hash))
		fw_hex(hash, sizeof hash, ret_text);
}

bool fw_sha256_is_text(const char *text, size_t len)
{
	if (len != FW_SHA256_TEXT - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
			return false;
	return true;
}

void fw_hex(const unsigned char *bytes, size_t len, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		ret_text[2 * i] = digits[bytes[i] >> 4];
		ret_text[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_text[2 * len] = '\0';
}

bool fw_bytes_equal(const void *a, const void *b, size_t len)
{
	const volatile unsigned char *x = a;
	const volatile unsigned char *y = b;
	unsigned char differs = 0;

	for (size_t i = 0; i < len; i++)
		differs |= x[i] ^ y[i];
	return differs == 0;
}
