/*
 * header.h - values that modern clients mirror in HTTP headers: as they are, or
 * as base64 between "=?base64?" and "?=".
 */
#ifndef FW_RPC_HEADER_H
#define FW_RPC_HEADER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Longest value of a mirrored header, with its NUL. */
enum { FW_HEADER_VALUE_MAX = 8192 };

/* Decodes into `buf` of `cap` bytes, with a NUL after `*ret_len`. False: it has control
 * characters, is not valid base64 or not UTF-8, or is too long. */
bool fw_header_decode(const char *value, char *buf, size_t cap, size_t *ret_len);
/* Appends a value: as it is, or as base64 if a header cannot hold it as it is. */
void fw_header_encode(const char *text, size_t len, struct fw_buf *out);

#endif
