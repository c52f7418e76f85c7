/*
 * digest.h - SHA-256 and HMAC-SHA256 from libcrypto, which is loaded on first use
 * (base/late.h), and comparison in constant time.
 *
 * The one rule to remember: without libcrypto there is no digest, and the functions
 * report that. Check the result before comparing a digest.
 */
#ifndef FW_BASE_DIGEST_H
#define FW_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_SHA256_BYTES = 32, FW_SHA256_TEXT = 2 * FW_SHA256_BYTES + 1 };

/* Can digests be computed? Loads libcrypto. Any thread. */
bool fw_digest_load(void);

bool fw_sha256(const void *data, size_t len, unsigned char ret_hash[FW_SHA256_BYTES]);
bool fw_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		    unsigned char ret_mac[FW_SHA256_BYTES]);

/* An incremental digest; libcrypto is loaded with the first bytes. NULL: out of
 * memory. */
struct fw_hasher;
struct fw_hasher *fw_hasher_new(void);
/* Discards what was added. Not needed before the first use, nor after take(). */
void fw_hasher_begin(struct fw_hasher *hasher);
void fw_hasher_add(struct fw_hasher *hasher, const void *data, size_t len);
/* The digest of everything added; the hasher then starts again. False on failure. */
bool fw_hasher_take(struct fw_hasher *hasher, unsigned char ret_hash[FW_SHA256_BYTES]);
/* NULL is a no-op. */
void fw_hasher_free(struct fw_hasher *hasher);

/* The digest as text, lower case and NUL-terminated; "" on failure, which equals no
 * digest. */
void fw_sha256_text(const void *data, size_t len, char ret_text[FW_SHA256_TEXT]);
/* Is it 64 lower-case hexadecimal digits? */
bool fw_sha256_is_text(const char *text, size_t len);

/* Writes lower-case hexadecimal, NUL-terminated: 2 * len + 1 bytes. */
void fw_hex(const unsigned char *bytes, size_t len, char *ret_text);

/* Compares in time that does not depend on the contents. */
bool fw_bytes_equal(const void *a, const void *b, size_t len);

#endif
