/*
 * jwks.h - the public keys of an issuer of OAuth access tokens (RFC 7517), and signatures
 * by them. RSA (RS256), P-256 (ES256) and Ed25519 (EdDSA), by OpenSSL.
 *
 * The one rule to remember: a key is for one algorithm, which follows from the key and
 * never from a token. There are no symmetric keys, so a public key cannot be used as one.
 */
#ifndef FW_GOVERN_JWKS_H
#define FW_GOVERN_JWKS_H

#include <stdbool.h>
#include <stddef.h>

#include <faultwire/error.h>

enum {
	FW_JWKS_BYTES = 256 * 1024,
	FW_JWKS_KEYS = 64,
	FW_JWKS_KID_SIZE = 256,
	FW_JWKS_SIGNATURE_BYTES = 1024 /* of RSA with 8192 bits */
};

enum fw_jwk_algorithm { FW_JWK_RS256, FW_JWK_ES256, FW_JWK_EDDSA, FW_JWK_ALGORITHM_COUNT };

/* "RS256"; NULL past the end. */
const char *fw_jwk_algorithm_name(enum fw_jwk_algorithm algorithm);

struct fw_jwk;
struct fw_jwks;

/* Keys that are not for one of these signatures are skipped. Raises input.invalid_value
 * (not a set of keys, or none that can be used), internal.unsupported (no libcrypto),
 * internal.out_of_memory. The set is yours. */
FW_NODISCARD fw_error *fw_jwks_parse(const char *text, size_t len, struct fw_jwks **ret_jwks);
/* NULL is a no-op. */
void fw_jwks_free(struct fw_jwks *jwks);
size_t fw_jwks_count(const struct fw_jwks *jwks);

/* The key with this id for this algorithm. Without an id (NULL): the only key for the
 * algorithm. NULL: there is none. */
const struct fw_jwk *fw_jwks_find(const struct fw_jwks *jwks, const char *kid,
				  enum fw_jwk_algorithm algorithm);

/* Whether the signature, in the form of JWS, is by this key. */
bool fw_jwk_verifies(const struct fw_jwk *key, const char *text, size_t len,
		     const unsigned char *signature, size_t signature_len);

#endif
