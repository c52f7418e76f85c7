/*
 * sha256.h - SHA-256 in plain C, for a few short texts where loading libcrypto
 * would take longer than all of them. base/digest.h is what others use.
 */
#ifndef FW_BASE_SHA256_H
#define FW_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct fw_sha256 {
	uint32_t words[8];
	uint64_t bytes;
	unsigned char block[64];
};

void fw_sha256_begin(struct fw_sha256 *sha);
void fw_sha256_add(struct fw_sha256 *sha, const void *data, size_t len);
/* It has to begin again after that. */
void fw_sha256_end(struct fw_sha256 *sha, unsigned char ret_hash[32]);

#endif
