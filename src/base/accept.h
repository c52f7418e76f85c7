/*
 * accept.h - which of the forms that there are a client wants (RFC 9110, 12.5.1).
 */
#ifndef FW_BASE_ACCEPT_H
#define FW_BASE_ACCEPT_H

#include <stddef.h>

/*
 * The index of the type that the value of an Accept header likes best; among
 * equals the first. NULL takes the first, and so does a value that wants none
 * of them: an answer in another form is more use than none. Parameters other
 * than the weight are passed over.
 */
size_t fw_accept_choose(const char *accept, const char *const *types, size_t count);

#endif
