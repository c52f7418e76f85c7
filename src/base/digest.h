/*
 * digest.h - SHA-256 and HMAC-SHA256, of libcrypto, which is loaded with the
 * first of them (base/late.h); and comparing what must not be guessed.
 *
 * The one rule to remember: where libcrypto is missing there is no digest, and
 * the functions say so; nothing is ever compared with a digest that was not
 * made.
 */
#ifndef FW_BASE_DIGEST_H
#define FW_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

enum { FW_SHA256_BYTES = 32, FW_SHA256_TEXT = 2 * FW_SHA256_BYTES + 1 };

/* Whether there will be digests. Any thread. */
bool fw_digest_load(void);

bool fw_sha256(const void *data, size_t len, unsigned char ret_hash[FW_SHA256_BYTES]);
bool fw_hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		    unsigned char ret_mac[FW_SHA256_BYTES]);

/* A digest that grows; libcrypto comes with the first text. NULL: no memory. */
struct fw_hasher;
struct fw_hasher *fw_hasher_new(void);
/* Forgets what was added; not needed for the first, and after each take(). */
void fw_hasher_begin(struct fw_hasher *hasher);
void fw_hasher_add(struct fw_hasher *hasher, const void *data, size_t len);
/* The digest of all that was added; it begins anew. False: it could not be made. */
bool fw_hasher_take(struct fw_hasher *hasher, unsigned char ret_hash[FW_SHA256_BYTES]);
/* NULL is a no-op. */
void fw_hasher_free(struct fw_hasher *hasher);

/* Lower case, NUL-terminated: 2 * len + 1 bytes. */
void fw_hex(const unsigned char *bytes, size_t len, char *ret_text);

/* In the same time whatever differs. */
bool fw_bytes_equal(const void *a, const void *b, size_t len);

#endif
