/*
 * signin.h - browsers that are signed in. A browser sends the token once and gets a
 * random id as a cookie; with every request the id stands for that token, which is then
 * checked as if the request had brought it. So a token that is revoked signs out, too.
 *
 * The cookie is not the token itself: browsers send cookies to every port of a host, so
 * other programs on this machine would see it.
 *
 * The one rule to remember: everything is in memory and bounded. The oldest sign-in makes
 * room for a new one, and a restart signs out all browsers.
 */
#ifndef FW_MCP_SIGNIN_H
#define FW_MCP_SIGNIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

/* The name of the cookie begins like this; the port follows, since browsers do not keep
 * the cookies of two ports apart. */
#define FW_SIGNIN_COOKIE "faultwire_session"

enum { FW_SIGNIN_ID_SIZE = 41, FW_SIGNINS_MAX = 64, FW_SIGNIN_MS = 12 * 60 * 60 * 1000 };

struct fw_signin;

/* All zero to begin with. */
struct fw_signins {
	struct fw_signin *items; /* NULL: no browser has signed in yet */
	uint64_t count;          /* of all sign-ins so far */
};

/* Keeps a copy of the token. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_signin_add(struct fw_signins *signins, const char *token, size_t len,
				     int64_t now_ms, char ret_id[FW_SIGNIN_ID_SIZE]);
/* The token of the id in a Cookie header, borrowed until the next call that adds or
 * removes; NULL: none, or it is too old. The time taken does not depend on the bytes of
 * known ids. */
const char *fw_signin_token(const struct fw_signins *signins, const char *cookies,
			    int64_t now_ms, size_t *ret_len);
/* Signs out. An id that is not known is ignored. */
void fw_signin_remove(struct fw_signins *signins, const char *cookies);
/* Forgets all of them. */
void fw_signins_clear(struct fw_signins *signins);

#endif
