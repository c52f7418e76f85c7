/*
 * jwks.c - see jwks.h. A key becomes a SubjectPublicKeyInfo in DER, which OpenSSL reads and
 * checks (a point must be on its curve); a signature of ES256 becomes the DER that OpenSSL
 * expects.
 */
#include "govern/jwks.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <stdio.h>
#include <string.h>

#include <faultwire/raise.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/late.h"
#include "base/mem.h"
#include "base/text.h"

#define FUNCTIONS(X)            \
	X(EVP_MD_CTX_new)       \
	X(EVP_MD_CTX_free)      \
	X(EVP_DigestVerifyInit) \
	X(EVP_DigestVerify)     \
	X(EVP_sha256)           \
	X(EVP_PKEY_free)        \
	X(EVP_PKEY_get_bits)    \
	X(ERR_clear_error)      \
	X(d2i_PUBKEY)

struct fw_jwks_crypto {
	FUNCTIONS(FW_LATE_MEMBER)
};
FW_LATE_DEFINE(fw_jwks_crypto, "libcrypto.so.3", FUNCTIONS);

enum {
	NUMBER_BYTES = 1024, /* of an RSA modulus of 8192 bits */
	DER_BYTES = 2 * NUMBER_BYTES + 64,
	RSA_BITS_LEAST = 2048,
	POINT_BYTES = 32,
	DEPTH = 8
};

struct fw_jwk {
	enum fw_jwk_algorithm algorithm;
	char kid[FW_JWKS_KID_SIZE]; /* "": none */
	EVP_PKEY *key;
};

struct fw_jwks {
	size_t count;
	struct fw_jwk keys[FW_JWKS_KEYS];
};

static const char *const algorithm_names[] = { "RS256", "ES256", "EdDSA" };

const char *fw_jwk_algorithm_name(enum fw_jwk_algorithm algorithm)
{
	return (unsigned)algorithm < FW_JWK_ALGORITHM_COUNT ? algorithm_names[algorithm] : NULL;
}

/* ---- DER ------------------------------------------------------------------------------ */

/* Written from its end to its beginning, so that lengths are known. */
struct der {
	unsigned char bytes[DER_BYTES];
	size_t at; /* the first byte that is used */
};

static void der_put(struct der *der, const void *bytes, size_t len)
{
	if (len > der->at)
		len = der->at; /* does not happen: numbers are limited */
	der->at -= len;
	memcpy(der->bytes + der->at, bytes, len);
}

static void der_byte(struct der *der, unsigned value)
{
	unsigned char byte = (unsigned char)value;

	der_put(der, &byte, 1);
}

/* Begins the value that ends at `end`. */
static void der_head(struct der *der, unsigned tag, size_t end)
{
	size_t len = end - der->at;

	der_byte(der, len & 0xff);
	if (len >= 0x100) {
		der_byte(der, (unsigned)(len >> 8));
		der_byte(der, 0x82);
	} else if (len >= 0x80) {
		der_byte(der, 0x81);
	}
	der_byte(der, tag);
}

/* A number without a sign. */
static void der_integer(struct der *der, const unsigned char *bytes, size_t len)
{
	size_t end = der->at;

	while (len > 1 && !bytes[0]) {
		bytes++;
		len--;
	}
	der_put(der, bytes, len);
	if (bytes[0] & 0x80)
		der_byte(der, 0);
	der_head(der, 2, end);
}

static EVP_PKEY *read_der(const struct der *der)
{
	const unsigned char *at = der->bytes + der->at;
	EVP_PKEY *key = fw_jwks_crypto.d2i_PUBKEY(NULL, &at, (long)(DER_BYTES - der->at));

	fw_jwks_crypto.ERR_clear_error();
	return key;
}

/* ---- keys ------------------------------------------------------------------------------ */

/* The bytes of a member in base64url. */
static bool read_bytes(yyjson_val *key, const char *name, size_t most,
		       unsigned char ret_bytes[NUMBER_BYTES + 4], size_t *ret_len)
{
	struct fw_text text = fw_text_of(fw_json_member(key, name));

	return text.p && text.n && text.n <= (most * 4 + 2) / 3 &&
	       fw_base64_read(text.p, text.n, ret_bytes, ret_len) && *ret_len <= most &&
	       *ret_len > 0;
}

static EVP_PKEY *read_rsa(yyjson_val *key)
{
	static const unsigned char algorithm[] = { 0x30, 0x0d, 0x06, 0x09, 0x2a,
						   0x86, 0x48, 0x86, 0xf7, 0x0d,
						   0x01, 0x01, 0x01, 0x05, 0x00 };
	unsigned char modulus[NUMBER_BYTES + 4], exponent[NUMBER_BYTES + 4];
	struct der der = { .at = DER_BYTES };
	size_t modulus_len, exponent_len;
	EVP_PKEY *made;

	if (!read_bytes(key, "n", NUMBER_BYTES, modulus, &modulus_len) ||
	    !read_bytes(key, "e", 8, exponent, &exponent_len))
		return NULL;
	der_integer(&der, exponent, exponent_len);
	der_integer(&der, modulus, modulus_len);
	der_head(&der, 0x30, DER_BYTES);
	der_byte(&der, 0);
	der_head(&der, 3, DER_BYTES);
	der_put(&der, algorithm, sizeof algorithm);
	der_head(&der, 0x30, DER_BYTES);
	made = read_der(&der);
	if (made && fw_jwks_crypto.EVP_PKEY_get_bits(made) < RSA_BITS_LEAST) {
		fw_jwks_crypto.EVP_PKEY_free(made);
		return NULL;
	}
	return made;
}

static EVP_PKEY *read_curve(yyjson_val *key, bool is_edwards)
{
	static const unsigned char p256[] = { 0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a,
					      0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06,
					      0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03,
					      0x01, 0x07, 0x03, 0x42, 0x00, 0x04 };
	static const unsigned char ed25519[] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
						 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };
	unsigned char x[NUMBER_BYTES + 4], y[NUMBER_BYTES + 4];
	struct der der = { .at = DER_BYTES };
	size_t len;

	if (!read_bytes(key, "x", POINT_BYTES, x, &len) || len != POINT_BYTES)
		return NULL;
	if (is_edwards) {
		der_put(&der, x, POINT_BYTES);
		der_put(&der, ed25519, sizeof ed25519);
		return read_der(&der);
	}
	if (!read_bytes(key, "y", POINT_BYTES, y, &len) || len != POINT_BYTES)
		return NULL;
	der_put(&der, y, POINT_BYTES);
	der_put(&der, x, POINT_BYTES);
	der_put(&der, p256, sizeof p256);
	return read_der(&der);
}

static bool is_text(yyjson_val *key, const char *name, const char *value)
{
	return yyjson_equals_str(fw_json_member(key, name), value);
}

/* False: it is not for one of the algorithms, or not valid. */
static bool read_key(yyjson_val *value, struct fw_jwk *key)
{
	yyjson_val *use = fw_json_member(value, "use");
	yyjson_val *algorithm = fw_json_member(value, "alg");
	yyjson_val *kid = fw_json_member(value, "kid");

	if (use && !yyjson_equals_str(use, "sig"))
		return false;
	if (kid) {
		const char *text = fw_text_str(fw_text_of(kid));

		if (!text || strlen(text) >= sizeof key->kid)
			return false;
		(void)snprintf(key->kid, sizeof key->kid, "%s", text);
	}
	if (is_text(value, "kty", "RSA"))
		key->algorithm = FW_JWK_RS256;
	else if (is_text(value, "kty", "EC") && is_text(value, "crv", "P-256"))
		key->algorithm = FW_JWK_ES256;
	else if (is_text(value, "kty", "OKP") && is_text(value, "crv", "Ed25519"))
		key->algorithm = FW_JWK_EDDSA;
	else
		return false;
	if (algorithm && !yyjson_equals_str(algorithm, algorithm_names[key->algorithm]) &&
	    !(key->algorithm == FW_JWK_EDDSA && yyjson_equals_str(algorithm, "Ed25519")))
		return false;
	key->key = key->algorithm == FW_JWK_RS256
			   ? read_rsa(value)
			   : read_curve(value, key->algorithm == FW_JWK_EDDSA);
	return key->key != NULL;
}

/* ---- the set --------------------------------------------------------------------------- */

fw_error *fw_jwks_parse(const char *text, size_t len, struct fw_jwks **ret_jwks)
{
	const struct fw_json_limits limits = { .bytes = FW_JWKS_BYTES, .depth = DEPTH };
	yyjson_read_err why = { 0 };
	struct fw_jwks *jwks;
	yyjson_doc *doc;
	yyjson_val *item;
	size_t at, most;

	if (!fw_late_load(&fw_jwks_crypto_library, NULL))
		return fw_raise_internal_unsupported("OAuth without libcrypto");
	doc = fw_json_read(text, len, limits, 0, NULL, &why);
	if (!doc && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return fw_raise_internal_out_of_memory();
	jwks = fw__allocate(sizeof *jwks);
	if (!jwks) {
		yyjson_doc_free(doc);
		return fw_raise_internal_out_of_memory();
	}
	memset(jwks, 0, sizeof *jwks);
	yyjson_arr_foreach(fw_json_member(yyjson_doc_get_root(doc), "keys"), at, most, item)
	{
		struct fw_jwk *key = &jwks->keys[jwks->count];

		if (read_key(item, key) && ++jwks->count == FW_JWKS_KEYS)
			break;
		if (!key->key)
			*key = (struct fw_jwk){ .key = NULL };
	}
	yyjson_doc_free(doc);
	if (!jwks->count) {
		fw_jwks_free(jwks);
		return fw_raise_input_invalid_value(
			"the JWKS", "a set with a key for RS256, ES256 or EdDSA");
	}
	*ret_jwks = jwks;
	return NULL;
}

void fw_jwks_free(struct fw_jwks *jwks)
{
	if (!jwks)
		return;
	for (size_t i = 0; i < jwks->count; i++)
		fw_jwks_crypto.EVP_PKEY_free(jwks->keys[i].key);
	fw__release(jwks);
}

size_t fw_jwks_count(const struct fw_jwks *jwks)
{
	return jwks ? jwks->count : 0;
}

const struct fw_jwk *fw_jwks_find(const struct fw_jwks *jwks, const char *kid,
				  enum fw_jwk_algorithm algorithm)
{
	const struct fw_jwk *found = NULL;

	for (size_t i = 0; jwks && i < jwks->count; i++) {
		const struct fw_jwk *key = &jwks->keys[i];

		if (key->algorithm != algorithm)
			continue;
		if (kid && strcmp(key->kid, kid) == 0)
			return key;
		if (!kid && found)
			return NULL; /* which one is meant is not known */
		if (!kid)
			found = key;
	}
	return found;
}

/* ---- signatures ------------------------------------------------------------------------ */

bool fw_jwk_verifies(const struct fw_jwk *key, const char *text, size_t len,
		     const unsigned char *signature, size_t signature_len)
{
	const EVP_MD *digest =
		key->algorithm == FW_JWK_EDDSA ? NULL : fw_jwks_crypto.EVP_sha256();
	struct der der = { .at = DER_BYTES };
	EVP_MD_CTX *ctx;
	bool is_valid;

	if (key->algorithm == FW_JWK_ES256) {
		if (signature_len != (size_t)2 * POINT_BYTES)
			return false;
		der_integer(&der, signature + POINT_BYTES, POINT_BYTES);
		der_integer(&der, signature, POINT_BYTES);
		der_head(&der, 0x30, DER_BYTES);
		signature = der.bytes + der.at;
		signature_len = DER_BYTES - der.at;
	}
	ctx = fw_jwks_crypto.EVP_MD_CTX_new();
	is_valid =
		ctx &&
		fw_jwks_crypto.EVP_DigestVerifyInit(ctx, NULL, digest, NULL, key->key) == 1 &&
		fw_jwks_crypto.EVP_DigestVerify(ctx, signature, signature_len,
						(const unsigned char *)text, len) == 1;
	fw_jwks_crypto.EVP_MD_CTX_free(ctx);
	fw_jwks_crypto.ERR_clear_error();
	return is_valid;
}
