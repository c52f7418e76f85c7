/*
 * accept.h - content negotiation: which media type a client prefers (RFC 9110,
 * 12.5.1).
 */
#ifndef FW_BASE_ACCEPT_H
#define FW_BASE_ACCEPT_H

#include <stddef.h>

/*
 * Index of the type that the Accept header prefers; the first one if several are
 * equal. Also the first one if the header is missing (NULL) or accepts none of them,
 * because an answer in another type is more useful than none. Parameters other than
 * the weight are ignored.
 */
size_t fw_accept_choose(const char *accept, const char *const *types, size_t count);

#endif
