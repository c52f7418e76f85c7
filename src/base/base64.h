/*
 * base64.h - base64 (RFC 4648).
 */
#ifndef FW_BASE_BASE64_H
#define FW_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Encodes with the URL-safe alphabet, without padding. */
void fw_base64url_put(struct fw_buf *out, const unsigned char *bytes, size_t len);

/* Decodes either alphabet; the caller has removed the padding. `ret_bytes` has room
 * for len / 4 * 3 + 3 bytes. False: not base64. */
bool fw_base64_read(const char *text, size_t len, unsigned char *ret_bytes, size_t *ret_len);

#endif
